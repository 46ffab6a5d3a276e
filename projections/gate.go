package projections

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
	"time"

	"annals/events/fault"

	"github.com/jackc/pgx/v5/pgconn"
)

// Gate keeps what one process does alone apart from what all of them do all the
// time, where nodes share a control store. Those who pass hold nothing: they are
// told until when the gate stays open, and ask anew after that, all of a process
// together. So however many pass, it costs a statement now and then; a node that
// hangs, or that lost its connection, keeps nobody out; and who shuts the gate
// waits no longer than it stays open.
//
// It rests on two things. Pass waits for who has shut it: so whoever has
// passed sees what was done alone until then. And whoever shuts it does nothing
// before all who have passed were told to ask anew: so he sees what they had
// done by then. Clocks of nodes are not compared, they only run equally fast.
// What is done late, after the time that was told, is to be looked at after
// another Pass: then either it was seen, or it sees what was done alone.
//
// That holds as long as the session lasts in which the gate is shut. One that is
// lost opens it; still tells who has shut it, and he is to ask before the step
// that counts. Where it is lost within that step, and somebody passes, acts and
// looks before the step is done, neither sees the other; nor where a machine on
// which somebody had passed was suspended, clock and all, and goes on just then.
type Gate struct {
	control *Control
	key     int64         // of an advisory lock
	open    time.Duration // for so long it stays open once it was passed
	hung    time.Duration // who has shut it and is silent for so long is shut out

	mu   sync.Mutex
	last *crossing
}

const (
	// passWithin and shutWithin bound waiting for those who shut the gate, and
	// keptShut what one of them does.
	passWithin = 3 * time.Second
	shutWithin = 2 * time.Second
	keptShut   = 5 * time.Second
	// hungAfter is when the server ends the session of one who hangs: later than
	// what he has sent can be waiting for its answer.
	hungAfter = 2 * keptShut
)

// Gate returns the gate of a name, in a store that nodes share. Once passed it
// stays open for a time, which must be the same at all nodes.
func (c *Control) Gate(name string, open time.Duration) *Gate {
	return &Gate{control: c, key: lockOf(c.schema + " gate " + name), open: open, hung: hungAfter}
}

// crossing is one question to the store, for all who wait for the answer.
type crossing struct {
	begun time.Time
	done  chan struct{} // closed once the rest is set
	until time.Time
	err   error
}

// Pass waits while another process has shut the gate, and returns until when
// nobody does anything behind it. That may have passed already, where the answer
// took long. Where it takes too long the error is fault.Unavailable.
func (g *Gate) Pass(ctx context.Context) (until time.Time, err error) {
	for begun := time.Now(); ; {
		p, first := g.join()
		if first {
			g.ask(ctx, p)
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
		switch {
		case p.err == nil && (!p.begun.Before(begun) || time.Now().Before(p.until)):
			return p.until, nil
		case p.err != nil && (first || !fault.Is(p.err, fault.Canceled)): // whoever asked for all may have been called off alone
			return time.Time{}, p.err
		}
	}
}

// join returns the question whose answer will do: one that is being asked, or
// whose answer holds for a while yet. Else it is a new one, which the caller asks.
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

// passGate takes the lock for a moment, and tells for how many microseconds it
// was waited for, so that these do not count as time for which the gate was open.
const passGate = `WITH passed AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared($1))
	SELECT CAST(extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000 AS BIGINT) FROM passed`

func (g *Gate) ask(ctx context.Context, p *crossing) {
	defer close(p.done)
	p.err = errBusyGate // stands if the driver panics
	soon, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	var waited int64
	p.err = g.control.told(g.control.db.QueryRowContext(soon, passGate, g.key).Scan(&waited))
	if p.err != nil && soon.Err() != nil && ctx.Err() == nil {
		p.err = errBusyGate
	}
	p.until = p.begun.Add(time.Duration(waited)*time.Microsecond + g.open)
}

var errBusyGate = fault.Errorf(fault.Unavailable, "another node is deleting at the moment: try again")

// Shut lets do run alone: while it does nobody passes, and what was done by those
// who have passed can be seen. Others who shut the gate come one after another;
// where that takes too long the error is fault.Unavailable, and do has not run.
//
// do has a few seconds, also where ctx ends: what it has begun must not come to
// its end behind an open gate. Before the step that counts it is to call still,
// which returns an error where it is not alone any more: its session was lost, or
// it hung for so long that the server ended it.
func (g *Gate) Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error {
	session, err := g.control.db.Conn(ctx)
	if err != nil {
		return g.control.told(err)
	}
	defer session.Close()
	alone, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutWithin+keptShut)
	defer cancel()
	tx, err := session.BeginTx(alone, nil)
	if err != nil {
		return g.control.told(err)
	}
	defer tx.Rollback() // which opens the gate
	if err := g.lock(ctx, tx); err != nil {
		return err
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	err = do(alone, func() error {
		if _, err := tx.ExecContext(alone, `SELECT 1`); err != nil {
			return fault.Hide(fault.Unavailable, "whether others change the same cannot be told now: try again", err)
		}
		return nil
	})
	if fault.Is(err, fault.Canceled) && alone.Err() != nil {
		err = fault.Hide(fault.Unavailable, "it took too long while others wait: try again", err)
	}
	return err
}

// lock shuts the gate until the transaction ends, which the server sees to where
// nothing is heard of it.
func (g *Gate) lock(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)`,
		inMilliseconds(shutWithin), inMilliseconds(g.hung))
	if err == nil {
		_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, g.key)
	}
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == "55P03" { // lock_not_available
		return errBusyGate
	}
	return g.control.told(err)
}

// settle waits until all who have passed before are to ask anew. It waits longer
// than they go on, since the server's clock may be set meanwhile.
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
