//go:build !race

package projections

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections/readmodel"
)

// learning is a log as a program reads it that does not know some of its events
// yet: their version, or their type.
type learning struct {
	events.Driver
	mu      sync.Mutex
	unknown map[string]int64 // streams, by the first revision that is not known
	byType  bool
}

func (l *learning) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	records, through, err := l.Driver.ReadAll(ctx, after, limit, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range records {
		from, hidden := l.unknown[r.Stream]
		switch {
		case !hidden || r.Revision < from:
		case l.byType:
			records[i].Type = "Later" + r.Type
		default:
			records[i].Metadata = bytes.Replace(r.Metadata, []byte(`"schema":1`), []byte(`"schema":999`), 1)
		}
	}
	return slices.DeleteFunc(records, func(r events.Record) bool { return slices.Contains(skip, r.Type) }), through, err
}

// know tells the program all events of a stream before a revision, and all of
// every stream where there is none named.
func (l *learning) know(stream string, before int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stream == "" {
		l.unknown = nil
		return
	}
	l.unknown[stream] = before
}

// newLearning returns a log of which nothing is hidden yet, in a data folder of
// its own.
func newLearning(t *testing.T) (*proven, *learning) {
	l := &learning{Driver: memory.New(), unknown: map[string]int64{}}
	p := &proven{T: t, log: events.NewLog(l), dir: t.TempDir(), gone: map[string]error{}}
	t.Cleanup(func() {
		if err := p.log.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, l
}

// wantSound checks that what serves is what the log gives, and how many events
// are parked in it: of those the log itself complains.
func (p *proven) wantSound(parked int) {
	p.Helper()
	for name, c := range p.verify() {
		if name == "log" && parked > 0 {
			continue
		}
		if c.Problems > 0 || len(c.Skipped) > 0 {
			p.Errorf("%s: %q %q", name, c.First, c.Skipped)
		}
	}
	o, n := optionsIn(p.T, p.log, p.dir), 0
	for _, name := range readmodel.Names() {
		s, err := stateOf(p.T, o, name)
		if err != nil || s.Problem != "" {
			p.Fatalf("state %+v (%v)", s, err)
		}
		n += s.Parked
	}
	if n != parked {
		p.Errorf("%d events are parked, want %d", n, parked)
	}
}
