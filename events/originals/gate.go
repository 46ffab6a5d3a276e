package originals

import (
	"context"
	"time"
)

// Gate excludes deletions and the commits of other processes to the same store.
type Gate interface {
	// Pass waits while another process deletes. It returns the time until which no
	// process will delete again.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut calls do once all earlier passes have expired. still returns an error if
	// the exclusion was lost.
	Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error
}

// beside calls do, which commits an original, while other processes may delete. It
// reports whether no deletion can have overlapped. If one can, it has ended:
// whether the original exists then decides.
func beside(ctx context.Context, gate Gate, do func() error) (sure bool, err error) {
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
