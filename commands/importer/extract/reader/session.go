package reader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// session reads one file.
type session struct {
	*pooled
	p        *process.Process
	file     *os.File
	emit     func(extract.Section) error
	progress extract.Progress
	check    checker
	spent    time.Duration   // time spent waiting for the process
	source   *pdfium.Readers // reads the pages of a PDF or image; nil for other files
	feeder   *feeder         // sends these pages
	scans    *scanner
}

func (s *session) run(ctx context.Context, name string, pdf bool) (info extract.Info, err error) {
	s.p.Unusable = true
	_ = s.p.Begin(s.limits.Time) // fails on systems without CPU limits; the sandbox report says so
	req := request{path: s.file.Name(), name: name, limits: s.limits}
	if err := s.p.Send(requestFrame, req.encode(), s.file); err != nil && !process.IsEnd(err) {
		return extract.Info{}, fault.Errorf(fault.Unavailable, "send a file to the reader process: %w", err)
	}
	defer func() {
		if s.feeder == nil {
			return
		}
		if s.p.Unusable { // the process may not read pages any more, and sending one would block
			s.p.Kill()
		}
		fed := s.feeder.end()
		s.p.Unusable = s.p.Unusable || fed != nil
		if fed != nil && (err == nil || !fault.Is(err, fault.Invalid)) {
			err = fed // the feeder killed the process because of the error fed
		}
	}()
	timeout := s.limits.Time
	if pdf { // the process also waits for pages from PDFium, which has its own time limit
		timeout = 2*timeout + time.Minute
	}
	for {
		silent := s.silence()
		left := max(timeout-s.spent, time.Millisecond)
		k, payload, err := s.p.ReceiveWhile(ctx, func() time.Duration { return left - silent() })
		s.spent += silent() // excludes the time that emit takes
		if ctx.Err() != nil {
			return extract.Info{}, ctx.Err()
		}
		if process.IsEnd(err) {
			return extract.Info{}, s.died(s.p.Died())
		}
		if err == nil {
			switch k {
			case doneFrame:
				return s.done(payload)
			case failedFrame:
				return extract.Info{}, s.failed(payload)
			case sectionFrame:
				err = s.section(payload)
			case stepFrame:
				err = s.step(payload)
				if err == nil && pdf && s.feeder == nil {
					s.feeder = s.feed(ctx)
				}
			default:
				err = errInvalidResponse
			}
		} else {
			err = errInvalidResponse
		}
		if errors.Is(err, errInvalidResponse) {
			return extract.Info{}, fault.Errorf(fault.Invalid, "the file could not be read: %w", errInvalidResponse)
		}
		if err != nil {
			return extract.Info{}, err
		}
	}
}

// silence returns a function that returns for how long the process has been silent since the
// call of silence, without the time in which it waited for pages to be recognised: that has limits
// of its own.
func (s *session) silence() func() time.Duration {
	begun, waited := time.Now(), s.scans.waited()
	return func() time.Duration { return max(0, time.Since(begun)-(s.scans.waited()-waited)) }
}

func (s *session) section(payload []byte) error {
	if len(payload) > maxSectionFrame {
		return errInvalidResponse
	}
	section, err := decodeSection(payload)
	if err != nil {
		return errInvalidResponse
	}
	if err := s.check.section(section); err != nil {
		return err
	}
	return s.emit(section)
}

func (s *session) step(payload []byte) error {
	d := process.Decoder{B: payload}
	step, page, pages := d.Text(), d.Int(), d.Int()
	if d.End() != nil || step != "reading" {
		return errInvalidResponse
	}
	if s.scans.passed(page) { // otherwise the step is still to recognise pages
		s.progress(step, page, pages)
	}
	return nil
}

func (s *session) done(payload []byte) (extract.Info, error) {
	info, last, err := decodeInfo(payload)
	if err == nil {
		err = s.check.info(&info)
	}
	if err != nil {
		return extract.Info{}, fault.Errorf(fault.Invalid, "the file could not be read: %w", errInvalidResponse)
	}
	s.p.Unusable = last
	return info, nil
}

func (s *session) failed(payload []byte) error {
	f, err := decodeFailure(payload)
	if err != nil || len(f.text) > maxWarning || !utf8.ValidString(f.text) {
		return fault.Errorf(fault.Invalid, "the file could not be read: %w", errInvalidResponse)
	}
	s.p.Unusable = f.last
	if !f.file {
		return fmt.Errorf("read the file: %s", f.text)
	}
	return fault.Errorf(fault.Invalid, "%s", f.text)
}

// died returns the error for a process that died while it read the file.
func (s *session) died(d process.Death) error {
	switch d.Cause {
	case process.Stopped:
		return fault.Errorf(fault.Unavailable, "the reader process was stopped: %s", d.Detail)
	case process.TimedOut, process.OverCPU:
		return tooSlow(s.limits)
	case process.Killed:
		return &process.Died{Death: d}
	}
	switch {
	case s.p.Uses > 1: // earlier files may be the cause
		return &process.Died{Death: d}
	case d.Cause == process.OverMemory:
		return fault.Errorf(fault.Invalid, "reading the file takes more than %d MiB of memory (--extract-memory): split it, save it again as PDF or plain text, "+
			"or ask the operator for more", s.limits.Memory>>20)
	}
	return fault.Errorf(fault.Invalid, "the file is damaged: it crashed the process that read it: save it again, and upload the new file")
}
