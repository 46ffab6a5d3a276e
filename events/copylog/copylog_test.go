package copylog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/copylog"
	"annals/events/eventstoredb"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqlite"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// engines are the engines that the tests copy from and to.
var engines = []struct {
	name string
	open func(t *testing.T) events.Driver
}{
	{"memory", func(*testing.T) events.Driver { return memory.New() }},
	{"sqlite", func(t *testing.T) events.Driver {
		d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}},
	{"eventstoredb", func(t *testing.T) events.Driver {
		d, err := eventstoredb.Open(t.Context(), esdbtest.Start(t, memory.New()).URL())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}},
}

func open(t *testing.T, engine int) events.Driver {
	t.Helper()
	d := engines[engine].open(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// record returns a new record with that text.
func record(text string) events.Record {
	return events.Record{
		ID: uuid.New(), Type: "Happened",
		Data:     fmt.Appendf(nil, `{"text": %q,  "n":1.50}`, text), // encoding/json would format it differently
		Metadata: []byte(`{"time":"2026-01-02T03:04:05.000006Z","schema":1}`),
	}
}

func appendTo(t *testing.T, d events.Driver, stream string, records ...events.Record) {
	t.Helper()
	if _, err := d.Append(t.Context(), stream, events.AnyRevision, records); err != nil {
		t.Fatalf("Append(%s, %d records): %v", stream, len(records), err)
	}
}

// history appends n events to a few streams, up to three in a row to the same stream.
func history(t *testing.T, d events.Driver, n int) {
	t.Helper()
	for i := range n {
		appendTo(t, d, fmt.Sprintf("stream-%d", i/3%5), record(fmt.Sprint("event ", i)))
	}
}

// all returns all records of a log, with their positions set to 0.
func all(t *testing.T, d events.Driver) (records []events.Record) {
	t.Helper()
	for after := events.Position(0); ; {
		batch, through, err := d.ReadAll(context.WithoutCancel(t.Context()), after, 100, nil)
		if err != nil {
			t.Fatalf("ReadAll(%d): %v", after, err)
		}
		for _, r := range batch {
			r.Position = 0
			records = append(records, r)
		}
		if through == after {
			return records
		}
		after = through
	}
}

func same(a, b events.Record) bool {
	return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Type == b.Type &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Metadata, b.Metadata)
}

// wantCopied checks that two logs have the same records in the same order.
func wantCopied(t *testing.T, to, from events.Driver) {
	t.Helper()
	if got, want := all(t, to), all(t, from); !slices.EqualFunc(got, want, same) {
		t.Errorf("the target has %d events, want the %d of the source", len(got), len(want))
	}
}

func TestCopyKeepsEverythingButPositions(t *testing.T) {
	for from := range engines {
		for to := range engines {
			t.Run(engines[from].name+" to "+engines[to].name, func(t *testing.T) {
				source, target := open(t, from), open(t, to)
				history(t, source, 30)
				large := record(strings.Repeat("x", 600<<10))
				appendTo(t, source, "large", large)
				appendTo(t, source, "large", record(strings.Repeat("y", 600<<10)))
				c := &copylog.Copy{From: source, To: target}
				got, err := c.Run(t.Context())
				if err != nil {
					t.Fatalf("Run: %v", err)
				}
				wantCopied(t, target, source)
				if got.From != got.To || got.From.Events != 32 || got.Appended != 32 {
					t.Errorf("Run: got %+v, want 32 events appended and equal digests", got)
				}
				again, err := (&copylog.Copy{From: target, To: source}).Run(t.Context())
				if err != nil || again.From != got.From || again.Appended != 0 {
					t.Errorf("Run back: got %+v, %v, want digest %+v and nothing appended", again, err, got.From)
				}
			})
		}
	}
}

// cutDriver simulates a broken connection: after a number of appends all further appends
// fail. If loseReply is set, the first failing append is stored nevertheless.
type cutDriver struct {
	events.Driver
	left      int  // appends until the connection breaks
	loseReply bool // the first failing append is stored
}

var errCut = errors.New("connection lost")

func (d *cutDriver) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if d.left--; d.left >= 0 {
		return d.Driver.Append(ctx, stream, expected, records)
	}
	if d.left == -1 && d.loseReply {
		if _, err := d.Driver.Append(ctx, stream, expected, records); err != nil {
			return events.Appended{}, err
		}
	}
	return events.Appended{}, errCut
}

func TestInterruptedCopyContinues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		source, target := memory.New(), memory.New()
		defer source.Close()
		defer target.Close()
		for range rapid.IntRange(0, 4).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 12).Draw(rt, "appends") {
				batch := make([]events.Record, rapid.IntRange(1, 4).Draw(rt, "records"))
				for i := range batch {
					batch[i] = record(rapid.String().Draw(rt, "text"))
				}
				appendTo(t, source, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "stream"), batch...)
			}
			cut := &cutDriver{target, rapid.IntRange(0, 9).Draw(rt, "cut after"), rapid.Bool().Draw(rt, "made")}
			if _, err := (&copylog.Copy{From: source, To: cut}).Run(t.Context()); err != nil && !errors.Is(err, errCut) {
				rt.Fatalf("Run with a connection that breaks: %v", err)
			}
		}
		got, err := (&copylog.Copy{From: source, To: target}).Run(t.Context())
		if err != nil || got.From != got.To {
			rt.Fatalf("Run: got %+v, %v, want equal digests", got, err)
		}
		wantCopied(t, target, source)
	})
}

