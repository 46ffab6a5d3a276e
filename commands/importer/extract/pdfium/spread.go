package pdfium

import (
	"context"
	"sync"
)

const (
	chunkPages  = 8       // read at one request
	chunkBytes  = 1 << 20 // of pages that wait for their turn, for each chunk
	chunksAhead = 8       // of those that are visited
)

// spread is the reading of one file. The process that opened it reads chunk
// after chunk; processes that nobody else has use for help with the chunks
// behind. Pages are visited in order.
type spread struct {
	*Readers
	file  File
	pages int
	visit Visitor

	mu      sync.Mutex
	taken   int // the last page in chunks
	chunks  chan *chunk
	helpers sync.WaitGroup
}

// run reads all pages, the first process being lead, and returns when no
// process is at work on the file any more.
func (s *spread) run(ctx context.Context, lead *reading) error {
	ctx, cancel := context.WithCancel(ctx)
	s.chunks = make(chan *chunk, chunksAhead)
	s.helpers.Go(func() { s.work(ctx, lead, func() bool { return true }) })
	err := s.visitAll(ctx)
	if err != nil {
		cancel() // which ends the processes
	}
	s.helpers.Wait()
	cancel()
	return err
}

// visitAll visits the pages as they come.
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

// help sets another process to work if there is enough to do and one is free.
func (s *spread) help(ctx context.Context) {
	s.mu.Lock()
	left := s.pages - s.taken
	s.mu.Unlock()
	if s.file.Alone || left <= 2*chunkPages || len(s.chunks) > cap(s.chunks)/2 || s.waiting.Load() > 0 || len(s.slots) >= cap(s.slots)-s.config.Spare {
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
			return // without help, then
		}
		r := &reading{Process: p, config: &s.config}
		if _, err := r.open(ctx, s.file, s.pages); err == nil {
			s.work(ctx, r, func() bool { return s.waiting.Load() == 0 && len(s.chunks) < cap(s.chunks) })
		}
		s.pool.Release(p)
	})
}

// work reads chunks until none is left, one fails, or more says no.
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

// next takes the next chunk, or nil.
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

// chunk is a queue of some pages. Those that wait are bounded in bytes.
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

// put adds a page when there is room for it.
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

// end says that no more pages come, and why if some are missing.
func (c *chunk) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.err = true, err
	c.moved.Broadcast()
}

// drop says that no more pages are wanted, so that put does not wait.
func (c *chunk) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped, c.pages = true, nil
	c.moved.Broadcast()
}
