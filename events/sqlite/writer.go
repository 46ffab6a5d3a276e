package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

// maxGroup is the total size of appends in bytes from which a transaction accepts no
// further appends. The limit bounds how long the first append waits.
const maxGroup = 8 << 20

// gatherAtMost is the maximum time that a transaction waits for further appends. This
// time is shorter than the sync that each further append saves.
const gatherAtMost = 250 * time.Microsecond

// writer makes all appends of this process. Only the goroutine of the writer uses conn.
type writer struct {
	path             string
	conn             *sql.Conn
	begin, end, undo *sql.Stmt
	version, last    *sql.Stmt
	ids, insert      *sql.Stmt
	ends             ends
	moved            func(events.Position) // called with the position of each commit
	active           int                   // number of appends made by the last commit or waiting after it
	transactions     int                   // number of commits, each with one sync

	mu     sync.Mutex
	queue  []*pending
	closed bool
	wake   chan struct{} // holds a token after the queue grew
	goal   int           // number of appends that gather waits for
	full   chan struct{} // holds a token after the queue reached the goal
	ended  chan struct{}
}

// pending is a waiting append. It can be withdrawn until a transaction takes it.
type pending struct {
	stream   string
	expected int64
	records  []events.Record
	done     chan outcome // buffered
}

type outcome struct {
	appended events.Appended
	err      error
}

func newWriter(ctx context.Context, db *sql.DB, path string) (*writer, error) {
	w := &writer{path: path, wake: make(chan struct{}, 1), full: make(chan struct{}, 1), ended: make(chan struct{})}
	var err error
	if w.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&w.begin, `BEGIN IMMEDIATE`},
		{&w.end, `COMMIT`},
		{&w.undo, `ROLLBACK`},
		{&w.version, `PRAGMA data_version`},
		{&w.last, `SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1`},
		{&w.ids, `SELECT position, id FROM events WHERE stream = ? AND revision > ? ORDER BY revision LIMIT +?`},
		{&w.insert, `INSERT INTO events (type, stream, revision, id, metadata, data) VALUES (?, ?, ?, ?, ?, ?)`},
	} {
		if *p.to, err = w.conn.PrepareContext(ctx, p.query); err != nil {
			return nil, errors.Join(err, w.conn.Close())
		}
	}
	return w, nil
}

// Append implements events.Driver. If ctx ends while the append is still waiting,
// it is withdrawn; if its transaction has begun, Append waits for the result.
func (d *Driver) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if err := events.CheckAppend(stream, expected, records); err != nil {
		return events.Appended{}, err
	}
	if err := ctx.Err(); err != nil {
		return events.Appended{}, err
	}
	p := &pending{stream: stream, expected: expected, records: records, done: make(chan outcome, 1)}
	if !d.writer.add(p) {
		return events.Appended{}, errClosed(d.path)
	}
	select {
	case o := <-p.done:
		return o.appended, o.err
	case <-ctx.Done():
	}
	if d.writer.withdraw(p) {
		return events.Appended{}, ctx.Err()
	}
	o := <-p.done
	return o.appended, o.err
}

// add queues an append; false means that the writer is closed.
func (w *writer) add(p *pending) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, p)
	signal(w.wake)
	if len(w.queue) >= w.goal {
		signal(w.full)
	}
	return true
}

// signal puts a token into c, unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// withdraw removes p from the queue, and reports whether p was still in the queue.
func (w *writer) withdraw(p *pending) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, p)
	if i >= 0 {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	return i >= 0
}

// take removes the appends of the next transaction from the queue.
func (w *writer) take() []*pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for size := 0; n < len(w.queue) && size < maxGroup; n++ {
		for i := range w.queue[n].records {
			size += w.queue[n].records[i].Size()
		}
	}
	group := w.queue[:n:n]
	w.queue = slices.Clone(w.queue[n:])
	return group
}

func (w *writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// run commits appends until close is called and the queue is empty.
func (w *writer) run() {
	defer close(w.ended)
	for range w.wake {
		for w.waiting() > 0 {
			w.gather()
			w.commit()
		}
	}
}

// gather waits until the queue has as many appends as were active at the last commit, or
// until gatherAtMost has passed. The callers of the last commit often append again right
// away, and one transaction with all these appends is faster than two with half of the
// appends each.
func (w *writer) gather() {
	w.mu.Lock()
	w.goal = w.active
	reached := len(w.queue) >= w.goal
	select {
	case <-w.full: // discard a token for an earlier goal
	default:
	}
	w.mu.Unlock()
	if reached {
		return
	}
	timeout := time.NewTimer(gatherAtMost)
	defer timeout.Stop()
	select {
	case <-w.full:
	case <-timeout.C:
	}
}

// close makes further appends fail, and returns when all earlier appends are done.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	close(w.wake)
	w.mu.Unlock()
	<-w.ended
	return errors.Join(w.begin.Close(), w.end.Close(), w.undo.Close(),
		w.version.Close(), w.last.Close(), w.ids.Close(), w.insert.Close(), w.conn.Close())
}

