package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxPause is the maximum pause between retries of a call.
const maxPause = time.Second

// newBackOff returns a backoff from 10 ms to maxPause.
func newBackOff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: 10 * time.Millisecond, Multiplier: 2, MaxInterval: maxPause}
}

// maxScanDeadlines limits how long scan waits for a response, as a multiple of the
// deadline. The wait may be long, because the server may have to skip many events of
// other logs.
const maxScanDeadlines = 32

// work is a function that sends the requests of a call. It calls alive after each
// message of the server, to extend the deadline.
type work func(ctx context.Context, s *session, alive func()) error

// call runs do with the connection to the leader. After a transient error, such as a
// leader change or a timeout, it runs do again, until twice the deadline has passed
// since the first attempt.
func (d *Driver) call(ctx context.Context, doing string, do work) error {
	return d.repeat(ctx, doing, 1, do)
}

// scan is like call, but for requests that make the server search the log, which may
// take long. The deadline is raised after each timeout.
func (d *Driver) scan(ctx context.Context, doing string, do work) error {
	return d.repeat(ctx, doing, maxScanDeadlines, do)
}

func (d *Driver) repeat(ctx context.Context, doing string, maxDeadlines time.Duration, do work) error {
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
	started, deadline := time.Now(), d.deadline
	for pauses := newBackOff(); ; {
		connected, err := d.attempt(inner, deadline, do)
		pause := pauses.NextBackOff()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s %s: %w", doing, theLog, ctx.Err())
		case d.life.Err() != nil:
			return errClosed
		case connected && errors.Is(err, errTimeout) && deadline < maxDeadlines*d.deadline:
			started, deadline = time.Now(), 2*deadline
		case !isTransient(err) || time.Since(started)+pause > 2*d.deadline:
			return classify(doing, err)
		}
		wait(inner, pause)
	}
}

// wait waits until the pause is over or ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// errTimeout is returned if the server has not responded within the deadline.
var errTimeout = errors.New("the server does not respond")

// attempt runs do one time, with a deadline. connected reports whether there was a
// connection to the leader.
func (d *Driver) attempt(ctx context.Context, deadline time.Duration, do work) (connected bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := time.AfterFunc(d.deadline, func() { cancel(errTimeout) })
	defer timeout.Stop()
	s, err := d.cluster.session(ctx)
	if err != nil {
		return false, timedOut(ctx, err)
	}
	timeout.Reset(deadline)
	err = timedOut(ctx, do(ctx, s, func() { timeout.Reset(deadline) }))
	if err != nil && isTransient(err) && (ctx.Err() == nil || errors.Is(err, errTimeout)) {
		d.cluster.drop(s, err)
	}
	return true, err
}

// timedOut adds errTimeout to an error that the deadline has caused.
func timedOut(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return errors.Join(errTimeout, err)
	}
	return err
}
