package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Files that are sent again, and jobs whose end is noted after it was shown, are
// counted a second time.
func TestProgressNeverGoesBack(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "files", true)
	now := time.Now()
	p.begin(now, "importing", 0, 100)
	for _, done := range []int64{33, 66, 99, 0, 33, 66, 98, 66, 99, 20} {
		now = now.Add(2 * time.Second)
		p.at(now, done, 100)
		p.show(now)
	}
	p.end()
	if strings.Contains(out.String(), "-") {
		t.Errorf("something negative is shown: %q", out.String())
	}
	for _, form := range []string{`: (\d+) of 100 files`, ` (\d+)%`} {
		before, shown := 0, 0
		for _, found := range regexp.MustCompile(form).FindAllStringSubmatch(out.String(), -1) {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			if n < before {
				t.Errorf("%q goes back from %d to %d", form, before, n)
			}
			before, shown = n, shown+1
		}
		if before != 99 || shown < 4 {
			t.Errorf("%q ends at %d after %d times, want 99: %q", form, before, shown, out.String())
		}
	}
}

func TestProgressShowsTheRateOfTheLastWhile(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "events", false)
	defer p.end()
	now := time.Now()
	shows := func(want string) {
		t.Helper()
		out.Reset()
		if p.show(now); out.String() != want+"\n" {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
	}
	p.begin(now, "rebuilding vault", 5000, 20_000) // an earlier call did 5000
	now = now.Add(100 * time.Millisecond)
	p.at(now, 6000, 20_000)
	shows("rebuilding vault: 6000 of 20000 events") // it is too early for a rate
	for range 10 {
		now = now.Add(time.Second)
		p.at(now, p.done+100, 20_000)
	}
	now = now.Add(time.Minute)
	p.at(now, 13_000, 20_000)
	now = now.Add(20 * time.Second)
	p.at(now, 15_000, 20_000) // 100/s for a while
	shows("rebuilding vault: 15000 of 20000 events, 100/s, 50s left")
	now = now.Add(20 * time.Second) // nothing happens: a line all the same, and a rate that falls
	shows("rebuilding vault: 15000 of 20000 events, 50/s, 1m40s left")
	p.at(now, 20_000, 20_000)
	shows("rebuilding vault: 20000 of 20000 events, 250/s")
}
