package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/meilisearch/meilisearch-go"
)

// enqueue sends a task and returns its number. If a reply is lost, it may send the task
// more than once.
func (x *index) enqueue(ctx context.Context, within time.Duration, send func(context.Context) (*meilisearch.TaskInfo, error)) (id int64, err error) {
	err = x.server.retry(ctx, within, func(ctx context.Context) error {
		info, err := send(ctx)
		switch {
		case err != nil:
			return err
		case info.Status != meilisearch.TaskStatusEnqueued || info.IndexUID != x.uid:
			return errUnexpectedReply
		}
		id = info.TaskUID
		return nil
	})
	return id, err
}

// change sends a small task and waits until it is done.
func (x *index) change(ctx context.Context, send func(context.Context) (*meilisearch.TaskInfo, error)) error {
	id, err := x.enqueue(ctx, x.server.limits.request, send)
	if err != nil {
		return err
	}
	return x.await(ctx, id, x.server.limits.settle)
}

// maxPause bounds the pause between two polls of a task.
const maxPause = 250 * time.Millisecond

var errStillQueued = errors.New("it is still queued")

// await polls a task until it has succeeded. The error is a taskError if it
// failed.
func (x *index) await(ctx context.Context, id int64, within time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := backoff.Retry(limited, func() (struct{}, error) {
		var task *meilisearch.Task
		err := x.read(limited, func(ctx context.Context) (err error) {
			task, err = x.server.client.GetTaskWithContext(ctx, id)
			return err
		})
		if err == nil && (task.UID != id || task.IndexUID != x.uid) {
			err = errUnexpectedReply
		}
		if err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		switch task.Status {
		case meilisearch.TaskStatusSucceeded:
			return struct{}{}, nil
		case meilisearch.TaskStatusFailed, meilisearch.TaskStatusCanceled:
			return struct{}{}, backoff.Permanent(&taskError{task.Status, task.Error.Code, task.Error.Message})
		}
		return struct{}{}, errStillQueued
	}, backoff.WithBackOff(doubling(time.Millisecond, maxPause)), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil, errors.As(err, new(*taskError)):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("task %d: %w", id, errStillQueued)
	}
	return err
}
