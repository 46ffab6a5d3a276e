package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meilisearch/meilisearch-go"
)

// addDocuments puts the documents that are to be sent in place of those with
// the same ids.
func (x *Index) addDocuments(ctx context.Context) (*meilisearch.TaskInfo, error) {
	id := "id"
	return x.index.AddDocumentsNdjsonWithContext(ctx, x.lines.Bytes(), &meilisearch.DocumentOptions{PrimaryKey: &id})
}

func (x *Index) deleteEmptied(ctx context.Context) (*meilisearch.TaskInfo, error) {
	return x.index.DeleteDocumentsByFilterWithContext(ctx, "gone = true", nil)
}

// enqueue hands a task over, which may be done more than once, and returns its
// number.
func (x *Index) enqueue(ctx context.Context, send func(context.Context) (*meilisearch.TaskInfo, error)) (id int64, err error) {
	err = try(ctx, x.server.limits.send, func(ctx context.Context) error {
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

// slowest is how long at most passes between two looks at a task.
const slowest = 250 * time.Millisecond

var errStillQueued = errors.New("it has not come to the change yet")

// await returns once a task has succeeded, or a taskError where it has not.
func (x *Index) await(ctx context.Context, id int64) error {
	limited, cancel := context.WithTimeout(ctx, x.server.limits.settle)
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
			return fmt.Errorf("task %d: %w: %w", id, errStillQueued, context.DeadlineExceeded)
		}
	}
}
