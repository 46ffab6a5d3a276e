// Package reader reads uploaded files of every format, each in a separate process that is
// sandboxed and limited in memory and time. New returns the Reader for the service, and Main
// runs in its processes. It imports extract with all packages below, and events/fault.
package reader

import (
	"cmp"
	"context"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/events/fault"
)

// Options configures the Reader that New returns.
type Options struct {
	Limits extract.Limits
	// Formats are the formats that may be read; none means all. Files of other formats are
	// refused, even if they were accepted earlier.
	Formats extract.Formats
	// Command starts a reader process: it is this program, with arguments that make it call
	// Main with the arguments that follow. If Command is empty, files are read in this
	// process, without limits of memory, and PDFs and images are refused.
	Command  []string
	CacheDir string // caches the compiled PDFium; empty means no cache
	Workers  int    // number of PDFium processes, and of processes for images; 0 means one per core
	OCR      OCR
	// Recognised is the maximum number of pages that are recognised at the same time; 0 means
	// as many as Workers.
	Recognised int
	Reserved   int // how many of Workers never help to read a PDF that another process opened
}

// New returns a Reader.
func New(o Options) extract.Reader {
	if len(o.Formats) == 0 {
		o.Formats = extract.AllFormats()
	}
	o.Limits = o.Limits.OrDefault()
	o.Limits.Memory = cmp.Or(o.Limits.Memory, pdfium.DefaultMemory)
	if len(o.Command) > 0 {
		return newPooled(o)
	}
	return &local{limits: o.Limits, allowed: o.Formats, formats: formats(func(context.Context, extract.File, *extract.Writer) (extract.Info, error) {
		return extract.Info{}, fault.Errorf(fault.Unavailable, "read the pages of the file: no reader process is configured")
	})}
}

// mediaTypeOf is like Formats.Supports, but returns an error for the user if the type is
// not supported.
func mediaTypeOf(name string, formats extract.Formats) (string, error) {
	mediaType, ok := formats.Supports(name)
	if _, known := extract.AllFormats().Supports(name); known && !ok {
		return "", fault.Errorf(fault.Invalid, "files of type %q are not read by this server, only %s: ask the operator to allow them (--formats), or save the file as another type", extract.Extension(name), formats)
	}
	if !ok {
		return "", fault.Errorf(fault.Invalid, "files of type %q cannot be read, only %s", extract.Extension(name), formats)
	}
	return mediaType, nil
}

func tooSlow(l extract.Limits) error {
	return fault.Errorf(fault.Invalid, "reading the file took longer than %s (--extract-time): split it, or ask the operator for more time", l.Time)
}
