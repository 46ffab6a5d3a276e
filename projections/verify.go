package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"
)

// Verification proves a log, and what was made from it. It changes nothing but
// what is in Scratch, and works while a server runs.
type Verification struct {
	Options        // where the log and what serves are; their search index is ServedSearch
	Scratch string // an empty folder, for those that are made anew
	// NewSearch makes an index in a folder. ServedSearch opens the one of a
	// generation that serves, for reading; its error is of kind
	// fault.Unavailable, and says why, where that cannot be done now.
	NewSearch    func(ctx context.Context, dir string) (searchindex.Engine, error)
	ServedSearch func(ctx context.Context, generation string) (searchindex.Engine, error)
	// Original returns an error unless an original is kept as it came.
	Original func(ctx context.Context, sha256 string, size int64) error
	// Progress is told, in the unit of the check, how far one is.
	Progress func(check string, done, total int64)
	Tell     func(Check) // what a check found, when it ends

	problems int
}

// Check is what one part of a Verification found.
type Check struct {
	Name     string
	Counts   string // what was looked at: "1203 events"
	Problems int
	First    []string // of the problems, at most MaxProblems
	Left     []string // what could not be compared, and why
	Took     time.Duration
}

// MaxProblems is how many problems a check names; it counts them all.
const MaxProblems = 20

func (c *Check) problem(text string) {
	c.Problems++
	if len(c.First) < MaxProblems {
		c.First = append(c.First, text)
	}
}

func (c *Check) left(format string, args ...any) {
	c.Left = append(c.Left, fmt.Sprintf(format, args...))
}

// tolerate makes a problem of it where what serves cannot be read; the checks
// go on.
func (c *Check) tolerate(ctx context.Context, err error) error {
	var served *servedError
	if ctx.Err() == nil && errors.As(err, &served) {
		c.problem("what serves cannot be read: " + fault.Detail(served))
		return nil
	}
	return err
}

func (v *Verification) progress(check string) func(done, total int64) {
	return func(done, total int64) { v.Progress(check, done, total) }
}

// Run makes all checks and returns the number of problems found. An error says
// that they could not be made.
func (v *Verification) Run(ctx context.Context) (problems int, err error) {
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
	for _, p := range []Projection{Jobs{}, Work{}, Summaries{}, Audit{}, Usage{}} {
		m, err := v.model(ctx, p)
		if err := errors.Join(err, m.close()); err != nil {
			return v.problems, err
		}
	}
	return v.problems, v.documents(ctx)
}

// documents checks the two read models that tell what is filed, and what they
// name.
func (v *Verification) documents(ctx context.Context) (err error) {
	vault, err := v.model(ctx, Vault{})
	defer func() { err = errors.Join(err, vault.close()) }()
	if err != nil {
		return err
	}
	engine, why, err := v.freshEngine(ctx)
	if err != nil {
		return err
	}
	texts, err := v.model(ctx, &Passages{Engine: engine})
	defer func() { err = errors.Join(err, texts.close()) }()
	if err == nil {
		err = v.index(ctx, texts, why)
	}
	if err != nil || vault.broken || texts.broken {
		return err // without them it is not known what is filed
	}
	// They were left where what serves was, which may be at two places.
	through := max(vault.fresh.position, texts.fresh.position)
	if err := errors.Join(vault.foldTo(ctx, through, nil), texts.foldTo(ctx, through, nil)); err != nil {
		return err
	}
	if err := v.texts(ctx, vault, texts); err != nil {
		return err
	}
	return v.originals(ctx, vault)
}

func (v *Verification) check(name string, do func(c *Check) error) error {
	c, begun := Check{Name: name}, time.Now()
	err := do(&c)
	if c.Took = time.Since(begun); err == nil || c.Problems > 0 {
		v.problems += c.Problems
		v.Tell(c) // also what was found before the check could not go on
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", name, err)
	}
	return nil
}

// verifiedModel is a read model, as it serves and as the log gives it.
type verifiedModel struct {
	Projection
	generation string
	served     *servedModel // nil where there is none to compare
	fresh      *generation
	broken     bool // the log cannot be folded
}

// model folds the log anew up to where the read model that serves is, and
// compares their tables.
func (v *Verification) model(ctx context.Context, p Projection) (m *verifiedModel, err error) {
	m = &verifiedModel{Projection: p}
	return m, v.check(p.Name(), func(c *Check) error {
		m.fresh, err = newGeneration(ctx, v.Log, p, Folder(v.Scratch), p.Name(), slog.New(slog.DiscardHandler))
		if err != nil {
			if f, ok := p.(Follower); ok {
				err = errors.Join(err, f.Close())
			}
			return err
		}
		err := v.compare(ctx, m, c)
		if poison := (*poisonError)(nil); ctx.Err() == nil && errors.As(err, &poison) {
			m.broken = true
			c.problem("it cannot be made anew: " + poison.Error())
			return nil
		}
		return c.tolerate(ctx, err)
	})
}

func (v *Verification) compare(ctx context.Context, m *verifiedModel, c *Check) error {
	progress := v.progress(m.Name())
	at, err := v.openServed(ctx, m, c)
	// The log is asked last: it goes on, and what is made of it follows.
	head, unknown := v.Log.Head(ctx)
	if unknown != nil {
		return unknown
	}
	if err != nil || m.served == nil {
		return errors.Join(err, m.foldTo(ctx, head, progress)) // what is filed is to be known all the same
	}
	// While the log is folded the server goes on. What it did meanwhile is
	// little, and is folded while its tables are held still.
	if at > head {
		c.problem(fmt.Sprintf("it is at position %d of a log that ends at %d", at, head))
	}
	if err := m.foldTo(ctx, at, progress); err != nil {
		return err
	}
	if at, err = m.served.hold(ctx); err != nil {
		return err
	}
	defer m.served.release()
	if err := m.foldTo(ctx, at, nil); err != nil {
		return err
	}
	rows, tables, err := m.compareTables(ctx, c.problem)
	c.Counts = fmt.Sprintf("%d rows of %d tables at position %d", rows, tables, at)
	return err
}

func (m *verifiedModel) close() error {
	var errs []error
	if m.served != nil {
		errs = append(errs, m.served.close())
	}
	if m.fresh != nil {
		errs = append(errs, m.fresh.close())
	}
	return errors.Join(errs...)
}

// foldTo applies the log up to a position, and all that waits behind it.
func (m *verifiedModel) foldTo(ctx context.Context, to events.Position, progress func(done, total int64)) error {
	head, err := m.fresh.log.Head(ctx)
	if err != nil {
		return err
	}
	to = min(to, head)
	told := func(at events.Position) {
		if progress != nil {
			progress(int64(at), int64(to))
		}
	}
	if err := m.fresh.reach(ctx, to, told); err != nil {
		return err
	}
	return m.fresh.finish(ctx)
}
