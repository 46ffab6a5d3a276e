package tables

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/projections/readmodel"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresStore is a schema with one session that writes and several that read. The
// session that writes holds an advisory lock. So a process that has lost the lock cannot
// write.
//
// Within a transaction, Exec and Insert only gather statements. Statements are sent in
// chunks while more are gathered. All gathered statements are sent before a query.
type postgresStore struct {
	schema  string
	writers *sql.DB
	readers *sql.DB

	session *sql.Conn // for writing; nil if there is none
	leads   bool      // the session holds the lock
	lost    bool      // the session was lost, and with it the lock; the next TryLock reports that and resets it

	within bool  // in a transaction
	failed error // an error of the transaction, after which no statement runs
	batch  *pgx.Batch
	bytes  int
	rows   map[string]*insertion // by table
	flight chan error            // result of the chunk in progress; nil if there is none
}

func (s *postgresStore) Reads() *Reader {
	return &Reader{from: s.readers, db: s.readers, arguments: arguments}
}

// Transaction runs fn in one transaction. It fails if another process holds the
// lock.
func (s *postgresStore) Transaction(ctx context.Context, fn func(readmodel.Tx) error) (err error) {
	if s.lost {
		return fault.Errorf(fault.Unavailable, "write to %s: the connection was lost, and with it the lock", s.schema)
	}
	if leads, err := s.TryLock(ctx); err != nil || !leads {
		return errors.Join(err, fault.Errorf(fault.Unavailable, "write to %s: it is locked by another process", s.schema))
	}
	s.within, s.failed = true, nil
	s.gather("BEGIN")
	if err = fn(s); err == nil && len(s.rows) > 0 {
		err = s.Flush(ctx)
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

// undo rolls back, or closes the session if that fails.
func (s *postgresStore) undo(ctx context.Context) {
	_ = s.land() // the caller already has this error
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

// Flush sends the gathered statements, and then the gathered rows. This order is safe:
// before has sent the rows of a table if a later statement names the table.
func (s *postgresStore) Flush(ctx context.Context) error {
	err := s.send(ctx)
	for table, i := range s.rows {
		if err == nil {
			err = s.insert(ctx, i)
		}
		delete(s.rows, table)
	}
	return err
}

// send sends the gathered statements and waits for their results.
func (s *postgresStore) send(ctx context.Context) error {
	if err := s.launch(ctx); err != nil {
		return err
	}
	return s.land()
}

// launch sends the gathered statements after the previous chunk has finished. It does not
// wait for their results.
func (s *postgresStore) launch(ctx context.Context) error {
	err := s.land()
	if err == nil && s.batch.Len() > 0 {
		batch, session, flight := s.batch, s.session, make(chan error, 1)
		s.flight = flight
		go func() {
			flight <- sqldb.PgxConn(session, func(c *pgx.Conn) error { return c.SendBatch(ctx, batch).Close() })
		}()
	}
	s.batch, s.bytes = new(pgx.Batch), 0
	return err
}

// land waits for the chunk in progress. After an error no further statement is run.
func (s *postgresStore) land() error {
	if s.flight != nil {
		err := <-s.flight
		s.flight = nil
		s.failed = s.check(err)
	}
	return s.failed
}

// before sends all gathered statements and rows if query names a table with gathered
// rows. Otherwise it sends a chunk if many statements were gathered.
func (s *postgresStore) before(ctx context.Context, query string) error {
	for table := range s.rows {
		if namesTable(query, table) {
			return s.Flush(ctx)
		}
	}
	if s.batch.Len() >= gatherStatements || s.bytes >= gatherBytes {
		return s.launch(ctx)
	}
	return s.failed
}

// Exec is Tx.Exec. The store itself is the Tx, because it has only one writer.
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
func (s *postgresStore) QueryRow(ctx context.Context, query string, args ...any) readmodel.Row {
	if err := s.ready(ctx); err != nil {
		return MapRow(nil, func(error) error { return err })
	}
	return MapRow(s.session.QueryRowContext(ctx, query, arguments(args)...), s.check)
}

// ready sends all gathered statements and rows before a query.
func (s *postgresStore) ready(ctx context.Context) error {
	if s.within {
		return s.Flush(ctx)
	}
	return s.connect(ctx)
}
