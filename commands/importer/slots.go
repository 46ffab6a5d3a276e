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
	// suspectStarts is the number of starts after which an unfinished file becomes a
	// suspect. A file also becomes a suspect if its reader process dies. Suspects are read
	// one at a time, each in a new process. Otherwise a file that crashes its process, or
	// the machine, would also interrupt other files, and these would become suspects too.
	suspectStarts = 3
	// maxAlone limits how often a suspect is read, by all nodes together.
	maxAlone = 2
)

// slots limits how many files are read at a time.
type slots struct {
	turns *turns.Turns
	// scans is for files with scanned pages. Recognising a page takes seconds, so these files
	// do not take slots from others. They get as many slots, but compete for the processor with
	// the lowest priority.
	scans    *turns.Turns
	suspects chan struct{} // contains a token while a suspect is read
}

func (i *Importer) init() {
	i.once.Do(func() {
		workers := cmp.Or(i.Workers, runtime.NumCPU())
		i.slots = slots{turns.New(workers), turns.New(workers), make(chan struct{}, 1)}
		i.slots.turns.RequeueAfter = i.RequeueAfter
	})
}

// acquire waits for a slot for a file: one for files with scanned pages if scan is set. The
// returned context is for reading the file. It is cancelled with the cause turns.ErrSuspended if
// the slot is given to another file. release frees the slot.
func (i *Importer) acquire(ctx context.Context, file *turns.File, suspect, scan bool) (reading context.Context, release func(), err error) {
	i.init()
	turns := i.slots.turns
	if scan {
		turns = i.slots.scans
	}
	if !suspect {
		return turns.Begin(ctx, file)
	}
	select {
	case i.slots.suspects <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	reading, end, err := turns.Begin(ctx, file)
	if err != nil {
		<-i.slots.suspects
		return nil, nil, err
	}
	return reading, func() { end(); <-i.slots.suspects }, nil
}

// Room returns how many more files of an owner the queue should deliver to this process.
// held is the number of the owner's files that the process has already. limit is the maximum
// for one owner, reached only if no other owner has files.
func (i *Importer) Room(owner string, held, limit int) int {
	i.init()
	return i.slots.turns.Room(owner, held, limit)
}

// orderKey is the context key of a message's sequence number.
type orderKey struct{}

// turnOf returns the turns.File for a message. A user's files are read in the order of
// delivery.
func turnOf(ctx context.Context, owner events.Principal) *turns.File {
	order, _ := ctx.Value(orderKey{}).(int64)
	return &turns.File{Owner: string(owner), Order: order}
}

// start records that this process imports a file. It returns true on the first attempt, and
// false on a retry.
func (i *Importer) start(ref fileRef) (first bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.started == nil {
		i.started = make(map[fileRef]bool)
	}
	first = !i.started[ref]
	i.started[ref] = true
	return first
}

// isolated reports whether this process has recorded that a file is read alone.
func (i *Importer) isolated(ref fileRef) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.alone[ref]
}

// isolate records, in the log and in memory, that a file is read alone. It is called before
// the file is read, because the process may crash while reading.
func (i *Importer) isolate(ctx context.Context, ref fileRef, file commands.ImportFile, why string) error {
	if i.isolated(ref) {
		return nil
	}
	if err := i.Handler.IsolateFile(ctx, file, shorten(why, maxSentence)); err != nil {
		return err
	}
	failpoint.Here(failpoint.FileStarted)
	i.start(ref)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.alone == nil {
		i.alone = make(map[fileRef]bool)
	}
	i.alone[ref] = true
	return nil
}

// forget drops what this process has recorded about a file, because the file is finished or
// another node may import it.
func (i *Importer) forget(ref fileRef) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.started, ref)
	delete(i.alone, ref)
}
