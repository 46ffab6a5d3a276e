package tables

import (
	"context"
	"errors"
	"time"

	"annals/events/sqldb"

	"github.com/jackc/pgx/v5"
)

// TryLock is Store.TryLock. A process that acquires the lock sees everything that the
// previous leader has committed.
func (s *postgresStore) TryLock(ctx context.Context) (leads bool, err error) {
	if s.leads {
		return true, nil
	}
	if s.lost { // other processes may have written since the lock was lost
		s.lost = false
		return false, nil
	}
	if err := s.connect(ctx); err != nil {
		return false, err
	}
	err = s.session.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, sqldb.LockKey(s.schema)).Scan(&s.leads)
	if err != nil {
		s.disconnect()
		return false, Classify(err)
	}
	return s.leads, nil
}

// Unlock is Store.Unlock.
func (s *postgresStore) Unlock() {
	if s.leads {
		s.disconnect()
	}
}

func (s *postgresStore) connect(ctx context.Context) (err error) {
	if s.session == nil {
		s.session, err = s.writers.Conn(ctx)
	}
	return Classify(err)
}

// disconnect closes the session, which releases the lock.
func (s *postgresStore) disconnect() {
	if s.session == nil {
		return
	}
	_ = sqldb.PgxConn(s.session, func(c *pgx.Conn) error { // an error means that the session has already ended
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return c.Close(soon)
	})
	_ = s.session.Close()
	s.lost = s.lost || s.leads
	s.session, s.leads = nil, false
}

// check closes the session if an error has made it unusable.
func (s *postgresStore) check(err error) error {
	if err == nil {
		return nil
	}
	useless := s.session == nil
	if !useless {
		broken := sqldb.PgxConn(s.session, func(c *pgx.Conn) error {
			useless = c.IsClosed()
			return nil
		})
		useless = useless || broken != nil
	}
	if useless {
		s.disconnect()
	}
	return Classify(err)
}

// Close is Store.Close.
func (s *postgresStore) Close() error {
	if s.leads { // other processes need not wait until the server notices that the session has ended
		soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, _ = s.session.ExecContext(soon, `SELECT pg_advisory_unlock($1)`, sqldb.LockKey(s.schema))
		cancel()
	}
	s.disconnect()
	return errors.Join(s.writers.Close(), s.readers.Close())
}

// leaderSettings set the node's name in its sessions, because another node may have to
// end them.
func (d *Database) leaderSettings() map[string]string {
	if d.Node == "" {
		return SessionSettings
	}
	settings := map[string]string{"application_name": SessionPrefix + d.Node}
	for name, value := range SessionSettings {
		settings[name] = value
	}
	return settings
}

// SessionPrefix is the prefix of the application_name of sessions that write. The rest is
// the node's name.
const SessionPrefix = "annals-node "
