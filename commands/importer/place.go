package importer

import (
	"context"
	"runtime"
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
	readers  chan struct{} // a token for each file that is being read
	suspects chan struct{} // one for the suspect among them
}

// acquire waits until a file may be read; release lets the next in.
func (i *Importer) acquire(ctx context.Context, suspect bool) (release func(), err error) {
	i.once.Do(func() {
		i.places = places{make(chan struct{}, or(i.Workers, runtime.NumCPU())), make(chan struct{}, 1)}
	})
	queues := []chan struct{}{i.places.readers}
	if suspect {
		queues = []chan struct{}{i.places.suspects, i.places.readers}
	}
	release = func() {}
	for _, queue := range queues {
		before := release
		select {
		case queue <- struct{}{}:
			release = func() { <-queue; before() }
		case <-ctx.Done():
			before()
			return nil, ctx.Err()
		}
	}
	return release, nil
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
