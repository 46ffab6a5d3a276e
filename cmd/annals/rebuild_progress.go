package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"annals/events"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// rebuildMeter shows how far a rebuild is: as a bar on a terminal, as a line
// every few seconds elsewhere.
type rebuildMeter struct {
	out   io.Writer
	name  string
	bar   *progressbar.ProgressBar
	begun time.Time
	from  events.Position // where it began, or went on
	shown time.Time
}

func newRebuildMeter(out io.Writer, name string) *rebuildMeter {
	return &rebuildMeter{out: out, name: name}
}

// tell shows that the events up to a position are done, of those up to head.
func (m *rebuildMeter) tell(done, head events.Position) {
	now := time.Now()
	if m.begun.IsZero() {
		m.begun, m.shown, m.from = now, now, done
		m.open(done, head)
		return
	}
	if m.bar != nil {
		_ = m.bar.Set64(int64(done - m.from)) // it fails with its terminal alone
		return
	}
	if now.Sub(m.shown) < meterPause {
		return
	}
	m.shown = now
	rate := float64(done-m.from) / now.Sub(m.begun).Seconds()
	left := time.Duration(float64(head-done) / max(rate, 1) * float64(time.Second))
	fmt.Fprintf(m.out, "%s: %d of %d events, %.0f events/s, %s left\n", m.name, done, head, rate, left.Round(time.Second))
}

func (m *rebuildMeter) open(done, head events.Position) {
	f, ok := m.out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return
	}
	// The bar begins where the rebuild does, or its rate would count what an
	// earlier one did.
	what := m.name
	if done > 0 {
		what = fmt.Sprintf("%s from %d", m.name, done)
	}
	m.bar = progressbar.NewOptions64(int64(head-done),
		progressbar.OptionSetWriter(m.out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("events"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
	)
}

// end takes the bar away.
func (m *rebuildMeter) end() {
	if m.bar != nil {
		_ = m.bar.Clear()
	}
}
