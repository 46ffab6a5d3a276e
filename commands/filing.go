package commands

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// filing keeps the deletion of folders apart from whatever puts documents
// into them, since a document and the folders are two streams, which no append
// joins. A deletion holds it from asking whether the folder is empty until it
// is gone. One of all that is below does so too: a document that is moved out
// of there meanwhile would be dropped by the read models, which see the folder
// go first, and live on in its stream.
//
// Between processes a Gate does so. What is appended so late that a deletion may
// not have seen it is found out by a look at the folders, after settle.
type filing struct {
	places *semaphore.Weighted
	gate   Gate // nil: there is one process
}

// Gate keeps what one process does alone apart from what all of them do.
type Gate interface {
	// Pass waits while another process is alone, and returns until when none
	// is. After it one sees what was done alone before.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut lets do run alone. It sees what those who have passed had done by
	// the time that they were told. still returns an error where do is not
	// alone any more.
	Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error
}

// manyPlaces is more than there ever are at once who file.
const manyPlaces = 1 << 30

func newFiling(gate Gate) *filing { return &filing{semaphore.NewWeighted(manyPlaces), gate} }

// file does what puts a document into a folder, beside others that do so.
func (f *filing) file(ctx context.Context, do func() error) error {
	return f.with(ctx, 1, func() error {
		if err := f.settle(ctx); err != nil {
			return err
		}
		return do()
	})
}

// settle waits until the deletions of other processes that may not have seen what
// was filed before have come to their end, so that a look at the folders tells.
func (f *filing) settle(ctx context.Context) error {
	if f.gate == nil {
		return nil
	}
	_, err := f.gate.Pass(ctx)
	return err
}

// remove does what deletes a folder, alone. Before it appends it is to call
// still, which returns an error where it is not alone any more.
func (f *filing) remove(ctx context.Context, do func(ctx context.Context, still func() error) error) error {
	return f.with(ctx, manyPlaces, func() error {
		if f.gate == nil {
			return do(ctx, func() error { return nil })
		}
		return f.gate.Shut(ctx, do)
	})
}

func (f *filing) with(ctx context.Context, places int64, do func() error) error {
	if err := f.places.Acquire(ctx, places); err != nil {
		return err
	}
	defer f.places.Release(places)
	return do()
}
