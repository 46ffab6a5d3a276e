package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/spf13/cobra"
)

// overview is what one call of projections is to do.
type overview struct {
	rebuild
	json, watch, retry bool
	stream             string
}

func projectionsCommand(dataDir func() string) *cobra.Command {
	var o overview
	command := &cobra.Command{
		Use:   "projections [NAME...]",
		Short: "Show how far the read models are, and the events they could not apply",
		Long: "Show how far the read models are, a line each: " + strings.Join(projections.Names(), ", ") + ".\n" +
			"Then the events that could not be applied and are parked, with those that wait behind them in their streams.\n" +
			"It works beside a running server, and without one.\n\n" +
			"--retry takes parked events up again, by the running server if there is one. Where events came in between that\n" +
			"have to do with them, the whole read model is made anew, as by annals rebuild. Those that still cannot be\n" +
			"applied stay parked, with the reason of today; the exit status is not 0 then.",
		Args: func(_ *cobra.Command, names []string) error { return o.check(names) },
		RunE: func(cmd *cobra.Command, names []string) error {
			o.data, o.out, o.told = dataDir(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			if o.names = names; len(names) == 0 {
				o.names = projections.Names()
			}
			return o.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&o.json, "json", false, "print one JSON object a line, of kind projection or parked")
	flags.BoolVar(&o.watch, "watch", false, "show how far they are every second, until interrupted")
	flags.BoolVar(&o.retry, "retry", false, "take up parked events again")
	flags.StringVar(&o.stream, "stream", "", "parked events of this stream only")
	markByFlagAlone(flags, "watch", "retry", "stream")
	o.bindEngines(flags)
	return command
}

func (o *overview) check(names []string) error {
	if o.watch && o.retry {
		return errors.New("--watch shows how far the read models are, --retry changes them: give one")
	}
	return checkNames(names)
}

func (o *overview) run(ctx context.Context) (err error) {
	if _, err := os.Stat(filepath.Join(o.data, "control.db")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no read models in %s: name the data folder by --data, or run annals serve first", o.data)
	}
	if !o.retry {
		o.within = answerWithin
	}
	closeAll, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if o.retry {
		return o.retryAll(ctx)
	}
	return o.show(ctx)
}

// answerWithin is how long whoever only looks waits for a server.
const answerWithin = 5 * time.Second

// rateOver is the time over which rates are measured.
const rateOver = time.Second

// show prints how far the read models are, and what is parked; or the first
// alone, until it is interrupted.
func (o *overview) show(ctx context.Context) error {
	before, err := o.look(ctx)
	for err == nil {
		select {
		case <-time.After(rateOver):
		case <-ctx.Done():
			err = ctx.Err()
			continue
		}
		var now sample
		if now, err = o.look(ctx); err != nil {
			var silent *silentError
			away := fault.Is(err, fault.Unavailable) || errors.As(err, &silent)
			if o.watch && away && ctx.Err() == nil { // until it is back
				_, err = fmt.Fprintf(o.told, "annals: %v\n", err)
				continue
			}
			break
		}
		if err = o.printStates(before, now); err == nil && !o.watch {
			_, err = o.showParked(ctx, now.states)
			return err
		}
		before = now
	}
	if o.watch && ctx.Err() != nil {
		return nil // an interrupt is how watching ends
	}
	return err
}

// sample is how far the read models were at a time.
type sample struct {
	at     time.Time
	states []projections.State
}

func (o *overview) look(ctx context.Context) (sample, error) {
	s := sample{at: time.Now()}
	head, err := o.options.Log.Head(ctx)
	for i := 0; i < len(o.names) && err == nil; i++ {
		var state projections.State
		err = o.askModels(ctx, func(ctx context.Context) (err error) {
			state, err = o.options.State(ctx, o.names[i], head)
			return err
		})
		s.states = append(s.states, state)
	}
	return s, err
}

// rates returns by read model and generation how many events each passed in a
// second.
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
	for _, spare := range s.Spares {
		all[spare.Generation] = spare.Position
	}
	return all
}
