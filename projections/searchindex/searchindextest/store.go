package searchindextest

import (
	"context"
	"testing"

	"annals/events/fault"
	"annals/projections/searchindex"
)

// Store is a searchindex.Store. A test can replace some of its methods by setting fields.
type Store struct {
	searchindex.Store
	OnOpen         func(ctx context.Context, generation string) (searchindex.Engine, error)
	OnOpenReadOnly func(ctx context.Context, generation string) (searchindex.Engine, error)
}

// Open calls OnOpen if it is set.
func (s Store) Open(ctx context.Context, generation string) (searchindex.Engine, error) {
	if s.OnOpen == nil {
		return s.Store.Open(ctx, generation)
	}
	return s.OnOpen(ctx, generation)
}

// OpenReadOnly calls OnOpenReadOnly if it is set.
func (s Store) OpenReadOnly(ctx context.Context, generation string) (searchindex.Engine, error) {
	if s.OnOpenReadOnly == nil {
		return s.Store.OpenReadOnly(ctx, generation)
	}
	return s.OnOpenReadOnly(ctx, generation)
}

// RunStore checks that the stores of a kind implement searchindex.Store.
func RunStore(t *testing.T, kind searchindex.Kind, url string) {
	dir := t.TempDir()
	open := func() searchindex.Store {
		t.Helper()
		s, err := searchindex.Kinds{kind}.Open(url, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	s := open()
	opened := func(what string, e searchindex.Engine, err error, want uint64) searchindex.Engine {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got, err := e.Count(t.Context()); got != want || err != nil {
			t.Errorf("%s: Count = %d, %v, want %d", what, got, err, want)
		}
		return e
	}
	closed := func(e searchindex.Engine) {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, generation := range []string{"store-1", "store-2"} {
		e, err := s.Open(t.Context(), generation)
		apply(t, opened("Open of a new index", e, err, 0), searchindex.Batch{Position: 7, Put: generate(1, 3)})
		closed(e)
	}
	e, err := s.OpenReadOnly(t.Context(), "store-1")
	closed(opened("OpenReadOnly", e, err, 3))
	e, err = s.OpenScratch(t.Context(), t.TempDir())
	apply(t, opened("OpenScratch", e, err, 0), searchindex.Batch{Put: generate(2, 5)})
	closed(e)
	for range 2 { // the second time, the index does not exist
		if err := s.Remove(t.Context(), "store-1"); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
	other := open()
	e, err = other.Open(t.Context(), "store-1")
	closed(opened("Open after Remove", e, err, 0))
	e, err = other.Open(t.Context(), "store-2")
	closed(opened("Open beside a removed index", e, err, 3))

	unlock, err := s.Lock()
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	if !s.Shared() {
		if _, err := other.Lock(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("Lock of a locked store = %v, want an error of kind unavailable", err)
		}
		if _, err := other.OpenReadOnly(t.Context(), "store-2"); !fault.Is(err, fault.Unavailable) {
			t.Errorf("OpenReadOnly in a locked store = %v, want an error of kind unavailable", err)
		}
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if unlock, err = other.Lock(); err != nil {
		t.Fatalf("Lock after unlock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	for _, generation := range []string{"store-1", "store-2"} {
		if err := s.Remove(t.Context(), generation); err != nil {
			t.Error(err)
		}
	}
}
