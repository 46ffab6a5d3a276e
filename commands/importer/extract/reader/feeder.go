package reader

import (
	"context"
	"errors"

	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// feeder sends the pages of a PDF to the process that turns them into sections. The pages
// come from PDFium processes.
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
	err := s.source.Read(ctx, pdfium.File{File: s.file, MaxPages: s.limits.Pages, Alone: s.alone, Scan: s.scans.scan}, pdfium.Visitor{
		Document: func(pages int, document []byte) error {
			s.scans.pages = pages
			return s.p.Send(documentFrame, document, nil)
		},
		Page: func(_ int, page []byte) error { return s.p.Send(pageFrame, page, nil) },
	})
	end := failure{}
	if fault.Is(err, fault.Invalid) {
		end, err = failure{text: err.Error(), file: true}, nil
	}
	if err == nil {
		err = s.p.Send(endFrame, end.encode(), nil)
	}
	if process.IsEnd(err) {
		return nil // the process has ended, and the session reports why
	}
	return err
}

// end stops the feeder and waits for it. It returns the feeder's error if it had failed
// before.
func (f *feeder) end() error {
	f.cancel()
	<-f.done
	if errors.Is(f.err, context.Canceled) {
		return nil
	}
	return f.err
}
