package importer

import (
	"context"
	"runtime"

	"annals/commands"
	"annals/commands/importer/turns"
	"annals/events"
	"annals/events/failpoint"
)

const (
	// suspectStarts is how many starts that came to no end make a file a
	// suspect, and so does one reader that died of it. Suspects are read one at
	// a time, in a process of their own: one that brings down what reads it, or
	// the whole machine, then no longer cuts off the same others again and
	// again, until they seem to be like it.
	suspectStarts = 3
	// maxAlone bounds how often a suspect is read, by all processes together.
	maxAlone = 2
)

// places are what the importer knows of the files that it works on.
type places struct {
	turns    *turns.Turns
	suspects chan struct{} // a token for the suspect that is being read
}

func (i *Importer) init() {
	i.once.Do(func() {
		i.places = places{turns.New(or(i.Workers, runtime.NumCPU())), make(chan struct{}, 1)}
		i.places.turns.GiveBackAfter = i.GiveBackAfter
	})
}

// acquire waits until it is a file's turn to be read. The context is for the
// reading: its cause is turns.ErrSetAside if others need the place. release lets
// the next in.
func (i *Importer) acquire(ctx context.Context, file *turns.File, suspect bool) (reading context.Context, release func(), err error) {
	i.init()
	if !suspect {
		return i.places.turns.Begin(ctx, file)
	}
	select {
	case i.places.suspects <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	reading, end, err := i.places.turns.Begin(ctx, file)
	if err != nil {
		<-i.places.suspects
		return nil, nil, err
	}
	return reading, func() { end(); <-i.places.suspects }, nil
}

// Room returns how many more files of an owner should be delivered to this
// process: he has held of them here, and may have most if he is the only one.
func (i *Importer) Room(owner string, held, most int) int {
	i.init()
	return i.places.turns.Room(owner, held, most)
}

// orderKey is the context's key of a message's place among those delivered.
type orderKey struct{}

// turnOf is a file as one that takes its turn: its user's come in the order in
// which they were delivered.
func turnOf(ctx context.Context, owner events.Principal) *turns.File {
	order, _ := ctx.Value(orderKey{}).(int64)
	return &turns.File{Owner: string(owner), Order: order}
}

// start notes that this process takes up a file, and reports whether it does
// so for the first time: another try is no start.
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

// isolated reports whether this process noted that a file is read alone.
func (i *Importer) isolated(w Work) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.alone[w]
}

// isolate notes, in the log and here, that a file is read alone from here on:
// before it is, since whatever happens then may leave no time for it.
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

// forget forgets a file whose work has ended, or goes on elsewhere.
func (i *Importer) forget(w Work) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.started, w)
	delete(i.alone, w)
}
