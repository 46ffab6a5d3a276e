package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// meter shows how far an import is: as a bar on a terminal, as a line every
// few seconds elsewhere, or not at all.
type meter struct {
	out   io.Writer
	total int
	quiet bool

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	done  int
	shown time.Time
	told  time.Time
}

// meterPause is the time between two lines.
const meterPause = 5 * time.Second

func newMeter(out io.Writer, total int, quiet bool) *meter {
	m := &meter{out: out, total: total, quiet: quiet, shown: time.Now()}
	if f, ok := out.(*os.File); ok && !quiet && term.IsTerminal(int(f.Fd())) {
		m.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("files"),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
	}
	return m
}

// add counts files that ended; fewer than none if they have to be sent again.
func (m *meter) add(files int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += files
	switch {
	case m.quiet:
	case m.bar != nil:
		_ = m.bar.Set(m.done) // it fails with its terminal alone
	case time.Since(m.shown) >= meterPause:
		m.shown = time.Now()
		fmt.Fprintf(m.out, "%d of %d files\n", m.done, m.total)
	}
}

// say prints a line beside the progress.
func (m *meter) say(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
	}
	fmt.Fprintln(m.out, text)
}

// waiting tells what is waited for; now and then, as many requests may wait
// for the same.
func (m *meter) waiting(text string) {
	m.mu.Lock()
	often := time.Since(m.told) < 2*meterPause
	if !often {
		m.told = time.Now()
	}
	m.mu.Unlock()
	if !often {
		m.say(text)
	}
}

// end takes the bar away.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
		m.bar = nil
	}
}
