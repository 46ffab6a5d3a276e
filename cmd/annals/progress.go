package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far something is: as a bar on a terminal, as a line every
// few seconds elsewhere. It never goes back.
type progress struct {
	out      io.Writer
	unit     string // in the plural: files, events
	terminal bool

	mu          sync.Mutex
	what        string // such as "importing"; "" until begin
	done, total int64
	pace        pace
	bar         *progressbar.ProgressBar
	drawn, told time.Time

	stop  chan struct{}
	ended sync.WaitGroup
}

// drawPause is the least time between two pictures of a bar. Its own throttle would
// leave a new line beside an old percentage.
const drawPause = 100 * time.Millisecond

// linePause is the time between two lines, barPause that between two looks of a
// bar with which nothing else happens.
const (
	linePause = 5 * time.Second
	barPause  = time.Second
)

// newProgress returns a progress that is to be ended.
func newProgress(out io.Writer, unit string, terminal bool) *progress {
	p := &progress{out: out, unit: unit, terminal: terminal, stop: make(chan struct{})}
	pause := linePause
	if p.terminal {
		pause = barPause
	}
	p.ended.Go(func() {
		look := time.NewTicker(pause)
		defer look.Stop()
		for {
			select {
			case now := <-look.C:
				p.show(now)
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// begin says what goes on, with what is done of it already.
func (p *progress) begin(now time.Time, what string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.done, p.total, p.pace = what, min(done, total), total, nil
	p.pace.add(now, p.done)
	if p.terminal && total > 0 {
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(p.line(now)),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
		p.draw(now)
	}
}

// at says how much is done. Less than before is nothing to show: what is done a
// second time shows again when it is beyond that.
func (p *progress) at(now time.Time, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if total > p.total {
		p.total = total
		if p.bar != nil {
			p.bar.ChangeMax64(total)
		}
	}
	if done = min(done, p.total); done <= p.done {
		return
	}
	p.done = done
	p.pace.add(now, done)
	p.draw(now)
}

// show shows how far it is at a moment when nothing else may happen.
func (p *progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.what == "":
	case p.terminal:
		p.draw(now)
	default:
		fmt.Fprintln(p.out, p.line(now))
	}
}

func (p *progress) draw(now time.Time) {
	if p.bar == nil || now.Sub(p.drawn) < drawPause {
		return
	}
	p.drawn = now
	_ = p.bar.Set64(p.done) // which fails with its terminal alone
	p.bar.Describe(p.line(now))
}

// line says how far it is, how fast that goes, and when it ends if it goes on so.
func (p *progress) line(now time.Time) string {
	text := fmt.Sprintf("%s: %d of %d %s", p.what, p.done, p.total, p.unit)
	rate := p.pace.rate(now)
	switch perSecond := rate * float64(time.Second); {
	case perSecond <= 0:
		return text
	case perSecond >= 10:
		text += fmt.Sprintf(", %.0f/s", perSecond)
	case perSecond >= 1:
		text += fmt.Sprintf(", %.1f/s", perSecond)
	default:
		text += fmt.Sprintf(", %.1f/min", 60*perSecond)
	}
	if left := float64(p.total-p.done) / rate; left > 0 && left < float64(100*time.Hour) {
		text += fmt.Sprintf(", %s left", time.Duration(left).Round(time.Second))
	}
	return text
}

// say prints a line beside the progress.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
}

// waiting says what is waited for; now and then, as many may wait for the same.
func (p *progress) waiting(text string) {
	p.mu.Lock()
	often := time.Since(p.told) < 2*linePause
	if !often {
		p.told = time.Now()
	}
	p.mu.Unlock()
	if !often {
		p.say(text)
	}
}

// end removes the bar. Nothing is shown by itself any more.
func (p *progress) end() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
	p.what = ""
}

// pace is what was done by when, of the last while: how fast something goes now.
type pace []paceMark

type paceMark struct {
	at   time.Time
	done int64
}

// paceOver is the time over which a rate is taken, and paceStep the least.
const (
	paceOver = 15 * time.Second
	paceStep = time.Second
)

func (p *pace) add(now time.Time, done int64) {
	marks := *p
	if n := len(marks); n > 1 && now.Sub(marks[n-2].at) < paceStep {
		marks[n-1] = paceMark{now, done}
	} else {
		marks = append(marks, paceMark{now, done})
	}
	for len(marks) > 2 && now.Sub(marks[1].at) > paceOver {
		marks = marks[1:]
	}
	*p = marks
}

// rate is how much is done in a nanosecond, 0 while that is not known.
func (p pace) rate(now time.Time) float64 {
	if len(p) == 0 || now.Sub(p[0].at) < paceStep {
		return 0
	}
	return float64(p[len(p)-1].done-p[0].done) / float64(now.Sub(p[0].at))
}

// meter counts the files of an import that have ended.
type meter struct {
	progress *progress
	total    int
	quiet    bool

	mu   sync.Mutex
	done int
}

func newMeter(out io.Writer, total int, quiet bool) *meter {
	m := &meter{progress: newProgress(out, "files", isTerminal(out)), total: total, quiet: quiet}
	if !quiet {
		m.progress.begin(time.Now(), "importing", 0, int64(total))
	}
	return m
}

// begin shows the progress of a meter that was quiet so far.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quiet = false
	m.progress.begin(time.Now(), "importing", int64(m.done), int64(m.total))
}

// add counts files that ended; fewer than none if they have to be sent again.
func (m *meter) add(files int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += files
	if !m.quiet {
		m.progress.at(time.Now(), int64(m.done), int64(m.total))
	}
}

func (m *meter) say(text string)     { m.progress.say(text) }
func (m *meter) waiting(text string) { m.progress.waiting(text) }
func (m *meter) end()                { m.progress.end() }
