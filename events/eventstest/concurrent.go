package eventstest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/fault"
)

// race appends concurrently to one stream, through two drivers of the same log. In each
// round exactly one writer must succeed.
func race(t *testing.T, a, b events.Driver) {
	const rounds, writers = 20, 8
	for round := range rounds {
		expected := int64(round)*2 - 1
		var won atomic.Int32
		var winner atomic.Pointer[[]events.Record]
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				mine := records(2)
				d := a
				if i%2 == 1 {
					d = b
				}
				switch _, err := d.Append(t.Context(), "a", expected, mine); {
				case err == nil:
					won.Add(1)
					winner.Store(&mine)
				case !fault.Is(err, fault.Conflict):
					t.Errorf("concurrent append: got error %v, want a conflict", err)
				}
			})
		}
		all.Wait()
		if got := won.Load(); got != 1 {
			t.Fatalf("round %d: %d of %d concurrent appends succeeded, want one", round, got, writers)
		}
		wantRecords(t, readStream(t, b, "a", expected+1), "a", expected+1, *winner.Load())
	}
}

func testOrder(t *testing.T, d events.Driver) { order(t, []events.Driver{d}) }

// order runs many writers that append through several drivers of one log, and readers
// that follow the log at the same time. Each reader must get every event exactly one
// time, in the order of a later read.
func order(t *testing.T, drivers []events.Driver) {
	const writers, each = 16, 25
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follow := func(d events.Driver, skip ...string) ([]events.Position, error) {
		var seen []events.Position
		for after := events.Position(0); len(seen) < writers*each; {
			batch, through, err := d.ReadAll(ctx, after, 10, skip)
			if err != nil {
				return seen, err
			}
			for _, r := range batch {
				seen = append(seen, r.Position)
			}
			if through == after {
				if err := d.Wait(ctx, after); err != nil {
					return seen, err
				}
			}
			after = through
		}
		return seen, nil
	}
	type followed struct {
		name string
		seen []events.Position
		err  error
	}
	var reading, writing sync.WaitGroup
	results := make(chan followed, 2*len(drivers))
	for i, d := range drivers {
		for _, skip := range [][]string{nil, {"Never"}} {
			reading.Go(func() {
				seen, err := follow(d, skip...)
				results <- followed{fmt.Sprintf("reader at driver %d that skips %v", i, skip), seen, err}
			})
		}
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				d := drivers[(w+i)%len(drivers)]
				if _, err := d.Append(ctx, fmt.Sprintf("s%d", w), int64(i-1), records(1)); err != nil {
					t.Errorf("append %d of writer %d: %v", i, w, err)
					cancel()
					return
				}
			}
		})
	}
	writing.Wait()
	reading.Wait()
	close(results)
	want := readAll(t, drivers[0], 0, 1000)
	for r := range results {
		if r.err != nil || len(r.seen) != len(want) {
			t.Fatalf("%s: got %d events, %v, want %d", r.name, len(r.seen), r.err, len(want))
		}
		for i := range want {
			if r.seen[i] != want[i].Position {
				t.Fatalf("%s: got event %d at position %d, want %d", r.name, i, r.seen[i], want[i].Position)
			}
		}
	}
}

