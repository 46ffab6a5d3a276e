package projections

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/postgres"
	"annals/events/postgres/postgrestest"

	"github.com/google/uuid"
)

// Whoever waits until a read model can be trusted looks again as soon as it can,
// also where nothing is appended meanwhile.
func TestWhatCanBeTrustedAgainWakesWhoeverWaits(t *testing.T) {
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	r := openIn(t, Folder(t.TempDir()), log, Vault{}).serve()
	r.shared = &sharing{confirmed: time.Now().Add(-2 * unsure)}
	if r.Err() == nil {
		t.Fatal("what was not confirmed for long is trusted")
	}
	_, moved := r.Moved()
	r.confirm(time.Now(), false)
	select {
	case <-moved:
	default:
		t.Errorf("whoever waits is not woken, though Err = %v", r.Err())
	}
	_, moved = r.Moved()
	r.confirm(time.Now(), false)
	select {
	case <-moved:
		t.Error("whoever waits is woken by nothing new")
	default:
	}
}

// A node whose connection was cut unnoticed leads no more: it moves no pointer
// behind whoever does.
func TestWhoLostTheLeadUnnoticedLetsNoOtherGenerationServe(t *testing.T) {
	d, _ := database(t)
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	first := openIn(t, d, log, Vault{})
	if _, err := first.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := newGeneration(t.Context(), log, Vault{}, d, "vault-2", quiet)
	if err == nil {
		err = next.mustLead(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := next.close(); err != nil {
			t.Error(err)
		}
	})
	r := first.serve()
	r.shared = new(sharing)
	var pid int
	if err := first.store.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pool.ExecContext(t.Context(), `SELECT pg_terminate_backend($1, 10000)`, pid); err != nil {
		t.Fatal(err)
	}
	committed := false
	_, err = r.swap(t.Context(), next, func() error { committed = true; return nil })
	if committed || !fault.Is(err, fault.Unavailable) {
		t.Errorf("another generation serves: %t, %v; want an error of kind unavailable", committed, err)
	}
}

// Nodes of two versions may have stopped, each at a generation of its own.
func TestAnotherGenerationServesWhereSeveralHaveStopped(t *testing.T) {
	database, err := postgres.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	control := opened(t, func() (*Control, error) { return OpenSharedControl(t.Context(), database) })
	next := spare{projection: "vault", generation: 3, version: 1, state: ready}
	err = errors.Join(
		control.setGeneration(t.Context(), "vault", 1, 2),
		control.stop(t.Context(), "vault", 1), control.stop(t.Context(), "vault", 2), control.setSpare(t.Context(), next))
	if err != nil {
		t.Fatal(err)
	}
	if err := control.serve(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	all, err := control.pointers(t.Context())
	if p := all["vault"]; err != nil || p.generation != 3 || !p.stopped {
		t.Errorf("generation %d serves, stopped: %t (%v); want 3, which is not trusted before it has gone on", p.generation, p.stopped, err)
	}
	if stopped, err := control.isStopped(t.Context(), "vault", 1); !stopped || err != nil {
		t.Errorf("what stopped is trusted by nodes of another version (%v)", err)
	}
}

// A node that a newer program leaves behind trusts what it serves itself, or not.
func TestANodeLeftBehindTrustsItsOwnGeneration(t *testing.T) {
	log := newLog(t)
	add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
	o := nodeOf(t, log, postgrestest.URL(t))
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.Vault
	newer := pointer{projection: "vault", generation: 2, version: Vault{}.Version() + 1, stopped: true}
	if err := o.confirm(t.Context(), r, newer, time.Now()); err != nil || r.Err() != nil {
		t.Errorf("where another generation has stopped, Err = %v (%v)", r.Err(), err)
	}
	newer.stopped = false
	if err := o.Control.stop(t.Context(), "vault", r.Generation()); err != nil {
		t.Fatal(err)
	}
	if err := o.confirm(t.Context(), r, newer, time.Now()); err != nil || r.Err() == nil {
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

func TestANodeThatIsCutOffFromTheLogLetsAnotherLead(t *testing.T) {
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
		vaults[i] = s.Vault
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

// A store that is away for less than a lease lasts calls nothing off.
func TestALeaseOutlivesAShortOutage(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	database, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	control := opened(t, func() (*Control, error) { return OpenSharedControl(t.Context(), database) })
	server, err := postgres.Parse(os.Getenv(postgrestest.Variable))
	if err != nil {
		t.Fatal(err)
	}
	db := server.Open("", 1, nil)
	defer db.Close()
	name := url[strings.LastIndex(url, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	interrupt := func(ctx context.Context) error {
		for _, allowed := range []string{"false", "true"} {
			if _, err := db.ExecContext(ctx, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS "+allowed); err != nil {
				return err
			}
			if _, err := db.ExecContext(ctx, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1`, name); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(rebuildLease / 3):
			}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		begun := time.Now()
		err = control.Alone(ctx, "test", interrupt)
		if err == nil || time.Since(begun) < rebuildLease {
			break
		}
		if ctx.Err() != nil {
			t.Skip("no outage was short within a minute on this busy machine")
		}
		t.Logf("the outage was not short on this busy machine (%v), which says nothing: again", time.Since(begun))
		if _, err := db.ExecContext(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true"); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
