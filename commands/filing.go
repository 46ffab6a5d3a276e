package commands

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// filing is a lock that keeps folders from being deleted while documents are filed.
// Documents and folders have different streams, so the log does not detect the conflict:
// without the lock, a document could be filed in a folder after the check that the folder is
// empty, and before its deletion. Recursive deletions take the lock, too. Otherwise a
// document could be moved out of the folder after the deletion: the read models, which apply
// the log in order, would delete the document, but its own stream would not say so.
//
// A Gate does the same between processes. If another process may have deleted a folder
// without seeing what this process appended, this process calls settle, and then reads
// whether the folder was deleted.
type filing struct {
	slots *semaphore.Weighted
	gate  Gate // nil if there are no other processes
}

// Gate is a lock between processes: one process holds it exclusively (Shut), or any number
// share it (Pass).
type Gate interface {
	// Pass waits until no other process has the gate shut. The caller then sees everything
	// that the other process did while it had the gate shut. Pass returns the time until
	// which no process can shut the gate again.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut runs the function do exclusively. It first waits until the times that Pass
	// returned to other processes have passed, so do sees what these processes did. The
	// function still returns an error if the gate is no longer shut.
	Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error
}

// allSlots is the semaphore's size and the weight of a deletion. Filing a document has
// weight 1, so documents are filed concurrently, but never during a deletion.
const allSlots = 1 << 30

func newFiling(gate Gate) *filing { return &filing{semaphore.NewWeighted(allSlots), gate} }

// file runs a function that puts a document into a folder. Calls run concurrently with
// each other, but not with remove.
func (f *filing) file(ctx context.Context, do func() error) error {
	return f.with(ctx, 1, func() error {
		if err := f.settle(ctx); err != nil {
			return err
		}
		return do()
	})
}

// settle waits for running deletions by other processes: they may not have seen what this
// process filed. Afterwards the folder tree shows whether they deleted the folder.
func (f *filing) settle(ctx context.Context) error {
	if f.gate == nil {
		return nil
	}
	_, err := f.gate.Pass(ctx)
	return err
}

// remove runs do, which deletes a folder, exclusively. Before do appends, it must call
// still, which returns an error if the exclusive lock was lost.
func (f *filing) remove(ctx context.Context, do func(ctx context.Context, still func() error) error) error {
	return f.with(ctx, allSlots, func() error {
		if f.gate == nil {
			return do(ctx, func() error { return nil })
		}
		return f.gate.Shut(ctx, do)
	})
}

func (f *filing) with(ctx context.Context, slots int64, do func() error) error {
	if err := f.slots.Acquire(ctx, slots); err != nil {
		return err
	}
	defer f.slots.Release(slots)
	return do()
}
