package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"annals/events"
	"annals/projections/searchindex"

	"golang.org/x/sync/errgroup"
)

// Options say where read models live.
type Options struct {
	Log     *events.Log
	Control *Control
	Dir     string // of the read models, one file for each projection and generation
	// OpenSearch opens the index of one generation, made where it is not
	// there; RemoveSearch deletes one.
	OpenSearch   func(ctx context.Context, generation string) (searchindex.Engine, error)
	RemoveSearch func(ctx context.Context, generation string) error
	Logger       *slog.Logger
}

// Set is every read model of a service.
type Set struct {
	Vault, Jobs, Work, Summaries, Audit, Passages *Runner
	Search                                        searchindex.Engine
}

// Open opens the generation of each read model that serves. One that is
// missing, of another version, or damaged is made anew from the log.
func Open(ctx context.Context, o Options) (*Set, error) {
	s := new(Set)
	open := func(to **Runner, p Projection) error {
		r, err := o.open(ctx, p)
		*to = r
		return err
	}
	texts := new(Passages)
	err := errors.Join(
		open(&s.Vault, Vault{}),
		open(&s.Jobs, Jobs{}),
		open(&s.Work, Work{}),
		open(&s.Summaries, Summaries{}),
		open(&s.Audit, Audit{}),
		open(&s.Passages, texts),
	)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Search = texts.Engine
	return s, nil
}

func (o Options) open(ctx context.Context, p Projection) (*Runner, error) {
	version, number, err := o.Control.generation(ctx, p.Name())
	if err != nil {
		return nil, fmt.Errorf("generation of %s: %w", p.Name(), err)
	}
	if version == p.Version() {
		r, err := o.openGeneration(ctx, p, number)
		if err == nil {
			return r, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		o.Logger.Error("read model cannot be opened and is made anew", "projection", p.Name(), "generation", number, "error", err)
	}
	o.remove(ctx, p, number+1) // what an interrupted start may have left
	r, err := o.openGeneration(ctx, p, number+1)
	if err != nil {
		return nil, err
	}
	if err := o.Control.setGeneration(ctx, p.Name(), p.Version(), number+1); err != nil {
		return nil, errors.Join(fmt.Errorf("generation of %s: %w", p.Name(), err), r.close())
	}
	if number > 0 {
		o.remove(ctx, p, number)
	}
	return r, nil
}

func generationName(p Projection, number int) string { return fmt.Sprintf("%s-%d", p.Name(), number) }

func (o Options) openGeneration(ctx context.Context, p Projection, number int) (*Runner, error) {
	name := generationName(p, number)
	if texts, ok := p.(*Passages); ok {
		engine, err := o.OpenSearch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("open search index %s: %w", name, err)
		}
		texts.Engine = engine
	}
	r, err := newRunner(ctx, o.Log, p, filepath.Join(o.Dir, name+".db"), o.Logger)
	if f, ok := p.(Follower); ok && err != nil {
		err = errors.Join(err, f.Close())
	}
	return r, err
}

// remove deletes a generation that no longer serves. What cannot be deleted
// only takes room.
func (o Options) remove(ctx context.Context, p Projection, number int) {
	name := generationName(p, number)
	path := filepath.Join(o.Dir, name+".db")
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if _, ok := p.(*Passages); ok {
		errs = append(errs, o.RemoveSearch(ctx, name))
	}
	if err := errors.Join(errs...); err != nil {
		o.Logger.Warn("old generation cannot be removed", "projection", p.Name(), "generation", number, "error", err)
	}
}

// All returns every runner.
func (s *Set) All() []*Runner {
	return []*Runner{s.Vault, s.Jobs, s.Work, s.Summaries, s.Audit, s.Passages}
}

// Run keeps all read models in step with the log until ctx ends.
func (s *Set) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range s.All() {
		g.Go(func() error { return r.run(ctx) })
	}
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
