package projections

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
)

// Rebuild makes the next generation of a read model from the log, up to where
// that ends now, beside the one that serves, and leaves it ready to serve. It
// goes on with one that was begun and not ended. What serves is not touched.
// told hears now and then how far it is.
func (o Options) Rebuild(ctx context.Context, name string, told func(done, head events.Position)) (generation int, err error) {
	p, err := named(name)
	if err != nil {
		return 0, err
	}
	return o.rebuild(ctx, p, told)
}

// Here returns an error where generations serve and Tables holds none of them:
// it is another service's then.
func (o Options) Here(ctx context.Context) error {
	known := false
	for _, p := range all() {
		_, number, err := o.ControlOf(p.Name()).generation(ctx, p.Name())
		if err != nil {
			return err
		}
		if number == 0 {
			continue
		}
		if err := o.home(p).there(ctx, generationName(p, number)); err == nil {
			return nil
		}
		known = true
	}
	if known {
		return fault.Errorf(fault.NotFound, "none of the read models that serve is in %s: name the places as serve has them; serve makes anew what is lost", o.Tables.name(""))
	}
	return nil
}

func (o Options) rebuild(ctx context.Context, p Projection, told func(done, head events.Position)) (generation int, err error) {
	err = o.ControlOf(p.Name()).alone(ctx, p.Name(), func(ctx context.Context) error {
		s, err := o.begun(ctx, p)
		if err != nil {
			return err
		}
		generation = s.generation
		if s.state == ready {
			return nil // and waits to be taken up
		}
		if err := o.fill(ctx, p, s, told); err != nil {
			return fmt.Errorf("rebuild %s: %w", p.Name(), err)
		}
		failpoint.Here(failpoint.RebuildFilled)
		s.state = ready
		err = o.ControlOf(p.Name()).setSpare(ctx, s)
		failpoint.Here(failpoint.RebuildReady)
		return err
	})
	return generation, err
}

// begun returns the generation that an earlier rebuild began, or a new one.
func (o Options) begun(ctx context.Context, p Projection) (spare, error) {
	found, ok, err := o.ControlOf(p.Name()).find(ctx, p.Name(), filling, ready)
	if err != nil || ok && found.version == p.Version() {
		return found, err
	}
	s := spare{projection: p.Name(), version: p.Version(), state: filling}
	// Before another is given up, so that a server which is taking that up does
	// not meet it again under its number.
	if s.generation, err = o.ControlOf(p.Name()).nextGeneration(ctx, p.Name()); err != nil {
		return s, err
	}
	if ok {
		if err := o.giveUp(ctx, p, found); err != nil {
			return s, err
		}
	}
	if err := o.remove(ctx, p, s.generation); err != nil { // a control.db that was lost may have known it
		return s, err
	}
	err = o.ControlOf(p.Name()).setSpare(ctx, s)
	failpoint.Here(failpoint.RebuildBegun)
	return s, err
}

// fill brings a spare generation to where the log ends when it begins. One that
// was torn when an earlier try was cut off is given up: the next begins anew.
func (o Options) fill(ctx context.Context, p Projection, s spare, told func(done, head events.Position)) error {
	g, err := o.openTables(ctx, p, s.generation)
	torn := err != nil && !passing(err)
	if err == nil {
		err = errors.Join(g.fill(ctx, told), g.close())
		torn = damaged(err) // in a place that was not looked at when it was opened
	}
	if torn && ctx.Err() == nil {
		err = errors.Join(err, o.giveUp(ctx, p, s))
	}
	return err
}

func (g *generation) fill(ctx context.Context, told func(done, head events.Position)) error {
	head, err := g.log.Head(ctx)
	if err != nil {
		return &logError{err}
	}
	if err := g.store.fill(ctx); err != nil {
		return err
	}
	told(g.position, head)
	err = g.reach(ctx, head, func(done events.Position) { told(done, max(done, head)) })
	if err == nil {
		err = g.finish(ctx)
	}
	if err == nil {
		err = g.store.index(ctx, g.Name())
	}
	return err
}

