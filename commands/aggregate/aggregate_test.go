package aggregate_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands/aggregate"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// names is the State of the tests: the names of the created folders.
type names struct{ all []string }

func (n *names) Apply(e events.Event) { n.all = append(n.all, e.Data.(events.FolderCreated).Name) }

// store returns a Store of names on a driver. The weight of names is their number.
func store(t *testing.T, driver events.Driver, limit int) *aggregate.Store[*names] {
	t.Helper()
	log := events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	return &aggregate.Store[*names]{
		Log: log, Logger: slog.New(slog.DiscardHandler), Limit: limit,
		Charge: func(context.Context, events.User) (*quota.Budget, error) { return nil, nil },
		New:    func() *names { return &names{} }, Weigh: func(n *names) int { return len(n.all) },
	}
}

// add returns a command that creates a folder.
func add(stream, name string) aggregate.Command[*names] {
	return aggregate.Command[*names]{Name: "add", Stream: stream, Cause: events.Cause{Actor: "user:alice", Via: "importer", Correlation: "r", Causation: "c"}, Decide: func(*names) ([]events.Data, error) {
		return []events.Data{events.FolderCreated{Folder: uuid.New(), Name: name}}, nil
	}}
}

func do(t *testing.T, s *aggregate.Store[*names], c aggregate.Command[*names]) {
	t.Helper()
	if _, err := s.Do(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s *aggregate.Store[*names], stream string) (all []string) {
	t.Helper()
	if err := s.View(t.Context(), stream, func(n *names) error { all = append(all, n.all...); return nil }); err != nil {
		t.Error(err)
	}
	return all
}

// watched is a driver that counts reads of streams, and can make appends fail with a
// conflict.
type watched struct {
	events.Driver
	records   atomic.Int64
	reads     atomic.Int64 // reads that reached the end of the stream
	conflicts atomic.Int64 // number of appends that will still fail with a conflict
}

func (d *watched) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	records, err := d.Driver.ReadStream(ctx, stream, from, limit)
	d.records.Add(int64(len(records)))
	if len(records) == 0 { // the end of the stream
		d.reads.Add(1)
	}
	return records, err
}

func (d *watched) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if d.conflicts.Add(-1) >= 0 {
		return events.Appended{}, fault.Errorf(fault.Conflict, "another append came first")
	}
	return d.Driver.Append(ctx, stream, expected, records)
}

func TestDoReadsOnlyNewEvents(t *testing.T) {
	d := &watched{Driver: memory.New()}
	s, other := store(t, d, 1000), store(t, d, 1000)
	for i := range 50 {
		do(t, s, add("a", fmt.Sprint(i)))
	}
	if got := d.records.Load(); got != 0 {
		t.Errorf("the store read %d records that it had appended itself, want 0", got)
	}
	do(t, other, add("a", "50"))
	if got := d.records.Swap(0); got != 50 {
		t.Errorf("another store read %d records, want 50", got)
	}
	if got := view(t, s, "a"); len(got) != 51 || d.records.Load() != 1 {
		t.Errorf("View returned %d names and read %d records, want 51 and 1", len(got), d.records.Load())
	}
}

func TestDoRetriesConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &watched{Driver: memory.New()}
		s := store(t, d, 1000)
		d.conflicts.Store(aggregate.MaxTries - 1)
		do(t, s, add("a", "x"))
		d.conflicts.Store(aggregate.MaxTries)
		if _, err := s.Do(t.Context(), add("a", "x")); !fault.Is(err, fault.Unavailable) {
			t.Errorf("Do after %d conflicts: %v, want unavailable", aggregate.MaxTries, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d.conflicts.Store(1)
		if _, err := s.Do(ctx, add("a", "x")); !fault.Is(err, fault.Canceled) {
			t.Errorf("Do with a cancelled context: %v, want canceled", err)
		}
	})
}

func TestEventsCarryTheirCause(t *testing.T) {
	s := store(t, memory.New(), 1000)
	c := add("a", "x")
	do(t, s, c)
	batch, _, err := s.Log.Read(t.Context(), 0, 10)
	if err != nil || len(batch) != 1 {
		t.Fatalf("Read: %d events, %v", len(batch), err)
	}
	if m := batch[0].Metadata; m.Actor != c.Cause.Actor || m.Via != c.Cause.Via || m.Correlation != c.Cause.Correlation || m.Causation != c.Cause.Causation {
		t.Errorf("metadata is %+v, want %+v", m, c.Cause)
	}
}

func TestStoreDropsLeastRecentlyUsed(t *testing.T) {
	d := &watched{Driver: memory.New()}
	s := store(t, d, 8)
	for stream, weight := range map[string]int{"a": 4, "b": 4, "c": 4} {
		for range weight {
			do(t, store(t, d, 100), add(stream, "x"))
		}
	}
	kept := func(stream string) bool {
		d.records.Store(0)
		view(t, s, stream)
		return d.records.Load() == 0
	}
	view(t, s, "a")
	view(t, s, "b")
	view(t, s, "a")
	view(t, s, "c") // drops the aggregate b from the cache
	if !kept("a") || !kept("c") || kept("b") {
		t.Error("the store dropped another stream than b, the least recently used one")
	}
}

func TestWaitingViewsShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &watched{Driver: memory.New()}
		s := store(t, d, 1000)
		release := make(chan struct{})
		go s.View(t.Context(), "a", func(*names) error { <-release; return nil })
		synctest.Wait()
		for range 10 {
			go view(t, s, "a")
		}
		synctest.Wait() // until all calls are blocked
		d.reads.Store(0)
		close(release)
		synctest.Wait()
		if got := d.reads.Load(); got != 1 {
			t.Errorf("ten concurrent views read the stream %d times, want 1", got)
		}
		view(t, s, "a")
		if got := d.reads.Load(); got != 2 {
			t.Errorf("%d reads after a later view, want 2: it must not share an earlier read", got)
		}
	})
}

func TestViewHidesUnreadableEvents(t *testing.T) {
	driver := memory.New()
	s := store(t, driver, 1000)
	burnt := events.Record{ID: uuid.New(), Type: "FolderBurnt", Data: []byte(`{}`), Metadata: []byte(`{}`)}
	if _, err := driver.Append(t.Context(), "a", events.NoStream, []events.Record{burnt}); err != nil {
		t.Fatal(err)
	}
	err := s.View(t.Context(), "a", func(*names) error { return nil })
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "Burnt") || !strings.Contains(fault.Detail(err), "Burnt") {
		t.Errorf("View: %v (%s), want unavailable, with the event named only in the detail", err, fault.Detail(err))
	}
}

// slow is a driver whose reads of streams fail after ten seconds.
type slow struct{ events.Driver }

func (slow) ReadStream(context.Context, string, int64, int) ([]events.Record, error) {
	time.Sleep(10 * time.Second)
	return nil, fault.Errorf(fault.Unavailable, "read the log: timeout")
}

func TestWaitersFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store(t, slow{memory.New()}, 1000)
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				var err error
				if i%2 == 0 {
					err = s.View(t.Context(), "a", func(*names) error { return nil })
				} else {
					c := add("a", "x")
					c.Decide = func(*names) ([]events.Data, error) { return nil, nil }
					_, err = s.Do(t.Context(), c)
				}
				if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took > 10*time.Second {
					t.Errorf("%v after %v; want unavailable after 10s", err, took)
				}
			})
		}
		all.Wait()
	})
}
