// Package extract reads an uploaded file into titled sections of Markdown
// with page ranges. It knows files and nothing of the log: it imports
// events/fault for the kinds of its errors and nothing else of ours.
package extract

import (
	"context"
	"time"
)

// Version rises whenever the same file may give another text.
const Version = 3

// MaxPart is the most bytes of text that one Section carries; a longer
// section comes as several, numbered by Part.
const MaxPart = 64 << 10

// Section is one titled piece of a document, in reading order.
type Section struct {
	Index int      // of the section, from 0
	Part  int      // of the section's text, from 0, where it is longer than MaxPart
	Level int      // depth of its title, from 1; 0 for text before any title
	Title string   // plain text, without markup
	Path  []string // titles from the outermost to this one
	// StartPage and EndPage count from 1 and hold for this part; both are 0
	// where the format has no pages.
	StartPage, EndPage int
	// PageBreaks[i] is the byte offset in Text at which page StartPage+1+i
	// begins; an empty page repeats an offset.
	PageBreaks []int
	Text       string // Markdown without the title's own line; NFC, "\n" line ends
}

// Info is what is known of a file once all of it was read.
type Info struct {
	MediaType string
	Title     string // from metadata, front matter, first heading or file name, in that order of trust
	Pages     int    // 0 where the format has no pages
	Sections  int
	XML       int64 // bytes of a Word document's parts that were read, each once; 0 for other formats
	// Warnings are sentences for the user about what could not be read, such
	// as scanned pages without text.
	Warnings []string
}

// Limits bound the reading of one file. A zero field means its default.
type Limits struct {
	Pages     int           // most pages of a PDF: 5,000
	TextBytes int64         // most bytes of extracted text: 1 GiB
	Time      time.Duration // on the clock, and of the processor: 10 minutes
	Memory    int64         // of one process, in bytes: 224 MiB; under pdfium.LeastMemory readers may end at once
}

// Progress reports how far the reading is: the step (reading, ocr, splitting)
// and, where it is known, the page of the total.
type Progress func(step string, page, pages int)

// Reader reads files. It keeps processes between files, so one Reader serves a
// whole program; close it at the end.
type Reader interface {
	// Read reads the file at path, whose type its name's extension decides, and calls emit
	// with each section in order. What is wrong with the file is an error of
	// kind fault.Invalid whose text is a sentence for the user. A process that
	// died, maybe of the file, is a Died. An error of emit ends the reading and
	// is returned as it is.
	Read(ctx context.Context, path, name string, emit func(Section) error, progress Progress) (Info, error)
	Close() error
}
