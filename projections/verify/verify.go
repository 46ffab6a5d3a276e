// Package verify checks the log and the read models built from it. It compares the read
// models with a fresh fold of the log: the tables row by row, and the search index by its
// passages and a sample of searches. It also checks that all texts and originals exist
// that documents name.
//
// The package imports generation and the read models that readmodel registers. It changes
// nothing, and works while a server runs.
package verify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/tables"
)

// Verifier checks a log and the read models built from it. It writes only to Scratch.
type Verifier struct {
	generation.Options        // of the active read models
	Scratch            string // an empty folder for the fresh fold
	// Original returns an error unless the original with this digest and size is stored
	// and not corrupt.
	Original func(ctx context.Context, sha256 string, size int64) error
	// Progress receives the progress of a check. done and total are in a unit that
	// depends on the check.
	Progress func(check string, done, total int64)
	Report   func(Check) // receives each check when it ends

	problems int
}

// Check is the result of one check.
type Check struct {
	Name     string
	Counts   string // such as "1203 events"
	Problems int
	First    []string // texts of the first problems, at most maxProblems
	Skipped  []string // parts that were not compared, and why
	Took     time.Duration
}

// maxProblems is the maximum number of problems that a Check lists. The Check counts
// all problems.
const maxProblems = 20

func (c *Check) problem(text string) {
	c.Problems++
	if len(c.First) < maxProblems {
		c.First = append(c.First, text)
	}
}

func (c *Check) skip(format string, args ...any) {
	c.Skipped = append(c.Skipped, fmt.Sprintf(format, args...))
}

// tolerate reports it as a problem if an active generation cannot be read, so that the
// other checks go on. It returns any other error.
func (c *Check) tolerate(ctx context.Context, err error) error {
	var served *unreadableError
	if ctx.Err() == nil && errors.As(err, &served) {
		c.problem("the active generation cannot be read: " + fault.Detail(served))
		return nil
	}
	return err
}

func (v *Verifier) progress(check string) func(done, total int64) {
	return func(done, total int64) { v.Progress(check, done, total) }
}

// Run runs all checks and returns the number of problems found. An error means that
// a check could not be run.
func (v *Verifier) Run(ctx context.Context) (problems int, err error) {
	head, err := v.Log.Head(ctx)
	if err != nil {
		return 0, err
	}
	err = v.check("log", func(c *Check) error {
		at := func(p events.Position) { v.Progress("log", int64(p), int64(head)) }
		n, err := v.Log.Verify(ctx, head, at, c.problem)
		c.Counts = fmt.Sprintf("%d events", n)
		return err
	})
	if err != nil {
		return v.problems, err
	}
	return v.problems, v.models(ctx)
}

// models checks the read models in the order of their names. Then it checks the texts and
// originals that the vault and passages refer to.
func (v *Verifier) models(ctx context.Context) (err error) {
	var vault, texts *model
	for _, m := range readmodel.All() {
		switch p := m.Projection; {
		case p.Name() == (readmodel.Vault{}).Name():
			vault, err = v.fold(ctx, p)
			defer func() { err = errors.Join(err, vault.close()) }()
		case generation.IsIndexed(p):
			texts, err = v.passages(ctx)
			defer func() { err = errors.Join(err, texts.close()) }()
		default:
			other, failed := v.fold(ctx, p)
			err = errors.Join(failed, other.close())
		}
		if err != nil {
			return err
		}
	}
	return v.documents(ctx, vault, texts)
}

// passages checks the passages and their search index.
func (v *Verifier) passages(ctx context.Context) (*model, error) {
	engine, why, err := v.freshEngine(ctx)
	if err != nil {
		return new(model), err
	}
	m, err := v.fold(ctx, new(passages.Projection).With(engine))
	if err == nil {
		err = v.index(ctx, m, why)
	}
	return m, err
}

