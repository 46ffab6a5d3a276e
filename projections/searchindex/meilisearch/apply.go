package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"annals/events"
	"annals/projections/searchindex"

	"github.com/meilisearch/meilisearch-go"
)

// writer is the state of the process that writes an index.
type writer struct {
	seen      atomic.Bool // the index was seen on the server
	placed    atomic.Bool // the index was seen with a position
	ready     bool        // the index has its settings and the creation time in created
	created   time.Time
	emptied   int          // upper bound of the passages emptied since the last sweep
	lines     bytes.Buffer // documents to be sent
	pending   []int64      // tasks that were sent and have not been seen to end
	sent      int          // bytes sent since the last settle
	abandoned bool         // the pending tasks belong to a change that failed
}

const (
	// sweepAfter is how many emptied passages the index may hold.
	sweepAfter = 1000
	// minSpeed is the number of bytes per second that every server is expected to process.
	minSpeed = 100 << 10
)

// Apply makes the change and moves the position in one task, and returns once
// searches see it. After an error of kind fault.Unavailable the server may still
// make the change; applying it again is safe.
func (x *index) Apply(ctx context.Context, b searchindex.Batch) error {
	if err := x.Fill(ctx, b); err != nil {
		return err
	}
	return x.Settle(ctx, b.Position)
}

// Fill collects changes and sends them once they fill a task.
func (x *index) Fill(ctx context.Context, b searchindex.Batch) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer x.failed(&err)
	if x.abandoned {
		if err := x.settle(ctx); err != nil {
			return err
		}
	}
	if err := appendBatch(&x.lines, b); err != nil {
		return x.wrap("write to", err)
	}
	x.emptied += len(b.Delete)
	if x.lines.Len() < x.server.limits.task {
		return nil
	}
	return x.send(ctx)
}

// Settle sends the remaining changes and the position, and waits until all are applied.
// They are one task if nothing was sent before. Otherwise the position is sent last,
// because it means that everything before it was applied.
func (x *index) Settle(ctx context.Context, p events.Position) (err error) {
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
		return x.wrap("write to", err)
	}
	if err := x.send(ctx); err != nil {
		return err
	}
	if err := x.settle(ctx); err != nil {
		return err
	}
	x.placed.Store(true)
	if err := x.same(ctx); err != nil { // the index may have been replaced meanwhile
		return err
	}
	x.sweep(ctx)
	return nil
}

// failed discards the change after an error. The caller starts again.
func (x *index) failed(err *error) {
	if *err != nil {
		x.lines = bytes.Buffer{}
	}
	x.abandoned = *err != nil && len(x.pending) > 0
}

// send sends the collected documents as one task. It repeats the request if the
// reply is lost, which is safe.
func (x *index) send(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return err
	}
	// A request that timed out may still read this buffer, so it is not used again.
	lines := x.lines.Bytes()
	x.lines = bytes.Buffer{}
	id, err := x.enqueue(ctx, x.server.limits.send, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		primary := "id"
		return x.index.AddDocumentsNdjsonWithContext(ctx, lines, &meilisearch.DocumentOptions{PrimaryKey: &primary})
	})
	if err != nil {
		return x.wrap("write to", err)
	}
	x.pending = append(x.pending, id)
	x.sent += len(lines)
	return nil
}

// settle waits for all tasks that were sent. Those that are not done in time stay
// pending: the next change waits for them first, so that the queue does not grow.
func (x *index) settle(ctx context.Context) error {
	for len(x.pending) > 0 {
		err := x.await(ctx, x.pending[0], x.server.limits.settle+time.Duration(x.sent/minSpeed)*time.Second)
		if isStillWaiting(ctx, err) {
			return x.wrap("wait for", err)
		}
		if err != nil {
			x.pending, x.sent = nil, 0
			return x.wrap("write to", err)
		}
		x.pending = x.pending[1:]
	}
	x.sent = 0
	return nil
}

// sweep deletes emptied passages if there are many. It selects them by their state
// and not by their ids, so it never deletes one that was put again. Nothing waits
// for it, and if it fails, the next sweep deletes them.
func (x *index) sweep(ctx context.Context) {
	if x.emptied < sweepAfter {
		return
	}
	_, err := x.enqueue(ctx, x.server.limits.request, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		return x.index.DeleteDocumentsByFilterWithContext(ctx, "gone = true", nil)
	})
	if err == nil {
		x.emptied = 0
	}
}

// isStillWaiting reports whether the outcome of a task is not known yet.
func isStillWaiting(ctx context.Context, err error) bool {
	return ctx.Err() != nil || err != nil && transient(err)
}
