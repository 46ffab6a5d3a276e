package meilisearch

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// slow is how long an answer may take before the server is suspected.
	slow = time.Second
	// knockWithin is how long a server that is suspected has to say that it is
	// there, with the tries that it takes.
	knockWithin = 3 * time.Second
	// firstKnock and lastKnock bound the pauses in which one that does not is
	// asked again.
	firstKnock = 250 * time.Millisecond
	lastKnock  = 2 * time.Second
)

// door is shut while a server does not answer, so that no search waits for it in
// vain. Whoever waits for long or in vain suspects the server. It is then asked
// by one goroutine whether it is there, until it is; a search that is slow by
// itself shuts nothing.
type door struct {
	knock func(context.Context) error // asks the server

	life context.Context // ends with close
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	asking chan struct{}   // closed once the server is there; nil while nobody asks
	open   context.Context // ends when the door is shut, by an error of kind fault.Unavailable
	shut   context.CancelCauseFunc
}

func newDoor(knock func(context.Context) error) *door {
	d := &door{knock: knock}
	d.life, d.end = context.WithCancel(context.Background())
	d.open, d.shut = context.WithCancelCause(d.life)
	return d
}

// close waits for the goroutine that asks. Nobody is suspected any more.
func (d *door) close() {
	d.mu.Lock()
	d.end()
	d.mu.Unlock()
	d.work.Wait()
}

// away returns why the door is shut, nil while it is open.
func (d *door) away() error { return context.Cause(d.state()) }

func (d *door) state() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

// through carries out a search, unless the door is shut; one that waits while it
// is being shut is cut off.
func (d *door) through(ctx context.Context, within time.Duration, search func(context.Context) error) error {
	open := d.state()
	if open.Err() != nil {
		return context.Cause(open)
	}
	inside, leave := context.WithTimeout(ctx, within)
	defer leave()
	defer context.AfterFunc(open, leave)()
	err := search(inside)
	if err != nil && open.Err() != nil && ctx.Err() == nil {
		return context.Cause(open)
	}
	return err
}

// suspect has the server asked whether it is there, unless it is being asked.
func (d *door) suspect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asking == nil && d.life.Err() == nil {
		d.asking = make(chan struct{})
		d.work.Go(d.watch)
	}
}

// watch asks until the server is there. The door is shut meanwhile.
func (d *door) watch() {
	for pause := firstKnock; ; pause = min(2*pause, lastKnock) {
		err := try(d.life, knockWithin, d.knock)
		if d.life.Err() != nil {
			return
		}
		if !passes(err) { // what refuses is there, too
			d.found()
			return
		}
		d.shut(kind(fmt.Errorf("ask whether the server is there: %w", err)))
		if sleep(d.life, pause) != nil {
			return
		}
	}
}

// found opens the door.
func (d *door) found() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open.Err() != nil {
		d.open, d.shut = context.WithCancelCause(d.life)
	}
	close(d.asking)
	d.asking = nil
}
