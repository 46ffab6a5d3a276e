package commands

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// filing keeps the deletion of folders apart from whatever puts documents
// into them, since a document and the folders are two streams, which no append
// joins. A deletion holds it from asking whether the folder is empty until it
// is gone. One of all that is below does so too: a document that is moved out
// of there meanwhile would be dropped by the read models, which see the folder
// go first, and live on in its stream.
//
// Between processes it does not hold; there whoever comes too late is told so
// by a look at the folders after the append.
type filing struct{ places *semaphore.Weighted }

// manyPlaces is more than there ever are at once who file.
const manyPlaces = 1 << 30

func newFiling() *filing { return &filing{semaphore.NewWeighted(manyPlaces)} }

// file does what puts a document into a folder, beside others that do so.
func (f *filing) file(ctx context.Context, do func() error) error { return f.with(ctx, 1, do) }

// remove does what deletes a folder, alone.
func (f *filing) remove(ctx context.Context, do func() error) error {
	return f.with(ctx, manyPlaces, do)
}

func (f *filing) with(ctx context.Context, places int64, do func() error) error {
	if err := f.places.Acquire(ctx, places); err != nil {
		return err
	}
	defer f.places.Release(places)
	return do()
}
