package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/projections/searchindex"

	"golang.org/x/sync/errgroup"
)

// Options say where read models live.
type Options struct {
	Log     *events.Log
	Control *Control
	Tables  Home // of the read models, one for each projection and generation
	// OpenSearch opens the index of one generation, made where it is not
	// there; RemoveSearch deletes one.
	OpenSearch   func(ctx context.Context, generation string) (searchindex.Engine, error)
	RemoveSearch func(ctx context.Context, generation string) error
	// Own is where a node keeps the passages, beside a search index of its own,
	// where it shares all else with other nodes. Nil: they are with the rest.
	Own    *Own
	Logger *slog.Logger
}

// Own is what a node does not share.
type Own struct {
	Control *Control
	Tables  Home
}

// ControlOf returns what knows the generations of a projection.
func (o Options) ControlOf(name string) *Control {
	if o.Own != nil && name == passagesName {
		return o.Own.Control
	}
	return o.Control
}

// controls returns every Control, the shared one first.
func (o Options) controls() []*Control {
	if o.Own != nil {
		return []*Control{o.Control, o.Own.Control}
	}
	return []*Control{o.Control}
}

// Set is every read model of a service.
type Set struct {
	Vault, Jobs, Work, Summaries, Audit, Usage, Passages *Runner
	Search                                               *Index

	options Options
	aged    []Projection // what serves is of an older version
}

// all returns every projection, in the order of Set.All.
func all() []Projection {
	return []Projection{Vault{}, Jobs{}, Work{}, Summaries{}, Audit{}, Usage{}, new(Passages)}
}

// Names returns the names of all projections.
func Names() (names []string) {
	for _, p := range all() {
		names = append(names, p.Name())
	}
	return names
}

