// Package queue limits how many costly operations run concurrently. Callers that have to wait
// are served in turn by class, and within a class in turn by key. A key with many waiting
// callers therefore delays only its own callers.
//
// It may import the standard library alone.
package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Maximum numbers of waiting callers.
const (
	maxPerKey   = 8
	maxPerClass = 1000
)

// ErrFull means that too many callers are waiting.
var ErrFull = errors.New("too many callers are waiting")

// Caller says whose turn a call waits for: its class, counted from 0, and a key within that
// class, such as a client address.
type Caller struct {
	Class int
	Key   string
}

// Queue is a semaphore that serves waiting callers in turn. Methods may be called
// concurrently.
type Queue struct {
	mu      sync.Mutex
	free    int // number of free slots
	waiting int
	classes []class
	last    int // index of the class that was served last
}

// class contains the waiting callers of a class by key, and the keys in the order in which
// they are served next.
type class struct {
	waiting int
	keys    []string
	byKey   map[string][]*waiter
}

// waiter is a waiting caller. Exactly one of the two channels is closed, when the caller is
// admitted or rejected.
type waiter struct{ admitted, rejected chan struct{} }

// New returns a queue with a number of slots and classes.
func New(slots, classes int) *Queue {
	q := &Queue{free: slots, classes: make([]class, classes)}
	for i := range q.classes {
		q.classes[i].byKey = map[string][]*waiter{}
	}
	return q
}

// Waiting returns the number of waiting callers.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Enter waits for a slot. The caller must call leave to release the slot. If too many callers
// are waiting, the error is ErrFull.
func (q *Queue) Enter(ctx context.Context, caller Caller) (leave func(), err error) {
	q.mu.Lock()
	c := &q.classes[caller.Class]
	switch {
	case q.free > 0:
		q.free--
		q.mu.Unlock()
		return q.leave, nil
	case len(c.byKey[caller.Key]) >= maxPerKey, c.waiting >= maxPerClass && !q.makeRoom(c, caller.Key):
		q.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{make(chan struct{}), make(chan struct{})}
	if len(c.byKey[caller.Key]) == 0 {
		c.keys = append(c.keys, caller.Key)
	}
	c.byKey[caller.Key] = append(c.byKey[caller.Key], w)
	c.waiting++
	q.waiting++
	q.mu.Unlock()
	select {
	case <-w.admitted:
		return q.leave, nil
	case <-w.rejected:
		return nil, ErrFull
	case <-ctx.Done():
	}
	if q.cancel(caller, w) {
		return nil, ctx.Err()
	}
	select {
	case <-w.admitted: // ctx was canceled, but the caller got a slot at the same time
		q.leave()
	case <-w.rejected:
	}
	return nil, ctx.Err()
}

// makeRoom makes room for newcomer, a key, in a full class: it rejects the last waiting caller
// of the key with the largest number of waiting callers. It rejects no caller and returns
// false if newcomer would then have as many waiting callers as that key, or more.
func (q *Queue) makeRoom(c *class, newcomer string) bool {
	largest := ""
	for key, waiting := range c.byKey {
		if len(waiting) > len(c.byKey[largest]) {
			largest = key
		}
	}
	last := len(c.byKey[largest]) - 1
	if last < len(c.byKey[newcomer])+1 {
		return false
	}
	close(c.byKey[largest][last].rejected)
	c.remove(largest, last)
	q.waiting--
	return true
}

// cancel removes a waiting caller from the queue. It returns false if the caller was already
// admitted or rejected.
func (q *Queue) cancel(caller Caller, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.classes[caller.Class]
	i := slices.Index(c.byKey[caller.Key], w)
	if i >= 0 {
		c.remove(caller.Key, i)
		q.waiting--
	}
	return i >= 0
}

// remove removes the waiting caller at index i of a key.
func (c *class) remove(key string, i int) {
	c.waiting--
	if c.byKey[key] = slices.Delete(c.byKey[key], i, i+1); len(c.byKey[key]) > 0 {
		return
	}
	delete(c.byKey, key)
	n := slices.Index(c.keys, key)
	c.keys = slices.Delete(c.keys, n, n+1)
}

// leave passes the slot to the next waiting caller. If no caller is waiting, the slot becomes
// free.
func (q *Queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.classes {
		n := (q.last + 1 + i) % len(q.classes)
		c := &q.classes[n]
		if c.waiting == 0 {
			continue
		}
		q.last = n
		key := c.keys[0]
		w := c.byKey[key][0]
		c.remove(key, 0)
		if len(c.byKey[key]) > 0 { // the key is served again after all other keys
			c.keys = append(c.keys[1:], key)
		}
		q.waiting--
		close(w.admitted)
		return
	}
	q.free++
}
