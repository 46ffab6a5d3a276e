package projections

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"annals/events/postgres"
)

const (
	// replicaWithin is how long a replica may take to begin with an answer.
	replicaWithin = 2 * time.Second
	// replicaAgain is for how long one that failed is not asked.
	replicaAgain = 5 * time.Second
	// behindFirst and behindMost are for how long one is not asked that was
	// elsewhere than the tables, the first time and after many times.
	behindFirst = 10 * time.Millisecond
	behindMost  = time.Second
)

// mark tells tables from what they were at another time, and from those of
// another log. The last event that was applied stands for all before it; events
// that were parked are applied late without a move of the position.
type mark struct {
	position int64
	seen     string // id of the last event that was applied
	parked   int64
}

// markQuery gives a mark.
const markQuery = `SELECT position, seen_id, (SELECT count(*) FROM parked) FROM checkpoint`

// replica is a copy of a read model's tables that answers for them where it is
// just where they are, which is looked at in the same statement. So nobody sees
// less than he has seen before, whichever server the statement came to: one that
// lags, one that was made primary and went on, or that of another log.
type replica struct {
	tables *reader // what it is a copy of
	db     *sql.DB // of guarded connections

	mu     sync.Mutex
	behind time.Duration // for how long it rested last since it was elsewhere
	rests  time.Time     // until when it is not asked
}

// replicaOf opens the copy of a generation's tables in another database.
func replicaOf(tables *reader, copied *postgres.Database, name string) *replica {
	return &replica{tables: tables, db: postgres.Pool(guarded{copied.Connector(name, readerSettings)}, postgresReaders)}
}

// QueryContext is that of sql.DB. Rows may end with a *replicaError: then the
// tables themselves are to be asked again.
func (r *replica) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if rows, err := r.ask(ctx, query, args); err == nil {
		return rows, nil
	}
	return r.tables.QueryContext(ctx, query, args...)
}

// QueryRowContext is that of sql.DB.
func (r *replica) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	rows, err := r.ask(ctx, query, args)
	if err != nil {
		return r.tables.QueryRowContext(ctx, query, args...)
	}
	return replicaRow{rows, func() Row { return r.tables.QueryRowContext(ctx, query, args...) }}
}

var errResting = errors.New("the replica is not asked at the moment")

// ask asks the replica alone.
func (r *replica) ask(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if r.resting() {
		return nil, errResting
	}
	var at mark
	err := r.tables.QueryRowContext(ctx, markQuery).Scan(&at.position, &at.seen, &at.parked)
	if err != nil {
		return nil, err
	}
	asked, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(replicaWithin, cancel)
	rows, err := r.db.QueryContext(asked, query, append(arguments(args), guard{at, cancel})...)
	if !late.Stop() && err == nil {
		err = errors.Join(context.DeadlineExceeded, rows.Close())
	}
	if err != nil {
		cancel()
	}
	if ctx.Err() == nil {
		r.came(err)
	}
	return rows, err
}

func (r *replica) resting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.rests)
}

// came notes what came of a question.
func (r *replica) came(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.behind = 0
	case errors.Is(err, errElsewhere):
		r.behind = min(max(2*r.behind, behindFirst), behindMost)
		r.rests = time.Now().Add(r.behind)
	default:
		r.rests = time.Now().Add(replicaAgain)
	}
}

func (r *replica) close() error {
	if r == nil {
		return nil
	}
	return r.db.Close()
}

// replicaRow is the first of some rows, or that of the tables where the replica
// could not give all.
type replicaRow struct {
	rows  *sql.Rows
	again func() Row
}

func (r replicaRow) Scan(dest ...any) error {
	err := scanFirst(r.rows, dest)
	if ofReplica(err) {
		return r.again().Scan(dest...)
	}
	return told(err)
}

// scanFirst is Scan of a sql.Row.
func scanFirst(rows *sql.Rows, dest []any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}
