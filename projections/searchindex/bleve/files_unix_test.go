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

// limitFiles lowers the limit of open files, so that until restore is called the process
// can open only the given number of further files.
func limitFiles(t *testing.T, free int) (restore func()) {
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
	restore = func() {
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
	return restore
}

// Opening an index with too many open files must return a transient error. An index that
// seemed corrupt would be deleted, and one that seemed new would be filled again.
func TestTooManyOpenFilesIsNotCorruption(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x := open(t, dir)
	const batches, passages = 3, 5000 // each batch becomes a segment
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
		t.Fatalf("the index has the segments %q (%v), want two at least", segments, err)
	}
	for free := range 50 {
		restore := limitFiles(t, free)
		x, err := bleve.Open(dir)
		restore()
		if err == nil {
			n, err := x.Count(t.Context())
			p, errPosition := x.Position(t.Context())
			if n != batches*passages || p != 7 || err != nil || errPosition != nil || free == 0 {
				t.Errorf("with %d free files the index opens with %d passages (%v) at position %d (%v), want all of them or an error", free, n, err, p, errPosition)
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Open with %d free files = %v, want %v", free, err, syscall.EMFILE)
		}
	}
	t.Error("the index cannot be opened with 49 free files")
}
