package importer

import (
	"context"
	"sync"
	"time"

	"annals/commands"
	"annals/events/failpoint"
)

const (
	// firstReport is the delay before the first step of a file is reported. Most files are
	// finished before, so they take only one event.
	firstReport = 250 * time.Millisecond
	// waitReport is how long a scan waits for a slot before that is reported.
	waitReport = time.Second
	// minInterval is the minimum time between two reports of a file. For long files the
	// interval is the elapsed time divided by slowdown, up to maxInterval: a client that follows
	// the import takes a minute without a report for a stall. So a file has up to a few hundred
	// reports an hour.
	minInterval = time.Second
	maxInterval = 30 * time.Second
	slowdown    = 20
)

// progress reports the steps of importing a file.
type progress struct {
	importer *Importer
	file     commands.ImportFile
	ref      fileRef

	mu            sync.Mutex
	step, message string    // current step, and its message
	reported      [2]string // the last reported step and message, which are not reported twice
	next          time.Time // earliest time of the next report
	since         time.Time // time of the first report
	err           error     // of a report that failed in reading, which cannot return it

	begun time.Time                // when the current step began; zero if no step is running
	spent map[string]time.Duration // time spent, by step
}

// watch reports the start of reading a file after the time firstReport, even if the reader
// has sent nothing by then. stop cancels the report.
func (p *progress) watch(ctx context.Context) (stop func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	if p.next.IsZero() {
		p.next = time.Now().Add(firstReport)
	}
	if p.report(ctx); p.err != nil {
		return nil, p.err
	}
	return p.after(firstReport, func() { p.report(ctx) }), nil
}

// waiting reports after the time waitReport that the file waits for others before its pages can
// be recognised: as the step ocr without a page. It records no start of the file, because a file
// that waits cannot be why the service was interrupted. stop cancels the report.
func (p *progress) waiting(ctx context.Context) (stop func()) {
	return p.after(waitReport, func() {
		if p.err == nil {
			p.reported = [2]string{"ocr", ""}
			p.err = p.importer.Handler.StepFile(ctx, p.file, false, "ocr", "")
		}
	})
}

// after calls report, with p locked, after a time. stop cancels that, or waits until it is done.
func (p *progress) after(d time.Duration, report func()) (stop func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(done)
		p.mu.Lock()
		defer p.mu.Unlock()
		report()
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// at sets the current step, and reports it if the next report is due.
func (p *progress) at(ctx context.Context, step, message string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.step, p.message = step, message
	p.report(ctx)
	return p.err
}

// account adds the time since its last call to the time spent in the current step.
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

// pause stops the clock until the next call of watch or at.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account()
	p.begun = time.Time{}
}

// end calls Observe with the time of each step.
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
	p.next = now.Add(min(max(minInterval, now.Sub(p.since)/slowdown), maxInterval))
	first := p.importer.start(p.ref)
	p.err = p.importer.Handler.StepFile(ctx, p.file, first, p.step, p.message)
	failpoint.Here(failpoint.FileStarted)
	p.reported = step
	if p.err != nil && first {
		p.importer.forget(p.ref)
	}
}

// reading returns the extract.Progress for the reader of the file. If a report fails, the
// next call of at returns the error.
func (p *progress) reading(ctx context.Context) func(step string, page, pages int) {
	return func(step string, page, pages int) {
		message := ""
		if page > 0 {
			message = commands.PageMessage(page, pages)
		}
		_ = p.at(ctx, step, message)
	}
}
