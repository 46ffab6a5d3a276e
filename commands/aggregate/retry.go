package aggregate

import (
	"context"
	"errors"
	"time"

	"annals/events/fault"

	"github.com/cenkalti/backoff/v5"
)

// ErrRaced means that another append to the stream came first.
var ErrRaced = errors.New("another append came first")

// MaxTries is how often an append is tried if other appends to the stream keep coming first.
const MaxTries = 12

// Retry calls try up to MaxTries times, while it returns ErrRaced. The pauses double from
// about 2 to 250 ms, about two seconds in total. After the last try Retry returns an error
// of kind fault.Unavailable. The error message names what was to be changed.
func Retry[T any](ctx context.Context, what string, try func() (T, error)) (T, error) {
	got, err := backoff.Retry(ctx, func() (T, error) {
		got, err := try()
		if err != nil && !errors.Is(err, ErrRaced) {
			err = backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithMaxTries(MaxTries), backoff.WithMaxElapsedTime(0),
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: 2 * time.Millisecond, Multiplier: 2, MaxInterval: 250 * time.Millisecond, RandomizationFactor: .5}))
	if errors.Is(err, ErrRaced) {
		err = fault.Errorf(fault.Unavailable, "too many concurrent changes to %s: try again", what)
	}
	return got, err
}
