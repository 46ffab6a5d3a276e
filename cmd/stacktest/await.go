package stacktest

import (
	"testing"
	"time"

	"annals/events"
	"annals/projections/projectionstest"
)

// CheckAwait checks that the reply to a write waits for every read model that a client
// may read next. For each read model, CheckAwait calls prepare, which sets up data and
// returns the write, blocks the read model, and calls the write. The reply must wait
// until the read model has applied the first event that the write appends. If types is
// not empty, only events of these types count.
func (s *Stack) CheckAwait(t testing.TB, name string, types []string, prepare func() (write func())) {
	t.Helper()
	models := s.Queries.Models
	for _, blocked := range models.Awaited() {
		write, replied := prepare(), make(chan struct{})
		head, err := s.log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		release := s.Block(t, blocked.Name())
		go func() {
			defer close(replied)
			write()
		}()
		written := s.awaitEvent(t, head, types, replied)
		for _, m := range append(models.Awaited(), models.Passages) {
			if m != blocked {
				_ = m.Wait(t.Context(), written)
			}
		}
		select {
		case <-replied:
			t.Errorf("%s: the reply does not wait for the read model %s", name, blocked.Name())
		case <-time.After(20 * time.Millisecond):
		}
		release()
		<-replied
		for _, m := range models.Awaited() {
			if m.Position() < written {
				t.Errorf("%s: after the reply %s is at position %d, want at least %d", name, m.Name(), m.Position(), written)
			}
		}
	}
}

// awaitEvent waits for the first event after a position and returns its position. If
// types is not empty, only events of these types count. If there is none when done is
// closed, it returns 0.
func (s *Stack) awaitEvent(t testing.TB, after events.Position, types []string, done <-chan struct{}) events.Position {
	t.Helper()
	for {
		found, _, err := s.log.Read(t.Context(), after, 1, types...)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return found[0].Position
		}
		select {
		case <-done:
			return 0
		case <-time.After(time.Millisecond):
		}
	}
}

// Block prevents a read model from applying events until release is called. The tables
// of the read model can still be read.
func (s *Stack) Block(t testing.TB, model string) (release func()) {
	t.Helper()
	return projectionstest.Block(t, s.tables, model+"-1")
}
