package generation

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/projections/control"
	"annals/projections/readmodel"
)

// Rebuild fills the next generation of a read model and marks it as ready. It applies the
// log up to the head that the log has when Rebuild is called. It continues an interrupted
// rebuild, and does not change the active generation. It reports its position to
// progress, unless progress is nil.
func (o Options) Rebuild(ctx context.Context, name string, progress func(done, head events.Position)) (generation int, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return 0, err
	}
	return o.Make(ctx, p, progress)
}

// Hold is like Rebuild, but the generation does not become active: it is held until the next
// call of Rebuild or Drop. Until then, administrators can search in it.
func (o Options) Hold(ctx context.Context, name string, progress func(done, head events.Position)) (generation int, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return 0, err
	}
	return o.make(ctx, p, control.Held, progress)
}

// Drop deletes the generation that Hold has filled.
func (o Options) Drop(ctx context.Context, name string) (generation int, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return 0, err
	}
	err = o.ControlOf(name).WhileRebuilding(ctx, name, func(ctx context.Context) error {
		s, ok, err := o.ControlOf(name).Find(ctx, name, control.Held)
		if err == nil && !ok {
			err = fault.Errorf(fault.NotFound, "no generation of %s is held", name)
		}
		if err != nil {
			return err
		}
		generation = s.Number
		return o.GiveUp(ctx, p, s)
	})
	return generation, err
}

// RebuildFromStart is like Rebuild, but discards an interrupted rebuild. Use it to retry
// parked events: an interrupted rebuild may have parked the same events.
func (o Options) RebuildFromStart(ctx context.Context, name string, progress func(done, head events.Position)) (generation int, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return 0, err
	}
	err = o.ControlOf(name).WhileRebuilding(ctx, name, func(ctx context.Context) error {
		s, ok, err := o.ControlOf(name).Find(ctx, name, control.Filling, control.Ready, control.Held)
		switch {
		case err != nil || !ok:
			return err
		case s.State == control.Held:
			return fault.Errorf(fault.Conflict, "generation %d of %s is held: activate it with annals rebuild %[2]s, or delete it with annals rebuild --drop %[2]s", s.Number, name)
		case s.State == control.Ready:
			return fault.Errorf(fault.Conflict, "generation %d of %s is ready and not active yet: try again once a server has activated it", s.Number, name)
		}
		return o.GiveUp(ctx, p, s)
	})
	if err != nil {
		return 0, err
	}
	return o.Make(ctx, p, progress)
}

// Here returns an error if o.Tables has tables of none of the active generations, because
// it then belongs to another service.
func (o Options) Here(ctx context.Context) error {
	known := false
	for _, m := range readmodel.All() {
		p := m.Projection
		_, number, err := o.ControlOf(p.Name()).Active(ctx, p.Name())
		if err != nil {
			return err
		}
		if number == 0 {
			continue
		}
		if err := o.HomeOf(p).Exists(ctx, NameOf(p, number)); err == nil {
			return nil
		}
		known = true
	}
	if known {
		return fault.Errorf(fault.NotFound, "no active read model is in %s: pass the same flags as to serve, which rebuilds read models that are lost", o.Tables.Describe(""))
	}
	return nil
}

// Make fills the next generation of a projection and marks it as ready. It continues an
// interrupted call. If a generation is held, it marks that one as ready.
func (o Options) Make(ctx context.Context, p readmodel.Projection, progress func(done, head events.Position)) (generation int, err error) {
	return o.make(ctx, p, control.Ready, progress)
}

// make fills the next generation of a projection, which is then in the state end.
func (o Options) make(ctx context.Context, p readmodel.Projection, end string, progress func(done, head events.Position)) (generation int, err error) {
	if _, ok := p.(readmodel.Embedded); ok && o.Embedder == nil {
		return 0, fault.Errorf(fault.Invalid, "rebuild %s: no endpoint makes vectors: pass the same --embeddings flags as to serve", p.Name())
	}
	err = o.ControlOf(p.Name()).WhileRebuilding(ctx, p.Name(), func(ctx context.Context) error {
		s, err := o.Begin(ctx, p)
		if err != nil {
			return err
		}
		generation = s.Number
		switch s.State {
		case end: // a server will activate it, or it is held already
			return nil
		case control.Ready:
			return fault.Errorf(fault.Conflict, "generation %d of %s is ready and not active yet: try again once a server has activated it", s.Number, p.Name())
		case control.Filling:
			if err := o.Fill(ctx, p, s, progress); err != nil {
				return fmt.Errorf("rebuild %s: %w", p.Name(), err)
			}
		}
		failpoint.Here(failpoint.RebuildFilled)
		s.State = end
		err = o.ControlOf(p.Name()).Save(ctx, s)
		failpoint.Here(failpoint.RebuildReady)
		return err
	})
	return generation, err
}

// Begin returns the generation that an earlier rebuild began, or a new one.
func (o Options) Begin(ctx context.Context, p readmodel.Projection) (control.Generation, error) {
	found, ok, err := o.ControlOf(p.Name()).Find(ctx, p.Name(), control.Filling, control.Ready, control.Held)
	if err != nil || ok && found.Version == p.Version() {
		return found, err
	}
	s := control.Generation{Projection: p.Name(), Version: p.Version(), State: control.Filling}
	// Take a new number before giving up the ready generation. A server may be activating
	// that generation, and must not find another generation under its number.
	if s.Number, err = o.ControlOf(p.Name()).NextNumber(ctx, p.Name()); err != nil {
		return s, err
	}
	if ok {
		if err := o.GiveUp(ctx, p, found); err != nil {
			return s, err
		}
	}
	if err := o.remove(ctx, p, s.Number); err != nil { // a lost control.db may have recorded tables with this number
		return s, err
	}
	err = o.ControlOf(p.Name()).Save(ctx, s)
	failpoint.Here(failpoint.RebuildStarted)
	return s, err
}

