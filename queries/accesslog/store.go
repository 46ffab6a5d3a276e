package accesslog

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"

	_ "modernc.org/sqlite" // the engine of the file
)

// File is the name of the store in the data folder.
const File = "access.db"

//go:embed sql
var scripts embed.FS

var tables = sqldb.Store{
	Schema: "access", Table: "accesses", Scripts: scripts, Script: "accesses", Connections: 4,
	Pragmas: []string{"auto_vacuum(INCREMENTAL)"},
}

// store keeps records in a database.
type store struct {
	*sqldb.DB
	among string // SQL condition: place is in the JSON list that is parameter %d
}

// Open opens the access log in a file. If the file does not exist, it creates one that
// only its owner can read.
func Open(ctx context.Context, path string, o Options) (*Log, error) {
	s, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the access log %s: %w", path, err)
	}
	return begin(s, o), nil
}

func openFile(ctx context.Context, path string) (*store, error) {
	db, err := tables.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &store{db, `place IN (SELECT value FROM json_each($%d))`}, nil
}

// OpenShared opens the access log in a database that several nodes share. It creates the
// table if it does not exist.
func OpenShared(ctx context.Context, d *sqldb.Postgres, o Options) (*Log, error) {
	db, err := tables.OpenShared(ctx, d, true)
	if err != nil {
		return nil, fmt.Errorf("open the access log %s: %w", d, err)
	}
	// IS TRUE prevents a join: PostgreSQL hashes the list instead.
	return begin(&store{db, `(place IN (SELECT jsonb_array_elements_text($%d::text::jsonb))) IS TRUE`}, o), nil
}

// overhead is the approximate size of a record and its index entries, not counting the
// strings.
const overhead = 400

const (
	insert = `INSERT INTO accesses (id, time, last, count, kind, actor, via, correlation, address, thing, name, place, place_name, detail, size)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING seq`
	recount = `UPDATE accesses SET last = $1, count = $2 WHERE seq = $3`
)

// write inserts new rows and updates the counts of existing ones. It sets the numbers
// of inserted rows.
func (s *store) write(ctx context.Context, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	numbers := make([]int64, len(rows))
	err := s.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error { return s.writeAll(ctx, tx, rows, numbers) })
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].number = numbers[i]
	}
	return nil
}

func (s *store) writeAll(ctx context.Context, tx *sqldb.Tx, rows []row, numbers []int64) error {
	added, err := tx.PrepareContext(ctx, insert)
	if err != nil {
		return err
	}
	defer added.Close()
	for i, r := range rows {
		if r.number != 0 {
			if _, err := tx.Exec(ctx, recount, r.Last.UnixMicro(), r.Count, r.number); err != nil {
				return err
			}
			numbers[i] = r.number
			continue
		}
		texts := []any{string(r.Kind), string(r.Actor), r.Via, r.Correlation, r.Address, r.Thing, r.Name, r.Place, r.PlaceName, r.Detail}
		size := overhead
		for j, text := range texts {
			kept := s.Text(text.(string))
			texts[j] = kept
			size += len(kept)
		}
		args := append(append([]any{r.ID.String(), r.Time, r.Last.UnixMicro(), r.Count}, texts...), size)
		if err := added.QueryRowContext(ctx, args...).Scan(&numbers[i]); err != nil {
			return err
		}
	}
	return nil
}

// Filter chooses records.
type Filter struct {
	Thing    string
	Actor    events.Principal // the acting user, or the principal concerned
	From, To time.Time        // From inclusive, To exclusive; zero means unbounded
	Before   Mark             // only earlier records; the zero value means all
	// Places restricts the records to these places, unless Everywhere is set.
	Places     []string
	Everywhere bool
	Limit      int
}

const columns = `SELECT seq, id, time, last, count, kind, actor, via, correlation, address, thing, name, place, place_name, detail FROM accesses WHERE `

