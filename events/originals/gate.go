package originals

import (
	"context"
	"time"
)

// Gate keeps a process from deleting originals while other processes commit to the same
// store.
type Gate interface {
	// Pass waits while another process deletes originals. After Pass, no process deletes
	// originals until the returned time.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut waits until the times that Pass has returned are over, and then calls do,
	// which may delete originals. Commits are excluded while do runs. check returns an
	// error if they are no longer excluded.
	Shut(ctx context.Context, do func(ctx context.Context, check func() error) error) error
}

// passing calls gate.Pass and then do, which commits an original. If sure is false, do
// took so long that another process may have deleted the original. That deletion has
// ended, so the caller must check whether the original exists.
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
