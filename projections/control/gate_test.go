package control

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
)

// gates returns one Gate for each of several nodes. All use the same database.
func gates(t *testing.T, nodes int, open time.Duration) []*Gate {
	t.Helper()
	database, err := sqldb.ParsePostgres(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*Gate, nodes)
	for i := range all {
		all[i] = opened(t, func() (*Store, error) { return OpenShared(t.Context(), database) }).Gate("test", open)
	}
	return all
}

// One process passes the gate, works, passes again and checks its work. Another process
// shuts the gate and works. At least one of them must see the other's work, however long
// the first process delays its work after passing.
func TestPassAndShutSeeEachOther(t *testing.T) {
	t.Parallel()
	const open = 20 * time.Millisecond
	all := gates(t, 2, open)
	var outcomes [3]int // number of rounds in which neither worked, only the passing process, only the exclusive one
	for round := range 40 {
		late := []time.Duration{open / 4, 3 * open}[round%2]
		var filed, gone atomic.Bool
		kept := false
		var passing sync.WaitGroup
		passing.Go(func() {
			if _, err := all[0].Pass(t.Context()); err != nil || gone.Load() {
				return
			}
			time.Sleep(rand.N(late)) // the delay may be longer than the pass is valid
			filed.Store(true)
			if _, err := all[0].Pass(t.Context()); err != nil {
				t.Errorf("Pass: %v", err)
			}
			kept = !gone.Load()
		})
		time.Sleep(rand.N(open))
		removed := false
		err := all[1].Shut(t.Context(), func(_ context.Context, still func() error) error {
			if filed.Load() {
				return nil
			}
			time.Sleep(rand.N(2 * open))
			removed = still() == nil
			gone.Store(removed)
			return nil
		})
		if err != nil {
			t.Fatalf("Shut: %v", err)
		}
		passing.Wait()
		switch {
		case kept && removed:
			t.Fatal("one process kept its file, and the other removed all files")
		case removed:
			outcomes[2]++
		case kept:
			outcomes[1]++
		default:
			outcomes[0]++
		}
	}
	t.Logf("neither, filed, removed: %v", outcomes)
}

func TestShutWaitsForEarlierPasses(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 500*time.Millisecond)
	until, err := all[0].Pass(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shut(t, all[1], func() {
		if early := time.Until(until); early > 0 {
			t.Errorf("Shut ran %v before the pass had expired", early)
		}
	})
}

// keepPassing passes the gate on some nodes in several goroutines until stop is called.
func keepPassing(t *testing.T, nodes []*Gate) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var passing sync.WaitGroup
	for _, g := range nodes {
		for range 8 {
			passing.Go(func() {
				for ctx.Err() == nil {
					if _, err := g.Pass(ctx); err != nil && ctx.Err() == nil {
						t.Errorf("Pass: %v", err)
					}
				}
			})
		}
	}
	return func() { cancel(); passing.Wait() }
}

func TestPassAndShutDoNotStarve(t *testing.T) {
	t.Parallel()
	all := gates(t, 4, 20*time.Millisecond)
	defer keepPassing(t, all[:2])()
	var shutting sync.WaitGroup
	for _, g := range all[2:] {
		shutting.Go(func() {
			for range 10 {
				err := g.Shut(t.Context(), func(_ context.Context, still func() error) error { return still() })
				if err != nil {
					t.Errorf("Shut: %v", err)
				}
			}
		})
	}
	shutting.Wait()
}

// While the gate is known to be open, passing does not query the store.
func TestPassesShareOneRequest(t *testing.T) {
	t.Parallel()
	g := gates(t, 1, time.Hour)[0]
	first, err := g.Pass(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var passing sync.WaitGroup
	for range 100 {
		passing.Go(func() {
			if until, err := g.Pass(t.Context()); err != nil || !until.Equal(first) {
				t.Errorf("Pass = %v, %v; want the earlier result %v", until, err, first)
			}
		})
	}
	passing.Wait()
}

// shut shuts a gate and calls hold while it is shut. It returns the error of the function
// still that Shut passes to its callback. The error is not nil if the gate may have
// opened in the meantime.
func shut(t *testing.T, g *Gate, hold func()) (lost error) {
	t.Helper()
	err := g.Shut(t.Context(), func(_ context.Context, still func() error) error {
		if err := still(); err != nil {
			t.Errorf("still, before hold: %v", err)
		}
		hold()
		lost = still()
		return nil
	})
	if err != nil {
		t.Errorf("Shut: %v", err)
	}
	return lost
}

func TestHungShutLosesGate(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 20*time.Millisecond)
	all[0].hung = 1500 * time.Millisecond
	lost := shut(t, all[0], func() {
		if _, err := all[1].Pass(t.Context()); err != nil {
			t.Errorf("Pass while the other process hangs: %v", err)
		}
	})
	if !fault.Is(lost, fault.Unavailable) {
		t.Errorf("still after a hang: %v, want unavailable", lost)
	}
}

func TestLostSessionOpensGate(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 20*time.Millisecond)
	lost := shut(t, all[0], func() {
		_, err := all[1].control.db.ExecContext(t.Context(),
			`SELECT pg_terminate_backend(pid, 10000) FROM pg_locks JOIN pg_database d ON d.oid = database
			WHERE locktype = 'advisory' AND granted AND datname = current_database()`)
		if err == nil {
			_, err = all[1].Pass(t.Context())
		}
		if err != nil {
			t.Errorf("Pass after the session was ended: %v", err)
		}
	})
	if !fault.Is(lost, fault.Unavailable) {
		t.Errorf("still after the session was lost: %v, want unavailable", lost)
	}
	if lost := shut(t, all[0], func() {}); lost != nil {
		t.Errorf("still of the next Shut = %v, want nil", lost)
	}
}

func TestShutOfShutGateIsUnavailable(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 20*time.Millisecond)
	shut(t, all[0], func() {
		err := all[1].Shut(t.Context(), func(context.Context, func() error) error {
			t.Error("two processes have shut the gate at the same time")
			return nil
		})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("Shut during another: %v, want unavailable", err)
		}
	})
}

// A canceled caller of Pass does not cancel other callers that share its request.
func TestCanceledPassKeepsOthers(t *testing.T) {
	t.Parallel()
	g := gates(t, 1, 20*time.Millisecond)[0]
	all, _ := g.join()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := g.Pass(t.Context()); err != nil {
			t.Errorf("Pass of the other caller: %v", err)
		}
	})
	left, leave := context.WithCancel(t.Context())
	leave()
	g.request(left, all)
	waiting.Wait()
	if !fault.Is(all.err, fault.Canceled) {
		t.Errorf("the canceled caller got %v, want canceled", all.err)
	}
}