// documents checks the texts and originals that the vault and passages refer to.
func (v *Verifier) documents(ctx context.Context, vault, texts *model) error {
	if vault.unfoldable || texts.unfoldable {
		return nil // these checks need the documents of both read models
	}
	// vault and texts were folded to different positions, those of their active
	// generations.
	through := max(vault.fresh.Position(), texts.fresh.Position())
	if err := errors.Join(vault.foldTo(ctx, through, nil), texts.foldTo(ctx, through, nil)); err != nil {
		return err
	}
	if err := v.texts(ctx, vault, texts); err != nil {
		return err
	}
	return v.originals(ctx, vault)
}

func (v *Verifier) check(name string, do func(c *Check) error) error {
	c, begun := Check{Name: name}, time.Now()
	err := do(&c)
	if c.Took = time.Since(begun); err == nil || c.Problems > 0 {
		v.problems += c.Problems
		v.Report(c) // even if the check failed
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", name, err)
	}
	return nil
}

// model is a read model: its active generation, and a fresh fold of the log.
type model struct {
	readmodel.Projection
	generation string
	active     *activeModel // nil if there is none to compare
	fresh      *generation.Generation
	unfoldable bool // the log cannot be folded
}

// fold folds the log up to the position of the active generation, and compares the tables
// of both.
func (v *Verifier) fold(ctx context.Context, p readmodel.Projection) (m *model, err error) {
	m = &model{Projection: p}
	return m, v.check(p.Name(), func(c *Check) error {
		m.fresh, err = generation.New(ctx, v.Log, p, tables.Folder(v.Scratch), p.Name(), slog.New(slog.DiscardHandler))
		if err != nil {
			if f, ok := p.(readmodel.Follower); ok {
				err = errors.Join(err, f.Close())
			}
			return err
		}
		err := v.compare(ctx, m, c)
		if poison := (*generation.PoisonError)(nil); ctx.Err() == nil && errors.As(err, &poison) {
			m.unfoldable = true
			c.problem("the log cannot be folded: " + poison.Error())
			return nil
		}
		return c.tolerate(ctx, err)
	})
}

func (v *Verifier) compare(ctx context.Context, m *model, c *Check) error {
	progress := v.progress(m.Name())
	at, err := v.openActive(ctx, m, c)
	// Read the head after the position of the active generation. Otherwise that position
	// could be above the head while a server runs.
	head, unknown := v.Log.Head(ctx)
	if unknown != nil {
		return unknown
	}
	if err != nil || m.active == nil {
		return errors.Join(err, m.foldTo(ctx, head, progress)) // the checks of texts and originals need the fold even if there is nothing to compare
	}
	// Fold most of the log before taking a snapshot of the active tables, because a
	// snapshot should be short. Then fold the events that a server has applied in the
	// meantime.
	if at > head {
		c.problem(fmt.Sprintf("it is at position %d, beyond the end of the log at %d", at, head))
	}
	if err := m.foldTo(ctx, at, progress); err != nil {
		return err
	}
	if at, err = m.active.hold(ctx); err != nil {
		return err
	}
	defer m.active.release()
	if err := m.foldTo(ctx, at, nil); err != nil {
		return err
	}
	rows, tables, err := m.compareTables(ctx, c.problem)
	c.Counts = fmt.Sprintf("%d rows of %d tables at position %d", rows, tables, at)
	return err
}

func (m *model) close() error {
	var errs []error
	if m.active != nil {
		errs = append(errs, m.active.close())
	}
	if m.fresh != nil {
		errs = append(errs, m.fresh.Close())
	}
	return errors.Join(errs...)
}

// foldTo applies the log up to a position, and does all deferred work.
func (m *model) foldTo(ctx context.Context, to events.Position, progress func(done, total int64)) error {
	head, err := m.fresh.Log().Head(ctx)
	if err != nil {
		return err
	}
	to = min(to, head)
	report := func(at events.Position) {
		if progress != nil {
			progress(int64(at), int64(to))
		}
	}
	if err := m.fresh.CatchUp(ctx, to, report); err != nil {
		return err
	}
	return m.fresh.FinishDeferred(ctx)
}
