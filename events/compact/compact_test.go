package compact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/compact"
	"annals/events/eventstoredb"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqlite"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// history appends random imports, and records which of their texts are orphaned.
type history struct {
	t        *testing.T
	log      *events.Log
	orphaned map[string]bool
	open     int
}

func (h *history) append(stream string, cause events.Cause, data ...events.Data) {
	h.t.Helper()
	added := make([]events.New, len(data))
	for i, d := range data {
		added[i].Data = d
	}
	if _, err := h.log.Append(h.t.Context(), stream, events.AnyRevision, cause, added...); err != nil {
		h.t.Fatal(err)
	}
}

// job appends an import of one file, which stops at a random step.
func (h *history) job(rt *rapid.T) {
	job, document := uuid.New(), uuid.New()
	cause := events.Cause{Actor: "user:alice", Via: "importer", Causation: events.JobStream(job) + "@0"}
	h.append(events.JobStream(job), cause, events.FileAccepted{Name: "a.md", Folder: "Library", Tags: []string{}}, events.ImportRequested{Files: 1, User: "user:alice"})
	var texts []string
	for attempt := range rapid.IntRange(0, 3).Draw(rt, "attempts") {
		stream := events.TextStream(document, attempt)
		texts = append(texts, stream)
		for range rapid.IntRange(1, 3).Draw(rt, "appends") {
			section := events.SectionExtracted{Title: rapid.StringN(0, 20, -1).Draw(rt, "title"), Text: strings.Repeat("text ", rapid.IntRange(0, 300).Draw(rt, "words"))}
			h.append(stream, cause, section, section)
		}
	}
	content := events.Content{SHA256: strings.Repeat("a", 64), MediaType: "text/markdown", Title: "a", Sections: 1, Extractor: 1}
	ended, named := rapid.Bool().Draw(rt, "ended"), ""
	outcome := events.Data(events.FileFailed{Error: "it is empty"})
	if len(texts) > 0 && rapid.Bool().Draw(rt, "filed") {
		named = rapid.SampledFrom(texts).Draw(rt, "named")
		content.TextStream = named
		h.append(events.DocumentStream(document), cause, events.DocumentImported{Version: 1, Name: "a.md", Tags: []string{}, Content: content})
		outcome = events.FileImported{Document: document, Title: "a"}
		if rapid.Bool().Draw(rt, "late") { // a worker whose lease has expired continues
			h.append(named, cause, events.SectionExtracted{Text: "late"})
		}
		if rapid.Bool().Draw(rt, "deleted") {
			h.append(events.DocumentStream(document), cause, events.DocumentDeleted{Version: 2})
		}
	}
	if ended {
		h.append(events.JobStream(job), cause, outcome, events.JobFinished{Failed: 1})
	}
	for _, stream := range texts {
		switch {
		case stream == named:
		case ended:
			h.orphaned[stream] = true
		default:
			h.open++
		}
	}
}

func all(t *testing.T, d events.AllReader) (records []events.Record) {
	t.Helper()
	for after := events.Position(0); ; {
		batch, through, err := d.ReadAll(t.Context(), after, 50, nil)
		if err != nil {
			t.Fatal(err)
		}
		if records = append(records, batch...); through == after {
			return records
		}
		after = through
	}
}

func sameRecord(a, b events.Record) bool {
	return a.ID == b.ID && a.Position == b.Position && a.Revision == b.Revision && a.Stream == b.Stream && a.Type == b.Type &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Metadata, b.Metadata)
}

// engines open empty logs.
var engines = []struct {
	name   string
	checks int
	lazy   bool // the engine reclaims the space of removed streams later
	open   func(t *testing.T) events.Driver
}{
	{"memory", 60, false, func(*testing.T) events.Driver { return memory.New() }},
	{"sqlite", 8, false, func(t *testing.T) events.Driver {
		d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), fmt.Sprint(uuid.New(), ".db")))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}},
	{"eventstoredb", 8, true, func(t *testing.T) events.Driver {
		d, err := eventstoredb.Open(t.Context(), esdbtest.Start(t, memory.New()).URL())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}},
}

