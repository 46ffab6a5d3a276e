package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"annals/cmd/annals/engine"
	"annals/events"
	"annals/events/fault"
	"annals/projections"
)

// Overview prints the checkpoints of the read models and their parked events.
type Overview struct {
	engine.Beside
	Names  []string
	Watch  bool   // print the checkpoints every second until the context ends
	Retry  bool   // rebuild read models with parked events
	Stream string // only parked events of this stream; "" for all
	JSON   bool   // print one object per line

	Out, Messages io.Writer
}

// Run prints the overview. Events that stay parked after a retry are an error.
func (o *Overview) Run(ctx context.Context) (err error) {
	if _, err := os.Stat(filepath.Join(o.Data, engine.ControlFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no read models in %s: give the data folder by --data, or run annals serve first", o.Data)
	}
	if !o.Retry {
		o.Timeout = engine.LookTimeout
	}
	closeAll, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if o.Retry {
		return o.retryAll(ctx)
	}
	return o.show(ctx)
}

// rateInterval is the time over which rates are measured.
const rateInterval = time.Second

// show prints the checkpoints and the parked events. If Watch is set it prints only the
// checkpoints, until ctx ends.
func (o *Overview) show(ctx context.Context) error {
	before, err := o.look(ctx)
	for err == nil {
		select {
		case <-time.After(rateInterval):
		case <-ctx.Done():
			err = ctx.Err()
			continue
		}
		var now sample
		if now, err = o.look(ctx); err != nil {
			var timeout *engine.TimeoutError
			unreachable := fault.Is(err, fault.Unavailable) || errors.As(err, &timeout)
			if o.Watch && unreachable && ctx.Err() == nil { // keep trying
				_, err = fmt.Fprintf(o.Messages, "annals: %v\n", err)
				continue
			}
			break
		}
		if err = o.printStates(before, now); err == nil && !o.Watch {
			_, err = o.showParked(ctx, now.states)
			return err
		}
		before = now
	}
	if o.Watch && ctx.Err() != nil {
		return nil // watching ends with an interrupt
	}
	return err
}

// sample is the state of the read models at a time.
type sample struct {
	at     time.Time
	states []projections.State
}

func (o *Overview) look(ctx context.Context) (sample, error) {
	s := sample{at: time.Now()}
	head, err := o.Options.Log.Head(ctx)
	for i := 0; i < len(o.Names) && err == nil; i++ {
		var state projections.State
		err = o.Ask(ctx, func(ctx context.Context) (err error) {
			state, err = projections.StateOf(ctx, o.Options, o.Names[i], head)
			return err
		})
		s.states = append(s.states, state)
	}
	return s, err
}

// rates returns events per second by read model and generation.
func rates(before, now sample) map[string]map[int]float64 {
	all := make(map[string]map[int]float64)
	for i, is := range now.states {
		was, of := positions(before.states[i]), make(map[int]float64)
		for generation, at := range positions(is) {
			if from, found := was[generation]; found {
				of[generation] = max(0, float64(at-from)/now.at.Sub(before.at).Seconds())
			}
		}
		all[is.Name] = of
	}
	return all
}

func positions(s projections.State) map[int]events.Position {
	all := map[int]events.Position{s.Generation: s.Position}
	for _, other := range s.Inactive {
		all[other.Generation] = other.Position
	}
	return all
}
