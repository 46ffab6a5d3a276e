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
	// quiet is for how long nothing is told of the work on a file: of the
	// many that take less, only the end is told, and thousands of small files
	// cost one event each.
	quiet = 250 * time.Millisecond
	// pace is the least time between two steps that are told of a file. Of one
	// that takes long the next is told after a twentieth of that time, so that
	// the steps of any file are some hundred at most.
	pace     = time.Second
	paceLong = 20
)

// progress tells the steps of the work on one file.
type progress struct {
	importer *Importer
	file     commands.ImportFile
	work     Work

	mu            sync.Mutex
	step, message string    // the latest
	told          [2]string // the step and message last told: the same are not told again
	next          time.Time // nothing is told before
	since         time.Time // the first was told
	err           error     // of telling; kept for those who cannot return it

	begun time.Time // of the step, zero before the first
	spent map[string]time.Duration
}

// watch begins to tell the reading of a file: that it was taken up is told
// even while nothing comes from its reader, after the time that is quiet. stop
// ends that.
func (p *progress) watch(ctx context.Context) (stop func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	if p.next.IsZero() {
		p.next = time.Now().Add(quiet)
	}
	if p.tell(ctx); p.err != nil {
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
			p.tell(ctx)
		case <-ctx.Done():
		}
	}()
	return func() {
		cancel()
		<-ended
	}, nil
}

// at notes the step that the work is at, and tells it if it is time to.
func (p *progress) at(ctx context.Context, step, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.step, p.message = step, message
	p.tell(ctx)
	return p.err
}

// account adds the time since the step began to what was spent on it.
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

// pause begins a time that is no part of any step.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.begun = time.Time{}
}

// end tells whoever observes the importer how long the steps took.
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

func (p *progress) tell(ctx context.Context) {
	now := time.Now()
	step := [2]string{p.step, p.message}
	if p.err != nil || now.Before(p.next) || step == p.told {
		return
	}
	if p.since.IsZero() {
		p.since = now
	}
	p.next = now.Add(max(pace, now.Sub(p.since)/paceLong))
	first := p.importer.start(p.work)
	p.err = p.importer.Handler.StepFile(ctx, p.file, first, p.step, p.message)
	failpoint.Here(failpoint.FileStarted)
	p.told = step
	if p.err != nil && first {
		p.importer.forget(p.work)
	}
}

// reading is what a reader of files calls. An error is kept, and met at the
// next section.
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
