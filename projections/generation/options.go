package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/projections/control"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/tables"
)

// Options say where the generations of all read models are stored.
type Options struct {
	Log     *events.Log
	Control *control.Store
	Tables  tables.Home // of the read models, one for each projection and generation
	Search  searchindex.Store
	// Embedder makes vectors of texts; nil if there is none. Then there are no Embedded read
	// models.
	Embedder readmodel.Embedder
	// Own says where the passages are stored if nodes share the other read models and
	// each node has its own search index. If Own is nil, the passages are stored with the
	// other read models.
	Own    *Own
	Logger *slog.Logger
}

// Own says where the generations are stored that a node does not share.
type Own struct {
	Control *control.Store
	Tables  tables.Home
}

// Models returns the read models that the service has.
func (o Options) Models() []readmodel.Model {
	all := readmodel.All()
	for _, m := range readmodel.Optional() {
		if _, ok := m.Projection.(readmodel.Embedded); !ok || o.Embedder != nil {
			all = append(all, m)
		}
	}
	return all
}

// ControlOf returns the control store with the generations of a projection.
func (o Options) ControlOf(name string) *control.Store {
	if p, err := readmodel.Named(name); o.Own != nil && err == nil && IsIndexed(p) {
		return o.Own.Control
	}
	return o.Control
}

// Controls returns every control store, the shared one first.
func (o Options) Controls() []*control.Store {
	if o.Own != nil {
		return []*control.Store{o.Control, o.Own.Control}
	}
	return []*control.Store{o.Control}
}

// IsIndexed reports whether a projection has a search index. If each node has its own
// search index, it also has its own tables of such a projection: see Options.Own.
func IsIndexed(p readmodel.Projection) bool {
	_, ok := p.(readmodel.Indexed)
	return ok
}

// Open opens the active generation. If it is missing or corrupt, Open activates an empty
// one instead. If this program cannot read its version, Open does the same on a single
// node, and calls openBeside if nodes share the read model. aged reports whether the
// opened generation is of an older version. If several nodes start at the same time,
// they run Open one after another.
func (o Options) Open(ctx context.Context, p readmodel.Projection) (g *Generation, aged bool, err error) {
	if !o.ControlOf(p.Name()).Shared() {
		return o.openHere(ctx, p)
	}
	err = o.ControlOf(p.Name()).InTurn(ctx, "open/"+p.Name(), control.Forever, func(ctx context.Context) (err error) {
		g, aged, err = o.openHere(ctx, p)
		return err
	})
	return g, aged, err
}

func (o Options) openHere(ctx context.Context, p readmodel.Projection) (g *Generation, aged bool, err error) {
	o.RemoveGivenUp(ctx, p)
	version, number, err := o.toServe(ctx, p)
	if err != nil {
		return nil, false, fmt.Errorf("find the active generation of %s: %w", p.Name(), err)
	}
	if number > 0 && Readable(p, version) {
		g, err := o.OpenExisting(ctx, p, number)
		if err == nil {
			return g, version < p.Version(), nil
		}
		if ctx.Err() != nil || IsTransient(err) {
			return nil, false, err
		}
		o.Logger.Error("read model cannot be opened and is rebuilt", "projection", p.Name(), "generation", number, "error", err)
	} else if number > 0 && o.ControlOf(p.Name()).Shared() {
		g, err = o.openBeside(ctx, p, version)
		return g, false, err
	}
	g, err = o.replaceActive(ctx, p)
	return g, false, err
}

// Readable reports whether this program can read and write tables of a version.
func Readable(p readmodel.Projection, version int) bool {
	return version >= p.Oldest() && version <= p.Version()
}

// toServe returns the version and number of the active generation. If this program cannot
// read the active generation and a rebuilt one is ready or held, toServe first activates
// that one: otherwise an empty one would have to serve.
func (o Options) toServe(ctx context.Context, p readmodel.Projection) (version, number int, err error) {
	version, number, err = o.ControlOf(p.Name()).Active(ctx, p.Name())
	if err != nil || number == 0 || Readable(p, version) {
		return version, number, err
	}
	s, ok, err := o.ControlOf(p.Name()).Find(ctx, p.Name(), control.Ready, control.Held)
	if err != nil || !ok || s.Version != p.Version() {
		return version, number, err
	}
	if s.State == control.Held {
		s.State = control.Ready
		if err := o.ControlOf(p.Name()).Save(ctx, s); err != nil {
			return version, number, err
		}
	}
	return s.Version, s.Number, o.ControlOf(p.Name()).Activate(ctx, s)
}

