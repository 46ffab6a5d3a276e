package projections

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
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// shifted is a log whose positions are all higher, as a copy's may be.
type shifted struct {
	events.Driver
	by events.Position
}

func (s shifted) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	records, err := s.Driver.ReadStream(ctx, stream, from, limit)
	for i := range records {
		records[i].Position += s.by
	}
	return records, err
}

func (s shifted) Head(ctx context.Context) (events.Position, error) {
	head, err := s.Driver.Head(ctx)
	return head + s.by, err
}

func TestAReadModelOfAnotherLogDoesNotServe(t *testing.T) {
	driver := memory.New()
	log, dir := events.NewLog(driver), t.TempDir()
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	folder, last := manyDocuments(t, log, 3)
	fill := func(log *events.Log) error {
		g, err := optionsIn(t, log, dir).OpenTables(t.Context(), readmodel.Vault{}, 1)
		if err != nil {
			return err
		}
		return errors.Join(g.CatchUp(t.Context(), last, nil), g.Close())
	}
	if err := fill(log); err != nil {
		t.Fatal(err)
	}
	_, last = fileInto(t, log, folder, "lighthouse")
	if err := fill(log); err != nil {
		t.Errorf("open with the log that went on: %v", err)
	}
	if err := fill(events.NewLog(shifted{driver, 3})); !errors.Is(err, generation.ErrLogMismatch) || !generation.IsTransient(err) {
		t.Errorf("open with a log of other positions = %v, want %v, which is of the log", err, generation.ErrLogMismatch)
	}
	elsewhere := newLog(t)
	manyDocuments(t, elsewhere, 9)
	if err := fill(elsewhere); !errors.Is(err, generation.ErrLogMismatch) {
		t.Errorf("open with a longer log of other events = %v, want %v", err, generation.ErrLogMismatch)
	}
	if err := fill(log); err != nil {
		t.Errorf("open with the log that it was made of: %v", err)
	}
}

func TestLogCheckIgnoresRemovedText(t *testing.T) {
	driver := memory.New()
	log, dir := events.NewLog(driver), t.TempDir()
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	folder, _ := manyDocuments(t, log, 2)
	text := events.TextStream(uuid.New(), 0)
	add(t, log, text, events.SectionExtracted{Text: "It comes to nothing."})
	fill := func() error {
		head, err := log.Head(t.Context())
		if err != nil {
			return err
		}
		g, err := optionsIn(t, log, dir).OpenTables(t.Context(), &passages.Projection{Engine: new(noIndex)}, 1)
		if err != nil {
			return err
		}
		return errors.Join(g.CatchUp(t.Context(), head, nil), g.Close())
	}
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	fileInto(t, log, folder, "lighthouse")
	if err := driver.Remove(t.Context(), []string{text}, nil); err != nil {
		t.Fatal(err)
	}
	if err := fill(); err != nil {
		t.Errorf("open after a text was removed: %v", err)
	}
}

// swapped is a log that can be put back while it is used. As those of engines do,
// it remembers how far the log was.
type swapped struct {
	atomic.Pointer[memory.Driver]
	first *memory.Driver
	waits atomic.Int64 // calls of Wait
}

func newSwapped() *swapped {
	s := &swapped{first: memory.New()}
	s.Store(s.first)
	return s
}

func (s *swapped) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	return s.Load().Append(ctx, stream, expected, records)
}

func (s *swapped) Remove(ctx context.Context, streams []string, check func(events.AllReader) error) error {
	return s.Load().Remove(ctx, streams, check)
}

func (s *swapped) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	return s.Load().ReadStream(ctx, stream, from, limit)
}

func (s *swapped) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	return s.Load().ReadAll(ctx, after, limit, skip)
}

func (s *swapped) Head(ctx context.Context) (events.Position, error) { return s.Load().Head(ctx) }

func (s *swapped) Wait(ctx context.Context, after events.Position) error {
	s.waits.Add(1)
	return s.first.Wait(ctx, after)
}

func (s *swapped) Close() error { return errors.Join(s.first.Close(), s.Load().Close()) }

// put lets the log hold the first events that it did, and some others.
func (s *swapped) put(t *testing.T, count, others int) {
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
		add(t, events.NewLog(s), events.Folders, events.FolderCreated{Folder: uuid.New(), Name: uuid.NewString()})
	}
}

// untilStops waits until a read model has stopped, or has not.
func untilStops(t *testing.T, r *Runner, stops bool) {
	t.Helper()
	for {
		moved := movedOf(r)
		if r.hasStopped() == stops {
			return
		}
		select {
		case <-moved:
		case <-t.Context().Done():
			t.Fatalf("stopped is %t, want %t", !stops, stops)
		}
	}
}

// A log that is put back under a running server, from a backup that lacks the
// last events, stops the read models until it is put right.
func TestRestoredLogStopsServer(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]struct{ count, others int }{"shorter": {5, 0}, "continued differently": {5, 30}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := newSwapped()
			log := events.NewLog(driver)
			t.Cleanup(func() {
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			})
			manyDocuments(t, log, 4)
			r := started(t, log, readmodel.Vault{})
			head, err := log.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wait(t, r, head)
			documents := number(t, r, `SELECT count(*) FROM documents`)
			time.Sleep(1100 * time.Millisecond) // in less no engine is stopped, restored and started
			driver.put(t, put.count, put.others)
			// What the engine remembers rouses the loop, which finds nothing.
			add(t, events.NewLog(driver.first), events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later"})
			before := driver.waits.Load()
			if err := r.Wait(t.Context(), head+100); !fault.Is(err, fault.Unavailable) {
				t.Errorf("Wait = %v, want an error of kind unavailable", err)
			}
			untilStops(t, r, true)
			if n := driver.waits.Load() - before; n > 50 {
				t.Errorf("the log was asked %d times whether there is more", n)
			}
			if got := number(t, r, `SELECT count(*) FROM documents`); got != documents {
				t.Errorf("there are %d documents, want the %d from before", got, documents)
			}
			driver.Store(driver.first)
			untilStops(t, r, false)
		})
	}
}

// Where nothing comes, nothing rouses the loop.
func TestRestoredQuietLogStopsOnlyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := newSwapped()
		log := events.NewLog(driver)
		_, last := manyDocuments(t, log, 4)
		r, err := runnerOver(t.Context(), log, readmodel.Vault{}, tables.Folder(t.TempDir()), "vault", quiet)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.run(ctx) }()
		wait(t, r, last)
		time.Sleep(3 * shrinkAfter)
		driver.put(t, 5, 0)
		time.Sleep(3 * shrinkAfter)
		if !r.hasStopped() {
			t.Error("the read model continues with a log that lacks events")
		}
		driver.Store(driver.first)
		time.Sleep(3 * shrinkAfter)
		if r.hasStopped() {
			t.Error("the read model does not continue with the restored log")
		}
		stop()
		if err := errors.Join(<-ended, r.close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
}

// No node takes up what another had to stop.
func TestALogThatIsPutBackStopsEveryNode(t *testing.T) {
	t.Parallel()
	driver := newSwapped()
	log := events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	nodes, _, _ := twoNodes(t, log)
	_, last := manyDocuments(t, log, 4)
	for _, s := range nodes {
		wait(t, s.Runner("vault"), last)
	}
	driver.put(t, 5, 0)
	for _, s := range nodes { // a quiet log is asked now and then
		untilStops(t, s.Runner("vault"), true)
	}
	driver.Store(driver.first)
	for _, s := range nodes {
		untilStops(t, s.Runner("vault"), false)
	}
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "later"})
	for _, s := range nodes {
		wait(t, s.Runner("vault"), last)
	}
}
