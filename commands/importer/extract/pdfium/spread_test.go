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
	return written(t, lines...)
}

func TestSeveralProcessesReadOneFileInOrder(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 3})
	const pages = 5*chunkPages + 3
	read := 0
	err := r.Read(t.Context(), numbered(t, pages), pages, Visitor{
		Document: func(d Document) error {
			if d.Pages != pages {
				t.Errorf("%d pages, want %d", d.Pages, pages)
			}
			return nil
		},
		Page: func(p Page) error {
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
	if len(r.slots) != 0 || len(r.idle) < 2 {
		t.Errorf("%d processes at work and %d idle, want none and several", len(r.slots), len(r.idle))
	}
}

func TestAReadingThatEndsEarlyEndsItsHelpers(t *testing.T) {
	path := numbered(t, 20*chunkPages)
	stop := errors.New("stop")
	for _, canceled := range []bool{false, true} {
		r := readersOf(t, "serve", Config{Processes: 2})
		ctx, cancel := context.WithCancel(t.Context())
		err := r.Read(ctx, path, 1000, Visitor{
			Document: func(Document) error { return nil },
			Page: func(p Page) error {
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
			t.Errorf("%d processes are still at work", len(r.slots))
		}
		if pages, err := pagesOf(t.Context(), r, written(t, "one")); err != nil || len(pages) != 1 {
			t.Errorf("Read after it = %d pages, %v", len(pages), err)
		}
		cancel()
	}
}

func TestPagesThatWaitAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spread{doc: Document{Pages: chunkPages}, chunks: make(chan *chunk, 1)}
		c := s.next(t.Context())
		var put atomic.Int32
		go func() {
			for range 3 {
				c.put(Page{}, chunkBytes)
				put.Add(1)
			}
			c.end(nil)
		}()
		for n := int32(1); n <= 3; n++ {
			synctest.Wait()
			if got := put.Load(); got != n {
				t.Errorf("%d pages were put when %d had room", got, n)
			}
			if _, err := c.get(); err != nil {
				t.Error(err)
			}
		}
		c.put(Page{}, chunkBytes)
		c.drop()
		c.put(Page{}, chunkBytes) // does not wait any more
		if len(c.pages) != 0 || s.next(t.Context()) != nil {
			t.Error("pages are kept, or taken twice")
		}
	})
}
