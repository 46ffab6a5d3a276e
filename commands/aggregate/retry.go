package aggregate

import (
	"context"
	"errors"
	"time"

	"annals/events/fault"

	"github.com/cenkalti/backoff/v5"
)

// ErrRaced means that the stream was appended to since it was read.
var ErrRaced = errors.New("another append came first")

// MaxTries is how often an append that conflicts with others is tried.
const MaxTries = 12

// Retry calls try until it returns something other than ErrRaced, at most MaxTries times.
// The pauses double from about 2 to 250 ms, about two seconds in total. After the last
// try it returns an error of kind fault.Unavailable that names what.
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
		err = fault.Errorf(fault.Unavailable, "too many changes to %s at once: try again", what)
	}
	return got, err
}
