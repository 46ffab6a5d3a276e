package originals

import (
	"context"
	"time"
)

// Gate keeps a process from deleting originals while other processes commit to the same
// store.
type Gate interface {
	// Pass waits while another process deletes. No process deletes until the
	// returned time.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut waits until all passes have expired, and calls do, which may delete. check
	// returns an error if commits are no longer excluded.
	Shut(ctx context.Context, do func(ctx context.Context, check func() error) error) error
}

// passing calls do, which commits an original, after it has passed the gate. If sure is
// false, do took so long that another process may have deleted the original. The deletion
// has ended, so the caller must check whether the original exists.
func passing(ctx context.Context, gate Gate, do func() error) (sure bool, err error) {
	if gate == nil {
		return true, do()
	}
	until, err := gate.Pass(ctx)
	if err == nil {
		err = do()
	}
	if err != nil || time.Now().Before(until) {
		return true, err
	}
	_, err = gate.Pass(ctx)
	return false, err
}
