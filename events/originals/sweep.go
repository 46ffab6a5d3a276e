package originals

import (
	"context"
	"time"
)

const (
	// sweptTogether is how many originals are deleted with the gate shut once.
	sweptTogether = 100
	// sweepTurn is how long the gate stays shut at a time.
	sweepTurn = 500 * time.Millisecond
)

// Sweep deletes the originals that were last committed before a time and that
// nothing refers to: uploads whose request ended before a job accepted them,
// and those of deleted documents. It returns how many it deleted. If other
// processes commit to the store, it shuts their gate meanwhile.
func Sweep(ctx context.Context, s Store, gate Gate, before time.Time, referred func(ctx context.Context, sha256 string) (bool, error)) (deleted int, err error) {
	w := sweeping{store: s, gate: gate, before: before}
	err = s.List(ctx, func(sha256 string, _ int64, modified time.Time) error {
		if !modified.Before(before) {
			return nil
		}
		if used, err := referred(ctx, sha256); used || err != nil {
			return err
		}
		if w.doomed = append(w.doomed, sha256); gate != nil && len(w.doomed) < sweptTogether {
			return nil
		}
		return w.delete(ctx)
	})
	if err == nil {
		err = w.delete(ctx)
	}
	return w.deleted, err
}

// sweeping is a sweep that is under way.
type sweeping struct {
	store   Store
	gate    Gate
	before  time.Time
	doomed  []string
	deleted int
}

// delete deletes what is doomed, with pauses in which others can commit.
func (w *sweeping) delete(ctx context.Context) (err error) {
	if w.gate == nil {
		return w.turn(ctx, func() error { return nil })
	}
	for len(w.doomed) > 0 && err == nil {
		err = w.gate.Shut(ctx, w.turn)
	}
	return err
}

func (w *sweeping) turn(ctx context.Context, still func() error) error {
	for begun := time.Now(); len(w.doomed) > 0 && time.Since(begun) < sweepTurn; w.doomed = w.doomed[1:] {
		if err := still(); err != nil {
			return err
		}
		// The same bytes may have been uploaded again since they were listed.
		gone, err := w.store.Delete(ctx, w.doomed[0], w.before)
		if err != nil {
			return err
		}
		if gone {
			w.deleted++
		}
	}
	return nil
}
