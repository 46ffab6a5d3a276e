package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// Progress shows the progress of an operation: on a terminal as a bar, otherwise as a
// line every few seconds. The number of done units never decreases. Methods may be
// called from several goroutines.
type Progress struct {
	out  io.Writer
	unit string
	bars bool

	mu          sync.Mutex
	operation   string // such as "importing"; "" before Begin
	doing       string // what is being done now, such as "recognising page 3 of 12 of a.pdf"; may be empty
	done, total int64
	pace        pace
	bar         *progressbar.ProgressBar
	drawn       time.Time // when the bar was last drawn
	waited      time.Time // when Waiting last printed a line

	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	// drawInterval is the minimum time between two drawings of a bar. The bar package
	// could limit the rate too, but would then show a new description with an old
	// percentage.
	drawInterval = 100 * time.Millisecond
	// barInterval is the time after which a bar is redrawn without progress.
	barInterval  = time.Second
	lineInterval = 5 * time.Second

	lineWidth = 120 // maximum width of a line with what is being done
	barWidth  = 16  // width of a percentage and a short bar, beside the line
)

// NewProgress returns a Progress that is shown from Begin to End. unit is a noun such
// as "files", or "". If bars is set, out must be a terminal, and the progress is a bar.
// The caller must call End.
func NewProgress(out io.Writer, unit string, bars bool) *Progress {
	p := &Progress{out: out, unit: unit, bars: bars, stop: make(chan struct{})}
	interval := lineInterval
	if bars {
		interval = barInterval
	}
	p.ended.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				p.show(now)
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// Begin starts to show an operation such as "importing". done is the number of units
// that were done before; the rate leaves them out.
func (p *Progress) Begin(operation string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.operation, p.done, p.total, p.pace = operation, min(done, total), total, nil
	p.pace.add(now, p.done)
	if p.bars && total > 0 {
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

// Set sets the number of done units and the total number of units. A smaller done than
// before is ignored, so the progress stands still while an operation repeats units.
func (p *Progress) Set(done, total int64) {
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
	now := time.Now()
	p.done = done
	p.pace.add(now, done)
	p.draw(now)
}

// Doing sets what is shown as being done now, as far as it fits into the line. The text may be untrusted.
func (p *Progress) Doing(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = text
}

func (p *Progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.operation == "":
	case p.bars:
		p.draw(now)
	default:
		fmt.Fprintln(p.out, p.line(now))
	}
}

func (p *Progress) draw(now time.Time) {
	if p.bar == nil || now.Sub(p.drawn) < drawInterval {
		return
	}
	p.drawn = now
	_ = p.bar.Set64(p.done) // fails only if the terminal fails
	p.bar.Describe(p.line(now))
}

// line describes the progress, the rate, the remaining time at that rate, and what is
// being done now. If there is no room for all of it, it leaves out the rate, then the
// time, and then the end of what is being done.
func (p *Progress) line(now time.Time) string {
	counts, rate, left := p.counts(now)
	if p.doing == "" {
		return counts + rate + left
	}
	room := lineWidth
	if p.bars {
		room = Width(p.out) - barWidth
	}
	doing := "; " + Printable(p.doing)
	for _, line := range []string{counts + rate + left, counts + left} {
		if utf8.RuneCountInString(line+doing) <= room {
			return line + doing
		}
	}
	return counts + shortened(doing, room-utf8.RuneCountInString(counts))
}

// shortened returns as much of text as fits into width characters, or nothing if that
// would be too little to be understood.
func shortened(text string, width int) string {
	const minWidth = 16
	chars := []rune(text)
	switch {
	case len(chars) <= width:
		return text
	case width < minWidth:
		return ""
	}
	return string(chars[:width-1]) + "…"
}

// counts returns the progress, the rate and the remaining time, which are empty if they
// are not known.
func (p *Progress) counts(now time.Time) (counts, rate, left string) {
	counts = strings.TrimSpace(fmt.Sprintf("%s: %d of %d %s", p.operation, p.done, p.total, p.unit))
	pace := p.pace.rate(now)
	switch perSecond := pace * float64(time.Second); {
	case perSecond <= 0:
		return counts, "", ""
	case perSecond >= 10:
		rate = fmt.Sprintf(", %.0f/s", perSecond)
	case perSecond >= 1:
		rate = fmt.Sprintf(", %.1f/s", perSecond)
	default:
		rate = fmt.Sprintf(", %.1f/min", 60*perSecond)
	}
	if rest := float64(p.total-p.done) / pace; rest > 0 && rest < float64(100*time.Hour) {
		left = fmt.Sprintf(", %s left", time.Duration(rest).Round(time.Second))
	}
	return counts, rate, left
}

// Print prints a line above the progress. The line may contain untrusted text.
func (p *Progress) Print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(line)
}

func (p *Progress) print(line string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, Printable(line))
}

// Waiting prints, like Print, what the operation is waiting for. It prints at most one
// line every ten seconds, because many goroutines may wait for the same thing.
func (p *Progress) Waiting(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.waited) >= 2*lineInterval {
		p.waited = time.Now()
		p.print(line)
	}
}

// End removes the bar and stops showing progress. Print still works.
func (p *Progress) End() {
	close(p.stop)
	p.ended.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
	p.operation = ""
}

// pace has samples of the number of done units, taken during the last paceWindow.
type pace []sample

type sample struct {
	at   time.Time
	done int64
}

const (
	paceWindow = 15 * time.Second
	paceStep   = time.Second // minimum time over which a rate is computed
)

func (p *pace) add(now time.Time, done int64) {
	samples := *p
	if n := len(samples); n > 1 && now.Sub(samples[n-2].at) < paceStep {
		samples[n-1] = sample{now, done}
	} else {
		samples = append(samples, sample{now, done})
	}
	for len(samples) > 2 && now.Sub(samples[1].at) > paceWindow {
		samples = samples[1:]
	}
	*p = samples
}

// rate returns units per nanosecond, or 0 if the rate is not known yet.
func (p pace) rate(now time.Time) float64 {
	if len(p) == 0 || now.Sub(p[0].at) < paceStep {
		return 0
	}
	return float64(p[len(p)-1].done-p[0].done) / float64(now.Sub(p[0].at))
}
