package originals

import (
	"context"
	"time"
)

// KeptDeleted is how long the original of a deleted document is kept, so that the document
// can be restored.
const KeptDeleted = 24 * time.Hour

const (
	sweepBatch  = 100                    // originals to delete each time the gate is shut
	maxGateShut = 500 * time.Millisecond // maximum time for which the gate stays shut without a pause
)

// Sweep deletes the originals that were last committed before a time and that nothing
// refers to: originals of deleted documents, and uploads whose request failed before a
// job accepted them. It returns the number of deleted originals. gate excludes commits
// by other processes; it is nil if no other process commits.
func Sweep(ctx context.Context, s Store, gate Gate, before time.Time, referred func(ctx context.Context, sha256 string) (bool, error)) (deleted int, err error) {
	w := sweep{store: s, gate: gate, before: before}
	err = s.List(ctx, func(sha256 string, _ int64, modified time.Time) error {
		if !modified.Before(before) {
			return nil
		}
		if used, err := referred(ctx, sha256); used || err != nil {
			return err
		}
		if w.unused = append(w.unused, sha256); gate != nil && len(w.unused) < sweepBatch {
			return nil
		}
		return w.delete(ctx)
	})
	if err == nil {
		err = w.delete(ctx)
	}
	return w.deleted, err
}

// sweep is the state of one call of Sweep.
type sweep struct {
	store   Store
	gate    Gate
	before  time.Time
	unused  []string
	deleted int
}

// delete deletes the unused originals, with pauses in which other processes can commit.
func (w *sweep) delete(ctx context.Context) (err error) {
	if w.gate == nil {
		return w.deleteSome(ctx, func() error { return nil })
	}
	for len(w.unused) > 0 && err == nil {
		err = w.gate.Shut(ctx, w.deleteSome)
	}
	return err
}

// deleteSome deletes unused originals for at most maxGateShut.
func (w *sweep) deleteSome(ctx context.Context, check func() error) error {
	for start := time.Now(); len(w.unused) > 0 && time.Since(start) < maxGateShut; w.unused = w.unused[1:] {
		if err := check(); err != nil {
			return err
		}
		// The same bytes may have been uploaded again since they were listed.
		deleted, err := w.store.Delete(ctx, w.unused[0], w.before)
		if err != nil {
			return err
		}
		if deleted {
			w.deleted++
		}
	}
	return nil
}
