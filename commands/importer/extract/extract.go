// Package extract defines how uploaded files are turned into text: the Reader of files, the
// sections that it emits, which files can be read, and the Writer by which all formats write
// sections within the same limits. Each format is a package below, such as docx, and
// package reader combines them. It imports events/fault and events/lookalike.
package extract

import (
	"cmp"
	"context"
	"io"
	"time"
)

// Version is incremented with each change that may alter the text of a file.
const Version = 5

// MaxPart is the maximum number of bytes in Section.Text. A longer section is emitted as
// several Sections, numbered by Part, and so is one of which only a part was recognised, or pages
// were recognised with clearly different confidences.
const MaxPart = 64 << 10

// MaxSections is the maximum number of titled sections of a file. Later headings become text
// of the last section. Otherwise a file that consists of headings could become millions of
// events.
const MaxSections = 50_000

// Section is a titled piece of a document or, if its text is longer than MaxPart, one part
// of such a piece. Sections are emitted in reading order.
type Section struct {
	Index int      // number of the section, from 0
	Part  int      // number of the part within the section, from 0; see MaxPart
	Level int      // level of the title, from 1; 0 for text before the first title
	Title string   // plain text, without markup
	Path  []string // titles from the outermost section to this one
	// StartPage and EndPage are the first and last page of this part, from 1; both are
	// 0 if the format has no pages.
	StartPage, EndPage int
	// PageBreaks[i] is the byte offset in Text at which page StartPage+1+i begins. An
	// empty page has the same offset as the next one.
	PageBreaks []int
	Text       string // Markdown in NFC with "\n" line ends, without the title
	// OCR is set if the text was recognised in pictures of the pages or, if there is no text, the title.
	// Confidence is then the mean confidence of the recognised words, weighted by their
	// letters: above 0, at most 1, in thousandths. Otherwise it is 0.
	OCR        bool
	Confidence float64
}

// Info describes a file that was read.
type Info struct {
	MediaType string
	Title     string // the first that the file has of: metadata, front matter, first heading, file name
	Pages     int    // 0 if the format has no pages
	Sections  int
	XML       int64 // bytes of XML that were read of a file that contains it compressed; 0 for other formats
	// OCRPages is the number of pages of which at least a part was recognised in a picture,
	// and Confidence the mean confidence of their words, like that of a Section.
	OCRPages   int
	Confidence float64
	// UnreadPages is the number of pages that look scanned and were not read, because
	// nothing is installed that recognises text, or because it failed.
	UnreadPages int
	// Warnings tell the user what could not be read, such as scanned pages.
	Warnings []string
}

// Limits of reading a file. A zero field means its default.
type Limits struct {
	Pages     int           // maximum number of pages of a PDF or TIFF file; default 5,000
	TextBytes int64         // maximum bytes of extracted text; default 1 GiB
	Time      time.Duration // elapsed and, separately, CPU time; default 10 minutes
	Memory    int64         // bytes for a process; default 416 MiB; below pdfium.LeastMemory processes may fail to start
	// Inflated and Inflation limit the uncompressed bytes of a file that is an archive, such as a
	// Word document: to Inflated, by default 2 GiB, and to Inflation times the size of the file,
	// by default 256, or LeastInflated if that is more.
	Inflated  int64
	Inflation int
	Nesting   int           // maximum nesting of elements of XML, and of groups in Rich Text; default 400
	PageTime  time.Duration // maximum time for a page of a PDF or image; default a minute
	Pixels    int           // maximum number of pixels of the picture of a page; default 8 million, which is also the maximum
}

// LeastInflated is the number of uncompressed bytes that every archive may have, unless
// Limits.Inflated is less.
const LeastInflated = 64 << 20

// OrDefault returns the limits with the defaults in place of zero fields, except for Memory.
func (l Limits) OrDefault() Limits {
	l.Pages = cmp.Or(l.Pages, 5_000)
	l.TextBytes = cmp.Or(l.TextBytes, 1<<30)
	l.Time = cmp.Or(l.Time, 10*time.Minute)
	l.Inflated = cmp.Or(l.Inflated, 2<<30)
	l.Inflation = cmp.Or(l.Inflation, 256)
	l.Nesting = cmp.Or(l.Nesting, 400)
	l.PageTime = cmp.Or(l.PageTime, time.Minute)
	l.Pixels = cmp.Or(l.Pixels, 8_000_000)
	return l
}

// Progress is called while a file is read. step is "reading" or "ocr", page is the current page, and
// pages is the number of pages; page and pages are 0 if unknown. Calls may be concurrent.
type Progress func(step string, page, pages int)

// Reader reads files. It reuses processes, so a program should have a single Reader, and
// close it before it exits.
type Reader interface {
	// Read reads the file at path and calls emit with each section, in order. The extension
	// of name determines the file's type. If the file cannot be read, the error is of kind
	// fault.Invalid, with a text for the user. If the reader process died, maybe because of
	// the file, the error is a *process.Died. If emit returns an error, Read stops and
	// returns that error unchanged.
	Read(ctx context.Context, path, name string, emit func(Section) error, progress Progress) (Info, error)
	Close() error
}

// File is an open file.
type File struct {
	io.ReaderAt
	Size   int64
	Name   string // with the extension of the format
	Limits Limits // of reading it
}
