package accesslog

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the engine of the file

	"annals/events"
	"annals/events/fault"
	"annals/events/postgres"
)

// File is the name of the store in the data folder.
const File = "access.db"

// schema is the end of the name of the store's schema in PostgreSQL.
const schema = "access"

//go:embed sql
var scripts embed.FS

// store is where records are kept. Both engines know its statements, but for
// what is named here.
type store struct {
	*sql.DB
	among string                      // whether a place is in a list in JSON, %d
	text  func(string) string         // as it can be kept
	told  func(error) error           // gives an error its kind
	again func(error) bool            // whether to try once more
	after func(context.Context) error // a deletion
}

// Open opens the records in a file, which only its owner may read, and makes it
// where it is missing.
func Open(ctx context.Context, path string, o Options) (*Log, error) {
	s, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the records of access in %s: %w", path, err)
	}
	return begin(s, o), nil
}

func openFile(ctx context.Context, path string) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = errors.Join(f.Chmod(0o600), f.Close())
	}
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	query := url.Values{"_pragma": {"busy_timeout(10000)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(NORMAL)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	s := &store{
		DB: db, among: `place IN (SELECT value FROM json_each($%d))`,
		text: func(text string) string { return text }, told: func(err error) error { return err }, again: func(error) bool { return false },
		after: func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, `PRAGMA incremental_vacuum(2000)`)
			return err
		},
	}
	script, err := scripts.ReadFile("sql/sqlite.sql")
	for tries := 0; err == nil; tries++ { // a new file may be found locked, whatever the timeout
		if _, err = db.ExecContext(ctx, string(script)); err == nil {
			return s, nil
		}
		if tries < 100 && strings.Contains(err.Error(), "SQLITE_BUSY") && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			err = nil
		}
	}
	return nil, errors.Join(err, db.Close())
}

