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

// readers is how many reads run side by side; more wait for a connection.
const readers = 4

const queryAll = `SELECT ` + columns + ` FROM events WHERE position > ?1 AND position <= ?2 ORDER BY position LIMIT +?3`

const columns = `position, type, stream, revision, id, metadata, data`

// statements are the prepared reads; each connection compiles one when it
// first uses it. SQLite replans a statement for each value of a plain parameter
// in LIMIT, but not if that is an expression.
type statements struct {
	head, all, stream, types *sql.Stmt
	byTypes                  *byTypes
}

// byTypes holds the prepared reads of some types, by the number of types.
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
		{&s.types, queryHeldTypes},
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

// get returns the read of n types. Each type's events come in order from the
// index, and SQLite merges them: no event of another type is looked at.
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
	legs := make([]string, n)
	for i := range legs {
		legs[i] = fmt.Sprintf(`SELECT `+columns+` FROM events WHERE type = ?%d AND position > ?1 AND position <= ?2`, i+4)
	}
	return strings.Join(legs, ` UNION ALL `) + ` ORDER BY position LIMIT +?3`
}

// queryHeldTypes lists the types of all events. A step of the recursion is one
// look into the index, however many events a type has.
const queryHeldTypes = `WITH RECURSIVE held (type) AS (SELECT min(type) FROM events
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

// ReadAll implements events.Driver. The head is read first and bounds the
// rows: nothing ever appears at or below it later, so the two reads see the
// same log without a transaction around them.
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
		types, err := d.typesBut(ctx, skip)
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

// typesBut returns the types of all events in the log except skip. If it is called
// after the head was read, it has all types up to there.
func (d *Driver) typesBut(ctx context.Context, skip []string) (types []string, err error) {
	rows, err := d.reads.types.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var held string
		if err := rows.Scan(&held); err != nil {
			return nil, err
		}
		if !slices.Contains(skip, held) {
			types = append(types, held)
		}
	}
	return types, rows.Err()
}

// scan runs a read to its end or to one of the limits of a batch; cut reports
// that it was a limit.
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

// blob takes a column's bytes as they are. The SQLite package makes new ones
// for every row, so the copy that database/sql would add protects nothing.
type blob []byte

func (b *blob) Scan(src any) error {
	bytes, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("a column holds a %T instead of bytes", src)
	}
	*b = bytes
	return nil
}

type id [16]byte

func (i *id) Scan(src any) error {
	bytes, ok := src.([]byte)
	if !ok || len(bytes) != len(i) {
		return fmt.Errorf("a column holds %v instead of the 16 bytes of an id", src)
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