// giveUp deletes a spare generation.
func (o Options) giveUp(ctx context.Context, p Projection, s spare) error {
	s.state = gone
	if err := o.ControlOf(p.Name()).setSpare(ctx, s); err != nil {
		return err
	}
	failpoint.Here(failpoint.GenerationGivenUp)
	o.clear(ctx, p)
	return nil
}

// clear deletes the files of generations that were given up. What cannot be
// deleted only takes room, and is tried again another time.
func (o Options) clear(ctx context.Context, p Projection) {
	all, err := o.ControlOf(p.Name()).spares(ctx, p.Name())
	for _, s := range all {
		if s.state != gone {
			continue
		}
		if err = o.remove(ctx, p, s.generation); err == nil {
			err = o.ControlOf(p.Name()).dropSpare(ctx, p.Name(), s.generation)
			failpoint.Here(failpoint.GenerationCleared)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		o.Logger.Warn("old generation cannot be removed", "projection", p.Name(), "error", err)
	}
}

// Back leaves the generation that served before the last rebuild ready to serve
// again. It is an error where its tables or its index are lost or damaged.
func (o Options) Back(ctx context.Context, name string) (generation int, err error) {
	p, err := named(name)
	if err != nil {
		return 0, err
	}
	err = o.ControlOf(name).alone(ctx, name, func(ctx context.Context) error {
		if s, ok, err := o.ControlOf(name).find(ctx, name, ready); ok || err != nil {
			return errors.Join(err, fault.Errorf(fault.Conflict, "generation %d of %s is still to be taken up", s.generation, name))
		}
		s, ok, err := o.ControlOf(name).find(ctx, name, kept)
		switch {
		case err != nil:
			return err
		case !ok:
			return fault.Errorf(fault.NotFound, "no earlier generation of %s is kept", name)
		case s.version != p.Version():
			return fault.Errorf(fault.Conflict, "generation %d of %s, which is kept, is of version %d; this program makes version %d", s.generation, name, s.version, p.Version())
		}
		if err := o.sound(ctx, p, s.generation); err != nil {
			return fmt.Errorf("generation %d of %s, which is kept, cannot serve again: %w", s.generation, name, err)
		}
		generation, s.state = s.generation, ready
		err = o.ControlOf(name).setSpare(ctx, s)
		failpoint.Here(failpoint.BackReady)
		return err
	})
	return generation, err
}

// sound returns an error where a generation that was made is not as it was left.
// Whatever else keeps it from being opened now is for who takes it up.
func (o Options) sound(ctx context.Context, p Projection, number int) error {
	err := o.home(p).there(ctx, generationName(p, number))
	if err == nil {
		var g *generation
		if g, err = o.openTables(ctx, p, number); err == nil {
			err = g.close()
		}
	}
	if passing(err) {
		return ctx.Err()
	}
	return err
}

// Switch lets the generation of a read model that is ready serve. It is for
// when no server holds the read models: a running one takes it up by itself.
func (o Options) Switch(ctx context.Context, name string) error {
	p, err := named(name)
	if err != nil {
		return err
	}
	s, ok, err := o.ControlOf(name).find(ctx, name, ready)
	if err != nil || !ok {
		return err
	}
	if err := o.ControlOf(name).serve(ctx, s); err != nil {
		return err
	}
	o.clear(ctx, p)
	return nil
}

// Discard deletes all generations of a read model, the one that serves too. No
// server may hold the read models.
func (o Options) Discard(ctx context.Context, name string) error {
	p, err := named(name)
	if err != nil {
		return err
	}
	return o.ControlOf(name).alone(ctx, name, func(ctx context.Context) error {
		if err := o.ControlOf(name).discard(ctx, name); err != nil {
			return err
		}
		failpoint.Here(failpoint.ModelDiscarded)
		o.clear(ctx, p)
		return nil
	})
}

// Pending tells of a generation whether it serves, or is still to be taken up
// by a server. Neither means that a server could not take it up.
func (c *Control) Pending(ctx context.Context, projection string, generation int) (serves, pending bool, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM generations WHERE projection = $1 AND generation = $2),
		EXISTS (SELECT 1 FROM spares WHERE projection = $1 AND generation = $2 AND state = 'ready')`, projection, generation).
		Scan(&serves, &pending)
	return serves, pending, c.told(err)
}
