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
	Back    bool // do not rebuild: activate the previous generation again

	restart bool // do not continue a generation that an earlier call began

	Out, Messages io.Writer // for one line per read model; for progress
}

// CheckNames returns an error unless all are names of read models, each once.
func CheckNames(names []string) error {
	for i, name := range names {
		if !slices.Contains(readmodel.Names(), name) {
			return fmt.Errorf("there is no read model %q: there are %s", name, strings.Join(readmodel.Names(), ", "))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%s is named twice: name it once", name)
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

// discardAndRebuild deletes generations before it rebuilds. It locks servers out.
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

// one rebuilds a read model, or finds its previous generation, and activates the
// generation.
func (r *Rebuild) one(ctx context.Context, name string, activate func(context.Context, string, int) error) error {
	begun := time.Now()
	generation, err := 0, error(nil)
	if r.Back {
		generation, err = r.Options.Back(ctx, name)
	} else {
		p, build := terminal.NewProgress(r.Messages, "events", terminal.Is(r.Messages)), r.Options.Rebuild
		if r.restart {
			build = r.Options.RebuildFromStart
		}
		started := false
		generation, err = build(ctx, name, func(done, head events.Position) {
			if !started { // start here, so that the rate leaves out the work of an earlier call
				started = true
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
		_, err = fmt.Fprintf(r.Out, "%s: generation %d is active, after %s\n", name, generation, time.Since(begun).Round(time.Millisecond))
	}
	return err
}

// errNotYet is returned if the running server does not activate a generation in time.
var errNotYet = errors.New("the server activates it later")

// activateTimeout is the maximum wait for a running server, which may have another version
// or be far behind.
const activateTimeout = time.Minute

// activate returns once a generation is active. If no server runs it activates it itself,
// else it waits for the server.
func (r *Rebuild) activate(ctx context.Context, name string, generation int) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); ; {
		serves, pending, err := r.Options.ControlOf(name).Pending(ctx, name, generation)
		switch {
		case err != nil || serves:
			return err
		case !pending:
			return fmt.Errorf("the server could not activate generation %d of %s; its log says why", generation, name)
		case time.Since(begun) > activateTimeout:
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

// lockAll locks the read models against servers. It returns ErrLocked if one runs.
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

// switchAlone activates the newest generation. It returns ErrLocked if a server runs.
func (r *Rebuild) switchAlone(ctx context.Context, name string) (err error) {
	unlock, err := r.lockAll(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return r.Options.Switch(ctx, name)
}
