package commands

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// countingDriver counts the readings of streams from their caller's revision
// on to the end: each ends with a page that is empty.
type countingDriver struct {
	events.Driver
	readings atomic.Int64
}

func (d *countingDriver) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	records, err := d.Driver.ReadStream(ctx, stream, from, limit)
	if len(records) == 0 {
		d.readings.Add(1)
	}
	return records, err
}

func TestThoseWhoWaitForAnAggregateShareOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := &countingDriver{Driver: memory.New()}
		h := &Handler{Log: events.NewLog(driver)}
		defer h.Log.Close()
		h.init()
		folders := h.folders.get(events.Folders)
		look := func() {
			if err := view(t.Context(), h, h.folders, events.Folders, func(*tree) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		look()
		if got := driver.readings.Load(); got != 1 {
			t.Fatalf("%d readings for the first look, want 1", got)
		}
		if err := folders.use.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			go look()
		}
		synctest.Wait() // all of them wait
		folders.use.release()
		synctest.Wait()
		if got := driver.readings.Load(); got != 2 {
			t.Errorf("%d readings after ten looks at the same time, want one more than before: 2", got)
		}
		look()
		if got := driver.readings.Load(); got != 3 {
			t.Errorf("%d readings after a later look, want 3: it must not rest on an earlier reading", got)
		}
	})
}

func TestNothingIsDecidedOnAStreamOfWhichAnEventCannotBeRead(t *testing.T) {
	driver := memory.New()
	h := &Handler{Log: events.NewLog(driver)}
	defer h.Log.Close()
	h.init()
	burnt := events.Record{ID: uuid.New(), Type: "FolderBurnt", Data: []byte(`{}`), Metadata: []byte(`{}`)}
	if _, err := driver.Append(t.Context(), events.Folders, events.NoStream, []events.Record{burnt}); err != nil {
		t.Fatal(err)
	}
	err := view(t.Context(), h, h.folders, events.Folders, func(*tree) error { return nil })
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "Burnt") || !strings.Contains(fault.Detail(err), "Burnt") {
		t.Errorf("view = %v (%s), want an error of kind unavailable that tells operators alone of the event", err, fault.Detail(err))
	}
}

// silent is a log that does not answer for ten seconds, and then says so.
type silent struct{ events.Driver }

func (silent) ReadStream(context.Context, string, int64, int) ([]events.Record, error) {
	time.Sleep(10 * time.Second)
	return nil, fault.Errorf(fault.Unavailable, "the log does not answer at the moment")
}

// Those who wait for each other's look at a log that is away are told when the
// first is, and not one after another.
func TestAllWhoWaitForTheLogAreToldAtOnceThatItIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{Log: events.NewLog(silent{memory.New()})}
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				var err error
				if i%2 == 0 {
					_, err = h.HasFolder(t.Context(), uuid.New())
				} else {
					_, err = h.EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: "Library"})
				}
				if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took > 10*time.Second {
					t.Errorf("told %v after %v; want unavailable after 10s", err, took)
				}
			})
		}
		all.Wait()
		if err := h.Log.Close(); err != nil {
			t.Error(err)
		}
	})
}
