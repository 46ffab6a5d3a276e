package importer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"annals/commands"
)

const (
	// quiet is for how long nothing is told of the work on a file: of the
	// many that take less, only the end is told, and thousands of small files
	// cost one event each.
	quiet = 250 * time.Millisecond
	// pace is the least time between two steps that are told of a file.
	pace = time.Second
)

// progress tells the steps of the work on one file.
type progress struct {
	handler *commands.Handler
	file    commands.ImportFile

	mu            sync.Mutex
	step, message string    // the latest
	next          time.Time // nothing is told before
	told          bool
	err           error // of telling; kept for those who cannot return it
}

// watch begins to tell the work on a file: that it was taken up is told even
// while nothing comes from its reader. stop ends that.
func watch(ctx context.Context, h *commands.Handler, file commands.ImportFile) (p *progress, stop func()) {
	p = &progress{handler: h, file: file, step: "reading", next: time.Now().Add(quiet)}
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
	return p, func() {
		cancel()
		<-ended
	}
}

// at notes the step that the work is at, and tells it if it is time to.
func (p *progress) at(ctx context.Context, step, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.message = step, message
	p.tell(ctx)
	return p.err
}

func (p *progress) tell(ctx context.Context) {
	now := time.Now()
	if p.err != nil || now.Before(p.next) {
		return
	}
	p.next = now.Add(pace)
	p.err = p.handler.StepFile(ctx, p.file, !p.told, p.step, p.message)
	p.told = true
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