// Records returns records, the newest first. They include all accesses that this process
// recorded before the call.
func (l *Log) Records(ctx context.Context, f Filter) ([]Record, error) {
	if err := l.flush(ctx); err != nil {
		return nil, fault.Hide(fault.Unavailable, "the access log cannot be read at the moment", err)
	}
	where, args := "1 = 1", []any{}
	and := func(condition string, values ...any) {
		numbers := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			numbers[i] = len(args)
		}
		where += " AND " + fmt.Sprintf(condition, numbers...)
	}
	if f.Before != (Mark{}) {
		and(`(time, seq) < ($%d, $%d)`, f.Before.Time, f.Before.Seq)
	}
	if !f.From.IsZero() {
		and(`time >= $%d`, f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		and(`time < $%d`, f.To.UnixMicro())
	}
	if f.Thing != "" {
		and(`thing = $%d`, f.Thing)
	}
	if f.Actor != "" {
		and(`(actor = $%d OR place = $%d)`, string(f.Actor), string(f.Actor))
	}
	if !f.Everywhere {
		list, err := json.Marshal(f.Places)
		if err != nil {
			return nil, err
		}
		and(`place <> '' AND `+l.store.among, string(list))
	}
	args = append(args, f.Limit)
	return sqldb.List(ctx, l.store.DB, (*Record).fields, columns+where+fmt.Sprintf(` ORDER BY time DESC, seq DESC LIMIT $%d`, len(args)), args...)
}

func (r *Record) fields() []any {
	return []any{&r.Seq, &r.ID, &r.Time, (*microseconds)(&r.Last), &r.Count, &r.Kind, &r.Actor, &r.Via, &r.Correlation, &r.Address, &r.Thing, &r.Name, &r.Place, &r.PlaceName, &r.Detail}
}

// microseconds is a time stored as microseconds since 1970.
type microseconds time.Time

// Scan implements sql.Scanner.
func (m *microseconds) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("scan a time: got %T, want a number of microseconds", value)
	}
	*m = microseconds(time.UnixMicro(n).UTC())
	return nil
}

// Old records are deleted after sweepInterval, or after sweepAfter written records.
const (
	sweepInterval = 5 * time.Minute
	sweepAfter    = 20_000
)

// sweep deletes records that are too old or exceed the size limit, if a sweep is due.
func (l *Log) sweep(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	now := l.Now()
	if now.Sub(l.swept) < sweepInterval && l.written < sweepAfter {
		return nil
	}
	if err := l.forget(ctx, now); err != nil {
		return err
	}
	l.swept, l.written = now, 0
	return nil
}

// deleteBatch is how many records one statement deletes. More would block writers for too
// long.
const deleteBatch = 5_000

// forget deletes records that are too old, and then the oldest ones until the size is
// within its limit.
func (l *Log) forget(ctx context.Context, now time.Time) error {
	if l.Retention > 0 {
		const old = `DELETE FROM accesses WHERE seq IN (SELECT seq FROM accesses WHERE time < $1 ORDER BY time LIMIT $2)`
		for {
			n, err := l.remove(ctx, old, now.Add(-l.Retention).UnixMicro(), deleteBatch)
			if err != nil {
				return err
			}
			if n < deleteBatch {
				break
			}
		}
	}
	if l.Bytes <= 0 {
		return nil
	}
	for {
		var kept int64
		if err := l.store.Row(ctx, `SELECT coalesce(sum(size), 0) FROM accesses`).Scan(&kept); err != nil {
			return err
		}
		if kept <= l.Bytes {
			return nil
		}
		// Delete the records beyond the limit and a tenth more. Their number is estimated
		// from the mean record size.
		const oldest = `DELETE FROM accesses WHERE seq IN (SELECT seq FROM accesses ORDER BY time, seq LIMIT $1)`
		var count int64
		if err := l.store.Row(ctx, `SELECT count(*) FROM accesses`).Scan(&count); err != nil {
			return err
		}
		many := (kept-l.Bytes+l.Bytes/10)*count/kept + 1
		for many > 0 {
			n, err := l.remove(ctx, oldest, min(many, deleteBatch))
			if err != nil {
				return err
			}
			if many -= n; n == 0 {
				break
			}
		}
	}
}

// remove runs a DELETE statement. For a database file it also returns the free pages to
// the file system.
func (l *Log) remove(ctx context.Context, statement string, args ...any) (n int64, err error) {
	n, err = l.store.Exec(ctx, statement, args...)
	if err != nil || n == 0 || l.store.Shared() {
		return n, err
	}
	_, err = l.store.Exec(ctx, `PRAGMA incremental_vacuum(2000)`)
	return n, err
}
