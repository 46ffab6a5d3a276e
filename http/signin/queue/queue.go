// Package queue lets few do costly work at once. Those who wait take turns by
// class, and within a class by key: who sends much waits for himself.
//
// It may import the standard library alone.
package queue

import (
	"context"
	"errors"
	"sync"
)

// Bounds on those who wait.
const (
	perKey   = 8
	perClass = 1000
)

// ErrFull says that too many wait.
var ErrFull = errors.New("too many wait for their turn")

// Turn is who wants to enter: a class, from 0 on, and a key within it.
type Turn struct {
	Class int
	Key   string
}

// Queue is for a number of places. Methods may be called from several goroutines.
type Queue struct {
	mu      sync.Mutex
	free    int
	waiting int
	classes []class
	last    int // class that was served last
}

// class holds those who wait, by key, in the order in which keys have their turns.
type class struct {
	waiting int
	keys    []string
	byKey   map[string][]*waiter
}

type waiter struct{ enter, full chan struct{} }

// New returns a queue for so many places and classes.
func New(places, classes int) *Queue {
	q := &Queue{free: places, classes: make([]class, classes)}
	for i := range q.classes {
		q.classes[i].byKey = map[string][]*waiter{}
	}
	return q
}

// Waiting returns how many wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Enter waits for a place, which leave gives back. Where too many wait already it
// is ErrFull.
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

// makeRoom turns the last away of the key that waits most in a full class, if that
// is more than the newcomer would.
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

// giveUp removes one who waits; it reports false for one who does no longer.
func (q *Queue) giveUp(t Turn, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.classes[t.Class]
	for i, other := range c.byKey[t.Key] {
		if other == w {
			c.remove(t.Key, i)
			q.waiting--
			return true
		}
	}
	return false
}

// remove takes the i-th who waits with a key out of the class.
func (c *class) remove(key string, i int) {
	rest := append(c.byKey[key][:i:i], c.byKey[key][i+1:]...)
	c.waiting--
	if len(rest) > 0 {
		c.byKey[key] = rest
		return
	}
	delete(c.byKey, key)
	for n, k := range c.keys {
		if k == key {
			c.keys = append(c.keys[:n], c.keys[n+1:]...)
			return
		}
	}
}

// leave hands the place to the next.
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
