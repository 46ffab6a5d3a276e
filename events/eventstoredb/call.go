package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pauses between the repetitions of a call.
const (
	firstPause = 10 * time.Millisecond
	maxPause   = time.Second
)

// longest is how many deadlines a server may be silent that looks for the next
// event of ours among many others; so much it is given if nothing else is wrong
// with it.
const longest = 32

// work is what a call asks of the server. It calls alive whenever the server
// has answered something, which prolongs its deadline.
type work func(ctx context.Context, s *session, alive func()) error

// call carries out do on the connection to the leader. What passes, such as a
// change of the leader, is waited for and do called again, until twice the
// deadline has passed since the first call: one that was never answered is
// repeated, too.
func (d *Driver) call(ctx context.Context, doing string, do work) error {
	return d.repeat(ctx, doing, 1, do)
}

// scan is call for what makes the server look through the log, which it may do
// for long without an answer. Silence alone is met with more time.
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
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		asked, err := d.once(inner, deadline, do)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s %s: %w", doing, theLog, ctx.Err())
		case d.life.Err() != nil:
			return errClosed
		case asked && errors.Is(err, errSilent) && deadline < most*d.deadline:
			begun, deadline = time.Now(), 2*deadline
		case !passes(err) || time.Since(begun)+pause > 2*d.deadline:
			return told(doing, err)
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

// errSilent is a server's that has not answered anything for the deadline.
var errSilent = errors.New("the server does not answer")

// once carries out do with a deadline; asked tells that there was a connection
// to do so.
func (d *Driver) once(ctx context.Context, deadline time.Duration, do work) (asked bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(d.deadline, func() { cancel(errSilent) })
	defer late.Stop()
	s, err := d.cluster.session(ctx)
	if err != nil {
		return false, silenced(ctx, err)
	}
	late.Reset(deadline)
	err = silenced(ctx, do(ctx, s, func() { late.Reset(deadline) }))
	if err != nil && passes(err) && (ctx.Err() == nil || errors.Is(err, errSilent)) {
		d.cluster.drop(s, err)
	}
	return true, err
}

// silenced returns the error of a call that may have ended since its server
// said nothing.
func silenced(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errors.Join(errSilent, err)
	}
	return err
}
