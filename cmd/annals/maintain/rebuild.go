package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events"
	"annals/projections/readmodel"
)

// Rebuild builds new generations of read models from the log while the active ones serve.
type Rebuild struct {
	engine.Beside
	Names   []string
	Discard bool // delete the active and the previous generation first
	Back    bool // do not rebuild: roll back to the previous generation

	restart bool // do not continue the generation of an interrupted rebuild

	Out      io.Writer // one line per read model
	Messages io.Writer // progress
}

// CheckNames returns an error if a name is not that of a read model or is repeated.
func CheckNames(names []string) error {
	for i, name := range names {
		if !slices.Contains(readmodel.Names(), name) {
			return fmt.Errorf("there is no read model %q: there are %s", name, strings.Join(readmodel.Names(), ", "))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("the read model %s is named twice: name it only once", name)
		}
	}
	return nil
}

// Run rebuilds one read model after another.
func (r *Rebuild) Run(ctx context.Context) (err error) {
	closeAll, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if r.Discard {
		return r.discardAndRebuild(ctx)
	}
	for _, name := range r.Names {
		if err := r.one(ctx, name, r.activate); err != nil {
			return err
		}
	}
	return nil
}

// discardAndRebuild deletes the generations before it rebuilds. No server can start
// meanwhile.
func (r *Rebuild) discardAndRebuild(ctx context.Context) (err error) {
	unlock, err := r.lockAll(ctx)
	if errors.Is(err, engine.ErrLocked) {
		return fmt.Errorf("--discard deletes the active generation, and %w: stop it first", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	for _, name := range r.Names {
		if err := r.Options.Discard(ctx, name); err != nil {
			return err
		}
		swap := func(ctx context.Context, name string, _ int) error { return r.Options.Switch(ctx, name) }
		if err := r.one(ctx, name, swap); err != nil {
			return err
		}
	}
	return nil
}

// one rebuilds a read model, or finds its previous generation if Back is set, and calls
// activate with the generation.
func (r *Rebuild) one(ctx context.Context, name string, activate func(context.Context, string, int) error) error {
	started := time.Now()
	generation, err := 0, error(nil)
	if r.Back {
		generation, err = r.Options.Back(ctx, name)
	} else {
		p, build := terminal.NewProgress(r.Messages, "events", terminal.Is(r.Messages)), r.Options.Rebuild
		if r.restart {
			build = r.Options.RebuildFromStart
		}
		begun := false
		generation, err = build(ctx, name, func(done, head events.Position) {
			if !begun { // begin here, so that the rate does not count events that an earlier call applied
				begun = true
				p.Begin("rebuilding "+name, int64(done), int64(head))
				return
			}
			p.Set(int64(done), int64(head))
		})
		p.End()
	}
	if err == nil {
		err = activate(ctx, name, generation)
	}
	if errors.Is(err, errNotYet) {
		_, err = fmt.Fprintf(r.Out, "%s: generation %d is ready; a server of this version activates it\n", name, generation)
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(r.Out, "%s: generation %d is active, after %s\n", name, generation, time.Since(started).Round(time.Millisecond))
	}
	return err
}

// errNotYet is returned if the running server does not activate a generation within
// activateTimeout.
var errNotYet = errors.New("the server activates it later")

// activateTimeout is the maximum wait for a running server to activate a generation. The
// server may have another version, or a large lag.
const activateTimeout = time.Minute

// activate returns after a generation became active. If no server is running, it
// activates the generation itself; otherwise it waits for the server to do so.
func (r *Rebuild) activate(ctx context.Context, name string, generation int) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for started := time.Now(); ; {
		serves, pending, err := r.Options.ControlOf(name).Pending(ctx, name, generation)
		switch {
		case err != nil || serves:
			return err
		case !pending:
			return fmt.Errorf("the server could not activate generation %d of %s: see its log output", generation, name)
		case time.Since(started) > activateTimeout:
			return errNotYet
		}
		if err := r.switchAlone(ctx, name); err == nil || !errors.Is(err, engine.ErrLocked) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lockAll locks the read models against servers. If one is running, the error is
// ErrLocked.
func (r *Rebuild) lockAll(ctx context.Context) (unlock func() error, err error) {
	if unlock, err = r.Models.Lock(); err != nil {
		return nil, err
	}
	served, err := r.Options.Control.Served(ctx)
	if err == nil && served {
		err = fmt.Errorf("%w %s", engine.ErrLocked, r.Models.Database())
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// switchAlone activates the newest generation. If a server is running, the error is
// ErrLocked.
func (r *Rebuild) switchAlone(ctx context.Context, name string) (err error) {
	unlock, err := r.lockAll(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return r.Options.Switch(ctx, name)
}
