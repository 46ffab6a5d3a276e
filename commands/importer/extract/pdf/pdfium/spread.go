package pdfium

import (
	"context"
	"sync"
	"sync/atomic"
)

const (
	chunkPages  = 8       // maximum number of pages in one request
	chunkBytes  = 1 << 20 // bytes of a chunk's pages that are read but not visited yet
	chunksAhead = 8       // chunks that may be read before they are visited
)

// parallel reads a file in several processes: the process that opened the file and helpers,
// which are processes that would be idle otherwise. Each process reads one chunk of pages
// after the other. The pages are visited in order.
type parallel struct {
	*Readers
	file  File
	pages int
	visit Visitor

	mu      sync.Mutex
	taken   int // number of the last page that is in a chunk
	chunks  chan *chunk
	helpers sync.WaitGroup

	// scanning is set once a page was found to be scanned. Recognising pages takes much longer
	// than drawing them, so helpers would only occupy processes.
	scanning atomic.Bool
}

// run reads all pages, and returns when no process reads the file any more.
func (s *parallel) run(ctx context.Context, first *session) error {
	ctx, cancel := context.WithCancel(ctx)
	s.chunks = make(chan *chunk, chunksAhead)
	s.helpers.Go(func() { s.work(ctx, first, func() bool { return true }) })
	err := s.visitAll(ctx)
	if err != nil {
		cancel() // kills the processes
	}
	s.helpers.Wait()
	cancel()
	if s.scanning.Load() {
		s.scans.Add(-1)
	}
	return err
}

// visitAll visits the pages in order, while the processes read them.
func (s *parallel) visitAll(ctx context.Context) error {
	for visited := 0; visited < s.pages; {
		var c *chunk
		select {
		case c = <-s.chunks:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.help(ctx)
		for visited < c.last {
			page, err := c.get(ctx)
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

// help adds a helper if a process is free and enough pages are left.
func (s *parallel) help(ctx context.Context) {
	s.mu.Lock()
	left := s.pages - s.taken
	s.mu.Unlock()
	if s.file.Alone || s.scanning.Load() || left <= 2*chunkPages || len(s.chunks) > cap(s.chunks)/2 || s.waiting.Load() > 0 || len(s.slots)-int(s.scans.Load()) >= cap(s.slots)-s.config.Reserved {
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
			return // the other processes continue
		}
		r := &session{Process: p, config: &s.config}
		if _, err := r.open(ctx, s.file, s.pages, true); err == nil {
			s.work(ctx, r, func() bool { return s.waiting.Load() == 0 && !s.scanning.Load() && len(s.chunks) < cap(s.chunks) })
		}
		s.pool.Release(r.Process)
	})
}

// work reads one chunk after the other, until no chunk is left, reading a chunk fails, or
// more returns false.
func (s *parallel) work(ctx context.Context, r *session, more func() bool) {
	for more() {
		c := s.next(ctx)
		if c == nil {
			break
		}
		err := s.read(ctx, r, c)
		c.end(err)
		if err != nil {
			return
		}
	}
	r.finish(ctx)
}

// next returns the next chunk to read, or nil.
func (s *parallel) next(ctx context.Context) *chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.pages {
		return nil
	}
	c := &chunk{first: s.taken + 1, last: min(s.taken+chunkPages, s.pages)}
	c.changed = sync.NewCond(&c.mu)
	select {
	case s.chunks <- c:
		s.taken = c.last
		return c
	case <-ctx.Done():
		return nil
	}
}

// chunk is a queue of consecutive pages with a limited size.
type chunk struct {
	first, last int

	mu      sync.Mutex
	changed *sync.Cond
	pages   []queued
	bytes   int // of pages
	dropped bool
	ended   bool
	err     error
}

// queued is a page, or where a page that is being recognised will arrive.
type queued struct {
	page  []byte
	later <-chan []byte
}

// put waits until the chunk has space for a page, and adds it.
func (c *chunk) put(page queued) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pages) > 0 && c.bytes+len(page.page) > chunkBytes && !c.dropped {
		c.changed.Wait()
	}
	if c.dropped {
		return
	}
	c.pages, c.bytes = append(c.pages, page), c.bytes+len(page.page)
	c.changed.Broadcast()
}

// get waits for the next page. After the last page it returns the error that end was called
// with.
func (c *chunk) get(ctx context.Context) ([]byte, error) {
	next, err := c.take()
	if err != nil || next.later == nil {
		return next.page, err
	}
	select {
	case page := <-next.later:
		return page, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *chunk) take() (queued, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pages) == 0 && !c.ended {
		c.changed.Wait()
	}
	if len(c.pages) == 0 {
		return queued{}, c.err
	}
	page := c.pages[0]
	c.bytes -= len(page.page)
	c.pages[0] = queued{}
	c.pages = c.pages[1:]
	c.changed.Broadcast()
	return page, nil
}

// end marks that no more pages follow. err is nil if the chunk is complete.
func (c *chunk) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.err = true, err
	c.changed.Broadcast()
}

// drop discards the pages and unblocks put.
func (c *chunk) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped, c.pages = true, nil
	c.changed.Broadcast()
}