func testCancelled(t *testing.T, d events.Driver) {
	mustAppend(t, d, "a", events.NoStream, records(1)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Append(ctx, "a", 0, records(1))
	wantKind(t, err, fault.Canceled, "Append")
	_, err = d.ReadStream(ctx, "a", 0, 1)
	wantKind(t, err, fault.Canceled, "ReadStream")
	_, _, err = d.ReadAll(ctx, 0, 1, nil)
	wantKind(t, err, fault.Canceled, "ReadAll")
	_, err = d.Head(ctx)
	wantKind(t, err, fault.Canceled, "Head")
	wantKind(t, d.Wait(ctx, 1000), fault.Canceled, "Wait")
	if got := len(readAll(t, d, 0, 10)); got != 1 {
		t.Errorf("after a cancelled append the log has %d records, want 1", got)
	}
}

func testCancelledAppends(t *testing.T, d events.Driver) {
	const n = 200
	acknowledged := make([]bool, n)
	var all sync.WaitGroup
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			defer cancel()
			_, err := d.Append(ctx, fmt.Sprintf("s%d", i), events.NoStream, records(3))
			if acknowledged[i] = err == nil; err != nil {
				wantKindIn(t, err, fault.Canceled)
			}
		})
		all.Go(cancel)
	}
	all.Wait()
	for i, acknowledged := range acknowledged {
		got := len(readStream(t, d, fmt.Sprintf("s%d", i), 0))
		if got != 0 && got != 3 || acknowledged && got == 0 {
			t.Errorf("cancelled append of 3 records, acknowledged %t: the stream has %d", acknowledged, got)
		}
	}
}

// wantKindIn is wantKind for goroutines, which must not call t.Fatal.
func wantKindIn(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("got error %v, want kind %v", err, kind)
	}
}

func testWait(t *testing.T, d events.Driver) {
	wakes(t, d, d)
	if err := d.Wait(t.Context(), 0); err != nil {
		t.Errorf("Wait for an existing event: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Wait(ctx, 1<<40) }()
	mustAppend(t, d, "b", events.NoStream, records(1)...) // the awaited position is far higher
	cancel()
	wantKind(t, <-done, fault.Canceled, "Wait, cancelled")
}

// wakes checks that concurrent calls of Wait on the driver waiting return when the
// driver appending appends to the same log.
func wakes(t *testing.T, waiting, appending events.Driver) {
	for i := range 3 {
		head, err := waiting.Head(t.Context())
		if err != nil {
			t.Fatalf("Head: %v", err)
		}
		const waiters = 5
		started, done := make(chan struct{}, waiters), make(chan error, waiters)
		for range waiters {
			go func() {
				started <- struct{}{}
				err := waiting.Wait(t.Context(), head)
				if now, _ := waiting.Head(t.Context()); err == nil && now <= head {
					err = fmt.Errorf("the head is still at %d", now)
				}
				done <- err
			}()
		}
		for range waiters {
			<-started
		}
		mustAppend(t, appending, "w", int64(i-1), records(1)...)
		for range waiters {
			if err := <-done; err != nil {
				t.Errorf("Wait after %d: %v", head, err)
			}
		}
	}
}

func testClose(t *testing.T, d events.Driver) {
	a := mustAppend(t, d, "a", events.NoStream, records(1)...)
	done := make(chan error, 1)
	started := make(chan struct{})
	// The appends below never reach this position, so only Close ends the wait.
	unreachable := a.Position + 1<<40
	go func() {
		close(started)
		done <- d.Wait(t.Context(), unreachable)
	}()
	<-started
	var appends sync.WaitGroup
	for i := range 20 {
		appends.Go(func() {
			if _, err := d.Append(t.Context(), fmt.Sprintf("c%d", i), events.NoStream, records(1)); err != nil {
				wantKindIn(t, err, fault.Unavailable)
			}
		})
	}
	if err := d.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	appends.Wait()
	wantKind(t, <-done, fault.Unavailable, "Wait interrupted by Close")
	_, err := d.Append(t.Context(), "a", 0, records(1))
	wantKind(t, err, fault.Unavailable, "Append after Close")
	_, err = d.ReadStream(t.Context(), "a", 0, 1)
	wantKind(t, err, fault.Unavailable, "ReadStream after Close")
	_, _, err = d.ReadAll(t.Context(), 0, 1, nil)
	wantKind(t, err, fault.Unavailable, "ReadAll after Close")
	_, err = d.Head(t.Context())
	wantKind(t, err, fault.Unavailable, "Head after Close")
	wantKind(t, d.Wait(t.Context(), 0), fault.Unavailable, "Wait after Close")
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