// named returns the projection of a name, or fault.NotFound.
func named(name string) (Projection, error) {
	for _, p := range all() {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, fault.Errorf(fault.NotFound, "no read model is called %q: there are %s", name, strings.Join(Names(), ", "))
}

// Open opens the generation of each read model that serves. One that is
// missing, damaged, or of a version that cannot be read any more is made anew
// from the log; one of an older version that can serves until Run has made
// another. Where one knows more than the log holds, that is an error: made
// anew, it would hide that events were lost.
func Open(ctx context.Context, o Options) (*Set, error) {
	if home, ok := o.Tables.(*Database); ok {
		named := *home
		named.Node = nodeName()
		o.Tables = &named
		o.Logger.Info("this node shares read models with others", "node", named.Node)
	}
	s := &Set{options: o}
	confirmed := time.Now()
	runners := []**Runner{&s.Vault, &s.Jobs, &s.Work, &s.Summaries, &s.Audit, &s.Usage, &s.Passages}
	var errs []error
	for i, p := range all() {
		r, aged, err := o.open(ctx, p)
		if errors.Is(err, errAhead) || errors.Is(err, errOther) {
			err = fmt.Errorf("%w; put the log back as it was, or, if it is right as it is, delete %s, which is then made anew", err, o.Tables.name(""))
			return nil, errors.Join(err, s.Close())
		}
		if aged {
			s.aged = append(s.aged, p)
		}
		if r != nil {
			o.share(r, confirmed)
		}
		*runners[i] = r
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Search = &Index{s.Passages}
	return s, nil
}

// open opens the generation that serves, or makes another; aged tells that it
// is of an older version. Nodes that start at once do so one after another.
func (o Options) open(ctx context.Context, p Projection) (r *Runner, aged bool, err error) {
	if !o.ControlOf(p.Name()).shared {
		return o.openHere(ctx, p)
	}
	err = o.ControlOf(p.Name()).inTurn(ctx, "open/"+p.Name(), forever, func(ctx context.Context) (err error) {
		r, aged, err = o.openHere(ctx, p)
		return err
	})
	return r, aged, err
}

func (o Options) openHere(ctx context.Context, p Projection) (r *Runner, aged bool, err error) {
	o.clear(ctx, p)
	version, number, err := o.toServe(ctx, p)
	if err != nil {
		return nil, false, fmt.Errorf("generation of %s: %w", p.Name(), err)
	}
	if number > 0 && readable(p, version) {
		g, err := o.openMade(ctx, p, number)
		if err == nil {
			return g.serve(), version < p.Version(), nil
		}
		if ctx.Err() != nil || passing(err) {
			return nil, false, err
		}
		o.Logger.Error("read model cannot be opened and is made anew", "projection", p.Name(), "generation", number, "error", err)
	} else if number > 0 && o.ControlOf(p.Name()).shared {
		r, err = o.openBeside(ctx, p, version)
		return r, false, err
	}
	r, err = o.anew(ctx, p)
	return r, false, err
}

// readable reports whether tables of a version can be read and brought further.
func readable(p Projection, version int) bool { return version >= p.Oldest() && version <= p.Version() }

// toServe returns the version and number of the generation that is to serve: in
// place of one that cannot be read any more one that is ready, if there is.
func (o Options) toServe(ctx context.Context, p Projection) (version, number int, err error) {
	version, number, err = o.ControlOf(p.Name()).generation(ctx, p.Name())
	if err != nil || number == 0 || readable(p, version) {
		return version, number, err
	}
	s, ok, err := o.ControlOf(p.Name()).find(ctx, p.Name(), ready)
	if err != nil || !ok || s.version != p.Version() {
		return version, number, err
	}
	return s.version, s.generation, o.ControlOf(p.Name()).serve(ctx, s)
}

// anew lets an empty generation serve, in place of one that cannot.
func (o Options) anew(ctx context.Context, p Projection) (*Runner, error) {
	number, err := o.ControlOf(p.Name()).nextGeneration(ctx, p.Name())
	if err == nil {
		err = o.remove(ctx, p, number) // what an interrupted start may have left
	}
	if fault.Is(err, fault.Unavailable) { // no reason not to serve the rest
		o.Logger.Warn("it is not known whether a search index is left of an earlier generation", "projection", p.Name(), "generation", number, "error", err)
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("next generation of %s: %w", p.Name(), err)
	}
	g, err := o.openGeneration(ctx, p, number)
	if err != nil {
		return nil, err
	}
	failpoint.Here(failpoint.GenerationMade)
	if err := o.ControlOf(p.Name()).setGeneration(ctx, p.Name(), p.Version(), number); err != nil {
		return nil, errors.Join(fmt.Errorf("generation of %s: %w", p.Name(), err), g.close())
	}
	failpoint.Here(failpoint.GenerationNoted)
	o.clear(ctx, p)
	return g.serve(), nil
}

// home is where the tables of a projection are.
func (o Options) home(p Projection) Home {
	if o.Own != nil && p.Name() == passagesName {
		return o.Own.Tables
	}
	return o.Tables
}

func generationName(p Projection, number int) string { return fmt.Sprintf("%s-%d", p.Name(), number) }

// openGeneration opens a generation for serving.
func (o Options) openGeneration(ctx context.Context, p Projection, number int) (*generation, error) {
	g, err := o.openTables(ctx, p, number)
	if err != nil {
		return nil, err
	}
	if err := g.store.index(ctx, p.Name()); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// openTables opens a generation as far as it is needed for filling it.
func (o Options) openTables(ctx context.Context, p Projection, number int) (*generation, error) {
	name := generationName(p, number)
	if _, ok := p.(*Passages); ok {
		engine, err := o.OpenSearch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("open search index %s: %w", name, err)
		}
		failpoint.Here(failpoint.IndexOpened)
		p = &Passages{Engine: engine}
	}
	g, err := newGeneration(ctx, o.Log, p, o.home(p), name, o.Logger)
	if err != nil {
		if f, ok := p.(Follower); ok {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	g.number = number
	return g, nil
}

// openMade is openGeneration of one that was made: it is an error where it is
// not there.
func (o Options) openMade(ctx context.Context, p Projection, number int) (*generation, error) {
	if err := o.home(p).there(ctx, generationName(p, number)); err != nil {
		return nil, err
	}
	return o.openGeneration(ctx, p, number)
}

// remove deletes a generation that does not serve, if there is anything of it.
func (o Options) remove(ctx context.Context, p Projection, number int) error {
	err := o.home(p).remove(ctx, generationName(p, number))
	if _, ok := p.(*Passages); ok {
		err = errors.Join(err, o.RemoveSearch(ctx, generationName(p, number)))
	}
	return err
}

// All returns every runner.
func (s *Set) All() []*Runner {
	return []*Runner{s.Vault, s.Jobs, s.Work, s.Summaries, s.Audit, s.Usage, s.Passages}
}

// Run keeps all read models in step with the log until ctx ends. It makes anew
// those of an older version and those that turn out to be damaged, and lets
// generations serve that become ready.
func (s *Set) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range s.All() {
		g.Go(func() error { return r.run(ctx) })
		g.Go(func() error { s.mend(ctx, r); return nil })
		g.Go(func() error { s.inspect(ctx, r); return nil })
	}
	for _, p := range s.aged {
		g.Go(func() error { s.renewAged(ctx, p); return nil })
	}
	g.Go(func() error { s.watch(ctx); return nil })
	g.Go(func() error { s.confirm(ctx); return nil })
	g.Go(func() error { s.listen(ctx); return nil })
	g.Go(func() error { s.present(ctx); return nil })
	return g.Wait()
}

// Close closes all read models, after Run has returned.
func (s *Set) Close() error {
	var errs []error
	for _, r := range s.All() {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(errs...)
}
