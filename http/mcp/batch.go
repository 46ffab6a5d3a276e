package mcp

import "sync"

// maxBatch is the most calls that one request may come with. All of their
// results are held until the last is there.
const maxBatch = 50

// batch is the calls of one request, of which the oldest versions of the
// protocol allow several. They are answered one at a time, so that such a request
// costs no more at once than any other.
type batch struct {
	sync.Mutex
	begun int
}

// begin waits for the turn of a call, which end ends. It reports false for those
// that are too many, which have none.
func (b *batch) begin() bool {
	b.Lock()
	if b.begun++; b.begun > maxBatch {
		b.Unlock()
		return false
	}
	return true
}

func (b *batch) end() { b.Unlock() }
