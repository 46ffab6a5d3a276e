package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"
)

// Remove implements events.Driver, in one transaction. Appends wait until the
// transaction ends. Appends of other processes fail after sqldb.BusyTimeout, so stop
// these processes first. The file keeps its size until Shrink is called.
func (d *Driver) Remove(ctx context.Context, streams []string, check func(events.AllReader) error) error {
	release, err := d.hold()
	if err != nil {
		return err
	}
	defer release()
	return d.alone(ctx, "remove streams from", func(conn *sql.Conn) error {
		err := sqldb.Immediate(ctx, conn, func() error {
			if err := remove(ctx, conn, streams, check); err != nil {
				return err
			}
			failpoint.Here(failpoint.StreamsRemoved)
			return nil
		})
		if err == nil {
			failpoint.Here(failpoint.RemovalCommitted)
		}
		return err
	})
}

// alone calls do with a dedicated connection.
func (d *Driver) alone(ctx context.Context, doing string, do func(*sql.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := connect(d.path, 1, "synchronous(FULL)", "journal_size_limit(67108864)")
	if err == nil {
		var conn *sql.Conn
		if conn, err = db.Conn(ctx); err == nil {
			err = errors.Join(do(conn), conn.Close())
		}
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		return explain(ctx, err, "%s the log %s", doing, d.path)
	}
	return nil
}

// guard is the trigger that prevents the deletion of events. The transaction that
// removes streams drops and restores it.
var guard = func() string {
	_, text, _ := strings.Cut(definition, "CREATE TRIGGER events_never_vanish")
	return "CREATE TRIGGER events_never_vanish" + text
}()

func remove(ctx context.Context, conn *sql.Conn, streams []string, check func(events.AllReader) error) error {
	const head = `SELECT position, stream FROM events ORDER BY position DESC LIMIT 1`
	var before, after events.Position
	var last string
	if err := conn.QueryRowContext(ctx, head).Scan(&before, &last); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if _, err := conn.ExecContext(ctx, `DROP TRIGGER events_never_vanish`); err != nil {
		return err
	}
	for _, stream := range streams {
		if stream == last {
			return fault.Errorf(fault.Conflict, "remove stream %s: it holds the last event of the log", stream)
		}
		if _, err := conn.ExecContext(ctx, `DELETE FROM events WHERE stream = ?`, stream); err != nil {
			return err
		}
	}
	if _, err := conn.ExecContext(ctx, guard); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, head).Scan(&after, &last); err != nil || after != before {
		return errors.Join(err, fmt.Errorf("the removal would change the last position of the log to %d, from %d", after, before))
	}
	if check == nil {
		return nil
	}
	return check(within{conn, before})
}

// within reads the log inside the transaction that removes streams.
type within struct {
	conn *sql.Conn
	head events.Position
}

// ReadAll implements events.AllReader.
func (w within) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	if len(skip) > 0 {
		return nil, after, errors.New("read the log during a removal: skipping event types is not supported")
	}
	if after >= w.head || limit <= 0 {
		return nil, after, ctx.Err()
	}
	read, err := w.conn.PrepareContext(ctx, queryAll)
	if err != nil {
		return nil, after, err
	}
	defer read.Close()
	batch, cut, err := scan(ctx, read, limit, after, w.head, limit)
	if err != nil {
		return nil, after, err
	}
	if cut {
		return batch, batch[len(batch)-1].Position, nil
	}
	return batch, w.head, nil
}

// Shrink returns the space of removed streams to the file system, and returns the size
// of the file before and after. It needs free space of the size of the log both in the
// folder for temporary files and next to the log. If Shrink is interrupted, the log is
// unchanged.
func (d *Driver) Shrink(ctx context.Context) (before, after int64, err error) {
	release, err := d.hold()
	if err != nil {
		return 0, 0, err
	}
	defer release()
	if before, err = d.fileSize(); err != nil {
		return 0, 0, err
	}
	err = d.alone(ctx, "shrink", func(conn *sql.Conn) error {
		var pages, free int64
		err := conn.QueryRowContext(ctx, `SELECT (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count)`).Scan(&pages, &free)
		if err != nil || free == 0 {
			return err
		}
		if _, err := conn.ExecContext(ctx, `VACUUM`); err != nil {
			return err
		}
		failpoint.Here(failpoint.LogShrunk)
		var busy, written, moved int64
		return conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &written, &moved)
	})
	if err != nil {
		return before, before, err
	}
	after, err = d.fileSize()
	return before, after, err
}

// fileSize returns the size of the log's file including its write-ahead log.
func (d *Driver) fileSize() (size int64, err error) {
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(d.path + suffix)
		if err == nil {
			size += info.Size()
		} else if suffix == "" {
			return 0, fmt.Errorf("get the size of the log: %w", err)
		}
	}
	return size, nil
}
