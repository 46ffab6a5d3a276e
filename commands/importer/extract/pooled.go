package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unicode/utf8"

	"annals/commands/importer/extract/pdfium"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/sandbox"
	"annals/events/fault"
)

// Died is the error of a Reader one of whose processes ended in the middle of
// a file, in a way that may be the file's fault or not.
type Died = process.Died

// swollen is how many bytes a process may hold after a file and be used again.
const swollen = 64 << 20

// pooled is a Reader whose files are read in processes: what is in them is
// looked at nowhere else.
type pooled struct {
	limits Limits
	slots  chan struct{}
	text   *process.Pool
	pdf    *pdfium.Readers
	alone  bool
}

func newPooled(o Options) *pooled {
	workers := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	command := func(kind string) []string { return append(o.Command[:len(o.Command):len(o.Command)], kind) }
	return &pooled{
		limits: o.Limits,
		slots:  make(chan struct{}, workers),
		text:   process.NewPool(process.Config{Command: command(kindText), Memory: o.Limits.Memory, Swollen: swollen, Uses: 1000}),
		pdf: pdfium.New(pdfium.Config{
			Command: command(kindPDF), CacheDir: o.CacheDir, Processes: workers, Spare: o.Spare, Memory: o.Limits.Memory, Time: o.Limits.Time,
		}),
	}
}

func (r *pooled) Close() error { return errors.Join(r.text.Close(), r.pdf.Close()) }

// Isolated returns a Reader that reads each file in processes of its own, which
// read nothing before and nothing after it. It shares all else with r, which is
// the one to be closed. A Reader without processes is returned as it is.
func Isolated(r Reader) Reader {
	p, ok := r.(*pooled)
	if !ok {
		return r
	}
	alone := *p
	alone.alone = true
	return &alone
}

// Inspect starts a process of r and returns what it reports of its sandbox.
func Inspect(ctx context.Context, r Reader) (sandbox.Report, error) {
	pooled, ok := r.(*pooled)
	if !ok {
		return sandbox.Report{Lacks: []string{"processes of their own"}}, nil
	}
	p, err := pooled.text.Take(ctx, false)
	if err != nil {
		return sandbox.Report{}, err
	}
	defer pooled.text.Release(p)
	return p.Report, nil
}

func (r *pooled) Read(ctx context.Context, path, name string, emit func(Section) error, progress Progress) (Info, error) {
	mediaType, err := mediaTypeOf(name)
	if err != nil {
		return Info{}, err
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Info{}, ctx.Err()
	}
	file, err := os.Open(path)
	if err != nil {
		return Info{}, fmt.Errorf("open %s to read it: %w", name, err)
	}
	defer file.Close()
	p, err := r.text.Take(ctx, r.alone)
	if err != nil {
		return Info{}, err
	}
	defer r.text.Release(p)
	if progress == nil {
		progress = func(string, int, int) {}
	}
	s := session{pooled: r, p: p, file: file, emit: emit, progress: progress, check: checker{limits: r.limits}}
	info, err := s.run(ctx, name, mediaType == mediaTypes[".pdf"])
	p.Spoilt = p.Spoilt || r.alone
	if err != nil {
		return Info{}, err
	}
	info.MediaType = mediaType
	return info, nil
}

// session is the reading of one file.
type session struct {
	*pooled
	p        *process.Process
	file     *os.File
	emit     func(Section) error
	progress Progress
	check    checker
	spent    time.Duration // waiting for the process
	feeder   *feeder       // of the pages of a PDF
}

