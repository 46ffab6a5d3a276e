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
	"annals/projections/readmodel"
)

// Overview prints the checkpoint and the parked events of each read model.
type Overview struct {
	engine.Beside
	Names  []string // none means all that the service has
	Watch  bool     // print the checkpoints every second until the context of Run ends
	Retry  bool     // rebuild the read models that have parked events
	Stream string   // select only parked events of this stream; "" for all streams
	JSON   bool     // print one JSON object per line

	Out, Messages io.Writer
}

// Run prints the overview. If events are still parked after a retry, it returns an error.
func (o *Overview) Run(ctx context.Context) (err error) {
	if _, err := os.Stat(filepath.Join(o.Data, engine.ControlFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no read models in %s: pass the data folder as --data, or run annals serve first", o.Data)
	}
	if !o.Retry {
		o.Timeout = engine.ReadTimeout
	}
	closeAll, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if len(o.Names) == 0 {
		if o.Names, err = o.all(ctx); err != nil {
			return err
		}
	}
	if o.Retry {
		return o.retryAll(ctx)
	}
	return o.show(ctx)
}

// all returns the names of all read models that the service has.
func (o *Overview) all(ctx context.Context) ([]string, error) {
	names := readmodel.Names()
	err := o.ReadModels(ctx, func(ctx context.Context) error {
		for _, m := range readmodel.Optional() {
			name := m.Projection.Name()
			_, active, err := o.Options.ControlOf(name).Active(ctx, name)
			if err != nil {
				return err
			}
			if active > 0 {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// rateInterval is the time over which rates are measured.
const rateInterval = time.Second

// show prints the checkpoints and the parked events. If Watch is set, it prints only
// the checkpoints, every second until ctx ends.
func (o *Overview) show(ctx context.Context) error {
	before, err := o.sample(ctx)
	for err == nil {
		select {
		case <-time.After(rateInterval):
		case <-ctx.Done():
			err = ctx.Err()
			continue
		}
		var now sample
		if now, err = o.sample(ctx); err != nil {
			var timeout *engine.TimeoutError
			unreachable := fault.Is(err, fault.Unavailable) || errors.As(err, &timeout)
			if o.Watch && unreachable && ctx.Err() == nil { // try again until the database is reachable
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
		return nil // with Watch, an interrupt is the normal end
	}
	return err
}

// sample holds the states of the read models at one time.
type sample struct {
	at     time.Time
	states []projections.State
}

func (o *Overview) sample(ctx context.Context) (sample, error) {
	s := sample{at: time.Now()}
	head, err := o.Options.Log.Head(ctx)
	for i := 0; i < len(o.Names) && err == nil; i++ {
		var state projections.State
		err = o.ReadModels(ctx, func(ctx context.Context) (err error) {
			state, err = projections.StateOf(ctx, o.Options, o.Names[i], head)
			return err
		})
		s.states = append(s.states, state)
	}
	return s, err
}

// rates returns the events per second that were applied between two samples, by read
// model and generation.
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
