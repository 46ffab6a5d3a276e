package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"annals/events"
)

// readers is the maximum number of concurrent reads.
const readers = 4

const queryAll = `SELECT ` + columns + ` FROM events WHERE position > ?1 AND position <= ?2 ORDER BY position LIMIT +?3`

const columns = `position, type, stream, revision, id, metadata, data`

// statements are the prepared reads. Their LIMIT is an expression, +?3, because SQLite
// prepares a statement again for each value of a plain parameter in LIMIT.
type statements struct {
	head, all, stream, types *sql.Stmt
	byTypes                  *byTypes
}

// byTypes caches prepared reads of n types, by n.
type byTypes struct {
	mu       sync.Mutex
	db       *sql.DB
	prepared map[int]*sql.Stmt
}

func prepareReads(ctx context.Context, db *sql.DB) (s statements, err error) {
	s.byTypes = &byTypes{db: db, prepared: make(map[int]*sql.Stmt)}
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&s.head, `SELECT max(position) FROM events`},
		{&s.all, queryAll},
		{&s.types, queryTypes},
		{&s.stream, `SELECT ` + columns + ` FROM events WHERE stream = ?1 AND revision >= ?2 ORDER BY revision LIMIT +?3`},
	} {
		if *p.to, err = db.PrepareContext(ctx, p.query); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s statements) close() error {
	err := errors.Join(s.head.Close(), s.all.Close(), s.stream.Close(), s.types.Close())
	for _, stmt := range s.byTypes.prepared {
		err = errors.Join(err, stmt.Close())
	}
	return err
}

// get returns the prepared read of n types. SQLite reads the events of each type in
// order from the index and merges them, so it does not visit events of other types.
func (b *byTypes) get(ctx context.Context, n int) (*sql.Stmt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stmt := b.prepared[n]; stmt != nil {
		return stmt, nil
	}
	stmt, err := b.db.PrepareContext(ctx, queryOfTypes(n))
	if err == nil {
		b.prepared[n] = stmt
	}
	return stmt, err
}

func queryOfTypes(n int) string {
	selects := make([]string, n)
	for i := range selects {
		selects[i] = fmt.Sprintf(`SELECT `+columns+` FROM events WHERE type = ?%d AND position > ?1 AND position <= ?2`, i+4)
	}
	return strings.Join(selects, ` UNION ALL `) + ` ORDER BY position LIMIT +?3`
}

// queryTypes lists the types of all events. Each step of the recursion is one index
// lookup, regardless of the number of events.
const queryTypes = `WITH RECURSIVE held (type) AS (SELECT min(type) FROM events
	UNION ALL SELECT (SELECT min(type) FROM events WHERE type > held.type) FROM held WHERE held.type IS NOT NULL)
	SELECT type FROM held WHERE type IS NOT NULL`

// ReadStream implements events.Driver.
func (d *Driver) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	release, err := d.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	if limit <= 0 {
		return nil, ctx.Err()
	}
	batch, _, err := scan(ctx, d.reads.stream, limit, stream, from, limit)
	if err != nil {
		return nil, conceal(ctx, err, cannotRead, "read stream %s", stream)
	}
	return batch, nil
}

// ReadAll implements events.Driver. It first reads the head and then the rows up to the
// head. No row is added below the head later, so the two reads need no transaction.
func (d *Driver) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	release, err := d.hold()
	if err != nil {
		return nil, after, err
	}
	defer release()
	head, err := d.head(ctx)
	if err != nil || head <= after || limit <= 0 {
		return nil, after, err
	}
	read, args := d.reads.all, []any{after, head, limit}
	if len(skip) > 0 {
		types, err := d.typesExcept(ctx, skip)
		if err != nil {
			return nil, after, conceal(ctx, err, cannotRead, "read the types of the log after %d", after)
		}
		if len(types) == 0 {
			return nil, head, nil
		}
		if read, err = d.reads.byTypes.get(ctx, len(types)); err != nil {
			return nil, after, conceal(ctx, err, cannotRead, "read the log after %d", after)
		}
		for _, t := range types {
			args = append(args, t)
		}
	}
	batch, cut, err := scan(ctx, read, limit, args...)
	if err != nil {
		return nil, after, conceal(ctx, err, cannotRead, "read the log after %d", after)
	}
	if cut {
		return batch, batch[len(batch)-1].Position, nil
	}
	return batch, head, nil
}

// typesExcept returns the types of all events in the log except skip.
func (d *Driver) typesExcept(ctx context.Context, skip []string) (types []string, err error) {
	rows, err := d.reads.types.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if !slices.Contains(skip, name) {
			types = append(types, name)
		}
	}
	return types, rows.Err()
}

// scan returns the records of a read. cut reports whether it stopped because it reached
// limit or MaxBatchBytes.
func scan(ctx context.Context, read *sql.Stmt, limit int, args ...any) (batch []events.Record, cut bool, err error) {
	rows, err := read.QueryContext(ctx, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	batch = make([]events.Record, 0, min(limit, 1024))
	var r events.Record
	to := []any{&r.Position, &r.Type, &r.Stream, &r.Revision, (*id)(&r.ID), (*blob)(&r.Metadata), (*blob)(&r.Data)}
	for size := 0; rows.Next(); {
		if err := rows.Scan(to...); err != nil {
			return nil, false, err
		}
		batch = append(batch, r)
		if size += r.Size(); len(batch) == limit || size >= events.MaxBatchBytes {
			return batch, true, nil
		}
	}
	return batch, false, rows.Err()
}

// blob scans a column of bytes without the copy that database/sql makes. The copy is
// unnecessary, because the SQLite driver allocates new bytes for each row.
type blob []byte

func (b *blob) Scan(src any) error {
	bytes, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("a column has the type %T instead of bytes", src)
	}
	*b = bytes
	return nil
}

type id [16]byte

func (i *id) Scan(src any) error {
	bytes, ok := src.([]byte)
	if !ok || len(bytes) != len(i) {
		return fmt.Errorf("a column has %v instead of an id of 16 bytes", src)
	}
	copy(i[:], bytes)
	return nil
}

// Head implements events.Driver.
func (d *Driver) Head(ctx context.Context) (events.Position, error) {
	release, err := d.hold()
	if err != nil {
		return 0, err
	}
	defer release()
	return d.head(ctx)
}

func (d *Driver) head(ctx context.Context) (events.Position, error) {
	var head sql.Null[events.Position]
	if err := d.reads.head.QueryRowContext(ctx).Scan(&head); err != nil {
		return 0, conceal(ctx, err, cannotRead, "read the head of the log %s", d.path)
	}
	return head.V, nil
}
