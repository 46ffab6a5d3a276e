package commands

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// filing keeps the deletion of folders and the filing of documents apart, because they
// append to different streams, which cannot be changed atomically. A deletion holds it
// from the check that the folder is empty until its append. A recursive deletion holds
// it, too: the read models would drop a document that is moved out at the same time,
// if the deletion comes first in the log, although it exists in its stream.
//
// Between processes a Gate does the same. A process whose append came too late for a
// deletion to see it finds out by reading the folders after settle.
type filing struct {
	slots *semaphore.Weighted
	gate  Gate // nil if there are no other processes
}

// Gate excludes the exclusive work of one process from the concurrent work of all.
type Gate interface {
	// Pass waits while another process has the gate shut. It returns the time until
	// which no process can shut it again. Everything that was done while it was shut
	// is visible then.
	Pass(ctx context.Context) (until time.Time, err error)

	// Shut runs do exclusively, after the times that Pass has returned to others, so
	// do sees what they did. still returns an error once the gate is no longer shut.
	Shut(ctx context.Context, do func(ctx context.Context, still func() error) error) error
}

// allSlots excludes all filing: fewer callers than this file at the same time.
const allSlots = 1 << 30

func newFiling(gate Gate) *filing { return &filing{semaphore.NewWeighted(allSlots), gate} }

// file runs a function that puts a document into a folder, concurrently with other
// filing.
func (f *filing) file(ctx context.Context, do func() error) error {
	return f.with(ctx, 1, func() error {
		if err := f.settle(ctx); err != nil {
			return err
		}
		return do()
	})
}

// settle waits for the end of deletions by other processes that may not have seen what was
// filed before. The folders then show whether one of them was deleted.
func (f *filing) settle(ctx context.Context) error {
	if f.gate == nil {
		return nil
	}
	_, err := f.gate.Pass(ctx)
	return err
}

// remove runs a function that deletes a folder, exclusively. The function must call still
// before it appends; still returns an error once it no longer runs exclusively.
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
