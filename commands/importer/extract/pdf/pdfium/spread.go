package pdfium

import (
	"context"
	"sync"
)

const (
	chunkPages  = 8       // pages of one request
	chunkBytes  = 1 << 20 // of pages that wait to be visited, for each chunk
	chunksAhead = 8       // chunks read ahead of the one that is visited
)

// spread is the reading of one file by several processes. The one that opened it
// reads chunk after chunk; idle processes read later chunks. Pages are visited in
// order.
type spread struct {
	*Readers
	file  File
	pages int
	visit Visitor

	mu      sync.Mutex
	taken   int // the last page that is in a chunk
	chunks  chan *chunk
	helpers sync.WaitGroup
}

// run reads all pages, beginning with the process that opened the file, and returns
// once no process works on it.
func (s *spread) run(ctx context.Context, first *reading) error {
	ctx, cancel := context.WithCancel(ctx)
	s.chunks = make(chan *chunk, chunksAhead)
	s.helpers.Go(func() { s.work(ctx, first, func() bool { return true }) })
	err := s.visitAll(ctx)
	if err != nil {
		cancel() // this ends the processes
	}
	s.helpers.Wait()
	cancel()
	return err
}

// visitAll visits the pages in order while they are read.
func (s *spread) visitAll(ctx context.Context) error {
	for visited := 0; visited < s.pages; {
		var c *chunk
		select {
		case c = <-s.chunks:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.help(ctx)
		for visited < c.last {
			page, err := c.get()
			if err != nil {
				return err
			}
			visited++
			if err := s.visit.Page(visited, page); err != nil {
				return err
			}
		}
	}
	return nil
}

// help adds another process if one is free and enough pages remain.
func (s *spread) help(ctx context.Context) {
	s.mu.Lock()
	left := s.pages - s.taken
	s.mu.Unlock()
	if s.file.Alone || left <= 2*chunkPages || len(s.chunks) > cap(s.chunks)/2 || s.waiting.Load() > 0 || len(s.slots) >= cap(s.slots)-s.config.Reserved {
		return
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return
	}
	s.helpers.Go(func() {
		defer func() { <-s.slots }()
		p, err := s.pool.Take(ctx, false)
		if err != nil {
			return // the others read on
		}
		r := &reading{Process: p, config: &s.config}
		if _, err := r.open(ctx, s.file, s.pages); err == nil {
			s.work(ctx, r, func() bool { return s.waiting.Load() == 0 && len(s.chunks) < cap(s.chunks) })
		}
		s.pool.Release(p)
	})
}

// work reads chunks until none is left, one fails, or more returns false.
func (s *spread) work(ctx context.Context, r *reading, more func() bool) {
	for more() {
		c := s.next(ctx)
		if c == nil {
			break
		}
		err := r.read(ctx, c)
		c.end(err)
		if err != nil {
			return
		}
	}
	r.finish(ctx)
}

// next returns the next chunk to read, or nil.
func (s *spread) next(ctx context.Context) *chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.pages {
		return nil
	}
	c := &chunk{first: s.taken + 1, last: min(s.taken+chunkPages, s.pages)}
	c.moved = sync.NewCond(&c.mu)
	select {
	case s.chunks <- c:
		s.taken = c.last
		return c
	case <-ctx.Done():
		return nil
	}
}

// chunk is a queue of consecutive pages, bounded in bytes.
type chunk struct {
	first, last int

	mu      sync.Mutex
	moved   *sync.Cond
	pages   [][]byte
	waiting int // bytes
	dropped bool
	ended   bool
	err     error
}

// put adds a page, once the chunk has space for it.
func (c *chunk) put(page []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pages) > 0 && c.waiting+len(page) > chunkBytes && !c.dropped {
		c.moved.Wait()
	}
	if c.dropped {
		return
	}
	c.pages, c.waiting = append(c.pages, page), c.waiting+len(page)
	c.moved.Broadcast()
}

// get returns the next page, or the error that ended the chunk before it.
func (c *chunk) get() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pages) == 0 && !c.ended {
		c.moved.Wait()
	}
	if len(c.pages) == 0 {
		return nil, c.err
	}
	page := c.pages[0]
	c.waiting -= len(page)
	c.pages[0] = nil
	c.pages = c.pages[1:]
	c.moved.Broadcast()
	return page, nil
}

// end marks the end of the pages. err is not nil if some are missing.
func (c *chunk) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.err = true, err
	c.moved.Broadcast()
}

// drop discards the pages and releases put.
func (c *chunk) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped, c.pages = true, nil
	c.moved.Broadcast()
}
