package verify

import (
	"context"
	"errors"
	"io/fs"

	"annals/events"
	"annals/projections/generation"
	"annals/projections/tables"
)

// activeModel has the tables of an active generation. Another process may write to them.
type activeModel struct {
	tables *tables.Reader
	held   *tables.Reader // a snapshot of the tables; nil outside of hold and release
	unhold func()
}

// unreadableError means that an active generation cannot be read.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return &unreadableError{err}
}

// openActive opens the active generation of m and returns its position. If there is none,
// or it is of another version than this program builds, the check is skipped.
func (v *Verifier) openActive(ctx context.Context, m *model, c *Check) (at events.Position, err error) {
	version, number, err := v.ControlOf(m.Name()).Active(ctx, m.Name())
	switch {
	case err != nil:
		return 0, err
	case number == 0:
		c.skip("it has no active generation yet; serve builds one")
		return 0, nil
	case version != m.Version():
		c.skip("its active generation has version %d, and this program writes version %d; serve rebuilds it", version, m.Version())
		return 0, nil
	}
	m.generation = generation.NameOf(m.Projection, number)
	tables, err := v.HomeOf(m.Projection).View(ctx, m.generation)
	if errors.Is(err, fs.ErrNotExist) {
		c.problem(v.HomeOf(m.Projection).Describe(m.generation) + " is missing; serve rebuilds it")
		return 0, nil
	}
	if err != nil {
		return 0, unreadable(err)
	}
	s := &activeModel{tables: tables}
	if at, err = s.checkpoint(ctx); err != nil {
		return 0, errors.Join(err, s.close())
	}
	m.active = s
	return at, nil
}

func (s *activeModel) checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.tables.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, unreadable(err)
}

// hold begins a snapshot of the tables and returns the position of the snapshot.
func (s *activeModel) hold(ctx context.Context) (p events.Position, err error) {
	if s.held, s.unhold, err = s.tables.Snapshot(ctx); err != nil {
		return 0, unreadable(err)
	}
	if err := s.held.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p); err != nil {
		s.release()
		return 0, unreadable(err)
	}
	return p, nil
}

func (s *activeModel) release() {
	if s.held != nil {
		s.unhold()
		s.held = nil
	}
}

func (s *activeModel) close() error {
	s.release()
	return s.tables.Close()
}
