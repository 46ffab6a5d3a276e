package originals

import (
	"context"
	"sync"
)

// busy prevents that an original is committed and deleted at the same time. The zero
// value is ready to use.
type busy struct {
	mu         sync.Mutex
	committing map[string]int
	deleting   map[string]chan struct{} // closed after the deletion
}

// commit waits while an original is being deleted, and then prevents its deletion until
// done is called.
func (b *busy) commit(ctx context.Context, name string) (done func(), err error) {
	for {
		b.mu.Lock()
		deleted, deleting := b.deleting[name]
		if !deleting {
			if b.committing == nil {
				b.committing = make(map[string]int)
			}
			b.committing[name]++
			b.mu.Unlock()
			return func() { b.committed(name) }, nil
		}
		b.mu.Unlock()
		select {
		case <-deleted:
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

// delete returns ok = true if no other call is committing or deleting an original. The
// caller may then delete the original, and must call done afterwards.
func (b *busy) delete(name string) (done func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, other := b.deleting[name]; other || b.committing[name] > 0 {
		return nil, false
	}
	if b.deleting == nil {
		b.deleting = make(map[string]chan struct{})
	}
	deleted := make(chan struct{})
	b.deleting[name] = deleted
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.deleting, name)
		close(deleted)
	}, true
}
