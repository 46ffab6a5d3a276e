package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// checkBar shows on a terminal how far a check is, and nothing elsewhere.
type checkBar struct {
	out   io.Writer // nil where there is no terminal
	check string
	bar   *progressbar.ProgressBar
}

func newCheckBar(out io.Writer) *checkBar {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &checkBar{out: out}
	}
	return new(checkBar)
}

func (b *checkBar) at(check string, done, total int64) {
	if b.out == nil {
		return
	}
	if b.bar == nil || b.check != check {
		b.end()
		b.check = check
		b.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(b.out),
			progressbar.OptionSetDescription(check),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
	}
	b.bar.ChangeMax64(total)
	_ = b.bar.Set64(done) // it fails with its terminal alone
}

// end takes the bar away.
func (b *checkBar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}