// OpenShared opens the records in a database that several nodes share, and makes
// them where they are missing.
func OpenShared(ctx context.Context, d *postgres.Database, o Options) (*Log, error) {
	db := d.Open(schema, 4, map[string]string{"synchronous_commit": "off", "statement_timeout": "20s"})
	s := &store{
		// Which is no join, so that a list of any length is hashed once.
		DB: db, among: `(place IN (SELECT jsonb_array_elements_text($%d::text::jsonb))) IS TRUE`,
		text: func(text string) string {
			return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
		},
		told: postgres.Told, again: postgres.Again, after: func(context.Context) error { return nil },
	}
	script, err := scripts.ReadFile("sql/postgres.sql")
	if err == nil {
		var there bool // so that no right to make tables is needed then
		err = postgres.Told(db.QueryRowContext(ctx, `SELECT to_regclass('accesses') IS NOT NULL`).Scan(&there))
		if err == nil && !there {
			err = d.Setup(ctx, db, schema, string(script))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the records of access in %s: %w", d, errors.Join(err, db.Close()))
	}
	return begin(s, o), nil
}

// overhead is about what a record takes besides its texts, with its indexes.
const overhead = 400

const (
	insert = `INSERT INTO accesses (id, time, last, count, kind, actor, via, correlation, address, thing, name, place, place_name, detail, size)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING seq`
	recount = `UPDATE accesses SET last = $1, count = $2 WHERE seq = $3`
)

// write adds rows, and counts on in those that are there; it sets the numbers of
// those added.
func (s *store) write(ctx context.Context, rows []row) (err error) {
	if len(rows) == 0 {
		return nil
	}
	for tries := 0; tries < 3; tries++ {
		if err = s.writeAll(ctx, rows); err == nil || !s.again(err) {
			break
		}
	}
	return s.told(err)
}

func (s *store) writeAll(ctx context.Context, rows []row) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	added, err := tx.PrepareContext(ctx, insert)
	if err != nil {
		return err
	}
	defer added.Close()
	numbers := make([]int64, len(rows))
	for i, r := range rows {
		if r.number != 0 {
			if _, err := tx.ExecContext(ctx, recount, r.Last.UnixMicro(), r.Count, r.number); err != nil {
				return err
			}
			numbers[i] = r.number
			continue
		}
		texts := []any{string(r.Kind), string(r.Actor), r.Via, r.Correlation, r.Address, r.Thing, r.Name, r.Place, r.PlaceName, r.Detail}
		size := overhead
		for j, text := range texts {
			kept := s.text(text.(string))
			texts[j] = kept
			size += len(kept)
		}
		args := append(append([]any{r.ID.String(), r.Time, r.Last.UnixMicro(), r.Count}, texts...), size)
		if err := added.QueryRowContext(ctx, args...).Scan(&numbers[i]); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for i := range rows {
		rows[i].number = numbers[i]
	}
	return nil
}

// Filter chooses records.
type Filter struct {
	Thing    string
	Actor    events.Principal // who did it, or whose matter it is
	From, To time.Time        // from the one on, up to before the other; zero: without bound
	Before   Mark             // the zero value: from the newest on
	// Places are where records must be, unless Everywhere.
	Places     []string
	Everywhere bool
	Limit      int
}

const columns = `SELECT seq, id, time, last, count, kind, actor, via, correlation, address, thing, name, place, place_name, detail FROM accesses WHERE `

// Records returns records, the newest first, with all that was recorded here
// before it was called.
func (l *Log) Records(ctx context.Context, f Filter) (records []Record, err error) {
	if err := l.flush(ctx); err != nil {
		return nil, fault.Hide(fault.Unavailable, "the records of access cannot be read at the moment", err)
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
		actor := l.store.text(string(f.Actor))
		and(`(actor = $%d OR place = $%d)`, actor, actor)
	}
	if !f.Everywhere {
		list, err := json.Marshal(f.Places)
		if err != nil {
			return nil, err
		}
		and(`place <> '' AND `+l.store.among, string(list))
	}
	args = append(args, f.Limit)
	rows, err := l.store.QueryContext(ctx, columns+where+fmt.Sprintf(` ORDER BY time DESC, seq DESC LIMIT $%d`, len(args)), args...)
	if err != nil {
		return nil, l.store.told(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Record
		var last int64
		if err := rows.Scan(&r.Seq, &r.ID, &r.Time, &last, &r.Count, &r.Kind, &r.Actor, &r.Via, &r.Correlation, &r.Address, &r.Thing, &r.Name, &r.Place, &r.PlaceName, &r.Detail); err != nil {
			return nil, l.store.told(err)
		}
		r.Last = time.UnixMicro(last).UTC()
		records = append(records, r)
	}
	return records, l.store.told(rows.Err())
}

// How often records are forgotten: after a while, or after so many were written.
const (
	sweepPause = 5 * time.Minute
	sweepAfter = 20_000
)

// sweep forgets what is too old or too much, now and then.
func (l *Log) sweep(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	now := l.Now()
	if now.Sub(l.swept) < sweepPause && l.written < sweepAfter {
		return nil
	}
	if err := l.forget(ctx, now); err != nil {
		return l.store.told(err)
	}
	l.swept, l.written = now, 0
	return nil
}

// atOnce is how many records are deleted in one statement, so that others need
// not wait long.
const atOnce = 5_000

func (l *Log) forget(ctx context.Context, now time.Time) error {
	if l.Retention > 0 {
		const old = `DELETE FROM accesses WHERE seq IN (SELECT seq FROM accesses WHERE time < $1 ORDER BY time LIMIT $2)`
		for {
			n, err := l.remove(ctx, old, now.Add(-l.Retention).UnixMicro(), atOnce)
			if err != nil {
				return err
			}
			if n < atOnce {
				break
			}
		}
	}
	if l.Bytes <= 0 {
		return nil
	}
	for {
		var kept int64
		if err := l.store.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM accesses`).Scan(&kept); err != nil {
			return err
		}
		if kept <= l.Bytes {
			return nil
		}
		// As many as are too much, by their mean size, and a tenth more.
		const oldest = `DELETE FROM accesses WHERE seq IN (SELECT seq FROM accesses ORDER BY time, seq LIMIT $1)`
		var count int64
		if err := l.store.QueryRowContext(ctx, `SELECT count(*) FROM accesses`).Scan(&count); err != nil {
			return err
		}
		many := (kept-l.Bytes+l.Bytes/10)*count/kept + 1
		for many > 0 {
			n, err := l.remove(ctx, oldest, min(many, atOnce))
			if err != nil {
				return err
			}
			if many -= n; n == 0 {
				break
			}
		}
	}
}

func (l *Log) remove(ctx context.Context, statement string, args ...any) (n int64, err error) {
	result, err := l.store.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	if n, err = result.RowsAffected(); err != nil || n == 0 {
		return n, err
	}
	return n, l.store.after(ctx)
}
