package pdfium

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func numbered(t *testing.T, n int) string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i+1)
	}
	return linePDF(t, lines...)
}

func TestProcessesShareFileInOrder(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 3})
	const pages = 5*chunkPages + 3
	read := 0
	err := visit(t.Context(), r, numbered(t, pages), pages, visitor{
		document: func(d Document) error {
			if d.Pages != pages {
				t.Errorf("%d pages, want %d", d.Pages, pages)
			}
			return nil
		},
		page: func(p Page) error {
			read++
			if p.Number != read || len(p.Lines) != 1 || p.Lines[0].Text != fmt.Sprintf("line %d", read) {
				t.Errorf("page %d is %+v", read, p)
			}
			return nil
		},
	})
	if err != nil || read != pages {
		t.Errorf("Read = %d pages, %v, want %d", read, err, pages)
	}
	if len(r.slots) != 0 || r.pool.Idle() < 2 {
		t.Errorf("%d processes in use and %d idle, want none and several", len(r.slots), r.pool.Idle())
	}
}

func TestEarlyEndStopsHelpers(t *testing.T) {
	path := numbered(t, 20*chunkPages)
	stop := errors.New("stop")
	for _, canceled := range []bool{false, true} {
		r := readersOf(t, "serve", Config{Processes: 2})
		ctx, cancel := context.WithCancel(t.Context())
		err := visit(ctx, r, path, 1000, visitor{
			page: func(p Page) error {
				if p.Number < 2*chunkPages {
					return nil
				}
				if canceled {
					cancel()
					return nil
				}
				return stop
			},
		})
		if want := map[bool]error{false: stop, true: context.Canceled}[canceled]; err != want {
			t.Errorf("Read = %v, want %v", err, want)
		}
		if len(r.slots) != 0 {
			t.Errorf("%d processes are still in use", len(r.slots))
		}
		if pages, err := pagesOf(t.Context(), r, linePDF(t, "one")); err != nil || len(pages) != 1 {
			t.Errorf("next Read = %d pages, %v", len(pages), err)
		}
		cancel()
	}
}

func TestChunkLimitsBufferedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &parallel{pages: chunkPages, chunks: make(chan *chunk, 1)}
		c := s.next(t.Context())
		var put atomic.Int32
		go func() {
			for range 3 {
				c.put(queued{page: make([]byte, chunkBytes)})
				put.Add(1)
			}
			c.end(nil)
		}()
		for n := int32(1); n <= 3; n++ {
			synctest.Wait()
			if got := put.Load(); got != n {
				t.Errorf("put returned for %d pages, want %d", got, n)
			}
			if _, err := c.get(t.Context()); err != nil {
				t.Error(err)
			}
		}
		c.put(queued{page: make([]byte, chunkBytes)})
		c.drop()
		c.put(queued{page: make([]byte, chunkBytes)}) // put must not block on a dropped chunk
		if len(c.pages) != 0 || s.next(t.Context()) != nil {
			t.Error("the dropped chunk has pages, or next returned a chunk twice")
		}
	})
}
