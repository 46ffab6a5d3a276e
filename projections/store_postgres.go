package projections

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"annals/events/fault"
	"annals/events/postgres"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresStore is a schema with one session that may write and several that
// read. The session that writes holds an advisory lock while it leads: what
// ends the one ends the other, so that who does not lead any more cannot write.
//
// Within a transaction Exec and Insert only gather. What was gathered is sent
// piece by piece while more is gathered, and all of it before anything is read.
type postgresStore struct {
	schema  string
	writers *sql.DB
	readers *sql.DB
	replica *replica // nil where there is none

	session *sql.Conn // of writers; nil while there is none
	leads   bool      // the session holds the lock
	lost    bool      // it was led, and the session ended: lead is to be called

	within bool  // a transaction
	failed error // why nothing is carried out any more
	batch  *pgx.Batch
	bytes  int
	rows   map[string]*insertion // by table
	flight chan error            // gives what came of the piece under way; nil while there is none
}

func (s *postgresStore) reads() *reader {
	return &reader{from: s.readers, db: s.readers, arguments: arguments}
}

func (s *postgresStore) answers() answerer {
	if s.replica != nil {
		return s.replica
	}
	return s.reads()
}

// Transaction runs fn in one transaction, which fails where another process
// leads.
func (s *postgresStore) Transaction(ctx context.Context, fn func(Tx) error) (err error) {
	if s.lost {
		return fault.Errorf(fault.Unavailable, "the connection to %s was lost", s.schema)
	}
	if leads, err := s.lead(ctx); err != nil || !leads {
		return errors.Join(err, fault.Errorf(fault.Unavailable, "another process brings %s forward", s.schema))
	}
	s.within, s.failed = true, nil
	s.gather("BEGIN")
	if err = fn(s); err == nil && len(s.rows) > 0 {
		err = s.settle(ctx)
	}
	if err == nil {
		s.gather("COMMIT")
		err = s.send(ctx)
	}
	if err != nil {
		s.undo(ctx)
	}
	s.within = false
	return err
}

// undo rolls back what was begun, or ends the session where that fails.
func (s *postgresStore) undo(ctx context.Context) {
	_ = s.land() // whose error is that of the transaction
	s.batch, s.bytes = new(pgx.Batch), 0
	clear(s.rows)
	if s.session == nil {
		return
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, err := s.session.ExecContext(soon, "ROLLBACK"); err != nil {
		s.disconnect()
	}
}

const (
	gatherStatements = 250
	gatherBytes      = 1 << 20
)

func (s *postgresStore) gather(query string, args ...any) *pgx.QueuedQuery {
	for _, arg := range args {
		s.bytes += sizeOf(arg)
	}
	return s.batch.Queue(query, args...)
}

func sizeOf(arg any) int {
	switch v := arg.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 8
}

// settle sends what was gathered: statements, then rows, as whoever gathers them
// sees to it that this is their order.
func (s *postgresStore) settle(ctx context.Context) error {
	err := s.send(ctx)
	for table, i := range s.rows {
		if err == nil {
			err = s.insert(ctx, i)
		}
		delete(s.rows, table)
	}
	return err
}

// send sends the statements that were gathered and waits for what comes of all.
func (s *postgresStore) send(ctx context.Context) error {
	if err := s.launch(ctx); err != nil {
		return err
	}
	return s.land()
}

// launch sends the statements that were gathered, once the piece before has come
// to its end.
func (s *postgresStore) launch(ctx context.Context) error {
	err := s.land()
	if err == nil && s.batch.Len() > 0 {
		batch, session, flight := s.batch, s.session, make(chan error, 1)
		s.flight = flight
		go func() {
			flight <- postgres.Conn(session, func(c *pgx.Conn) error { return c.SendBatch(ctx, batch).Close() })
		}()
	}
	s.batch, s.bytes = new(pgx.Batch), 0
	return err
}

// land waits for the piece under way. Once one has failed nothing is carried out
// any more.
func (s *postgresStore) land() error {
	if s.flight != nil {
		err := <-s.flight
		s.flight = nil
		s.failed = s.check(err)
	}
	return s.failed
}

// before sends what a statement may have to see.
func (s *postgresStore) before(ctx context.Context, query string) error {
	for table := range s.rows {
		if namesTable(query, table) {
			return s.settle(ctx)
		}
	}
	if s.batch.Len() >= gatherStatements || s.bytes >= gatherBytes {
		return s.launch(ctx)
	}
	return s.failed
}

// Exec is Tx.Exec. The store itself is the Tx, as it has one writer.
func (s *postgresStore) Exec(ctx context.Context, query string, args ...any) error {
	if !s.within {
		_, err := s.Changed(ctx, query, args...)
		return err
	}
	if err := s.before(ctx, query); err != nil {
		return err
	}
	s.gather(query, arguments(args)...)
	return nil
}

// Changed is Tx.Changed.
func (s *postgresStore) Changed(ctx context.Context, query string, args ...any) (n int64, err error) {
	if !s.within {
		if err := s.connect(ctx); err != nil {
			return 0, err
		}
		done, err := s.session.ExecContext(ctx, query, arguments(args)...)
		if err != nil {
			return 0, s.check(err)
		}
		return done.RowsAffected()
	}
	if err := s.before(ctx, query); err != nil {
		return 0, err
	}
	s.gather(query, arguments(args)...).Exec(func(tag pgconn.CommandTag) error {
		n = tag.RowsAffected()
		return nil
	})
	return n, s.send(ctx)
}

// QueryContext is Tx.QueryContext.
func (s *postgresStore) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.session.QueryContext(ctx, query, arguments(args)...)
	return rows, s.check(err)
}

// QueryRow is Tx.QueryRow.
func (s *postgresStore) QueryRow(ctx context.Context, query string, args ...any) Row {
	if err := s.ready(ctx); err != nil {
		return noRow{err}
	}
	return toldRow{s.session.QueryRowContext(ctx, query, arguments(args)...), s.check}
}

// ready sends all that a read may have to see.
func (s *postgresStore) ready(ctx context.Context) error {
	if s.within {
		return s.settle(ctx)
	}
	return s.connect(ctx)
}
