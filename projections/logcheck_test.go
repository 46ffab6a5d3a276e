package projections_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// restorable is a log that can be replaced while it is used, as if a backup was restored.
// Its Wait still waits on the first log, because a real log also remembers the last head.
type restorable struct {
	atomic.Pointer[memory.Driver]
	first *memory.Driver
	waits atomic.Int64 // number of calls of Wait
}

func newRestorable() *restorable {
	s := &restorable{first: memory.New()}
	s.Store(s.first)
	return s
}

func (s *restorable) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	return s.Load().Append(ctx, stream, expected, records)
}

func (s *restorable) Remove(ctx context.Context, streams []string, check func(events.AllReader) error) error {
	return s.Load().Remove(ctx, streams, check)
}

func (s *restorable) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	return s.Load().ReadStream(ctx, stream, from, limit)
}

func (s *restorable) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	return s.Load().ReadAll(ctx, after, limit, skip)
}

func (s *restorable) Head(ctx context.Context) (events.Position, error) { return s.Load().Head(ctx) }

func (s *restorable) Wait(ctx context.Context, after events.Position) error {
	s.waits.Add(1)
	return s.first.Wait(ctx, after)
}

func (s *restorable) Close() error { return errors.Join(s.first.Close(), s.Load().Close()) }

// restore replaces the log. count is how many of the first events the new log keeps, and
// others is how many different events follow them.
func (s *restorable) restore(t *testing.T, count, others int) {
	t.Helper()
	before, _, err := s.first.ReadAll(t.Context(), 0, count, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := memory.New()
	for _, r := range before {
		if _, err := d.Append(t.Context(), r.Stream, events.AnyRevision, []events.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	s.Store(d)
	for range others {
		projectionstest.Append(t, events.NewLog(s), events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString()})
	}
}

// untilStopped waits until a read model has stopped. If stopped is false, it waits until
// the read model continues.
func untilStopped(t *testing.T, r *projections.Runner, stopped bool) {
	t.Helper()
	projectionstest.Until(t, r, func() bool { return r.HasStopped() == stopped })
}

// The log is restored while a server runs, from a backup that lacks the last events. The
// read models must stop until the right log is back.
func TestRestoredLogStopsServer(t *testing.T) {
	t.Parallel()
	for name, backup := range map[string]struct{ count, others int }{"shorter": {5, 0}, "with other events": {5, 30}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := newRestorable()
			log := projectionstest.LogOver(t, driver)
			projectionstest.ImportDocuments(t, log, 4)
			r := started(t, log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()))
			head := projectionstest.Head(t, log)
			projectionstest.Wait(t, r, head)
			documents := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`)
			time.Sleep(1100 * time.Millisecond) // restoring a real log takes longer
			driver.restore(t, backup.count, backup.others)
			// This event makes Wait of the first log return, and then the loop finds no
			// event in the restored log.
			projectionstest.Append(t, events.NewLog(driver.first), events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later"})
			before := driver.waits.Load()
			if err := r.Wait(t.Context(), head+100); !fault.Is(err, fault.Unavailable) {
				t.Errorf("Wait = %v, want an error of kind unavailable", err)
			}
			untilStopped(t, r, true)
			if n := driver.waits.Load() - before; n > 50 {
				t.Errorf("the loop waited %d times for the log, want 50 at most: it must not spin", n)
			}
			if got := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM documents`); got != documents {
				t.Errorf("the vault has %d documents, want %d as before", got, documents)
			}
			driver.Store(driver.first)
			untilStopped(t, r, false)
		})
	}
}

// A log without new events does not wake the loop. The loop must notice the restored log
// by checking from time to time.
func TestRestoredQuietLogStopsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := newRestorable()
		log := events.NewLog(driver)
		_, last := projectionstest.ImportDocuments(t, log, 4)
		g, err := generation.New(t.Context(), log, readmodel.Vault{}, tables.Folder(t.TempDir()), "vault", projectionstest.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		r := projections.NewRunner(g)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		projectionstest.Wait(t, r, last)
		time.Sleep(3 * projections.ShrinkAfter)
		driver.restore(t, 5, 0)
		time.Sleep(3 * projections.ShrinkAfter)
		if !r.HasStopped() {
			t.Error("the read model continues with a log that lacks events")
		}
		driver.Store(driver.first)
		time.Sleep(3 * projections.ShrinkAfter)
		if r.HasStopped() {
			t.Error("the read model does not continue with the restored log")
		}
		stop()
		if err := errors.Join(<-ended, r.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
}

// If the leader has to stop because the log was restored, no other node may continue the
// read model.
func TestRestoredLogStopsEveryNode(t *testing.T) {
	t.Parallel()
	driver := newRestorable()
	log := projectionstest.LogOver(t, driver)
	nodes, _, _ := twoNodes(t, log)
	_, last := projectionstest.ImportDocuments(t, log, 4)
	for _, s := range nodes {
		projectionstest.Wait(t, s.Runner("vault"), last)
	}
	driver.restore(t, 5, 0)
	for _, s := range nodes { // nodes check a log without new events from time to time
		untilStopped(t, s.Runner("vault"), true)
	}
	driver.Store(driver.first)
	for _, s := range nodes {
		untilStopped(t, s.Runner("vault"), false)
	}
	last = projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later"})
	for _, s := range nodes {
		projectionstest.Wait(t, s.Runner("vault"), last)
	}
}
