package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"annals/events"
)

// pollEvery is the interval at which Wait polls for appends of other processes.
const pollEvery = 50 * time.Millisecond

// waiters has the state of all calls of Wait. During such calls one goroutine polls for
// appends of other processes.
type waiters struct {
	mu    sync.Mutex
	count int
	head  events.Position // the highest head seen
	err   error           // of the last poll
	moved chan struct{}   // closed and replaced when head or err changes
	wake  chan struct{}   // holds a token after a waiter was added
	stop  chan struct{}   // closed to end the polling
	ended chan struct{}
}

func newWaiters() *waiters {
	return &waiters{
		moved: make(chan struct{}), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Wait implements events.Driver.
func (d *Driver) Wait(ctx context.Context, after events.Position) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.waits.leave()
	for {
		head, moved, err := d.waits.seen()
		switch {
		case head > after:
			return nil
		case err != nil:
			return conceal(ctx, err, cannotRead, "wait for the log %s", d.path)
		}
		select {
		case <-moved:
		case <-d.closed:
			return errClosed(d.path)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enter adds one to the number of waiters. It returns an error if the driver is closed.
func (d *Driver) enter() error {
	release, err := d.hold()
	if err != nil {
		return err
	}
	defer release()
	w := d.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	signal(w.wake)
	return nil
}

func (w *waiters) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
}

func (w *waiters) seen() (events.Position, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head, w.moved, w.err
}

func (w *waiters) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count > 0
}

// advance wakes the waiters after an append.
func (w *waiters) advance(head events.Position) { w.update(head, nil) }

// update wakes the waiters if the head rose or the log cannot be read.
func (w *waiters) update(head events.Position, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if head > w.head || err != nil {
		w.head = max(w.head, head)
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// close ends the polling. enter must not be called afterwards.
func (w *waiters) close() {
	close(w.stop)
	<-w.ended
}

// poll reads the head repeatedly while there are waiters, until close. Before it reads
// the head it checks whether the file has changed, because this check is cheaper.
func (w *waiters) poll(conn *sql.Conn) {
	defer close(w.ended)
	defer conn.Close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	known := int64(-1)
	for {
		select {
		case <-w.wake:
		case <-w.stop:
			return
		}
		for w.waiting() {
			head, version, err := look(conn, known)
			if known = version; head > 0 || err != nil {
				w.update(head, err)
			}
			select {
			case <-tick.C:
			case <-w.stop:
				return
			}
		}
	}
}

// look returns the head of the log, or 0 if the file has not changed since the
// known version.
func look(conn *sql.Conn, known int64) (head events.Position, version int64, err error) {
	ctx := context.Background()
	if err := conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil || version == known {
		return 0, known, err
	}
	var highest sql.Null[events.Position]
	if err := conn.QueryRowContext(ctx, `SELECT max(position) FROM events`).Scan(&highest); err != nil {
		return 0, known, err
	}
	return highest.V, version, nil
}
