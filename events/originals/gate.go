package originals

import (
	"context"
	"time"
)

// Gate keeps deletions apart from what other processes commit to the same store.
type Gate interface {
	// Pass waits while another process deletes, and returns until when none
	// does.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut lets do delete alone, once all who have passed were told to ask
	// anew. still returns an error where do is not alone any more.
	Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error
}

// beside lets do commit an original beside the deletions of other processes, and
// reports whether none can have met it. Where one can, none is under way any
// more that began before: whether the original is there tells.
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
