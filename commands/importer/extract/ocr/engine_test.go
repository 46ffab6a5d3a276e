//go:build !race

// Not with the race detector, which needs more memory than a confined process has.

package ocr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract/sandbox"
	"annals/events/fault"
)

// engineOf returns an Engine of the installed Tesseract.
func engineOf(t testing.TB, config Config) *Engine {
	t.Helper()
	p, err := Find(t.Context(), "", nil)
	var missing Missing
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return engineWith(t, p, config)
}

func engineWith(t testing.TB, p *Program, config Config) *Engine {
	config.Command, config.Program = []string{os.Args[0], "ocr"}, p
	e := New(config)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *Engine) recognise(ctx context.Context, p Picture) (Result, error) {
	slot, err := e.Acquire(ctx)
	if err != nil {
		return Result{}, err
	}
	defer slot.Release()
	r, used, err := slot.Recognise(ctx, p)
	if err == nil && (used < 0 || used > e.config.PageTime) {
		return r, fmt.Errorf("recognising took %v of CPU time, want up to %v", used, e.config.PageTime)
	}
	return r, err
}

func TestPagesInAnyPosition(t *testing.T) {
	e := engineOf(t, Config{})
	page := printed(t, story...)
	for name, c := range map[string]struct {
		picture Picture
		turn    int
		skew    float32
	}{
		"straight":               {page, 0, 0},
		"turned to the right":    {page.turned(1), 3, 0},
		"upside down":            {page.turned(2), 2, 0},
		"turned to the left":     {page.turned(3), 1, 0},
		"white on black":         {page.inverted(), 0, 0},
		"skewed":                 {page.rotated(5), 0, -5},
		"very skewed":            {page.rotated(-12), 0, 12},
		"upside down and skewed": {page.turned(2).rotated(4), 2, -4},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := e.recognise(t.Context(), c.picture)
			if err != nil {
				t.Fatal(err)
			}
			mean, letters := r.Confidence()
			if share := recall(text(r), story...); share < .95 || mean < .8 || letters < 200 {
				t.Errorf("recall %v, confidence %v of %d letters: %q", share, mean, letters, text(r))
			}
			if r.Turn != c.turn || abs(r.Skew-c.skew) > 0.4 {
				t.Errorf("turned by %d and %v, want %d and %v", r.Turn, r.Skew, c.turn, c.skew)
			}
			// The boxes of the words, in the picture as it was given, cover their ink.
			dark := c.picture.inverted().Pixels
			if name == "white on black" {
				dark = c.picture.Pixels
			}
			sum, inside := 0, 0
			for _, v := range dark {
				sum += int(v) / 128
			}
			seen := make([]bool, len(dark))
			for _, l := range r.Lines {
				for _, w := range l.Words {
					left, top, right, bottom := r.Original(w)
					for y := int(top); y < int(bottom); y++ {
						for x := int(left); x < int(right); x++ {
							if at := y*c.picture.Width + x; !seen[at] {
								seen[at] = true
								inside += int(dark[at]) / 128
							}
						}
					}
				}
			}
			if c.skew == 0 && float64(inside) < .85*float64(sum) {
				t.Errorf("the boxes cover %d of %d dark pixels", inside, sum)
			}
		})
	}
}

func TestEmptyPage(t *testing.T) {
	e := engineOf(t, Config{})
	white := Picture{Width: 400, Height: 400, Pixels: []byte(strings.Repeat("\xff", 400*400))}
	if r, err := e.recognise(t.Context(), white); err != nil || len(r.Lines) > 0 {
		t.Errorf("Recognise = %+v, %v, want no lines", r, err)
	}
	for _, bad := range []Picture{{}, {Width: 3, Height: 3, Pixels: make([]byte, 8)}, {Width: 1 << 30, Height: 1 << 30}} {
		if _, err := e.recognise(t.Context(), bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("Recognise of an invalid picture: %v", err)
		}
	}
}

func TestPageTimeAndContextEndRecognition(t *testing.T) {
	page := printed(t, story...)
	e := engineOf(t, Config{PageTime: time.Millisecond})
	if _, err := e.recognise(t.Context(), page); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "took") {
		t.Errorf("Recognise within a millisecond: %v", err)
	}
	e = engineOf(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := e.recognise(ctx, page); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Recognise: %v, want %v", err, context.DeadlineExceeded)
	}
	if r, err := e.recognise(t.Context(), page); err != nil || recall(text(r), story...) < .9 {
		t.Errorf("the next Recognise = %q, %v", text(r), err)
	}
}

