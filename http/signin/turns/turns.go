// Package turns lets few do costly work at once. Those who wait take turns by
// class, and within a class by key: who sends much waits for himself.
//
// It may import the standard library alone.
package turns

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

// Gate has so many places. Methods may be called from several goroutines.
type Gate struct {
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

// New returns a gate with so many places and classes.
func New(places, classes int) *Gate {
	g := &Gate{free: places, classes: make([]class, classes)}
	for i := range g.classes {
		g.classes[i].byKey = map[string][]*waiter{}
	}
	return g
}

// Waiting returns how many wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Enter waits for a place, which leave gives back. Where too many wait already it
// is ErrFull.
func (g *Gate) Enter(ctx context.Context, t Turn) (leave func(), err error) {
	g.mu.Lock()
	c := &g.classes[t.Class]
	switch {
	case g.free > 0:
		g.free--
		g.mu.Unlock()
		return g.leave, nil
	case len(c.byKey[t.Key]) >= perKey, c.waiting >= perClass && !g.makeRoom(c, t.Key):
		g.mu.Unlock()
		return nil, ErrFull
	}
	w := &waiter{make(chan struct{}), make(chan struct{})}
	if len(c.byKey[t.Key]) == 0 {
		c.keys = append(c.keys, t.Key)
	}
	c.byKey[t.Key] = append(c.byKey[t.Key], w)
	c.waiting++
	g.waiting++
	g.mu.Unlock()
	select {
	case <-w.enter:
		return g.leave, nil
	case <-w.full:
		return nil, ErrFull
	case <-ctx.Done():
	}
	if g.giveUp(t, w) {
		return nil, ctx.Err()
	}
	select {
	case <-w.enter: // the place came at this moment
		g.leave()
	case <-w.full:
	}
	return nil, ctx.Err()
}

// makeRoom turns the last away of the key that waits most in a full class, if that
// is more than the newcomer would.
func (g *Gate) makeRoom(c *class, newcomer string) bool {
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
	g.waiting--
	return true
}

// giveUp removes one who waits; it reports false for one who does no longer.
func (g *Gate) giveUp(t Turn, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.classes[t.Class]
	for i, other := range c.byKey[t.Key] {
		if other == w {
			c.remove(t.Key, i)
			g.waiting--
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
func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.classes {
		n := (g.last + 1 + i) % len(g.classes)
		c := &g.classes[n]
		if c.waiting == 0 {
			continue
		}
		g.last = n
		key := c.keys[0]
		w := c.byKey[key][0]
		c.remove(key, 0)
		if len(c.byKey[key]) > 0 { // to the end of the line
			c.keys = append(c.keys[1:], key)
		}
		g.waiting--
		close(w.enter)
		return
	}
	g.free++
}
