package importer

import (
	"cmp"
	"context"
	"runtime"

	"annals/commands"
	"annals/commands/importer/turns"
	"annals/events"
	"annals/events/failpoint"
)

const (
	// suspectStarts is after how many starts without an end a file becomes a suspect.
	// It also becomes one if its reader dies. Suspects are read one at a time, in a
	// new process. Otherwise a file that crashes its reader, or the machine, would
	// interrupt the files that are read at the same time, and make them suspects.
	suspectStarts = 3
	// maxAlone bounds how often a suspect is read, by all nodes together.
	maxAlone = 2
)

// slots limits which files the importer reads at a time.
type slots struct {
	turns    *turns.Turns
	suspects chan struct{} // holds one token while a suspect is read
}

func (i *Importer) init() {
	i.once.Do(func() {
		i.slots = slots{turns.New(cmp.Or(i.Workers, runtime.NumCPU())), make(chan struct{}, 1)}
		i.slots.turns.GiveBackAfter = i.GiveBackAfter
	})
}

// acquire waits until it is a file's turn to be read. The context it returns is for the
// reading; it is cancelled with the cause turns.ErrSuspended if others need the slot.
// release frees the slot.
func (i *Importer) acquire(ctx context.Context, file *turns.File, suspect bool) (reading context.Context, release func(), err error) {
	i.init()
	if !suspect {
		return i.slots.turns.Begin(ctx, file)
	}
	select {
	case i.slots.suspects <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	reading, end, err := i.slots.turns.Begin(ctx, file)
	if err != nil {
		<-i.slots.suspects
		return nil, nil, err
	}
	return reading, func() { end(); <-i.slots.suspects }, nil
}

// Room returns how many more files of an owner should be delivered to this process. It
// already has held of them, and may have most if no other owner has files.
func (i *Importer) Room(owner string, held, most int) int {
	i.init()
	return i.slots.turns.Room(owner, held, most)
}

// orderKey is the context key of a message's number in the order of delivery.
type orderKey struct{}

// turnOf returns a file for turns. The files of one user are read in order of delivery.
func turnOf(ctx context.Context, owner events.Principal) *turns.File {
	order, _ := ctx.Value(orderKey{}).(int64)
	return &turns.File{Owner: string(owner), Order: order}
}

// start records that this process works on a file. It returns false for a retry.
func (i *Importer) start(w Work) (first bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started == nil {
		i.started = make(map[Work]bool)
	}
	first = !i.started[w]
	i.started[w] = true
	return first
}

// isolated reports whether this process recorded that a file is read alone.
func (i *Importer) isolated(w Work) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.alone[w]
}

// isolate records, in the log and in memory, that a file is read alone. It is called
// before the reading, because a crash would leave no time to record it.
func (i *Importer) isolate(ctx context.Context, w Work, file commands.ImportFile, why string) error {
	if i.isolated(w) {
		return nil
	}
	if err := i.Handler.IsolateFile(ctx, file, shorten(why, maxSentence)); err != nil {
		return err
	}
	failpoint.Here(failpoint.FileStarted)
	i.start(w)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.alone == nil {
		i.alone = make(map[Work]bool)
	}
	i.alone[w] = true
	return nil
}

// forget forgets a file whose work has ended, or continues on another node.
func (i *Importer) forget(w Work) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.started, w)
	delete(i.alone, w)
}
