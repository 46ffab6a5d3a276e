package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxPause bounds the pauses between the tries of a call.
const maxPause = time.Second

// newBackOff returns pauses that double from 10 ms to maxPause.
func newBackOff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: 10 * time.Millisecond, Multiplier: 2, MaxInterval: maxPause}
}

// longest is how many deadlines to wait at most for a server that searches for the next
// event of this log among many others.
const longest = 32

// work makes the requests of a call. It calls alive after each response of the server,
// which extends the deadline.
type work func(ctx context.Context, s *session, alive func()) error

// call runs do with the connection to the leader. It retries transient errors, such as
// a leader change or a timeout, until twice the deadline has passed since the first
// attempt.
func (d *Driver) call(ctx context.Context, doing string, do work) error {
	return d.repeat(ctx, doing, 1, do)
}

// scan is like call, but for requests that make the server search the log, which may
// take long. The deadline is raised after each timeout.
func (d *Driver) scan(ctx context.Context, doing string, do work) error {
	return d.repeat(ctx, doing, longest, do)
}

func (d *Driver) repeat(ctx context.Context, doing string, most time.Duration, do work) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	begun, deadline := time.Now(), d.deadline
	for pauses := newBackOff(); ; {
		asked, err := d.once(inner, deadline, do)
		pause := pauses.NextBackOff()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s %s: %w", doing, theLog, ctx.Err())
		case d.life.Err() != nil:
			return errClosed
		case asked && errors.Is(err, errSilent) && deadline < most*d.deadline:
			begun, deadline = time.Now(), 2*deadline
		case !isTransient(err) || time.Since(begun)+pause > 2*d.deadline:
			return classify(doing, err)
		}
		wait(inner, pause)
	}
}

// wait returns after a pause, or when ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// errSilent is returned if the server has not responded within the deadline.
var errSilent = errors.New("the server does not respond")

// once runs do with a deadline; asked reports whether a connection was available.
func (d *Driver) once(ctx context.Context, deadline time.Duration, do work) (asked bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(d.deadline, func() { cancel(errSilent) })
	defer late.Stop()
	s, err := d.cluster.session(ctx)
	if err != nil {
		return false, timedOut(ctx, err)
	}
	late.Reset(deadline)
	err = timedOut(ctx, do(ctx, s, func() { late.Reset(deadline) }))
	if err != nil && isTransient(err) && (ctx.Err() == nil || errors.Is(err, errSilent)) {
		d.cluster.drop(s, err)
	}
	return true, err
}

// timedOut adds errSilent to an error if the call's deadline caused it.
func timedOut(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errors.Join(errSilent, err)
	}
	return err
}
