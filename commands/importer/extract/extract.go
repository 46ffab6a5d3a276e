// Package extract is the port between code that needs the text of an uploaded file and
// code that reads it. It defines the sections of a document, the Reader of files, which
// files can be read, and the Writer that all formats use to write sections within common
// bounds. Each format is a package below (text, docx, pdf); package reader combines them.
// It does not know the log, and imports events/fault and events/lookalike.
package extract

import (
	"context"
	"io"
	"time"
)

// Version increases with each change after which the same file may give another text.
const Version = 3

// MaxPart is the most bytes of text that one Section carries; a longer
// section comes as several, numbered by Part.
const MaxPart = 64 << 10

// MaxSections is the most sections of one file with a title. Later headings stay in the
// text, so that a file with nothing but headings does not become millions of events.
const MaxSections = 50_000

// Section is one titled piece of a document, in reading order.
type Section struct {
	Index int      // of the section, from 0
	Part  int      // of the section's text, from 0; above 0 only if the text is longer than MaxPart
	Level int      // depth of its title, from 1; 0 for text before any title
	Title string   // plain text, without markup
	Path  []string // titles from the outermost to this one
	// StartPage and EndPage count from 1 and hold for this part; both are 0
	// if the format has no pages.
	StartPage, EndPage int
	// PageBreaks[i] is the byte offset in Text at which page StartPage+1+i
	// begins; an empty page repeats an offset.
	PageBreaks []int
	Text       string // Markdown without the title's own line; NFC, "\n" line ends
}

// Info describes a file after reading all of it.
type Info struct {
	MediaType string
	Title     string // from metadata, front matter, first heading or file name, in that order of trust
	Pages     int    // 0 if the format has no pages
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
	Time      time.Duration // elapsed time and, separately, processor time: 10 minutes
	Memory    int64         // of one process, in bytes: 224 MiB; below pdfium.LeastMemory readers may fail to start
}

// Progress reports the progress of a reading: the step, which is "reading", the page and
// the number of pages, both 0 if unknown.
type Progress func(step string, page, pages int)

// Reader reads files. It keeps processes between files, so one Reader serves a
// whole program; close it at the end.
type Reader interface {
	// Read reads the file at path, whose type depends on the extension of name, and
	// calls emit with each section in order. If the file cannot be read, the error is
	// of kind fault.Invalid, and its text is a sentence for the user. If the process
	// died, maybe because of the file, the error is a process.Died. An error of emit
	// ends the reading and is returned as it is.
	Read(ctx context.Context, path, name string, emit func(Section) error, progress Progress) (Info, error)
	Close() error
}

// File is an open file that a format reads.
type File struct {
	io.ReaderAt
	Size int64
	Name string // has the extension of the format
}
