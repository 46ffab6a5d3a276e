package originals

import (
	"context"
	"sync"
)

// busy excludes deleting and committing the same original at once. The zero value
// is ready.
type busy struct {
	mu         sync.Mutex
	committing map[string]int
	deleting   map[string]chan struct{} // closed when it is done
}

// commit waits until an original is not being deleted, and prevents its deletion
// until done is called.
func (b *busy) commit(ctx context.Context, name string) (done func(), err error) {
	for {
		b.mu.Lock()
		gone, waits := b.deleting[name]
		if !waits {
			if b.committing == nil {
				b.committing = make(map[string]int)
			}
			b.committing[name]++
			b.mu.Unlock()
			return func() { b.committed(name) }, nil
		}
		b.mu.Unlock()
		select {
		case <-gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (b *busy) committed(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.committing[name]--; b.committing[name] == 0 {
		delete(b.committing, name)
	}
}

// delete reports whether an original may be deleted until done is called: not while
// it is committed or deleted by another call.
func (b *busy) delete(name string) (done func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, other := b.deleting[name]; other || b.committing[name] > 0 {
		return nil, false
	}
	if b.deleting == nil {
		b.deleting = make(map[string]chan struct{})
	}
	gone := make(chan struct{})
	b.deleting[name] = gone
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.deleting, name)
		close(gone)
	}, true
}