// commit makes the waiting appends in one transaction, and sends each append its result.
// An append is checked before its first insert, so a conflict needs no rollback. An
// error of the database rolls back the whole transaction.
func (w *writer) commit() {
	ctx := context.Background() // not the context of a caller, because the transaction contains appends of several callers
	_, err := w.begin.ExecContext(ctx)
	group := w.take()
	outcomes := make([]outcome, len(group))
	if err == nil {
		err = w.appendAll(ctx, group, outcomes)
	}
	if err == nil {
		failpoint.Here(failpoint.EventsInserted)
		_, err = w.end.ExecContext(ctx)
	}
	if err != nil {
		w.undo.ExecContext(ctx) // fails if SQLite has rolled back by itself
		w.ends = ends{}
		err = conceal(ctx, err, cannotWrite, "append to the log %s", w.path)
	}
	if err == nil {
		failpoint.Here(failpoint.EventsCommitted)
		w.transactions++
	}
	w.active = len(group) + w.waiting()
	var head events.Position
	for i, p := range group {
		if err != nil {
			outcomes[i] = outcome{err: err}
		}
		head = max(head, outcomes[i].appended.Position)
		p.done <- outcomes[i]
	}
	if err == nil {
		w.moved(head)
	}
}

func (w *writer) appendAll(ctx context.Context, group []*pending, outcomes []outcome) error {
	var version int64
	if err := w.version.QueryRowContext(ctx).Scan(&version); err != nil {
		return err
	}
	w.ends.refresh(version)
	for i, p := range group {
		appended, err := w.append(ctx, p)
		if err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
		outcomes[i] = outcome{appended, err}
	}
	return nil
}

// append checks one append and inserts its records.
func (w *writer) append(ctx context.Context, p *pending) (events.Appended, error) {
	last, known := w.ends.revision[p.stream]
	if !known {
		last = events.NoStream
		if err := w.last.QueryRowContext(ctx, p.stream).Scan(&last); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return events.Appended{}, err
		}
	}
	if p.expected != events.AnyRevision && p.expected != last {
		return w.repeated(ctx, p, last)
	}
	var position int64
	for i := range p.records {
		r := &p.records[i]
		last++
		made, err := w.insert.ExecContext(ctx, r.Type, p.stream, last, r.ID[:], []byte(r.Metadata), []byte(r.Data))
		if err != nil {
			return events.Appended{}, err
		}
		if position, err = made.LastInsertId(); err != nil {
			return events.Appended{}, err
		}
	}
	w.ends.revision[p.stream] = last
	return events.Appended{Revision: last, Position: events.Position(position)}, nil
}

// ends caches the last revisions of streams, until another connection writes to the
// file.
type ends struct {
	version  int64
	revision map[string]int64
}

// refresh clears the cache if it is full, or if the data version of the file has
// changed, which means that another connection has written.
func (e *ends) refresh(version int64) {
	const limit = 10_000
	if e.revision == nil || e.version != version || len(e.revision) > limit {
		*e = ends{version, make(map[string]int64)}
	}
}

// repeated returns the result of an append whose records are already in the stream,
// directly after the expected revision. If they are not, the error is fault.Conflict.
func (w *writer) repeated(ctx context.Context, p *pending, last int64) (events.Appended, error) {
	conflict := events.WrongRevision(p.stream, last, p.expected)
	made := events.Appended{Revision: p.expected + int64(len(p.records))}
	if made.Revision > last {
		return events.Appended{}, conflict
	}
	rows, err := w.ids.QueryContext(ctx, p.stream, p.expected, len(p.records))
	if err != nil {
		return events.Appended{}, err
	}
	defer rows.Close()
	for i := 0; rows.Next(); i++ {
		var stored uuid.UUID
		if err := rows.Scan(&made.Position, (*id)(&stored)); err != nil {
			return events.Appended{}, err
		}
		if stored != p.records[i].ID {
			return events.Appended{}, conflict
		}
	}
	return made, rows.Err()
}
