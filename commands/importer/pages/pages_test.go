package pages

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands/importer/extract"
	"annals/events/fault"
	"annals/events/originals"
)

// viewer is an extract.Viewer whose picture of a page is the content of the file. Each call takes
// a second.
type viewer struct {
	calls   atomic.Int32
	running atomic.Int32
	most    atomic.Int32 // most concurrent calls
	err     error
}

func (v *viewer) Picture(ctx context.Context, file extract.Original, page, width int) ([]byte, error) {
	v.calls.Add(1)
	v.most.Store(max(v.most.Load(), v.running.Add(1)))
	defer v.running.Add(-1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if v.err != nil {
		return nil, v.err
	}
	return os.ReadFile(file.Path)
}

func (v *viewer) Words(ctx context.Context, file extract.Original, page int) (extract.Page, error) {
	_, err := v.Picture(ctx, file, page, 0)
	return extract.Page{Width: 3}, err
}

// startPages returns Pages with a viewer and one original.
func startPages(t *testing.T, atOnce int) (p *Pages, v *viewer, original string) {
	store, err := originals.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	staged, err := store.Stage(t.Context(), strings.NewReader("a file"), 100)
	if err == nil {
		err = staged.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	v = &viewer{}
	return &Pages{Originals: store, Viewer: v, Cache: openCache(t, t.TempDir(), 1<<20), AtOnce: atOnce}, v, staged.SHA256()
}

// opened counts how often originals are opened, and how many are open.
type opened struct {
	originals.Store
	times, open atomic.Int32
}

func (o *opened) Path(ctx context.Context, original string) (string, func(), error) {
	path, release, err := o.Store.Path(ctx, original)
	o.times.Add(1)
	o.open.Add(1)
	return path, func() { release(); o.open.Add(-1) }, err
}

// A file is kept open for a while, because opening it may be a download.
func TestFilesAreKeptOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, original := startPages(t, 4)
		store := &opened{Store: p.Originals}
		p.Originals = store
		words := func() {
			if _, err := p.Words(t.Context(), original, extract.PDF, 1); err != nil {
				t.Error(err)
			}
		}
		words()
		var group sync.WaitGroup
		for range 8 {
			group.Go(words)
		}
		group.Wait()
		time.Sleep(keepOpen / 2)
		words()
		if times, open := store.times.Load(), store.open.Load(); times != 1 || open != 1 {
			t.Errorf("the original was opened %d times, and %d are open; want 1 and 1", times, open)
		}
		time.Sleep(2 * keepOpen)
		if open := store.open.Load(); open != 0 {
			t.Errorf("%d files are open after a pause, want none", open)
		}
		for range 3 {
			group.Go(words) // each opens the file
		}
		group.Wait()
		if times, open := store.times.Load(), store.open.Load(); times != 4 || open != 1 {
			t.Errorf("the original was opened %d times, and %d are open; want 4 and 1", times, open)
		}
		if err := p.Close(); err != nil || store.open.Load() != 0 {
			t.Errorf("Close = %v, %d files are open", err, store.open.Load())
		}
	})
}

// Each picture is drawn once, also if several requests for it wait at the same time.
func TestPicturesAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v, original := startPages(t, 1)
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if b, err := p.Picture(t.Context(), original, extract.PDF, 1, 600); err != nil || string(b) != "a file" {
					t.Errorf("Picture = %q, %v", b, err)
				}
			})
		}
		group.Wait()
		if n := v.calls.Load(); n != 1 {
			t.Errorf("the page was drawn %d times, want once", n)
		}
		for _, other := range []struct{ page, width int }{{2, 600}, {1, 601}} {
			if _, err := p.Picture(t.Context(), original, extract.PDF, other.page, other.width); err != nil {
				t.Error(err)
			}
		}
		if n := v.calls.Load(); n != 3 {
			t.Errorf("three pictures were drawn %d times, want 3", n)
		}
		tags := map[string]bool{p.Tag(original, 1, 600): true, p.Tag(original, 2, 600): true, p.Tag(original, 1, 601): true, p.Tag("other", 1, 600): true}
		if len(tags) != 4 {
			t.Errorf("tags of different pictures are equal: %v", tags)
		}
		q := &Pages{Originals: p.Originals, Viewer: v} // without a cache
		for range 2 {
			if _, err := q.Picture(t.Context(), original, extract.PDF, 1, 600); err != nil {
				t.Error(err)
			}
		}
		if n := v.calls.Load(); n != 5 {
			t.Errorf("without a cache, the page was drawn %d times, want 2", n-3)
		}
	})
}

// At most AtOnce pages are shown concurrently. Who waits for too long is told to try again.
func TestPagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v, original := startPages(t, 2)
		var shown, busy atomic.Int32
		var group sync.WaitGroup
		for i := range 40 {
			group.Go(func() {
				_, err := p.Picture(t.Context(), original, extract.PDF, 1+i, 600)
				switch {
				case err == nil:
					shown.Add(1)
				case fault.Is(err, fault.Unavailable):
					busy.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := v.most.Load(); n != 2 {
			t.Errorf("%d pages were drawn concurrently, want 2", n)
		}
		// In ten seconds, two at a time draw 20 pages, and two more begin at the end.
		if shown.Load() < 20 || shown.Load() > 22 || shown.Load()+busy.Load() != 40 {
			t.Errorf("%d pages were drawn and %d refused, want about 20 of each", shown.Load(), busy.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Words(ctx, original, extract.PDF, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Words after its context has ended = %v", err)
		}
	})
}

// A page that cannot be shown is not tried again for a while. Other errors do not last.
func TestFailuresAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v, original := startPages(t, 1)
		v.err = fault.Errorf(fault.Invalid, "the page is damaged")
		var group sync.WaitGroup
		for n := range 6 {
			group.Go(func() {
				time.Sleep(time.Duration(n) * time.Second / 2) // some requests wait for the first one, others come later
				if _, err := p.Picture(t.Context(), original, extract.PDF, 1, 600); !errors.Is(err, v.err) {
					t.Errorf("Picture = %v, want %v", err, v.err)
				}
			})
		}
		group.Wait()
		if n := v.calls.Load(); n != 1 {
			t.Errorf("a damaged page was drawn %d times, want once", n)
		}
		if _, err := p.Words(t.Context(), original, extract.PDF, 1); err == nil || v.calls.Load() != 2 {
			t.Errorf("Words of a page that cannot be drawn = %v, want a try", err)
		}
		time.Sleep(keepFailure)
		v.err = fault.Errorf(fault.Unavailable, "no process")
		for range 2 {
			if _, err := p.Picture(t.Context(), original, extract.PDF, 1, 600); !errors.Is(err, v.err) {
				t.Errorf("Picture = %v, want %v", err, v.err)
			}
		}
		v.err = nil
		if _, err := p.Picture(t.Context(), original, extract.PDF, 1, 600); err != nil {
			t.Errorf("Picture after the fault has gone = %v", err)
		}
		if _, err := p.Picture(t.Context(), strings.Repeat("0", 64), extract.PDF, 1, 600); !fault.Is(err, fault.Unavailable) {
			t.Errorf("Picture of an original that is missing = %v, want unavailable", err)
		}
	})
}
