package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// retryAll rebuilds the read models that have parked events, and prints the events that
// are still parked afterwards. If a read model cannot be rebuilt, it continues with the
// others. It returns an error if that happened or if events are still parked.
func (o *Overview) retryAll(ctx context.Context) error {
	parked := false
	var failed error
	for _, name := range o.Names {
		page, _, err := o.Options.Parked(ctx, name, o.Stream, 0, 1)
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
	now, err := o.sample(ctx)
	if err != nil {
		return errors.Join(failed, err)
	}
	left, err := o.showParked(ctx, now.states)
	if err == nil && left > 0 {
		err = fmt.Errorf("events still parked: %d", left)
	}
	return errors.Join(failed, err)
}

// messages returns where to print lines that are not JSON.
func (o *Overview) messages() io.Writer {
	if o.JSON {
		return o.Messages
	}
	return o.Out
}

// retryOne rebuilds a read model that has parked events. It does nothing if this
// version of the program still cannot read those events.
func (o *Overview) retryOne(ctx context.Context, name string) error {
	can, err := o.Options.CanRetry(ctx, name, o.Stream)
	if err != nil {
		return err
	}
	if !can {
		_, err = fmt.Fprintf(o.messages(), "%s: this version of Annals cannot read the parked events either\n", name)
		return err
	}
	r := Rebuild{Beside: o.Beside, restart: true, Out: o.messages(), Messages: o.Messages}
	return r.one(ctx, name, r.activate)
}
