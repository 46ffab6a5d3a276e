package originals_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"annals/events/fault"
	"annals/events/originals"
	"annals/events/originals/originalstest"
)

func openDir(t testing.TB, root string) *originals.Dir {
	t.Helper()
	d, err := originals.OpenDir(root)
	if err != nil {
		t.Fatalf("OpenDir: %v", err)
	}
	return d
}

func TestDir(t *testing.T) {
	const resolution = 20 * time.Millisecond // resolution of times in file systems
	originalstest.Run(t, resolution, func(t *testing.T) func() originals.Store {
		root := filepath.Join(t.TempDir(), "originals")
		return func() originals.Store { return openDir(t, root) }
	})
}

func TestOpenDirRemovesOnlyAbandonedUploads(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	var staged []originals.Staged
	for _, text := range []string{"abandoned", "recent"} {
		s, err := d.Stage(t.Context(), strings.NewReader(text), 100)
		if err != nil {
			t.Fatal(err)
		}
		staged = append(staged, s)
	}
	old := time.Now().Add(-25 * time.Hour)
	for _, path := range stagedFiles(t, root) {
		if data, _ := os.ReadFile(path); string(data) == "abandoned" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	openDir(t, root)
	if err := staged[1].Commit(t.Context()); err != nil {
		t.Errorf("Commit of a recent upload: %v", err)
	}
	if err := staged[0].Commit(t.Context()); err == nil {
		t.Error("Commit of a swept upload: got no error")
	}
}

func TestStagingIsCleanedUp(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root)
	_, err := d.Stage(t.Context(), strings.NewReader("too long"), 3)
	if err == nil {
		t.Error("Stage over the limit: got no error")
	}
	if _, err := d.Stage(t.Context(), iotest.ErrReader(errors.New("broken")), 3); err == nil {
		t.Error("Stage of an upload with an error: got no error")
	}
	kept, err := d.Stage(t.Context(), strings.NewReader("kept"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := stagedFiles(t, root); len(left) > 0 {
		t.Errorf("staging: got %v, want no files", left)
	}
}

func TestCommitRepairsCorruptOriginal(t *testing.T) {
	d := openDir(t, t.TempDir())
	for range 2 {
		s, err := d.Stage(t.Context(), strings.NewReader("intact"), 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		path, release, err := d.Path(t.Context(), s.SHA256())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if got, _ := os.ReadFile(path); string(got) != "intact" {
			t.Errorf("Commit over a truncated original: got %q, want %q", got, "intact")
		}
		if err := os.Truncate(path, 2); err != nil {
			t.Fatal(err)
		}
	}
}

func stagedFiles(t *testing.T, root string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "staging", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// BenchmarkSmallFiles stores 1,000 files of 4 KiB with CommitAll and with Commit. For
// comparison, a plain loop writes and syncs files in one folder.
func BenchmarkSmallFiles(b *testing.B) {
	const files = 1000
	content := func(round, i int) []byte {
		return bytes.Repeat(fmt.Appendf(nil, "%d %d %7d\n", round, i, time.Now().Nanosecond()), 256)
	}
	stage := func(b *testing.B, d *originals.Dir, round, i int) originals.Staged {
		s, err := d.Stage(b.Context(), bytes.NewReader(content(round, i)), 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	perSecond := func(b *testing.B) {
		b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
	}
	b.Run("CommitAll", func(b *testing.B) {
		d := openDir(b, b.TempDir())
		for round := 0; b.Loop(); round++ {
			var group []originals.Staged
			for i := range files {
				group = append(group, stage(b, d, round, i))
			}
			if err := originals.CommitAll(b.Context(), group); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("Commit", func(b *testing.B) {
		d := openDir(b, b.TempDir())
		for round := 0; b.Loop(); round++ {
			for i := range files {
				if err := stage(b, d, round, i).Commit(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		}
		perSecond(b)
	})
	b.Run("yardstick=write+fsync", func(b *testing.B) {
		root := b.TempDir()
		for round := 0; b.Loop(); round++ {
			for i := range files {
				f, err := os.Create(filepath.Join(root, fmt.Sprint(round, "-", i)))
				if err != nil {
					b.Fatal(err)
				}
				_, err = f.Write(content(round, i))
				if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
					b.Fatal(err)
				}
			}
		}
		perSecond(b)
	})
}

// BenchmarkStage stages an upload of 256 MiB.
func BenchmarkStage(b *testing.B) {
	const size = 256 << 20
	d := openDir(b, b.TempDir())
	b.SetBytes(size)
	for b.Loop() {
		s, err := d.Stage(b.Context(), io.LimitReader(zeros{}, size), size)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Discard(); err != nil {
			b.Fatal(err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestUnavailableStoreIsNotMissingOriginal(t *testing.T) {
	root := filepath.Join(t.TempDir(), "originals")
	d, err := originals.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("ab", 32)
	if _, _, err := d.Path(t.Context(), name); !fault.Is(err, fault.NotFound) {
		t.Errorf("Path of a missing original: got error %v, want kind not found", err)
	}
	if err := os.Rename(root, root+" elsewhere"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Path(t.Context(), name); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Path without the folder: got error %v, want kind unavailable", err)
	}
	if _, err := d.Open(t.Context(), name); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Open without the folder: got error %v, want kind unavailable", err)
	}
}

func TestListIgnoresForeignFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := originals.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	name := keep(t, d, []byte("kept")).SHA256()
	for _, folder := range []string{"", name[:2], filepath.Join(name[:2], name[2:4])} {
		if err := os.WriteFile(filepath.Join(root, folder, ".DS_Store"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err = d.List(t.Context(), func(sha256 string, _ int64, _ time.Time) error {
		got = append(got, sha256)
		return nil
	})
	if err != nil || !slices.Equal(got, []string{name}) {
		t.Errorf("List: got %q (%v), want only the original", got, err)
	}
}