func TestCopyRefusesForeignTarget(t *testing.T) {
	for _, c := range []struct {
		name    string
		foreign func(t *testing.T, source, target events.Driver)
		want    string
	}{
		{"from the start", func(t *testing.T, source, target events.Driver) {
			appendTo(t, target, "elsewhere", record("foreign"))
			history(t, source, 5)
		}, "the target differs after 0 events: at position 3 it holds event 0 of elsewhere (Happened, id "},
		{"after a common beginning", func(t *testing.T, source, target events.Driver) {
			history(t, source, 5)
			copied(t, target, source)
			appendTo(t, target, "elsewhere", record("foreign"))
			history(t, source, 5)
		}, "the target differs after 5 events: at position 18 it holds event 0 of elsewhere (Happened, id "},
		{"after the end of the source", func(t *testing.T, source, target events.Driver) {
			history(t, source, 5)
			copied(t, target, source)
			appendTo(t, target, "elsewhere", record("foreign"))
		}, "the target continues after 5 events: at position 18 it holds event 0 of elsewhere (Happened, id "},
		{"in the data of one event", func(t *testing.T, source, target events.Driver) {
			r := record("this")
			appendTo(t, source, "stream", r)
			r.Data = []byte(`{"text":"this","n":1.5}`)
			appendTo(t, target, "stream", r)
		}, "the target differs after 0 events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			source, target := open(t, 0), open(t, 0)
			c.foreign(t, source, target)
			before := all(t, target)
			_, err := (&copylog.Copy{From: source, To: target}).Run(t.Context())
			if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Run: got error %v, want a conflict with %q", err, c.want)
			}
			if after := all(t, target); !slices.EqualFunc(after, before, same) {
				t.Errorf("the target has %d events after Run, want the %d before", len(after), len(before))
			}
		})
	}
}

func copied(t *testing.T, target, source events.Driver) {
	t.Helper()
	if _, err := (&copylog.Copy{From: source, To: target}).Run(t.Context()); err != nil {
		t.Fatalf("Run: %v", err)
	}
}

func TestConcurrentCopiesAgree(t *testing.T) {
	source, target := open(t, 0), open(t, 1)
	history(t, source, 300)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			got, err := (&copylog.Copy{From: source, To: target}).Run(t.Context())
			if err != nil || got.From != got.To || got.From.Events != 300 {
				t.Errorf("concurrent Run: got %+v, %v, want 300 events and equal digests", got, err)
			}
		})
	}
	all.Wait()
	wantCopied(t, target, source)
}

func TestFollowCopiesUntilContextEnds(t *testing.T) {
	source, target := open(t, 0), open(t, 1)
	history(t, source, 20)
	c := &copylog.Copy{From: source, To: target}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatalf("Run: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var following sync.WaitGroup
	var result copylog.Result
	var failed error
	head, err := target.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	following.Go(func() { result, failed = c.Follow(ctx) })
	history(t, source, 20)
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := target.Wait(within, head); err != nil {
		t.Fatalf("Wait for Follow to append: %v", err)
	}
	history(t, source, 20)
	stop()
	following.Wait()
	if failed != nil || result.From != result.To || result.To.Events != 60 {
		t.Errorf("Follow: got %+v, %v, want 60 events and equal digests", result, failed)
	}
	wantCopied(t, target, source)
}

// flakyDriver fails some appends with fault.Unavailable.
type flakyDriver struct {
	events.Driver
	failures atomic.Int64
}

func (d *flakyDriver) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if d.failures.Add(-1) >= 0 {
		return events.Appended{}, fault.Errorf(fault.Unavailable, "the log is unreachable")
	}
	return d.Driver.Append(ctx, stream, expected, records)
}

func TestCopyRetriesUnreachableEngine(t *testing.T) {
	source := open(t, 0)
	target := &flakyDriver{Driver: open(t, 0)}
	target.failures.Store(2)
	history(t, source, 10)
	copied(t, target, source)
	wantCopied(t, target, source)
}

// scavenged is a log in EventStoreDB from which a text was removed and whose server was
// then scavenged: reads of the log return only the last event of the text.
type scavenged struct {
	events.Driver
	text string
	last int64
}

func (d scavenged) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	if stream == d.text {
		return nil, nil
	}
	return d.Driver.ReadStream(ctx, stream, from, limit)
}

func (d scavenged) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	records, through, err := d.Driver.ReadAll(ctx, after, limit, skip)
	return slices.DeleteFunc(records, func(r events.Record) bool { return r.Stream == d.text && r.Revision != d.last }), through, err
}

func TestVerifyIgnoresRemovedTexts(t *testing.T) {
	const text = "text-6f2a3c0e-2f0e-5b0b-9d0a-8c1d5a7e4b11-0"
	for _, when := range []string{"before the text was removed", "after it was removed", "after the server was scavenged"} {
		t.Run("a copy that begins "+when, func(t *testing.T) {
			source, target := open(t, 0), open(t, 1)
			history(t, source, 10)
			appendTo(t, source, text, record("one"), record("two"))
			history(t, source, 2)
			appendTo(t, source, text, record("three"))
			history(t, source, 10)
			var from events.Driver = source
			if when == "before the text was removed" {
				copied(t, target, from)
			}
			if when == "after the server was scavenged" {
				from = scavenged{source, text, 2}
			} else if err := source.Remove(t.Context(), []string{text}, nil); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, err := (&copylog.Copy{From: from, To: target}).Run(t.Context())
				if err != nil || got.From != got.To || got.To.Events != 22 {
					t.Fatalf("Run: got %+v, %v, want 22 events and equal digests", got, err)
				}
				history(t, source, 0)
			}
		})
	}
}