// The limit of a page is CPU time, because the lowest priority may mean to wait for a processor.
func TestPageTimeIsCPUTime(t *testing.T) {
	for _, language := range []string{"wait", "spin"} {
		p := &Program{Version: "5.0.0", Languages: []string{language}, data: t.TempDir(), files: sandbox.Program{Path: testBinary(t)}}
		if err := p.findFiles(t.Context()); err != nil {
			t.Fatal(err)
		}
		e := engineWith(t, p, Config{Processes: 1, PageTime: waiting / 3})
		if report, err := e.Inspect(t.Context()); err != nil || len(report.Lacks) > 0 {
			t.Skip(report, err)
		}
		begun := time.Now()
		r, err := e.recognise(t.Context(), printed(t, "x"))
		t.Logf("%s: %d lines, %v, after %v", language, len(r.Lines), err, time.Since(begun))
		if language == "wait" && (err != nil || len(r.Lines) == 0) {
			t.Errorf("a page that waited longer than its time: %v", err)
		}
		if language == "spin" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "--ocr-page-time")) {
			t.Errorf("a page that took more CPU time than its limit: %v", err)
		}
	}
}

func TestReport(t *testing.T) {
	report, err := engineOf(t, Config{}).Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if len(report.Lacks) > 0 {
		t.Skip("this system does not support all measures")
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	var missing Missing
	if _, err := Find(t.Context(), "/nowhere/tesseract", nil); !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install tesseract-ocr") {
		t.Errorf("Find of a program that does not exist: %v", err)
	}
	p, err := Find(t.Context(), "", nil)
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil || p.Version == "" || len(p.Languages) == 0 {
		t.Fatalf("Find = %+v, %v", p, err)
	}
	if _, err := Find(t.Context(), "", []string{"xyz"}); !errors.As(err, &missing) || !strings.Contains(err.Error(), "tesseract-ocr-xyz") {
		t.Errorf("Find of a language that is not installed: %v", err)
	}
}

// Of a program that cannot be used, Find says what to install.
func TestFindRefusesPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts")
	}
	for script, c := range map[string]struct {
		languages []string
		want      string
	}{
		"echo tesseract 4.1.1": {nil, "Tesseract 4.1.1 is too old: install version 5 or later"},
		"echo gcc 12":          {nil, " is not Tesseract: install Tesseract (apt-get install tesseract-ocr)"},
		`if [ "$1" = --version ]; then echo tesseract 5.3.0; else echo 'in "/data" (1):'; echo eng; fi`: {[]string{"chi_sim_vert"}, "(apt-get install tesseract-ocr-chi-sim-vert)"},
		`if [ "$1" = --version ]; then echo tesseract v5.4; else echo 'in "/data" (0):'; fi`:            {nil, "(apt-get install tesseract-ocr-eng)"},
	} {
		path := filepath.Join(t.TempDir(), "tesseract")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		var missing Missing
		if _, err := Find(t.Context(), path, c.languages); !errors.As(err, &missing) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("Find of %q: %v, want %q", script, err, c.want)
		}
	}
}

// A program that was taken over can do nothing but read its data and print.
func TestSandboxOfProgram(t *testing.T) {
	p := &Program{Version: "5.0.0", Languages: []string{"eng"}, data: t.TempDir(), files: sandbox.Program{Path: testBinary(t)}}
	if err := p.findFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := engineWith(t, p, Config{Processes: 1})
	report, err := e.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Lacks) > 0 {
		t.Skip(report)
	}
	r, err := e.recognise(t.Context(), printed(t, "x"))
	if err != nil {
		t.Fatal(err)
	}
	got := text(r)
	t.Log(got)
	if n := strings.Count(got, "=denied"); n < 12 || strings.Contains(got, "=done") {
		t.Errorf("a program that poses as Tesseract: %q, want all denied", got)
	}
	if _, err := os.Stat(probeFile); err == nil {
		os.Remove(probeFile)
		t.Error("the program has written a file")
	}
}

// A caller who waits for a limited time must not get a slot and then wait for its turn longer.
func TestWaitForTurnIsLimited(t *testing.T) {
	e := New(Config{Program: &Program{}, Processes: 1})
	defer e.Close()
	busy, err := e.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	next, err := e.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Wait(ended); err != context.Canceled {
		t.Errorf("Wait beside a busy page = %v, want %v", err, context.Canceled)
	}
	busy.Release()
	if err := next.Wait(t.Context()); err != nil {
		t.Errorf("Wait after the other page = %v", err)
	}
	next.Release()
}
