package importer

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands/importer/extract"
	"annals/events/fault"
)

func TestStepsAreMeasured(t *testing.T) {
	b := newFixture(t)
	_, work := b.accept(alice, doc{"scan.md", "Library", "x"}, doc{"broken.md", "Library", "y"})
	synctest.Test(t, func(t *testing.T) {
		b := b.shallow(t)
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
			progress("reading", 1, 2)
			time.Sleep(time.Second)
			progress("layout", 1, 2)
			time.Sleep(3 * time.Second)
			progress("reading", 2, 2)
			time.Sleep(time.Second)
			return extract.Info{}, sections(emit, "text", 1)
		})
		i := b.importer(b.driver)
		took := map[string]time.Duration{}
		i.Observe = func(step string, d time.Duration) { took[step] += d }
		if err := i.importFile(t.Context(), work[0]); err != nil {
			t.Fatal(err)
		}
		want := map[string]time.Duration{"reading": 2 * time.Second, "layout": 3 * time.Second, "splitting": 0, "summarising": 0, "filing": 0}
		if !maps.Equal(took, want) {
			t.Errorf("steps took %v, want %v", took, want)
		}

		clear(took)
		b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
			time.Sleep(time.Minute)
			return extract.Info{}, fault.Errorf(fault.Invalid, "the file is broken")
		})
		i.Reader = b.reader
		if err := i.importFile(t.Context(), work[1]); err == nil {
			t.Error("importFile of a broken file succeeded")
		}
		if want := map[string]time.Duration{"reading": time.Minute}; !maps.Equal(took, want) {
			t.Errorf("steps of a failed file took %v, want %v", took, want)
		}
	})
}

func TestFailureLogsRequest(t *testing.T) {
	b := newFixture(t)
	b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
		return extract.Info{}, fault.Errorf(fault.Invalid, "the file is broken")
	})
	_, work := b.accept(alice, doc{"a.md", "Library", "x"})
	i := b.importer(b.driver)
	var log strings.Builder
	i.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var ended []Outcome
	i.Ended = func(o Outcome) { ended = append(ended, o) }
	b.deliver(i, work)
	if !slices.Equal(ended, []Outcome{Failed}) {
		t.Errorf("Ended was called with %v, want failed", ended)
	}
	if got := log.String(); !strings.Contains(got, "a file was not imported") || !strings.Contains(got, "correlation_id=request") || !strings.Contains(got, "name=a.md") {
		t.Errorf("logged %s", got)
	}
}

func TestFailedAttemptLogsRequest(t *testing.T) {
	b := newFixture(t)
	tries := 0
	b.reader = script(func(context.Context, func(extract.Section) error, extract.Progress) (extract.Info, error) {
		if tries++; tries == 1 {
			return extract.Info{}, fault.Errorf(fault.Unavailable, "no reader is available")
		}
		return extract.Info{}, nil
	})
	job, work := b.accept(alice, doc{"a.md", "Library", "x"})
	i := b.importer(b.driver)
	var log strings.Builder
	i.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b.deliver(i, work)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for _, want := range []string{"level=WARN", "no reader is available", "job=" + job.String(), "file=0", "name=a.md", "correlation_id=request"} {
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("logged %q; want one line with %q", lines, want)
		}
	}
}
