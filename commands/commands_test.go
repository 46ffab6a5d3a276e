package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
)

// watched is a driver that counts what is read and can be made to meet
// another append first.
type watched struct {
	events.Driver
	read  atomic.Int64 // records
	raced atomic.Int64 // conflicts still to come
}

func (d *watched) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	records, err := d.Driver.ReadStream(ctx, stream, from, limit)
	d.read.Add(int64(len(records)))
	return records, err
}

func (d *watched) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if d.raced.Add(-1) >= 0 {
		return events.Appended{}, fault.Errorf(fault.Conflict, "somebody came first")
	}
	return d.Driver.Append(ctx, stream, expected, records)
}

func TestOnlyWhatIsNewIsRead(t *testing.T) {
	d := &watched{Driver: memory.New()}
	h, other := &Handler{Log: events.NewLog(d)}, &Handler{Log: events.NewLog(d)}
	defer h.Log.Close()
	ensure := func(h *Handler, path string) {
		t.Helper()
		if _, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: path}); err != nil {
			t.Fatalf("EnsureFolder: %v", err)
		}
	}
	for i := range 50 {
		ensure(h, fmt.Sprintf("a/%d", i))
	}
	if got := d.read.Load(); got != 0 {
		t.Errorf("%d records were read back by the handler that appended them", got)
	}
	ensure(other, "a/50")
	if got := d.read.Swap(0); got != 51 {
		t.Errorf("another handler read %d records, want 51", got)
	}
	ensure(h, "a/50")
	if got := d.read.Load(); got != 1 {
		t.Errorf("%d records were read after one new, want 1", got)
	}
}

func TestConflictsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &watched{Driver: memory.New()}
		h := &Handler{Log: events.NewLog(d)}
		defer h.Log.Close()
		d.raced.Store(maxConflicts - 1)
		if _, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: "a"}); err != nil {
			t.Errorf("EnsureFolder after %d conflicts: %v", maxConflicts-1, err)
		}
		d.raced.Store(maxConflicts)
		if _, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: "b"}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("EnsureFolder after %d conflicts: %v, want unavailable", maxConflicts, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d.raced.Store(1)
		if _, err := h.EnsureFolder(ctx, alice, events.Cause{}, Destination{Path: "c"}); !fault.Is(err, fault.Canceled) {
			t.Errorf("EnsureFolder with an ended context: %v, want canceled", err)
		}
	})
}

func TestEventsCarryTheirCause(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	cause := events.Cause{Actor: "user:alice", Via: "importer", Correlation: "r", Causation: "c"}
	if _, err := h.EnsureFolder(t.Context(), alice, cause, Destination{Path: "a"}); err != nil {
		t.Fatal(err)
	}
	batch, _, err := h.Log.Read(t.Context(), 0, 10)
	if err != nil || len(batch) != 1 {
		t.Fatalf("Read: %d events, %v", len(batch), err)
	}
	if m := batch[0].Metadata; m.Actor != cause.Actor || m.Via != cause.Via || m.Correlation != "r" || m.Causation != "c" {
		t.Errorf("metadata is %+v, want %+v", m, cause)
	}
}

func TestCacheDropsWhatWasUnusedForLongest(t *testing.T) {
	c := newCache(func() *job { return &job{} }, 10, (*job).weight)
	use := func(stream string, files int) *folded[*job] {
		f := c.get(stream)
		f.state.accepted = make([]*events.FileAccepted, files)
		c.settle(f)
		return f
	}
	use("a", 3) // weighs 4
	use("b", 3)
	use("a", 3)
	use("c", 3) // drops b
	if _, kept := c.entries["b"]; kept || len(c.entries) != 2 || c.total != 8 {
		t.Errorf("cache holds %v of weight %d, want a and c of 8", slices.Collect(maps.Keys(c.entries)), c.total)
	}
	use("a", 0)
	if c.total != 5 {
		t.Errorf("cache weighs %d after a shrank, want 5", c.total)
	}
	use("d", 50)
	if len(c.entries) != 1 || c.total != 51 {
		t.Errorf("cache holds %d entries of weight %d, want the one used last, of 51", len(c.entries), c.total)
	}
}

func TestDroppedWhileInUseIsStillRight(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	h.init()
	h.documents.limit = 1
	folder, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: "Library"})
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for i := range 64 {
		go func() {
			_, err := h.ImportDocument(t.Context(), importInto(folder, fmt.Sprintf("%064x", i%8), fmt.Sprint(i)))
			errs <- err
		}()
	}
	for range 64 {
		if err := <-errs; err != nil {
			t.Errorf("ImportDocument: %v", err)
		}
	}
	count := 0
	for after := events.Position(0); ; {
		batch, through, err := h.Log.Read(t.Context(), after, 100, "DocumentImported")
		if err != nil {
			t.Fatal(err)
		}
		if count += len(batch); through == after {
			break
		}
		after = through
	}
	if count != 8 {
		t.Errorf("%d documents were made of 8 files", count)
	}
	if _, err := h.EnsureFolder(t.Context(), bob, events.Cause{}, Destination{Path: "Library"}); !fault.Is(err, fault.Forbidden) || errors.Is(err, errRaced) {
		t.Errorf("EnsureFolder: %v, want forbidden", err)
	}
}
