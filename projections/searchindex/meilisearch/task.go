package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meilisearch/meilisearch-go"
)

// enqueue hands a task over, which may be done more than once, and returns its
// number.
func (x *Index) enqueue(ctx context.Context, within time.Duration, send func(context.Context) (*meilisearch.TaskInfo, error)) (id int64, err error) {
	err = x.server.try(ctx, within, func(ctx context.Context) error {
		info, err := send(ctx)
		switch {
		case err != nil:
			return err
		case info.Status != meilisearch.TaskStatusEnqueued || info.IndexUID != x.uid:
			return errNotMeilisearch
		}
		id = info.TaskUID
		return nil
	})
	return id, err
}

// change is a task that takes little time, and is waited for.
func (x *Index) change(ctx context.Context, send func(context.Context) (*meilisearch.TaskInfo, error)) error {
	id, err := x.enqueue(ctx, x.server.limits.ask, send)
	if err != nil {
		return err
	}
	return x.await(ctx, id, x.server.limits.settle)
}

// slowest is how long at most passes between two looks at a task.
const slowest = 250 * time.Millisecond

var errStillQueued = errors.New("it has not come to the change yet")

// await returns once a task has succeeded, or a taskError where it has not.
func (x *Index) await(ctx context.Context, id int64, within time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, slowest) {
		var task *meilisearch.Task
		err := x.ask(limited, func(ctx context.Context) (err error) {
			task, err = x.server.client.GetTaskWithContext(ctx, id)
			return err
		})
		if err == nil && (task.UID != id || task.IndexUID != x.uid) {
			err = errNotMeilisearch
		}
		if err != nil && limited.Err() == nil {
			return err
		}
		if err == nil {
			switch task.Status {
			case meilisearch.TaskStatusSucceeded:
				return nil
			case meilisearch.TaskStatusFailed, meilisearch.TaskStatusCanceled:
				return &taskError{task.Status, task.Error.Code, task.Error.Message}
			}
		}
		if sleep(limited, pause) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("task %d: %w", id, errStillQueued)
		}
	}
}
