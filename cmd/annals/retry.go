package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"annals/projections"
)

// retryAll takes up parked events, and prints those that stay: they are an
// error, as is every read model that cannot be looked into. It goes on with the
// others.
func (o *overview) retryAll(ctx context.Context) error {
	boundMemory()
	parked := false
	var failed error
	for _, name := range o.names {
		page, _, err := o.options.Parked(ctx, name, o.stream, 0, 1)
		if err == nil && len(page) > 0 {
			parked = true
			err = o.retryOne(ctx, name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = errors.Join(failed, err)
	}
	if !parked {
		if failed == nil {
			_, failed = fmt.Fprintln(o.messages(), "nothing is parked")
		}
		return failed
	}
	now, err := o.look(ctx)
	if err != nil {
		return errors.Join(failed, err)
	}
	left, err := o.showParked(ctx, now.states)
	if err == nil && left > 0 {
		err = fmt.Errorf("events that are still parked: %d", left)
	}
	return errors.Join(failed, err)
}

// messages are apart from what programs read.
func (o *overview) messages() io.Writer {
	if o.json {
		return o.told
	}
	return o.out
}

// retryOne takes up the parked events of a read model, or sees to it that the
// server which holds it does.
func (o *overview) retryOne(ctx context.Context, name string) error {
	// Should this be cut off, the next server goes on.
	if err := o.options.ControlOf(name).AskRetry(ctx, name, o.stream); err != nil {
		return err
	}
	done, err := o.answer(ctx, name)
	if errors.Is(err, errLater) {
		_, err = fmt.Fprintf(o.messages(), "%s: the server is asked, and goes on with it\n", name)
		return err
	}
	if err == nil {
		err = o.options.ControlOf(name).ForgetRetry(ctx, name, o.stream)
	}
	if err == nil {
		_, err = fmt.Fprintf(o.messages(), "%s: parked events applied: %d\n", name, done.Applied)
	}
	if err != nil || done.Barred == 0 {
		return err
	}
	if _, err := fmt.Fprintf(o.messages(), "%s: made anew, since what came after parked events has to do with them\n", name); err != nil {
		return err
	}
	again := o.rebuild
	again.anew, again.out = true, o.messages()
	return again.one(ctx, name, again.settle)
}

// answer takes parked events up if no server holds the read models; else it
// waits for the server's answer.
func (o *overview) answer(ctx context.Context, name string) (done projections.Retried, err error) {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for begun := time.Now(); time.Since(begun) < takeUpWithin; {
		if done, found, err := o.options.ControlOf(name).AnswerOf(ctx, name, o.stream); found || err != nil {
			return done, err
		}
		if done, err := o.retryAlone(ctx, name); err == nil || !errors.Is(err, errHeld) {
			return done, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return done, ctx.Err()
		}
	}
	return done, errLater
}

// retryAlone does it if no server holds the read models; else it is errHeld.
func (o *overview) retryAlone(ctx context.Context, name string) (done projections.Retried, err error) {
	unlock, err := o.holdAll(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return o.options.Retry(ctx, name, o.stream)
}
