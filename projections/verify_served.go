package projections

import (
	"context"
	"errors"
	"io/fs"

	"annals/events"
)

// servedModel is the tables of a read model that serves, opened to be read
// beside whoever writes to them.
type servedModel struct {
	tables *reader
	held   *reader // nil while they are not held still
	letGo  func()
}

// servedError says that a read model that serves cannot be read.
type servedError struct{ err error }

func (e *servedError) Error() string { return e.err.Error() }
func (e *servedError) Unwrap() error { return e.err }

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return &servedError{err}
}

// openServed opens the generation of m that serves, and returns the position
// that it is at. Where there is none of today's version it says so.
func (v *Verification) openServed(ctx context.Context, m *verifiedModel, c *Check) (at events.Position, err error) {
	version, number, err := v.ControlOf(m.Name()).generation(ctx, m.Name())
	switch {
	case err != nil:
		return 0, err
	case number == 0:
		c.left("no generation of it serves yet; serve makes one")
		return 0, nil
	case version != m.Version():
		c.left("what serves is of version %d of this read model, and this program makes version %d; serve makes it anew", version, m.Version())
		return 0, nil
	}
	m.generation = generationName(m.Projection, number)
	tables, err := v.home(m.Projection).view(ctx, m.generation)
	if errors.Is(err, fs.ErrNotExist) {
		c.problem(v.home(m.Projection).name(m.generation) + " is missing; serve makes it anew")
		return 0, nil
	}
	if err != nil {
		return 0, unreadable(err)
	}
	s := &servedModel{tables: tables}
	if at, err = s.checkpoint(ctx); err != nil {
		return 0, errors.Join(err, s.close())
	}
	m.served = s
	return at, nil
}

func (s *servedModel) checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.tables.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, unreadable(err)
}

// hold keeps what is read the same until release, and returns the position that
// it is of.
func (s *servedModel) hold(ctx context.Context) (p events.Position, err error) {
	if s.held, s.letGo, err = s.tables.hold(ctx); err != nil {
		return 0, unreadable(err)
	}
	if err := s.held.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p); err != nil {
		s.release()
		return 0, unreadable(err)
	}
	return p, nil
}

func (s *servedModel) release() {
	if s.held != nil {
		s.letGo()
		s.held = nil
	}
}

func (s *servedModel) close() error {
	s.release()
	return s.tables.close()
}
