// Package queue bounds how much costly work runs at once. Waiting callers take turns by class,
// and within a class by key, so that a key with many calls delays itself.
//
// It may import the standard library alone.
package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Bounds on waiting callers.
const (
	perKey   = 8
	perClass = 1000
)

// ErrFull means that too many callers wait.
var ErrFull = errors.New("too many calls are waiting")

// Turn identifies a caller: a class, from 0 on, and a key within it.
type Turn struct {
	Class int
	Key   string
}

// Queue has a number of places. Methods may be called concurrently.
type Queue struct {
	mu      sync.Mutex
	free    int
	waiting int
	classes []class
	last    int // class that was served last
}

// class holds the waiting callers of a class by key, and the keys in the order of their turns.
type class struct {
	waiting int
	keys    []string
	byKey   map[string][]*waiter
}

type waiter struct{ enter, full chan struct{} }

// New returns a queue with so many places and classes.
func New(places, classes int) *Queue {
	q := &Queue{free: places, classes: make([]class, classes)}
	for i := range q.classes {
		q.classes[i].byKey = map[string][]*waiter{}
	}
	return q
}

// Waiting returns how many callers wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Enter waits for a place, which leave releases. If too many callers wait, it is ErrFull.
func (q *Queue) Enter(ctx context.Context, t Turn) (leave func(), err error) {
	q.mu.Lock()
	c := &q.classes[t.Class]
	switch {
	case q.free > 0:
		q.free--
		q.mu.Unlock()
		return q.leave, nil
	case len(c.byKey[t.Key]) >= perKey, c.waiting >= perClass && !q.makeRoom(c, t.Key):
		q.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{make(chan struct{}), make(chan struct{})}
	if len(c.byKey[t.Key]) == 0 {
		c.keys = append(c.keys, t.Key)
	}
	c.byKey[t.Key] = append(c.byKey[t.Key], w)
	c.waiting++
	q.waiting++
	q.mu.Unlock()
	select {
	case <-w.enter:
		return q.leave, nil
	case <-w.full:
		return nil, ErrFull
	case <-ctx.Done():
	}
	if q.giveUp(t, w) {
		return nil, ctx.Err()
	}
	select {
	case <-w.enter: // the place came at this moment
		q.leave()
	case <-w.full:
	}
	return nil, ctx.Err()
}

// makeRoom rejects the last caller of the key that waits most in a full class, if the
// newcomer's key has fewer. It reports whether it did.
func (q *Queue) makeRoom(c *class, newcomer string) bool {
	most := ""
	for key, waiting := range c.byKey {
		if len(waiting) > len(c.byKey[most]) {
			most = key
		}
	}
	last := len(c.byKey[most]) - 1
	if last < len(c.byKey[newcomer])+1 {
		return false
	}
	close(c.byKey[most][last].full)
	c.remove(most, last)
	q.waiting--
	return true
}

// giveUp removes a waiting caller. It reports false if the caller no longer waits.
func (q *Queue) giveUp(t Turn, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.classes[t.Class]
	i := slices.Index(c.byKey[t.Key], w)
	if i >= 0 {
		c.remove(t.Key, i)
		q.waiting--
	}
	return i >= 0
}

// remove takes the i-th caller of a key out of the class.
func (c *class) remove(key string, i int) {
	c.waiting--
	if c.byKey[key] = slices.Delete(c.byKey[key], i, i+1); len(c.byKey[key]) > 0 {
		return
	}
	delete(c.byKey, key)
	n := slices.Index(c.keys, key)
	c.keys = slices.Delete(c.keys, n, n+1)
}

// leave passes the place to the next caller.
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
		if len(c.byKey[key]) > 0 { // to the end of the line
			c.keys = append(c.keys[1:], key)
		}
		q.waiting--
		close(w.enter)
		return
	}
	q.free++
}