// replaceActive activates an empty generation in place of one that cannot serve.
func (o Options) replaceActive(ctx context.Context, p readmodel.Projection) (*Generation, error) {
	number, err := o.ControlOf(p.Name()).NextNumber(ctx, p.Name())
	if err == nil {
		err = o.remove(ctx, p, number) // an interrupted start may have left tables with this number
	}
	if fault.Is(err, fault.Unavailable) { // the new generation does not depend on the removal
		o.Logger.Warn("cannot remove the search index of an earlier generation", "projection", p.Name(), "generation", number, "error", err)
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("prepare the next generation of %s: %w", p.Name(), err)
	}
	g, err := o.OpenIndexed(ctx, p, number)
	if err != nil {
		return nil, err
	}
	failpoint.Here(failpoint.GenerationCreated)
	if err := o.ControlOf(p.Name()).Replace(ctx, p.Name(), p.Version(), number); err != nil {
		return nil, errors.Join(fmt.Errorf("activate generation %d of %s: %w", number, p.Name(), err), g.Close())
	}
	failpoint.Here(failpoint.GenerationRecorded)
	o.RemoveGivenUp(ctx, p)
	return g, nil
}

// HomeOf returns the home of the tables of a projection.
func (o Options) HomeOf(p readmodel.Projection) tables.Home {
	if o.Own != nil && IsIndexed(p) {
		return o.Own.Tables
	}
	return o.Tables
}

// NameOf returns the name of a generation's tables and index.
func NameOf(p readmodel.Projection, number int) string {
	return fmt.Sprintf("%s-%d", p.Name(), number)
}

// OpenIndexed opens a generation with the indexes that readers need.
func (o Options) OpenIndexed(ctx context.Context, p readmodel.Projection, number int) (*Generation, error) {
	g, err := o.OpenTables(ctx, p, number)
	if err != nil {
		return nil, err
	}
	if err := g.store.MakeIndexes(ctx, p.Name()); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// OpenTables opens a generation to fill it, without the indexes that only readers
// need.
func (o Options) OpenTables(ctx context.Context, p readmodel.Projection, number int) (*Generation, error) {
	name := NameOf(p, number)
	if i, ok := p.(readmodel.Indexed); ok {
		engine, err := o.Search.Open(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("open search index %s: %w", name, err)
		}
		failpoint.Here(failpoint.IndexOpened)
		p = i.With(engine)
	}
	if e, ok := p.(readmodel.Embedded); ok && o.Embedder != nil {
		earlier := func(ctx context.Context, read func(readmodel.Queryer) error) error {
			return o.earlier(ctx, e, number, read)
		}
		p = e.With(readmodel.Embedding{Embedder: o.Embedder, Log: o.Log, Logger: o.Logger, Earlier: earlier})
	}
	g, err := New(ctx, o.Log, p, o.HomeOf(p), name, o.Logger)
	if err != nil {
		if f, ok := p.(readmodel.Follower); ok {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	g.number = number
	return g, nil
}

// OpenExisting is like OpenIndexed, but the generation must exist.
func (o Options) OpenExisting(ctx context.Context, p readmodel.Projection, number int) (*Generation, error) {
	if err := o.HomeOf(p).Exists(ctx, NameOf(p, number)); err != nil {
		return nil, err
	}
	return o.OpenIndexed(ctx, p, number)
}

// remove deletes a generation that is not active, if it exists.
func (o Options) remove(ctx context.Context, p readmodel.Projection, number int) error {
	err := o.HomeOf(p).Remove(ctx, NameOf(p, number))
	if IsIndexed(p) {
		err = errors.Join(err, o.Search.Remove(ctx, NameOf(p, number)))
	}
	return err
}

// openBeside opens a generation for this program if it cannot read the active one, of the
// given version, which nodes of another version may be using. If the active one is older,
// openBeside rebuilds the read model and activates the result. If it is newer, openBeside
// opens the kept generation.
func (o Options) openBeside(ctx context.Context, p readmodel.Projection, version int) (*Generation, error) {
	store := o.ControlOf(p.Name())
	s, found, err := store.Find(ctx, p.Name(), control.Kept)
	if err != nil {
		return nil, err
	}
	if version < p.Version() {
		o.Logger.Info("read model is rebuilt before this node serves", "projection", p.Name(), "version", version)
		s = control.Generation{Projection: p.Name(), Version: p.Version()}
		if s.Number, err = o.Make(ctx, p, nil); err == nil {
			err = store.Activate(ctx, s)
		}
	} else if !found || !Readable(p, s.Version) {
		err = fault.Errorf(fault.Conflict, "open the read model %s: its version %d was made by a newer program, and this one makes version %d; start the newer program", p.Name(), version, p.Version())
	}
	if err != nil {
		return nil, err
	}
	g, err := o.OpenExisting(ctx, p, s.Number)
	if err != nil {
		return nil, err
	}
	return g, nil
}
