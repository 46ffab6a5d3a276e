//go:build unix && !race

package bleve_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
)

// leaveFiles limits the number of files that can be opened until give is called.
func leaveFiles(t *testing.T, free int) (give func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	give = func() {
		for _, f := range taken {
			f.Close()
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	for range free {
		taken[0].Close()
		taken = taken[1:]
	}
	return give
}

// What is thought to be damaged is deleted, and what is thought to be new is
// filled.
func TestTooManyOpenFilesIsNotDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x := open(t, dir)
	const batches, passages = 3, 5000 // they make a segment each
	for n := range batches {
		var many []searchindex.Passage
		for i := range passages {
			many = append(many, searchindex.Passage{ID: fmt.Sprintf("%d/%d", n, i), Text: "lighthouse"})
		}
		if err := x.Apply(t.Context(), searchindex.Batch{Put: many, Position: 7}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "store", "*.zap"))
	if err != nil || len(segments) < 2 {
		t.Fatalf("the index has the segments %q (%v), want some", segments, err)
	}
	for free := range 50 {
		give := leaveFiles(t, free)
		x, err := bleve.Open(dir)
		give()
		if err == nil {
			n, err := x.Count(t.Context())
			p, errPosition := x.Position(t.Context())
			if n != batches*passages || p != 7 || err != nil || errPosition != nil || free == 0 {
				t.Errorf("with %d files to open the index has %d passages (%v) at position %d (%v)", free, n, err, p, errPosition)
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("with %d files to open: %v", free, err)
		}
	}
	t.Error("the index cannot be opened any more")
}
