package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"annals/events"
	"annals/projections/searchindex"
)

// writing is what the one who writes an index knows of it.
type writing struct {
	seen    atomic.Bool // it was on the server
	placed  atomic.Bool // it had a position
	ready   bool        // it has its settings, and was made at created
	created time.Time
	emptied int          // passages that were emptied since the last sweep, or more
	lines   bytes.Buffer // documents that are to be sent
	pending []int64      // tasks that were not seen to end
	late    bool         // they are of a change that was given up
}

// sweepAfter is how many passages may lie emptied.
const sweepAfter = 1000

// Apply makes the change and moves the position in one task, and returns once
// searches see it. After an error of kind fault.Unavailable it may be that the
// server makes the change all the same; applied again, it is made once.
func (x *Index) Apply(ctx context.Context, b searchindex.Batch) error {
	if err := x.Fill(ctx, b); err != nil {
		return err
	}
	return x.Settle(ctx, b.Position)
}

// Fill sends what is to change when there is enough of it.
func (x *Index) Fill(ctx context.Context, b searchindex.Batch) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer x.failed(&err)
	if x.late {
		if err := x.settle(ctx); err != nil {
			return err
		}
	}
	if err := appendBatch(&x.lines, b); err != nil {
		return x.told("write to", err)
	}
	x.emptied += len(b.Delete)
	if x.lines.Len() < x.server.limits.task {
		return nil
	}
	return x.send(ctx)
}

// Settle waits for what was sent. What is left to send goes along with the
// position where nothing is waited for, and before it otherwise: the position
// counts for all that came before.
func (x *Index) Settle(ctx context.Context, p events.Position) (err error) {
	defer x.failed(&err)
	if len(x.pending) > 0 && x.lines.Len() > 0 {
		if err := x.send(ctx); err != nil {
			return err
		}
	}
	if err := x.settle(ctx); err != nil {
		return err
	}
	if err := json.NewEncoder(&x.lines).Encode(stateDocument{stateID, p}); err != nil {
		return x.told("write to", err)
	}
	if err := x.send(ctx); err != nil {
		return err
	}
	if err := x.settle(ctx); err != nil {
		return err
	}
	x.placed.Store(true)
	if err := x.same(ctx); err != nil { // it may have been exchanged on the way
		return err
	}
	x.sweep(ctx)
	return nil
}

// failed lets the caller begin again after an error.
func (x *Index) failed(err *error) {
	if *err != nil {
		x.lines.Reset()
	}
	x.late = *err != nil && len(x.pending) > 0
}

// send hands over what is to be sent as one task. A server that took it and
// could not say so is sent it again: that changes nothing more.
func (x *Index) send(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return err
	}
	id, err := x.enqueue(ctx, x.addDocuments)
	if err != nil {
		return x.told("write to", err)
	}
	x.pending = append(x.pending, id)
	x.lines.Reset()
	return nil
}

// settle waits for all tasks that were sent. Those that are not done in time
// are waited for by the next one first, so that their queue does not grow.
func (x *Index) settle(ctx context.Context) error {
	for len(x.pending) > 0 {
		err := x.await(ctx, x.pending[0])
		if isStillWaiting(ctx, err) {
			return x.told("wait for", err)
		}
		if err != nil {
			x.pending = nil
			return x.told("write to", err)
		}
		x.pending = x.pending[1:]
	}
	return nil
}

// sweep has the passages deleted that were emptied, if there are many. It goes
// by what they are and not by their ids: whenever it comes, it deletes none that
// was put again. Nobody waits for it, and where it fails the next one does it.
func (x *Index) sweep(ctx context.Context) {
	if x.emptied < sweepAfter {
		return
	}
	if _, err := x.enqueue(ctx, x.deleteEmptied); err == nil {
		x.emptied = 0
	}
}

// isStillWaiting reports whether it is not known yet what became of a task.
func isStillWaiting(ctx context.Context, err error) bool {
	return ctx.Err() != nil || err != nil && passes(err)
}