// Fill applies the log to a generation up to the head that the log has when Fill is
// called. It gives up a corrupt generation, so that the next rebuild starts from the
// beginning.
func (o Options) Fill(ctx context.Context, p readmodel.Projection, s control.Generation, progress func(done, head events.Position)) error {
	g, err := o.OpenTables(ctx, p, s.Number)
	corrupt := err != nil && !IsTransient(err)
	if err == nil {
		err = errors.Join(g.Fill(ctx, progress), g.Close())
		corrupt = IsCorrupt(err) // corruption in a part that is not checked when the tables are opened
	}
	if corrupt && ctx.Err() == nil {
		err = errors.Join(err, o.GiveUp(ctx, p, s))
	}
	return err
}

// Fill applies the log up to the head that it has when Fill is called, and creates the
// indexes. It reports its position to progress, unless progress is nil.
func (g *Generation) Fill(ctx context.Context, progress func(done, head events.Position)) error {
	head, err := g.log.Head(ctx)
	if err != nil {
		return LogError(err)
	}
	if err := g.store.PrepareFill(ctx); err != nil {
		return err
	}
	var step func(events.Position)
	if progress != nil {
		progress(g.position, head)
		step = func(done events.Position) { progress(done, max(done, head)) }
	}
	err = g.CatchUp(ctx, head, step)
	if err == nil {
		err = g.FinishDeferred(ctx)
	}
	if err == nil {
		err = g.store.MakeIndexes(ctx, g.Name())
	}
	return err
}

// GiveUp gives up a generation and deletes it.
func (o Options) GiveUp(ctx context.Context, p readmodel.Projection, s control.Generation) error {
	s.State = control.Gone
	if err := o.ControlOf(p.Name()).Save(ctx, s); err != nil {
		return err
	}
	failpoint.Here(failpoint.GenerationAbandoned)
	o.RemoveGivenUp(ctx, p)
	return nil
}

// RemoveGivenUp deletes the tables of generations that were given up. If that fails, they
// only use disk space until the next call.
func (o Options) RemoveGivenUp(ctx context.Context, p readmodel.Projection) {
	all, err := o.ControlOf(p.Name()).Inactive(ctx, p.Name())
	for _, s := range all {
		if s.State != control.Gone {
			continue
		}
		if err = o.remove(ctx, p, s.Number); err == nil {
			err = o.ControlOf(p.Name()).Drop(ctx, p.Name(), s.Number)
			failpoint.Here(failpoint.GenerationForgotten)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		o.Logger.Warn("old generation cannot be removed", "projection", p.Name(), "error", err)
	}
}

// Back makes the kept generation, which was active before the last rebuild, ready again.
// Back fails if the tables or the index of that generation are missing or corrupt.
func (o Options) Back(ctx context.Context, name string) (generation int, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return 0, err
	}
	err = o.ControlOf(name).WhileRebuilding(ctx, name, func(ctx context.Context) error {
		if s, ok, err := o.ControlOf(name).Find(ctx, name, control.Ready); ok || err != nil {
			return errors.Join(err, fault.Errorf(fault.Conflict, "generation %d of %s is ready and not active yet: try again once a server has activated it", s.Number, name))
		}
		s, ok, err := o.ControlOf(name).Find(ctx, name, control.Kept)
		switch {
		case err != nil:
			return err
		case !ok:
			return fault.Errorf(fault.NotFound, "no earlier generation of %s is kept: rebuild it instead", name)
		case s.Version != p.Version():
			return fault.Errorf(fault.Conflict, "the kept generation %d of %s is of version %d, and this program makes version %d: rebuild it instead", s.Number, name, s.Version, p.Version())
		}
		if err := o.sound(ctx, p, s.Number); err != nil {
			return fmt.Errorf("the kept generation %d of %s cannot become active again: %w", s.Number, name, err)
		}
		generation, s.State = s.Number, control.Ready
		err = o.ControlOf(name).Save(ctx, s)
		failpoint.Here(failpoint.RollbackReady)
		return err
	})
	return generation, err
}

// sound returns an error if a generation is missing or corrupt. It ignores transient
// errors, because the process that opens the generation reports them.
func (o Options) sound(ctx context.Context, p readmodel.Projection, number int) error {
	err := o.HomeOf(p).Exists(ctx, NameOf(p, number))
	if err == nil {
		var g *Generation
		if g, err = o.OpenTables(ctx, p, number); err == nil {
			err = g.Close()
		}
	}
	if IsTransient(err) {
		return ctx.Err()
	}
	return err
}

// Switch makes the ready generation of a read model active. Call it only if no server
// runs, because a running server activates ready generations itself.
func (o Options) Switch(ctx context.Context, name string) error {
	p, err := readmodel.Named(name)
	if err != nil {
		return err
	}
	s, ok, err := o.ControlOf(name).Find(ctx, name, control.Ready)
	if err != nil || !ok {
		return err
	}
	if err := o.ControlOf(name).Activate(ctx, s); err != nil {
		return err
	}
	o.RemoveGivenUp(ctx, p)
	return nil
}

// Discard deletes all generations of a read model, including the active one. No
// server may be running.
func (o Options) Discard(ctx context.Context, name string) error {
	p, err := readmodel.Named(name)
	if err != nil {
		return err
	}
	return o.ControlOf(name).WhileRebuilding(ctx, name, func(ctx context.Context) error {
		if err := o.ControlOf(name).GiveUpAll(ctx, name); err != nil {
			return err
		}
		failpoint.Here(failpoint.ModelDiscarded)
		o.RemoveGivenUp(ctx, p)
		return nil
	})
}
