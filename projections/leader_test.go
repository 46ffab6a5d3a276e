package projections_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"
	"annals/projections"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// Readers may wait because the active generation was not confirmed in time. A
// confirmation must wake them, even if no event is appended.
func TestConfirmWakesReaders(t *testing.T) {
	log := projectionstest.NewLog(t)
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	r := projections.NewRunner(projectionstest.OpenModel(t, log, readmodel.Vault{}, tables.Folder(t.TempDir())).Generation)
	r.Join(cluster.NewNode("vault", nil, nil, nil, projectionstest.Quiet, time.Now().Add(-2*control.StalenessBound)))
	if r.Err() == nil {
		t.Fatal("Err = nil although the generation was not confirmed in time")
	}
	_, moved := r.Moved()
	r.ConfirmAt(time.Now())
	select {
	case <-moved:
	default:
		t.Errorf("the confirmation wakes no reader, and Err = %v", r.Err())
	}
	_, moved = r.Moved()
	r.ConfirmAt(time.Now())
	select {
	case <-moved:
		t.Error("a confirmation without a change wakes readers")
	default:
	}
}

// A node whose connection was cut has lost the leader lock, even if it has not noticed.
// It must not activate a generation, because the next leader may activate another one.
func TestReplaceFailsAfterLostLock(t *testing.T) {
	home := projectionstest.Database(t, postgrestest.URL(t))
	log := projectionstest.NewLog(t)
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	first := projectionstest.OpenModel(t, log, readmodel.Vault{}, home)
	first.StepOnce()
	next, err := generation.New(t.Context(), log, readmodel.Vault{}, home, "vault-2", projectionstest.Quiet)
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
	r := projections.NewRunner(first.Generation)
	r.Join(cluster.NewNode("vault", nil, nil, nil, projectionstest.Quiet, time.Now()))
	var pid int
	if err := first.Store().QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Pool().ExecContext(t.Context(), `SELECT pg_terminate_backend($1, 10000)`, pid); err != nil {
		t.Fatal(err)
	}
	committed := false
	err = r.Replace(t.Context(), next, func() error { committed = true; return nil })
	if committed || !fault.Is(err, fault.Unavailable) {
		t.Errorf("Replace = %[2]v, committed: %[1]t, want an error of kind unavailable before the commit", committed, err)
	}
}

// A newer program has activated a generation that this node cannot read. For this node,
// only the stop mark of its own generation may count.
func TestOlderNodeConfirmsOwnGeneration(t *testing.T) {
	log := projectionstest.NewLog(t)
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	o := projectionstest.NodeOptions(t, log, postgrestest.URL(t))
	s, err := projections.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Runner("vault")
	newer := control.Active{Projection: "vault", Generation: 2, Version: readmodel.Vault{}.Version() + 1, Stopped: true}
	if err := projections.Confirm(t.Context(), o, r, newer, time.Now()); err != nil || r.Err() != nil {
		t.Errorf("after another generation has stopped, Err = %v (%v), want nil", r.Err(), err)
	}
	newer.Stopped = false
	if err := o.Control.MarkStopped(t.Context(), "vault", r.Generation()); err != nil {
		t.Fatal(err)
	}
	if err := projections.Confirm(t.Context(), o, r, newer, time.Now()); err != nil || r.Err() == nil {
		t.Errorf("after the own generation has stopped, Err = %v (%v), want an error", r.Err(), err)
	}
}

// cutLog is a log from which one node may be disconnected. Like a real log, its Wait
// returns no error even then.
type cutLog struct {
	events.Driver
	cut atomic.Bool
}

func (l *cutLog) err() error {
	if l.cut.Load() {
		return fault.Errorf(fault.Unavailable, "the log does not respond")
	}
	return nil
}

func (l *cutLog) Head(ctx context.Context) (events.Position, error) {
	if err := l.err(); err != nil {
		return 0, err
	}
	return l.Driver.Head(ctx)
}

func (l *cutLog) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	if err := l.err(); err != nil {
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
	log := projectionstest.LogOver(t, driver)
	var logs [2]*cutLog
	var vaults [2]*projections.Runner
	for i := range logs {
		logs[i] = &cutLog{Driver: driver}
		s, err := projections.Open(t.Context(), projectionstest.NodeOptions(t, events.NewLog(logs[i]), url))
		if err != nil {
			t.Fatal(err)
		}
		projectionstest.Run(t, s)
		vaults[i] = s.Runner("vault")
	}
	last := projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	for _, r := range vaults {
		projectionstest.Wait(t, r, last)
	}
	leads := awaitLeader(t, vaults[0], vaults[1])
	logs[leads].cut.Store(true)
	last = projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "G"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := vaults[1-leads].Wait(ctx, last); err != nil {
		t.Fatal(err)
	}
}
