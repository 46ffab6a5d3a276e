package importer

import (
	"context"
	"fmt"
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
	next    time.Time // no step is told before
	told    bool
	err     error // of telling; kept for those who cannot return it
}

func newProgress(h *commands.Handler, file commands.ImportFile) *progress {
	return &progress{handler: h, file: file, next: time.Now().Add(quiet)}
}

func (p *progress) step(ctx context.Context, step, message string) error {
	now := time.Now()
	if p.err != nil || now.Before(p.next) {
		return p.err
	}
	p.next = now.Add(pace)
	p.err = p.handler.StepFile(ctx, p.file, !p.told, step, message)
	p.told = true
	return p.err
}

// reading is what a reader of files calls.
func (p *progress) reading(ctx context.Context) func(step string, page, pages int) {
	return func(step string, page, pages int) {
		message := ""
		switch {
		case page > 0 && pages > 0:
			message = fmt.Sprintf("page %d of %d", page, pages)
		case page > 0:
			message = fmt.Sprintf("page %d", page)
		}
		p.step(ctx, step, message) // its error is kept, and met at the next section
	}
}
