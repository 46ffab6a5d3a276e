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
	"annals/projections/readmodel/vectors"
)

// Rebuild builds new generations of read models from the log. Meanwhile the active
// generations continue to serve queries.
type Rebuild struct {
	engine.Beside
	Names   []string
	Discard bool // delete the active and the previous generation before the rebuild
	Back    bool // roll back to the previous generation instead of rebuilding
	Hold    bool // do not activate the new generation
	Drop    bool // delete the held generation instead of rebuilding

	restart bool // fill a new generation even if an interrupted rebuild could be continued

	Out      io.Writer // one line per read model
	Messages io.Writer // progress
}

// AllModels returns the names of the read models that a service has.
func AllModels(at *engine.URLs) []string {
	names := readmodel.Names()
	if at.Embeddings.On() {
		names = append(names, vectors.Name)
	}
	return names
}

// CheckNames returns an error if a name is not the name of a read model or occurs
// twice.
func CheckNames(names []string) error {
	known := readmodel.Names()
	for _, m := range readmodel.Optional() {
		known = append(known, m.Projection.Name())
	}
	for i, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no read model %q: there are %s", name, strings.Join(known, ", "))
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
		if r.Drop {
			err = r.drop(ctx, name)
		} else {
			err = r.one(ctx, name, r.activate)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Rebuild) drop(ctx context.Context, name string) error {
	generation, err := r.Options.Drop(ctx, name)
	if err == nil {
		_, err = fmt.Fprintf(r.Out, "%s: generation %d is deleted\n", name, generation)
	}
	return err
}

// discardAndRebuild deletes all generations of each read model and rebuilds it. It
// holds the locks of the read models, so that no server can start meanwhile.
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

// one fills a new generation of a read model, or finds the previous generation if Back
// is set. Then it calls activate with the number of that generation.
func (r *Rebuild) one(ctx context.Context, name string, activate func(context.Context, string, int) error) error {
	started := time.Now()
	generation, err := 0, error(nil)
	if r.Back {
		generation, err = r.Options.Back(ctx, name)
	} else {
		p, build := terminal.NewProgress(r.Messages, "events", terminal.Is(r.Messages)), r.Options.Rebuild
		switch {
		case r.restart:
			build = r.Options.RebuildFromStart
		case r.Hold:
			build = r.Options.Hold
		}
		begun := false
		generation, err = build(ctx, name, func(done, head events.Position) {
			if !begun { // start with the first progress report, so that the rate leaves out events that an interrupted rebuild has applied
				begun = true
				p.Begin("rebuilding "+name, int64(done), int64(head))
				return
			}
			p.Set(int64(done), int64(head))
		})
		p.End()
	}
	if err == nil && r.Hold {
		_, err = fmt.Fprintf(r.Out, "%s: generation %d is held, after %s; annals rebuild %[1]s activates it\n", name, generation, time.Since(started).Round(time.Millisecond))
		return err
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

// errNotYet is returned if the running server has not activated a generation within
// activateTimeout.
var errNotYet = errors.New("the server activates it later")

// activateTimeout is the maximum time to wait until a running server activates a
// generation. A server of another version may never do it, and a server with a large
// lag takes long.
const activateTimeout = time.Minute

// activate returns when a generation is active. If a server is running, activate waits
// until the server has activated the generation; otherwise it activates the generation
// itself.
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

// lockAll locks the read models against servers. If a server is running, the error is
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

// switchAlone activates the newest generation. It works only if no server is running;
// otherwise the error is ErrLocked.
func (r *Rebuild) switchAlone(ctx context.Context, name string) (err error) {
	unlock, err := r.lockAll(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return r.Options.Switch(ctx, name)
}
