package projections

import (
	"context"
	"errors"
	"time"

	"annals/events/postgres"

	"github.com/jackc/pgx/v5"
)

// lead tries to take the lock where no other process has it. Who begins to lead
// finds the tables where the one before left them.
func (s *postgresStore) lead(ctx context.Context) (leads bool, err error) {
	if s.leads {
		return true, nil
	}
	if s.lost { // whoever led is to learn that others may have led since
		s.lost = false
		return false, nil
	}
	if err := s.connect(ctx); err != nil {
		return false, err
	}
	err = s.session.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, lockOf(s.schema)).Scan(&s.leads)
	if err != nil {
		s.disconnect()
		return false, told(err)
	}
	return s.leads, nil
}

func (s *postgresStore) yield() {
	if s.leads {
		s.disconnect()
	}
}

func (s *postgresStore) connect(ctx context.Context) (err error) {
	if s.session == nil {
		s.session, err = s.writers.Conn(ctx)
	}
	return told(err)
}

// disconnect ends a session with which something is wrong.
func (s *postgresStore) disconnect() {
	if s.session == nil {
		return
	}
	_ = postgres.Conn(s.session, func(c *pgx.Conn) error { // whose error is that it has ended already
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return c.Close(soon)
	})
	_ = s.session.Close()
	s.lost = s.lost || s.leads
	s.session, s.leads = nil, false
}

// check ends the session where an error says, or left, that it is of no use.
func (s *postgresStore) check(err error) error {
	if err == nil {
		return nil
	}
	useless := s.session == nil
	if !useless {
		broken := postgres.Conn(s.session, func(c *pgx.Conn) error {
			useless = c.IsClosed()
			return nil
		})
		useless = useless || broken != nil
	}
	if useless {
		s.disconnect()
	}
	return told(err)
}

func (s *postgresStore) close() error {
	if s.leads { // others need not wait until the server has noticed
		soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, _ = s.session.ExecContext(soon, `SELECT pg_advisory_unlock($1)`, lockOf(s.schema))
		cancel()
	}
	s.disconnect()
	return errors.Join(s.writers.Close(), s.readers.Close(), s.replica.close())
}
