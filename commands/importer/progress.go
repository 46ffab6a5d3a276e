package importer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"annals/commands"
	"annals/events/failpoint"
)

const (
	// quiet is how long no step of the work on a file is reported. Most files take
	// less time, and add only one event when they end.
	quiet = 250 * time.Millisecond
	// pace is the least time between two reported steps of a file. If a file takes
	// long, the pause is a twentieth (1/paceLong) of the time so far, so no file
	// reports more than a few hundred steps.
	pace     = time.Second
	paceLong = 20
)

// progress reports the steps of the work on one file.
type progress struct {
	importer *Importer
	file     commands.ImportFile
	work     Work

	mu            sync.Mutex
	step, message string    // the latest
	reported      [2]string // the last step and message reported; they are not repeated
	next          time.Time // no step is reported before this time
	since         time.Time // of the first report
	err           error     // of reporting; kept for callers that cannot return it

	begun time.Time // of the step, zero before the first
	spent map[string]time.Duration
}

// watch reports the start of the reading of a file after the quiet time, even if its
// reader sends nothing until then. stop ends the watch.
func (p *progress) watch(ctx context.Context) (stop func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	if p.next.IsZero() {
		p.next = time.Now().Add(quiet)
	}
	if p.report(ctx); p.err != nil {
		return nil, p.err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(quiet)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.report(ctx)
		case <-ctx.Done():
		}
	}()
	return func() {
		cancel()
		<-ended
	}, nil
}

// at records the current step, and reports it if it is time to.
func (p *progress) at(ctx context.Context, step, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.step, p.message = step, message
	p.report(ctx)
	return p.err
}

// account adds the time since the last call to the current step.
func (p *progress) account() {
	now := time.Now()
	if !p.begun.IsZero() {
		if p.spent == nil {
			p.spent = make(map[string]time.Duration)
		}
		p.spent[p.step] += now.Sub(p.begun)
	}
	p.begun = now
}

// pause stops counting time until the next call of watch or at.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.begun = time.Time{}
}

// end reports to Observe how long the steps took.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.importer.Observe == nil {
		return
	}
	if !p.begun.IsZero() {
		p.account()
	}
	for step, took := range p.spent {
		p.importer.Observe(step, took)
	}
}

func (p *progress) report(ctx context.Context) {
	now := time.Now()
	step := [2]string{p.step, p.message}
	if p.err != nil || now.Before(p.next) || step == p.reported {
		return
	}
	if p.since.IsZero() {
		p.since = now
	}
	p.next = now.Add(max(pace, now.Sub(p.since)/paceLong))
	first := p.importer.start(p.work)
	p.err = p.importer.Handler.StepFile(ctx, p.file, first, p.step, p.message)
	failpoint.Here(failpoint.FileStarted)
	p.reported = step
	if p.err != nil && first {
		p.importer.forget(p.work)
	}
}

// reading returns the Progress for the reader of the file. An error is kept, and returned
// with the next section.
func (p *progress) reading(ctx context.Context) func(step string, page, pages int) {
	return func(step string, page, pages int) {
		message := ""
		switch {
		case page > 0 && pages > 0:
			message = fmt.Sprintf("page %d of %d", page, pages)
		case page > 0:
			message = fmt.Sprintf("page %d", page)
		}
		_ = p.at(ctx, step, message)
	}
}
