package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"annals/events"
	"annals/events/fault"
)

// Load writes records to a new log at path, and keeps their revisions and positions. The
// log is durable when Load returns nil; until then no other process may open it. After
// an error, also an error from batches, the file is unusable. If the file already has
// events, the error is fault.Conflict.
func Load(ctx context.Context, path string, batches iter.Seq2[[]events.Record, error]) (err error) {
	if err := prepare(ctx, path); err != nil {
		return err
	}
	// One sync at the end is enough, because a file that was not loaded completely is not
	// used.
	db, err := connect(path, 1, "synchronous(OFF)", "cache_size(-65536)")
	if err != nil {
		return err
	}
	var last events.Position
	if err = db.QueryRowContext(ctx, `SELECT coalesce(max(position), 0) FROM events`).Scan(&last); err == nil && last > 0 {
		err = fault.Errorf(fault.Conflict, "the log %s already has events", path)
	}
	if err == nil {
		err = loadAll(ctx, db, batches)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return explain(ctx, err, "fill the log %s", path)
	}
	return errors.Join(syncPath(path), syncPath(filepath.Dir(path)))
}

func loadAll(ctx context.Context, db *sql.DB, batches iter.Seq2[[]events.Record, error]) error {
	var last events.Position
	for records, err := range batches {
		if err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if last, err = load(ctx, tx, records, last); err != nil {
			_ = tx.Rollback() // the file is unusable anyway
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// load inserts records after position last.
func load(ctx context.Context, tx *sql.Tx, records []events.Record, last events.Position) (events.Position, error) {
	insert, err := tx.PrepareContext(ctx, `INSERT INTO events (position, type, stream, revision, id, metadata, data) VALUES (?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return last, err
	}
	defer insert.Close()
	for i := range records {
		r := &records[i]
		if r.Position <= last {
			return last, fault.Errorf(fault.Invalid, "event %d of %s at position %d follows position %d: positions must increase", r.Revision, r.Stream, r.Position, last)
		}
		if _, err := insert.ExecContext(ctx, int64(r.Position), r.Type, r.Stream, r.Revision, r.ID[:], []byte(r.Metadata), []byte(r.Data)); err != nil {
			return last, err
		}
		last = r.Position
	}
	return last, nil
}

// syncPath makes a file's bytes or a folder's entries durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
