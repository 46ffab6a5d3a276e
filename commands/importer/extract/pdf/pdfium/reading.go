package pdfium

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// session reads a file, or a part of it, in one process.
type session struct {
	*process.Process
	config *Config
	spent  time.Duration // time spent waiting for the process, without that for drawing
	drawn  time.Duration // time spent waiting for the drawings of this process
	all    int           // number of pages of the file
	pages  int           // number of the last page read
	// viewing means that somebody waits for a page, so that it has at most viewTime.
	viewing bool
}

// open opens a file and returns its description, which consists of the number of pages if bare
// is set.
func (r *session) open(ctx context.Context, file File, maxPages int, bare bool) (document []byte, err error) {
	// Begin fails on systems without CPU limits. The sandbox report mentions that.
	_ = r.Begin(r.config.Time)
	err = r.send(ctx, request{open: true, path: file.Name(), maxPages: maxPages, bare: bare}, &file, func(k process.Kind, payload []byte) error {
		d := process.Decoder{B: payload}
		if r.all = d.Int(); k != openedFrame || document != nil || r.all > maxPages && maxPages > 0 {
			return errUnexpected
		}
		document = slices.Clone(payload)
		return nil
	})
	if err == nil && document == nil {
		err = r.broken(process.Failed)
	}
	return document, err
}

// finish closes the file in the process, so that the process can read another file.
func (r *session) finish(ctx context.Context) {
	r.send(ctx, request{}, nil, func(process.Kind, []byte) error { return errUnexpected })
}

// errUnexpected means that a response does not match the request.
var errUnexpected = errors.New("read a response of the PDF reader: unexpected frame")

// send sends a request, and calls each with every frame of the response. Unless the response
// is complete, the process is then unusable.
func (r *session) send(ctx context.Context, req request, file *File, each func(process.Kind, []byte) error) error {
	defer context.AfterFunc(ctx, r.Kill)()
	r.Unusable = true
	var err error
	if file != nil {
		err = r.Send(requestFrame, req.encode(), file.File)
	} else {
		err = r.Send(requestFrame, req.encode(), nil)
	}
	if err != nil && !process.IsEnd(err) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.Errorf(fault.Unavailable, "send a request to the PDF reader: %w", err)
	}
	for {
		begun := time.Now()
		k, payload, err := r.Receive(ctx, max(min(r.config.Time-r.spent, r.config.PageTime), time.Millisecond))
		r.spent += time.Since(begun) // excludes the time that the visitor takes
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if process.IsEnd(err) {
			return r.died(r.Process.Died())
		}
		if err != nil {
			return r.broken(process.Failed)
		}
		switch k {
		case doneFrame:
			r.Unusable = false
			return nil
		case failedFrame:
			f, err := decodeFailure(payload)
			if err != nil {
				return r.broken(process.Failed)
			}
			r.Unusable = f.fatal
			return fault.Errorf(fault.Invalid, "%s", f.text)
		}
		if err := each(k, payload); err != nil {
			return r.broken(process.Failed)
		}
	}
}

// died returns the error for a process that died while reading a file. If the process was
// stopped, for example because the service stops, the file is not the cause. If the system
// killed it, for example because memory ran out, or if it had read other files before, the
// file may be the cause. In all other cases the file is the cause.
func (r *session) died(d process.Death) error {
	switch {
	case d.Cause == process.Stopped:
		return fault.Errorf(fault.Unavailable, "the PDF reader was stopped: %s", d.Detail)
	case d.Cause == process.Killed, r.Uses > 1 && (d.Cause == process.Failed || d.Cause == process.OverMemory):
		return &process.Died{Death: d}
	}
	return r.broken(d.Cause)
}

// broken returns the error for a file of which only a part was read.
func (r *session) broken(cause process.Cause) error {
	r.Unusable = true
	where := "before its first page was read"
	if r.pages > 0 {
		where = fmt.Sprintf("after page %d of %d", r.pages, r.all)
	}
	switch {
	case cause == process.TimedOut && r.viewing:
		return fault.Errorf(fault.Invalid, "page %d of the %s took longer than %v, and cannot be shown", r.pages+1, r.config.noun(), r.config.PageTime)
	case cause == process.TimedOut && r.spent < r.config.Time:
		return fault.Errorf(fault.Invalid, "a page of the %s took longer than %v (--page-time), and reading was stopped %s: save the file again, or ask the operator for more time", r.config.noun(), min(r.config.PageTime, r.config.Time), where)
	case cause == process.TimedOut, cause == process.OverCPU:
		return fault.Errorf(fault.Invalid, "reading the %s took longer than %v (--extract-time), and was stopped %s: split it, or ask the operator for more time", r.config.noun(), r.config.Time, where)
	case cause == process.OverMemory:
		return fault.Errorf(fault.Invalid, "the %s needs more memory than %s, and reading stopped %s: split it, or ask the operator to raise the limit", r.config.noun(), r.config.memoryText(), where)
	}
	return fault.Errorf(fault.Invalid, "the %s is damaged or needs more memory than %s, and reading stopped %s: save it again, or split it, and upload the new files", r.config.noun(), r.config.memoryText(), where)
}

// noun is what files are called.
func (c *Config) noun() string {
	if c.Images {
		return "image"
	}
	return "PDF"
}

// memoryText describes the memory limit of PDFium or, for images, of the process.
func (c *Config) memoryText() string {
	if c.Images {
		return fmt.Sprintf("--extract-memory (%d MiB)", c.Memory>>20)
	}
	return fmt.Sprintf("the %d MiB that --extract-memory (%d MiB) leaves for it", memoryOfPDFium(c.Memory)>>20, c.Memory>>20)
}