func (s *session) run(ctx context.Context, name string, pdf bool) (info Info, err error) {
	s.p.Spoilt = true
	_ = s.p.Begin(s.limits.Time) // where the system has no such limit, the report says so
	req := request{path: s.file.Name(), name: name, pages: s.limits.Pages, textBytes: s.limits.TextBytes}
	if err := s.p.Send(requestFrame, req.encode(), s.file); err != nil && !process.IsEnd(err) {
		return Info{}, fault.Errorf(fault.Unavailable, "ask the reader of files: %w", err)
	}
	defer func() {
		if s.feeder == nil {
			return
		}
		if s.p.Spoilt { // it may not read its pages any more, and whoever sends one would wait for ever
			s.p.Kill()
		}
		fed := s.feeder.end()
		s.p.Spoilt = s.p.Spoilt || fed != nil
		if fed != nil && (err == nil || !fault.Is(err, fault.Invalid)) {
			err = fed // ours ended because of it
		}
	}()
	patience := s.limits.Time
	if pdf { // waits for pages, whose reading is bounded by itself
		patience = 2*patience + time.Minute
	}
	for {
		begun := time.Now()
		k, payload, err := s.p.Receive(ctx, max(patience-s.spent, time.Millisecond))
		s.spent += time.Since(begun) // what emit takes is not the file's fault
		if ctx.Err() != nil {
			return Info{}, ctx.Err()
		}
		if process.IsEnd(err) {
			return Info{}, s.died(s.p.Died())
		}
		if err == nil {
			switch k {
			case doneFrame:
				return s.done(payload)
			case failedFrame:
				return Info{}, s.failed(payload)
			case sectionFrame:
				err = s.section(payload)
			case stepFrame:
				err = s.step(payload)
				if err == nil && pdf && s.feeder == nil {
					s.feeder = s.feed(ctx)
				}
			default:
				err = errUnfit
			}
		} else {
			err = errUnfit // it sent no frame
		}
		if errors.Is(err, errUnfit) {
			return Info{}, fault.Errorf(fault.Invalid, "the file could not be read: %w", errUnfit)
		}
		if err != nil {
			return Info{}, err
		}
	}
}

func (s *session) section(payload []byte) error {
	if len(payload) > maxSectionFrame {
		return errUnfit
	}
	section, err := decodeSection(payload)
	if err != nil {
		return errUnfit
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
		return errUnfit
	}
	s.progress(step, page, pages)
	return nil
}

func (s *session) done(payload []byte) (Info, error) {
	info, last, err := decodeInfo(payload)
	if err == nil {
		err = s.check.info(&info)
	}
	if err != nil {
		return Info{}, fault.Errorf(fault.Invalid, "the file could not be read: %w", errUnfit)
	}
	s.p.Spoilt = last
	return info, nil
}

func (s *session) failed(payload []byte) error {
	f, err := decodeFailure(payload)
	if err != nil || len(f.text) > maxWarning || !utf8.ValidString(f.text) {
		return fault.Errorf(fault.Invalid, "the file could not be read: %w", errUnfit)
	}
	s.p.Spoilt = f.last
	if !f.file {
		return fmt.Errorf("read the file: %s", f.text)
	}
	return fault.Errorf(fault.Invalid, "%s", f.text)
}

// died says why the process ended in the middle of the file.
func (s *session) died(d process.Death) error {
	switch d.Cause {
	case process.Stopped:
		return fault.Errorf(fault.Unavailable, "the reader of files was ended: %s", d.Detail)
	case process.TimedOut, process.OverCPU:
		return s.limits.tooSlow()
	case process.Killed:
		return &Died{Death: d}
	}
	switch {
	case s.p.Uses > 1: // it may be due to the files before
		return &Died{Death: d}
	case d.Cause == process.OverMemory:
		return fault.Errorf(fault.Invalid, "reading the file takes more than %d MiB of memory (--extract-memory): split it, save it anew as PDF or plain text, "+
			"or ask whoever operates the service for more", s.limits.Memory>>20)
	}
	return fault.Errorf(fault.Invalid, "the file is damaged in a way that ends its reader")
}

// feeder sends the pages of a PDF, as they are read, to the process that makes
// sections of them.
type feeder struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func (s *session) feed(ctx context.Context) *feeder {
	ctx, cancel := context.WithCancel(ctx)
	f := &feeder{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.err = s.sendPages(ctx)
		if f.err != nil {
			s.p.Kill()
		}
	}()
	return f
}

func (s *session) sendPages(ctx context.Context) error {
	err := s.pdf.Read(ctx, pdfium.File{File: s.file, MaxPages: s.limits.Pages, Alone: s.alone}, pdfium.Visitor{
		Document: func(_ int, document []byte) error { return s.p.Send(documentFrame, document, nil) },
		Page:     func(_ int, page []byte) error { return s.p.Send(pageFrame, page, nil) },
	})
	end := failure{}
	if fault.Is(err, fault.Invalid) {
		end, err = failure{text: err.Error(), file: true}, nil
	}
	if err == nil {
		err = s.p.Send(endFrame, end.encode(), nil)
	}
	if process.IsEnd(err) {
		return nil // the other process has ended, which its reader reports
	}
	return err
}

// end has the feeder stop, if it has not, and waits for it. The error is nil if
// it stopped for that.
func (f *feeder) end() error {
	f.cancel()
	<-f.done
	if errors.Is(f.err, context.Canceled) {
		return nil
	}
	return f.err
}
