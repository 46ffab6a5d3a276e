package projections

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
)

// gates returns one gate as so many nodes have it.
func gates(t *testing.T, nodes int, open time.Duration) []*Gate {
	t.Helper()
	database, err := postgres.Parse(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*Gate, nodes)
	for i := range all {
		all[i] = opened(t, func() (*Control, error) { return OpenSharedControl(t.Context(), database) }).Gate("test", open)
	}
	return all
}

// Whoever acts after he passed, and looks again after he passed once more, is seen
// by whoever acts alone, or sees him: however late he acts.
func TestWhoActsAloneAndWhoPassesSeeEachOther(t *testing.T) {
	t.Parallel()
	const open = 20 * time.Millisecond
	all := gates(t, 2, open)
	var outcomes [4]int // neither acted, he who passed, he who was alone, both
	for round := range 40 {
		late := []time.Duration{open / 4, 3 * open}[round%2]
		var filed, gone atomic.Bool
		kept := false
		var passing sync.WaitGroup
		passing.Go(func() {
			if _, err := all[0].Pass(t.Context()); err != nil || gone.Load() {
				return
			}
			time.Sleep(rand.N(late)) // any time is to be right
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
			t.Fatal("one was told that it is there, the other that all is gone")
		case removed:
			outcomes[2]++
		case kept:
			outcomes[1]++
		default:
			outcomes[0]++
		}
	}
	t.Logf("neither, filed, removed, both: %v", outcomes)
}

func TestNothingIsDoneAloneBeforeThoseWhoPassedAskAnew(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 500*time.Millisecond)
	until, err := all[0].Pass(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shut(t, all[1], func() {
		if early := time.Until(until); early > 0 {
			t.Errorf("somebody is alone %v too early", early)
		}
	})
}

// keepPassing lets many pass at some nodes, until stop is called.
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

func TestThoseWhoPassAndThoseWhoShutTakeTurns(t *testing.T) {
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

// However many pass, the store is asked once while the gate is known to be open.
func TestManyPassByOneQuestion(t *testing.T) {
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
				t.Errorf("Pass = %v, %v; want what was told before, %v", until, err, first)
			}
		})
	}
	passing.Wait()
}

// shut shuts a gate, for as long as hold runs, and returns what still says then.
func shut(t *testing.T, g *Gate, hold func()) (lost error) {
	t.Helper()
	err := g.Shut(t.Context(), func(_ context.Context, still func() error) error {
		if err := still(); err != nil {
			t.Errorf("still, at first: %v", err)
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

func TestWhoHangsAloneIsShutOut(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 20*time.Millisecond)
	all[0].hung = 1500 * time.Millisecond
	lost := shut(t, all[0], func() {
		if _, err := all[1].Pass(t.Context()); err != nil {
			t.Errorf("Pass beside who hangs: %v", err)
		}
	})
	if !fault.Is(lost, fault.Unavailable) {
		t.Errorf("who hung may go on: %v, want unavailable", lost)
	}
}

func TestALostSessionOpensTheGate(t *testing.T) {
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
		t.Errorf("who lost his session may go on: %v, want unavailable", lost)
	}
	if lost := shut(t, all[0], func() {}); lost != nil {
		t.Errorf("another deletion after that: %v", lost)
	}
}

func TestWhoShutsAGateThatIsShutIsToldToTryAgain(t *testing.T) {
	t.Parallel()
	all := gates(t, 2, 20*time.Millisecond)
	shut(t, all[0], func() {
		err := all[1].Shut(t.Context(), func(context.Context, func() error) error {
			t.Error("two are alone")
			return nil
		})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("Shut beside another: %v, want unavailable", err)
		}
	})
}

// One who leaves takes nobody along who waits for the same answer.
func TestWhoAsksForAllMayLeaveAlone(t *testing.T) {
	t.Parallel()
	g := gates(t, 1, 20*time.Millisecond)[0]
	all, _ := g.join()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := g.Pass(t.Context()); err != nil {
			t.Errorf("Pass of one who stayed: %v", err)
		}
	})
	left, leave := context.WithCancel(t.Context())
	leave()
	g.ask(left, all)
	waiting.Wait()
	if !fault.Is(all.err, fault.Canceled) {
		t.Errorf("who left is told %v, want canceled", all.err)
	}
}
