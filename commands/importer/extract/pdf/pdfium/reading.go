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

// reading is the reading of one file, or of a part of it, by one process.
type reading struct {
	*process.Process
	config *Config
	spent  time.Duration // waiting for the process
	all    int           // pages of the file
	pages  int           // the last that was read
}

// open opens a file and returns its description.
func (r *reading) open(ctx context.Context, file File, maxPages int) (document []byte, err error) {
	// On a system without such limits, the report of the sandbox says so.
	_ = r.Begin(r.config.Time)
	err = r.ask(ctx, request{open: true, path: file.Name(), maxPages: maxPages}, &file, func(k process.Kind, payload []byte) error {
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

// read reads the pages of a chunk.
func (r *reading) read(ctx context.Context, c *chunk) error {
	stop := context.AfterFunc(ctx, c.drop)
	defer stop()
	r.pages = c.first - 1
	err := r.ask(ctx, request{first: c.first, last: c.last}, nil, func(k process.Kind, payload []byte) error {
		d := process.Decoder{B: payload}
		if number := d.Int(); k != pageFrame || number != r.pages+1 || number > c.last {
			return errUnexpected
		}
		r.pages++
		c.put(slices.Clone(payload))
		return nil
	})
	if err == nil && r.pages < c.last {
		err = r.broken(process.Failed)
	}
	return err
}

// finish closes the file, after which the process may read another.
func (r *reading) finish(ctx context.Context) {
	r.ask(ctx, request{}, nil, func(process.Kind, []byte) error { return errUnexpected })
}

// errUnexpected is returned if an answer does not match the request.
var errUnexpected = errors.New("unexpected answer of the PDF reader")

// ask sends one request and passes the frames of its answer on. The process is unusable
// unless the answer was complete.
func (r *reading) ask(ctx context.Context, req request, file *File, answer func(process.Kind, []byte) error) error {
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
		r.spent += time.Since(begun) // without the time of the visitor
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
		if err := answer(k, payload); err != nil {
			return r.broken(process.Failed)
		}
	}
}

// died returns the error for a process that ended in the middle of a file. If it was asked
// to end, for example because the service stops, the file is not the cause. If the system
// killed it, for example because memory ran out, or if it crashed after it read other
// files, the file may be the cause.
func (r *reading) died(d process.Death) error {
	switch {
	case d.Cause == process.Stopped:
		return fault.Errorf(fault.Unavailable, "the PDF reader was stopped: %s", d.Detail)
	case d.Cause == process.Killed, r.Uses > 1 && (d.Cause == process.Failed || d.Cause == process.OverMemory):
		return &process.Died{Death: d}
	}
	return r.broken(d.Cause)
}

// broken returns the error for a reading that stopped in the middle of a file.
func (r *reading) broken(cause process.Cause) error {
	r.Unusable = true
	where := "before its first page was read"
	if r.pages > 0 {
		where = fmt.Sprintf("after page %d of %d", r.pages, r.all)
	}
	switch {
	case cause == process.TimedOut && r.spent < r.config.Time:
		return fault.Errorf(fault.Invalid, "a page of the PDF took longer than %v and its reading was stopped %s", min(r.config.PageTime, r.config.Time), where)
	case cause == process.TimedOut, cause == process.OverCPU:
		return fault.Errorf(fault.Invalid, "reading the PDF took longer than %v (--extract-time) and was stopped %s", r.config.Time, where)
	case cause == process.OverMemory:
		return fault.Errorf(fault.Invalid, "the PDF needs more memory than %s, and reading stopped %s. Split it, or ask the operator to raise the limit", r.config.bound(), where)
	}
	return fault.Errorf(fault.Invalid, "the PDF is damaged or needs more memory than %s, and reading stopped %s. Save it again, or split it, and upload that", r.config.bound(), where)
}

// bound describes how much memory PDFium may have.
func (c *Config) bound() string {
	return fmt.Sprintf("the %d MiB that --extract-memory (%d MiB) leaves for it", memoryOfPDFium(c.Memory)>>20, c.Memory>>20)
}
