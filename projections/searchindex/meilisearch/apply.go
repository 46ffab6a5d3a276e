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

// writer is the state of a process that writes to an index.
type writer struct {
	seen      atomic.Bool // this process has seen the index on the server
	placed    atomic.Bool // this process has seen the index with a position
	ready     bool        // the index has its settings, and created is its creation time
	created   time.Time
	emptied   int          // upper bound of the passages emptied since the last sweep
	lines     bytes.Buffer // documents to be sent
	pending   []int64      // tasks that were sent and are not known to have ended
	sent      int          // bytes sent since the last settle
	abandoned bool         // the pending tasks belong to a change that failed
}

const (
	// sweepAfter is how many emptied passages the index may hold.
	sweepAfter = 1000
	// minSpeed is the number of bytes per second that every server is expected to process.
	minSpeed = 100 << 10
)

// Apply sends the batch and the position as one task, and returns when searches see the
// change. After an error of kind fault.Unavailable the server may still make the change.
// Applying the batch again is safe.
func (x *index) Apply(ctx context.Context, b searchindex.Batch) error {
	if err := x.Fill(ctx, b); err != nil {
		return err
	}
	return x.Settle(ctx, b.Position)
}

// Fill collects changes, and sends a task whenever there are enough for one.
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

// Settle sends the remaining changes and the position, and waits until all changes are
// applied. If nothing was sent before, changes and position are one task. Otherwise the
// position is sent in a last task, because it means that everything before it was
// applied.
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
	if err := x.same(ctx); err != nil { // the index may have been replaced in the meantime
		return err
	}
	x.sweep(ctx)
	return nil
}

// failed discards the collected changes after an error. The caller has to send them
// again.
func (x *index) failed(err *error) {
	if *err != nil {
		x.lines = bytes.Buffer{}
	}
	x.abandoned = *err != nil && len(x.pending) > 0
}

// send sends the collected changes as one task. If the reply is lost, it repeats the
// request, which is safe.
func (x *index) send(ctx context.Context) error {
	if err := x.prepare(ctx); err != nil {
		return err
	}
	// A request that timed out may still read this buffer, so the buffer is not used
	// again.
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

// settle waits for all tasks that were sent. Tasks that do not end in time stay pending.
// The next change first waits for them, so that the server's queue does not grow.
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

// sweep deletes emptied passages if there are many. It selects them by the attribute gone
// and not by id, so it never deletes a passage that was put again. Nothing waits for the
// task. If it fails, the next sweep deletes the passages.
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
