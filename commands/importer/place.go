package importer

import (
	"context"
	"runtime"

	"annals/commands/importer/turns"
	"annals/events"
)

const (
	// maxStarts bounds how often work on a file is taken up, so that one
	// which brings the process down does not do so for ever.
	maxStarts = 20
	// suspectStarts is how many starts make a file a suspect. Suspects are
	// read one at a time: one that brings the process down then no longer
	// cuts off the same others again and again, until they seem to be like it.
	suspectStarts = 3
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

// Room returns how many more files of an owner are worth being delivered ahead
// of their turn, most of all.
func (i *Importer) Room(owner string, most int) int {
	i.init()
	return i.places.turns.Room(owner, most)
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

// took reports whether this process took up a file.
func (i *Importer) took(w Work) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.started[w]
}

// forget forgets a file whose work has ended, or goes on elsewhere.
func (i *Importer) forget(w Work) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.started, w)
}