func TestRunRemovesOnlyOrphanedTexts(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			checks := 0
			rapid.Check(t, func(rt *rapid.T) {
				if checks++; checks > engine.checks {
					return
				}
				driver := engine.open(t)
				defer driver.Close()
				h := &history{t: t, log: events.NewLog(driver), orphaned: map[string]bool{}}
				for range rapid.IntRange(0, 8).Draw(rt, "jobs") {
					h.job(rt)
				}
				h.append(events.Folders, events.Cause{}, events.FolderCreated{Folder: uuid.New(), Name: "Library"})
				want := slices.DeleteFunc(all(t, driver), func(r events.Record) bool { return h.orphaned[r.Stream] })

				c := &compact.Compaction{Log: driver}
				plan, err := c.Plan(t.Context())
				if err != nil {
					rt.Fatal(err)
				}
				if len(plan.Texts) != len(h.orphaned) || plan.Open != h.open || plan.Unknown != 0 {
					rt.Errorf("Plan: got %d texts to remove and %d open, want %d and %d", len(plan.Texts), plan.Open, len(h.orphaned), h.open)
				}
				proof, err := c.Run(t.Context(), plan)
				if err != nil || proof.Before != proof.After || proof.After.Events != int64(len(want)) {
					rt.Fatalf("Run: %+v, %v, want equal digests of %d events", proof, err, len(want))
				}
				if now, err := c.Prove(t.Context(), plan, proof); err != nil || now != proof.Before {
					rt.Errorf("Prove: got %v, %v, want %v", now, err, proof.Before)
				}
				for stream := range h.orphaned {
					if held, err := driver.ReadStream(t.Context(), stream, 0, 1); len(held) > 0 || err != nil {
						rt.Errorf("ReadStream of the removed text %s: got %d events (%v)", stream, len(held), err)
					}
				}
				got := all(t, driver)
				if engine.lazy {
					got = slices.DeleteFunc(got, func(r events.Record) bool { return h.orphaned[r.Stream] })
				}
				if !slices.EqualFunc(got, want, sameRecord) {
					rt.Errorf("ReadAll after Run: got %d events, want the %d that stay", len(got), len(want))
				}
				head, _ := driver.Head(t.Context())
				if n, err := h.log.Verify(t.Context(), head, nil, func(p string) { rt.Error(p) }); err != nil || n < len(want) {
					rt.Errorf("Verify: got %d events, %v, want %d", n, err, len(want))
				}
				if again, err := c.Plan(t.Context()); err != nil || len(again.Texts) > 0 {
					rt.Errorf("Plan after Run: got %d texts to remove (%v), want none", len(again.Texts), err)
				}
			})
		})
	}
}

// changing is a faulty driver: when it removes streams, it also changes an event of
// another stream.
type changing struct{ events.Driver }

func (d changing) Remove(ctx context.Context, streams []string, check func(events.AllReader) error) error {
	return d.Driver.Remove(ctx, streams, func(r events.AllReader) error { return check(changed{r}) })
}

type changed struct{ events.AllReader }

func (c changed) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	records, through, err := c.AllReader.ReadAll(ctx, after, limit, skip)
	if len(records) > 0 {
		records[0].Data = bytes.Replace(records[0].Data, []byte("a"), []byte("b"), 1)
	}
	return records, through, err
}

// orphan returns a log with one orphaned text.
func orphan(t *testing.T) (events.Driver, *history) {
	driver := memory.New()
	t.Cleanup(func() { driver.Close() })
	h := &history{t: t, log: events.NewLog(driver)}
	job := uuid.New()
	cause := events.Cause{Causation: events.JobStream(job) + "@0"}
	h.append(events.TextStream(uuid.New(), 0), cause, events.SectionExtracted{Text: "text"})
	h.append(events.JobStream(job), cause, events.ImportRequested{Files: 1, User: "user:alice"}, events.JobFinished{Failed: 1})
	return driver, h
}

func TestRunRemovesNothingIfRestDiffers(t *testing.T) {
	driver, _ := orphan(t)
	before := all(t, driver)
	c := &compact.Compaction{Log: changing{driver}}
	plan, err := c.Plan(t.Context())
	if err != nil || len(plan.Texts) != 1 {
		t.Fatalf("Plan: got %+v, %v, want one text", plan, err)
	}
	if _, err := c.Run(t.Context(), plan); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "nothing was removed") {
		t.Errorf("Run: got error %v, want that nothing was removed", err)
	}
	if after := all(t, driver); !slices.EqualFunc(before, after, sameRecord) {
		t.Errorf("ReadAll after Run: got %d events, want the %d before", len(after), len(before))
	}
}

func TestCompactKeepsTextsOfRecentJobs(t *testing.T) {
	driver, _ := orphan(t)
	for before, want := range map[time.Time]int{time.Now().Add(-time.Hour): 0, time.Now().Add(time.Hour): 1} {
		plan, err := (&compact.Compaction{Log: driver, Before: before}).Plan(t.Context())
		if err != nil || len(plan.Texts) != want || plan.Open != 1-want {
			t.Errorf("Plan before %v: got %+v, %v, want %d texts to remove", before, plan, err, want)
		}
	}
}

func TestCompactRefusesUnreadableEvent(t *testing.T) {
	driver, _ := orphan(t)
	unknown := events.Record{ID: uuid.New(), Type: "DocumentTranslated", Data: []byte(`{}`), Metadata: []byte(`{"time":"2026-01-02T03:04:05Z","schema":1}`)}
	if _, err := driver.Append(t.Context(), events.DocumentStream(uuid.New()), events.NoStream, []events.Record{unknown}); err != nil {
		t.Fatal(err)
	}
	if _, err := (&compact.Compaction{Log: driver}).Plan(t.Context()); !fault.Is(err, fault.Invalid) || errors.Is(err, context.Canceled) {
		t.Errorf("Plan: got error %v, want that an event cannot be read", err)
	}
}
