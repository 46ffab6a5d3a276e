package projections

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// Whoever waits until a read model can be trusted looks again as soon as it can,
// also where nothing is appended meanwhile.
func TestConfirmWakesReaders(t *testing.T) {
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	r := newRunner(openIn(t, tables.Folder(t.TempDir()), log, readmodel.Vault{}))
	r.member = cluster.NewNode("vault", nil, nil, nil, quiet, time.Now().Add(-2*control.StalenessBound))
	if r.Err() == nil {
		t.Fatal("what was not confirmed for long is trusted")
	}
	_, moved := r.Moved()
	r.confirm(time.Now(), false)
	select {
	case <-moved:
	default:
		t.Errorf("a waiter is not woken, though Err = %v", r.Err())
	}
	_, moved = r.Moved()
	r.confirm(time.Now(), false)
	select {
	case <-moved:
		t.Error("a waiter is woken without a change")
	default:
	}
}

// A node whose connection was cut unnoticed has lost the leader lock: it moves no pointer
// behind whoever does.
func TestSwitchFailsAfterLostLock(t *testing.T) {
	d, _ := database(t)
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	first := openIn(t, d, log, readmodel.Vault{})
	if _, err := first.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := generation.New(t.Context(), log, readmodel.Vault{}, d, "vault-2", quiet)
	if err == nil {
		err = next.MustLead(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	})
	r := newRunner(first)
	r.member = cluster.NewNode("vault", nil, nil, nil, quiet, time.Now())
	var pid int
	if err := first.Store().QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Pool().ExecContext(t.Context(), `SELECT pg_terminate_backend($1, 10000)`, pid); err != nil {
		t.Fatal(err)
	}
	committed := false
	_, err = r.swap(t.Context(), next, func() error { committed = true; return nil })
	if committed || !fault.Is(err, fault.Unavailable) {
		t.Errorf("another generation serves: %t, %v; want an error of kind unavailable", committed, err)
	}
}

// A node that a newer program leaves behind trusts what it serves itself, or not.
func TestOlderNodeConfirmsOwnGeneration(t *testing.T) {
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	o := nodeOf(t, log, postgrestest.URL(t))
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Runner("vault")
	newer := control.Active{Projection: "vault", Generation: 2, Version: readmodel.Vault{}.Version() + 1, Stopped: true}
	if err := confirm(t.Context(), o, r, newer, time.Now()); err != nil || r.Err() != nil {
		t.Errorf("where another generation has stopped, Err = %v (%v)", r.Err(), err)
	}
	newer.Stopped = false
	if err := o.Control.MarkStopped(t.Context(), "vault", r.Generation()); err != nil {
		t.Fatal(err)
	}
	if err := confirm(t.Context(), o, r, newer, time.Now()); err != nil || r.Err() == nil {
		t.Errorf("where its own has stopped, Err = %v (%v)", r.Err(), err)
	}
}

// cutLog is a log that one node alone may be cut off from. Waiting tells nothing
// of that.
type cutLog struct {
	events.Driver
	cut atomic.Bool
}

func (l *cutLog) away() error {
	if l.cut.Load() {
		return fault.Errorf(fault.Unavailable, "the log does not answer")
	}
	return nil
}

func (l *cutLog) Head(ctx context.Context) (events.Position, error) {
	if err := l.away(); err != nil {
		return 0, err
	}
	return l.Driver.Head(ctx)
}

func (l *cutLog) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	if err := l.away(); err != nil {
		return nil, 0, err
	}
	return l.Driver.ReadAll(ctx, after, limit, skip)
}

func (l *cutLog) Wait(ctx context.Context, after events.Position) error {
	err := l.Driver.Wait(ctx, after)
	if l.cut.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func TestLeaderWithoutLogYields(t *testing.T) {
	t.Parallel()
	driver, url := memory.New(), postgrestest.URL(t)
	log := events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	var logs [2]*cutLog
	var vaults [2]*Runner
	for i := range logs {
		logs[i] = &cutLog{Driver: driver}
		s, err := Open(t.Context(), nodeOf(t, events.NewLog(logs[i]), url))
		if err != nil {
			t.Fatal(err)
		}
		run(t, s)
		vaults[i] = s.Runner("vault")
	}
	last := add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	for _, r := range vaults {
		wait(t, r, last)
	}
	leads := leader(t, vaults[0], vaults[1])
	logs[leads].cut.Store(true)
	last = add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "G"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := vaults[1-leads].Wait(ctx, last); err != nil {
		t.Fatal(err)
	}
}
