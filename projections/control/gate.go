package control

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
)

// Gate keeps exclusive work of one process (deleting a folder, sweeping originals) apart
// from the regular work of all nodes (filing, committing). Passing takes no lock: a
// process reads from the store the time until which the gate stays open, and all its
// goroutines use that result until then. So passing rarely costs a statement, a node that
// hangs or is disconnected blocks no other node, and shutting the gate takes no longer
// than the gate stays open.
//
// Pass waits while the gate is shut, so its caller sees what the exclusive work has
// changed. Shut waits until every earlier pass has expired, so the exclusive work sees
// what was done under those passes. The clocks of nodes are not compared; they only have
// to run equally fast. Work that outlasts its pass has to be checked after another Pass.
//
// The gate is shut only as long as the session of Shut lasts. The exclusive work checks
// the session before its decisive step, because the gate opens if the session is lost.
// Two cases remain in which neither side sees the other's work. Either the session is
// lost during the decisive step, while another process passes, works and checks. Or a
// machine was suspended after it had passed, and its clock stood still.
type Gate struct {
	control *Store
	key     int64         // of an advisory lock
	open    time.Duration // how long the gate stays open after it was passed
	hung    time.Duration // how long the process that has shut it may hang before its session ends

	mu   sync.Mutex
	last *crossing
}

const (
	// passWithin and shutWithin limit how long Pass and Shut wait for a gate that another
	// process has shut. keptShut limits how long a process keeps it shut.
	passWithin = 3 * time.Second
	shutWithin = 2 * time.Second
	keptShut   = 5 * time.Second
	// hungAfter is how long a process may hang before the server ends its session. It is
	// longer than the longest statement of a process that does not hang.
	hungAfter = 2 * keptShut
)

// Gate returns the named gate in a store that nodes share. A pass is valid for the
// time open, which must be the same on all nodes.
func (c *Store) Gate(name string, open time.Duration) *Gate {
	return &Gate{control: c, key: sqldb.LockKey(c.schema + " gate " + name), open: open, hung: hungAfter}
}

// crossing is one request to the store, for all goroutines that wait for it.
type crossing struct {
	begun time.Time
	done  chan struct{} // closed after the request has ended
	until time.Time
	err   error
}

// Pass waits while another process has shut the gate, and returns the time until
// which no exclusive work begins. That time may already be over if the store was
// slow. If the wait is too long the error is fault.Unavailable.
func (g *Gate) Pass(ctx context.Context) (until time.Time, err error) {
	for begun := time.Now(); ; {
		p, first := g.join()
		if first {
			g.request(ctx, p)
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
		switch {
		case p.err == nil && (!p.begun.Before(begun) || time.Now().Before(p.until)):
			return p.until, nil
		case p.err != nil && (first || !fault.Is(p.err, fault.Canceled)): // only the goroutine that made the request may have been canceled
			return time.Time{}, p.err
		}
	}
}

// join returns a request to share: one in progress, or one whose result is still
// valid. Otherwise it returns a new one, which the caller has to send.
func (g *Gate) join() (p *crossing, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p = g.last; p != nil {
		select {
		case <-p.done:
			if p.err == nil && time.Until(p.until) > g.open/2 {
				return p, false
			}
		default:
			return p, false
		}
	}
	g.last = &crossing{begun: time.Now(), done: make(chan struct{})}
	return g.last, true
}

// passGate acquires the lock for a moment and returns how many microseconds it waited.
// The gate was shut during that time.
const passGate = `WITH passed AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared($1))
	SELECT CAST(extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000 AS BIGINT) FROM passed`

// request reads from the store the time until which the gate stays open.
func (g *Gate) request(ctx context.Context, p *crossing) {
	defer close(p.done)
	p.err = errBusyGate // in case the driver panics
	soon, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	var waited int64
	p.err = g.control.db.Row(soon, passGate, g.key).Scan(&waited)
	if p.err != nil && soon.Err() != nil && ctx.Err() == nil {
		p.err = errBusyGate
	}
	p.until = p.begun.Add(time.Duration(waited)*time.Microsecond + g.open)
}

var errBusyGate = fault.Errorf(fault.Unavailable, "another node is deleting a folder: try again")

// Shut waits until every earlier pass has expired, and then calls do while no process
// can pass. Calls of Shut run one after another. If the wait is too long the error is
// fault.Unavailable and do was not called.
//
// The context of do ends after a few seconds, because do must not finish after the
// gate has opened. It does not end with ctx. Before its decisive step, do calls its
// argument still, which returns an error if the gate may be open: the session was
// lost, or the server ended it because it hung.
func (g *Gate) Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error {
	session, err := g.control.db.Conn(ctx)
	if err != nil {
		return g.control.db.Classify(ctx, err)
	}
	defer session.Close()
	alone, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutWithin+keptShut)
	defer cancel()
	tx, err := session.BeginTx(alone, nil)
	if err != nil {
		return g.control.db.Classify(ctx, err)
	}
	defer tx.Rollback() // opens the gate
	if err := g.lock(ctx, tx); err != nil {
		return err
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	err = do(alone, func() error {
		if _, err := tx.ExecContext(alone, `SELECT 1`); err != nil {
			return fault.Hide(fault.Unavailable, "the connection to the control store was lost while other processes may have passed: try again", err)
		}
		return nil
	})
	if fault.Is(err, fault.Canceled) && alone.Err() != nil {
		err = fault.Hide(fault.Unavailable, "deleting took too long while other processes wait: try again", err)
	}
	return err
}

// lock shuts the gate until the transaction ends. The server ends the session if it is
// idle for too long.
func (g *Gate) lock(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)`,
		inMilliseconds(shutWithin), inMilliseconds(g.hung))
	if err == nil {
		_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, g.key)
	}
	if sqldb.IsBusy(err) {
		return errBusyGate
	}
	return g.control.db.Classify(ctx, err)
}

// settle waits until every earlier pass has expired, and half of that time more in case
// the clock of the server is set in the meantime.
func (g *Gate) settle(ctx context.Context) error {
	wait := time.NewTimer(g.open + g.open/2)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func inMilliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
