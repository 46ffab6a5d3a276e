// Package sqlite keeps a log in one SQLite file. Several processes may open the file. It imports events, events/fault, events/failpoint and
// events/sqldb, and no other package of this module.
//
// One goroutine makes all appends of a process. It commits all waiting appends in one
// transaction, so that they share one sync of the disk.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"annals/events"
	"annals/events/fault"
)

// Driver is an events.Driver over a file. Open creates one.
type Driver struct {
	path  string
	write *sql.DB // the single connection of the writer
	read  *sql.DB // read-only connections
	reads statements

	writer *writer
	waits  *waiters

	mu     sync.RWMutex  // read-locked by every call, locked by Close
	closed chan struct{} // closed by Close
}

// Open opens the log in the file at path, and creates the file if it does not exist; its
// folder must exist. The error is fault.Invalid if the file is not a log or was written
// by a newer version of Annals, and the file is then not changed. The error is
// fault.Unavailable if the file cannot be accessed.
func Open(ctx context.Context, path string) (*Driver, error) {
	if err := prepare(ctx, path); err != nil {
		return nil, err
	}
	d := &Driver{path: path, closed: make(chan struct{})}
	if err := d.start(ctx); err != nil {
		return nil, explain(ctx, err, "open the log %s", path)
	}
	return d, nil
}

// start opens the connections and starts the goroutines. After an error nothing is left
// open.
func (d *Driver) start(ctx context.Context) (err error) {
	var opened []interface{ Close() error }
	defer func() {
		if err != nil {
			for _, c := range opened {
				c.Close()
			}
		}
	}()
	if d.write, err = connect(d.path, 1, "synchronous(FULL)", "journal_size_limit(67108864)"); err != nil {
		return err
	}
	opened = append(opened, d.write)
	if d.read, err = connect(d.path, readers+1, "query_only(1)"); err != nil {
		return err
	}
	opened = append(opened, d.read)
	if d.reads, err = prepareReads(ctx, d.read); err != nil {
		return err
	}
	watch, err := d.read.Conn(ctx) // a read connection that is reserved for poll
	if err != nil {
		return err
	}
	opened = append(opened, watch)
	if d.writer, err = newWriter(ctx, d.write, d.path); err != nil {
		return err
	}
	d.waits = newWaiters()
	d.writer.moved = d.waits.advance
	go d.writer.run()
	go d.waits.poll(watch)
	return nil
}

// Close implements events.Driver. It waits for pending appends and running reads.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closed:
		return nil
	default:
	}
	close(d.closed)
	err := d.writer.close()
	d.waits.close()
	return errors.Join(err, d.reads.close(), d.read.Close(), d.write.Close())
}

// hold keeps the driver open until release is called.
func (d *Driver) hold() (release func(), err error) {
	d.mu.RLock()
	select {
	case <-d.closed:
		d.mu.RUnlock()
		return nil, errClosed(d.path)
	default:
		return d.mu.RUnlock, nil
	}
}

func errClosed(path string) error {
	return fault.Hide(fault.Unavailable, "the log is closed", fmt.Errorf("the log %s is closed", path))
}

var _ events.Driver = (*Driver)(nil)
