package eventstoredb_test

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"annals/events"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Fewer checks than the default, because each check makes some hundred calls of a
	// server.
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// Reads and Head skip system streams, and streams of other services in the same cluster.
func TestForeignStreamsAreSkipped(t *testing.T) {
	log := memory.New()
	server := esdbtest.Start(t, log)
	ours, theirs := open(t, server.URL()+"&prefix=ours-"), open(t, server.URL()+"&prefix=theirs-")
	all := open(t, server.URL())
	var last events.Appended
	for i := range 20 {
		appendTo(t, log, fmt.Sprintf("$$stats-%d", i), events.NoStream, 3)
		appendTo(t, theirs, "a", int64(i-1), 1)
		last = appendTo(t, ours, "a", int64(i-1), 1)
	}
	appendTo(t, theirs, "b", events.NoStream, 5)
	for name, c := range map[string]struct {
		d    events.Driver
		want int
	}{"ours": {ours, 20}, "theirs": {theirs, 25}, "all": {all, 45}} {
		for _, skip := range [][]string{nil, {"Never"}, {"Happened"}} {
			want := c.want
			if len(skip) > 0 && skip[0] == "Happened" {
				want = 0
			}
			for _, limit := range []int{7, 1000} {
				if got := count(t, c.d, limit, skip); got != want {
					t.Errorf("ReadAll of %s that skips %v in batches of %d: got %d events, want %d", name, skip, limit, got, want)
				}
			}
		}
	}
	if head, err := ours.Head(t.Context()); err != nil || head != last.Position {
		t.Errorf("Head: got %d, %v, want %d", head, err, last.Position)
	}
	for _, skip := range [][]string{nil, {"Never"}, {"Happened"}} { // whatever is skipped, through must not exceed the head of the log
		for _, limit := range []int{7, 1000} {
			through := events.Position(0)
			for at := events.Position(-1); at < through; {
				var err error
				at = through
				if _, through, err = ours.ReadAll(t.Context(), at, limit, skip); err != nil {
					t.Fatal(err)
				}
			}
			if through != last.Position {
				t.Errorf("ReadAll that skips %v in batches of %d: got through %d, want the head %d", skip, limit, through, last.Position)
			}
		}
	}
	if batch, err := ours.ReadStream(t.Context(), "b", 0, 10); err != nil || len(batch) != 0 {
		t.Errorf("ReadStream of another service's stream: got %d events, %v, want none", len(batch), err)
	}
	if _, err := all.Append(t.Context(), "$settings", events.NoStream, records(1)); err == nil {
		t.Error("Append to a system stream: got no error")
	}
}

func TestForeignEventsAreSkippedInFewCalls(t *testing.T) {
	log := memory.New()
	server := esdbtest.Start(t, log)
	ours := open(t, server.URL()+"&prefix=ours-")
	appendTo(t, log, "theirs-a", events.NoStream, 2000)
	last := appendTo(t, ours, "a", events.NoStream, 1)
	before := server.Calls(esdbtest.Read)
	batch, through, err := ours.ReadAll(t.Context(), 0, 1, []string{"Never"})
	if err != nil || len(batch) != 1 || through != last.Position {
		t.Fatalf("ReadAll: got %d events through %d, %v, want 1 through %d", len(batch), through, err, last.Position)
	}
	if calls := server.Calls(esdbtest.Read) - before; calls > 15 {
		t.Errorf("ReadAll after 2000 events of another service: got %d calls, want at most 15", calls)
	}
}

// count returns the number of events in a log.
func count(t *testing.T, d events.Driver, limit int, skip []string) (n int) {
	t.Helper()
	for after := events.Position(0); ; {
		batch, through, err := d.ReadAll(t.Context(), after, limit, skip)
		if err != nil {
			t.Fatalf("ReadAll(%d, %d, %v): %v", after, limit, skip, err)
		}
		if n += len(batch); through == after {
			return n
		}
		after = through
	}
}

// The server only reads from positions at which an event begins. ReadAll accepts any
// position, because operators may choose any.
func TestReadAllAfterAnyPosition(t *testing.T) {
	d := open(t, esdbtest.Start(t, memory.New()).URL())
	appendTo(t, d, "a", events.NoStream, 10)
	all, head, err := d.ReadAll(t.Context(), 0, 100, nil)
	if err != nil || len(all) != 10 {
		t.Fatalf("ReadAll: got %d events, %v", len(all), err)
	}
	for after := range head {
		want := 0
		for _, r := range all {
			if r.Position > after {
				want++
			}
		}
		for _, limit := range []int{2, 100} {
			batch, _, err := d.ReadAll(t.Context(), after, limit, nil)
			if err != nil || len(batch) != min(want, limit) || batch[0].ID != all[10-want].ID {
				t.Errorf("ReadAll(%d, %d): got %d events, %v, want %d", after, limit, len(batch), err, min(want, limit))
			}
		}
	}
}

func TestCloseEndsWaitingCalls(t *testing.T) {
	server := esdbtest.Start(t, memory.New())
	d := open(t, server.URL())
	done := make(chan error)
	go func() { done <- d.Wait(context.WithoutCancel(t.Context()), 1) }()
	server.Stop()
	go func() {
		_, err := d.Head(t.Context())
		done <- err
	}()
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for range 2 {
		if err := <-done; err == nil {
			t.Error("a call interrupted by Close: got no error")
		}
	}
}
