package projections

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"

	"annals/events"
)

// servedModel is the file of a read model that serves, opened to be read
// beside whoever writes to it.
type servedModel struct {
	db   *sql.DB
	held *sql.Tx // nil while it is not held still
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
	version, number, err := v.Control.generation(ctx, m.Name())
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
	path := filepath.Join(v.Dir, m.generation+".db")
	db, err := tableFile(path).open()
	if errors.Is(err, fs.ErrNotExist) {
		c.problem("its file " + path + " is missing; serve makes it anew")
		return 0, nil
	}
	if err != nil {
		return 0, unreadable(err)
	}
	s := &servedModel{db: db}
	if at, err = s.checkpoint(ctx); err != nil {
		return 0, errors.Join(err, s.close())
	}
	m.served = s
	return at, nil
}

func (s *servedModel) checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, unreadable(err)
}

// hold keeps what is read the same until release, and returns the position that
// it is of.
func (s *servedModel) hold(ctx context.Context) (p events.Position, err error) {
	if s.held, err = s.db.BeginTx(ctx, nil); err != nil {
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
		_ = s.held.Rollback() // nothing was written
		s.held = nil
	}
}

func (s *servedModel) close() error {
	s.release()
	return s.db.Close()
}
