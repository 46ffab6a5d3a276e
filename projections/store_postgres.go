package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/postgres"
	"annals/schema"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresStore is a schema with one session that may write and several that
// read. The session that writes holds an advisory lock while it leads: what
// ends the one ends the other, so that who does not lead any more cannot write.
//
// Within a transaction Exec and Insert only gather. What was gathered is sent in
// one piece before anything is read, and with the commit.
type postgresStore struct {
	schema  string
	writers *sql.DB
	readers *sql.DB

	session *sql.Conn // of writers; nil while there is none
	leads   bool      // the session holds the lock
	lost    bool      // it was led, and the session ended: lead is to be called

	within bool // a transaction
	failed error
	batch  pgx.Batch
	bytes  int
	rows   map[string]*insertion // by table
}

func (s *postgresStore) reads() *reader {
	return &reader{from: s.readers, db: s.readers, arguments: arguments}
}

// lead tries to take the lock where no other process has it. Who begins to lead
// finds the tables where the one before left them.
func (s *postgresStore) lead(ctx context.Context) (leads bool, err error) {
	if s.leads {
		return true, nil
	}
	if err := s.connect(ctx); err != nil {
		return false, err
	}
	err = s.session.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, lockOf(s.schema)).Scan(&s.leads)
	if err != nil {
		s.disconnect()
		return false, postgres.Told(err)
	}
	s.lost = s.lost && !s.leads
	return s.leads, nil
}

func (s *postgresStore) connect(ctx context.Context) (err error) {
	if s.session == nil {
		s.session, err = s.writers.Conn(ctx)
	}
	return postgres.Told(err)
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
	return postgres.Told(err)
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
	if err = fn(s); err == nil {
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
	s.batch, s.bytes = pgx.Batch{}, 0
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
	gatherStatements = 1000
	gatherBytes      = 4 << 20
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

// send sends the statements that were gathered. Once one has failed nothing is
// carried out any more.
func (s *postgresStore) send(ctx context.Context) error {
	if s.failed == nil && s.batch.Len() > 0 {
		s.failed = s.check(postgres.Conn(s.session, func(c *pgx.Conn) error { return c.SendBatch(ctx, &s.batch).Close() }))
	}
	s.batch, s.bytes = pgx.Batch{}, 0
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
		return s.send(ctx)
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

func (s *postgresStore) checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.reads().QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, err
}

// fill does not wait for the disk at commits: a rebuild that loses its last
// events, with their checkpoint, goes on where it is.
func (s *postgresStore) fill(ctx context.Context) error {
	return s.Exec(ctx, "SET synchronous_commit = off")
}

var indexName = regexp.MustCompile(`INDEX IF NOT EXISTS (\w+)`)

// index makes the indexes that readers need, where one is not there yet, and
// tells the planner what the tables hold.
func (s *postgresStore) index(ctx context.Context, model string) error {
	text, err := schema.SQL.ReadFile("sql/postgres/" + model + "-indexes.sql")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	missing := false
	for _, name := range indexName.FindAllSubmatch(text, -1) {
		var there bool
		if err == nil {
			err = s.reads().QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, s.schema+"."+string(name[1])).Scan(&there)
		}
		missing = missing || !there
	}
	if err == nil && missing {
		err = s.Exec(ctx, "SET maintenance_work_mem = '64MB';"+string(text)+"RESET maintenance_work_mem; SET synchronous_commit TO DEFAULT;")
		if err == nil {
			err = s.analyse(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("make the indexes of %s: %w", model, err)
	}
	return nil
}

func (s *postgresStore) analyse(ctx context.Context) error {
	tables, err := Column(ctx, s, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`)
	for _, table := range tables {
		if err == nil {
			err = s.Exec(ctx, "ANALYZE "+table)
		}
	}
	return err
}

// rest has nothing to give back: what a session holds is the server's.
func (s *postgresStore) rest(context.Context) error { return nil }

// inspect leaves that to PostgreSQL.
func (s *postgresStore) inspect(context.Context) error { return nil }

func (s *postgresStore) close() error {
	if s.leads { // others need not wait until the server has noticed
		soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, _ = s.session.ExecContext(soon, `SELECT pg_advisory_unlock($1)`, lockOf(s.schema))
		cancel()
	}
	s.disconnect()
	return errors.Join(s.writers.Close(), s.readers.Close())
}
