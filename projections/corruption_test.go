//go:build !race

package projections_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/searchindex"
)

// page is the page size of the files in bytes.
const page = 4096

// zeroPage overwrites a page in the middle of a file with zeros.
func zeroPage(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, page), info.Size()/2/page*page)
	return errors.Join(err, f.Close())
}

// zero overwrites a file with zeros.
func zero(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, make([]byte, info.Size()), 0o600)
}

// halve truncates a file to half its size.
func halve(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/2)
}

// flip changes one bit of a file.
func flip(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[len(content)/2] ^= 1
	return os.WriteFile(path, content, 0o600)
}

// replace overwrites a file with another one.
func replace(path, with string) error {
	content, err := os.ReadFile(with)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// segments calls damage with the path of every segment of the search index.
func segments(dir string, damage func(path string) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, "passages-1", "store", "*.zap"))
	if err == nil && len(paths) == 0 {
		err = errors.New("the search index has no segment")
	}
	for _, path := range paths {
		err = errors.Join(err, damage(path))
	}
	return err
}

func TestCorruptModelRebuiltAtStart(t *testing.T) {
	projectionstest.OfFiles(t)
	log, sound := projectionstest.NewLog(t), t.TempDir()
	folder, last := projectionstest.ImportDocuments(t, log, 60)
	s, stop := projectionstest.Serve(t, projectionstest.Options(t, log, sound))
	for _, r := range s.All() {
		projectionstest.Wait(t, r, last)
	}
	stop()
	in := func(damage func(string) error, path ...string) func(string) error {
		return func(dir string) error { return damage(filepath.Join(append([]string{dir}, path...)...)) }
	}
	for name, test := range map[string]struct {
		damage  func(dir string) error
		model   string
		rebuilt int // generation that is active afterwards
	}{
		"the vault's file, truncated":            {in(halve, "vault-1.db"), "vault", 2},
		"the vault's file, truncated to 0 bytes": {in(func(path string) error { return os.Truncate(path, 0) }, "vault-1.db"), "vault", 1},
		"the vault's file, with a zeroed page":   {in(zeroPage, "vault-1.db"), "vault", 2},
		"the vault's file, removed":              {in(os.Remove, "vault-1.db"), "vault", 2},
		"the vault's file, replaced by another": {func(dir string) error {
			return replace(filepath.Join(dir, "vault-1.db"), filepath.Join(dir, "jobs-1.db"))
		}, "vault", 2},
		"the tables of passages, truncated":      {in(halve, "passages-1.db"), "passages", 2},
		"the tables of passages, a zeroed page":  {in(zeroPage, "passages-1.db"), "passages", 2},
		"the tables of passages, removed":        {in(os.Remove, "passages-1.db"), "passages", 2},
		"the search index, a truncated segment":  {func(dir string) error { return segments(dir, halve) }, "passages", 2},
		"the search index, a zeroed page":        {func(dir string) error { return segments(dir, zeroPage) }, "passages", 2},
		"the search index, a flipped byte":       {func(dir string) error { return segments(dir, flip) }, "passages", 2},
		"the search index, a segment removed":    {func(dir string) error { return segments(dir, os.Remove) }, "passages", 2},
		"the search index, its root truncated":   {in(func(path string) error { return os.Truncate(path, page+100) }, "passages-1", "store", "root.bolt"), "passages", 2},
		"the search index, its root zeroed":      {in(zero, "passages-1", "store", "root.bolt"), "passages", 2},
		"the search index, its root removed":     {in(os.Remove, "passages-1", "store", "root.bolt"), "passages", 2},
		"the search index, removed":              {in(os.RemoveAll, "passages-1"), "passages", 2},
		"the search index, its catalogue zeroed": {in(zero, "passages-1", "index_meta.json"), "passages", 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}
			s, _ := projectionstest.Serve(t, projectionstest.Options(t, log, dir))
			for _, r := range s.All() {
				projectionstest.Wait(t, r, last)
				if want := map[bool]int{true: test.rebuilt, false: 1}[r.Name() == test.model]; r.Generation() != want {
					t.Errorf("generation %d of %s is active, want %d", r.Generation(), r.Name(), want)
				}
			}
			if got := projectionstest.Number(t, s.Runner("vault").DB(), `SELECT count(*) FROM documents`); got != 60 {
				t.Errorf("the vault has %d documents, want 60", got)
			}
			hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lighthouse", Granted: []string{folder.String()}, Limit: searchindex.MaxLimit})
			if n, errCount := s.Search.Count(t.Context()); err != nil || errCount != nil || n != 60 || len(hits) != 60 {
				t.Errorf("the index has %d passages (%v), and a search finds %d (%v), want 60", n, errCount, len(hits), err)
			}
		})
	}
}

// A file that is too large to be checked when it is opened is served until a read, a
// write or a later check finds the corruption.
func TestCorruptModelRebuiltWhileServing(t *testing.T) {
	projectionstest.OfFiles(t)
	for name, found := range map[string]func(t *testing.T, s *projections.Set, log *events.Log){
		"by a check": func(t *testing.T, s *projections.Set, _ *events.Log) {
			s.Runner("vault").Serving().Store().(interface{ Recheck() }).Recheck() // the file counts as large
		},
		"by a write": func(t *testing.T, _ *projections.Set, log *events.Log) {
			projectionstest.ImportDocuments(t, log, 1)
		},
		"by a query for rows": func(t *testing.T, s *projections.Set, _ *events.Log) {
			if names, err := projections.Column(t.Context(), s.Runner("vault").DB(), `SELECT name FROM documents`); err == nil {
				t.Errorf("a query read %d documents from a corrupt file", len(names))
			}
		},
		"by a query for one row": func(t *testing.T, s *projections.Set, _ *events.Log) {
			var n int
			if err := s.Runner("vault").DB().QueryRowContext(t.Context(), `SELECT count(DISTINCT name) FROM documents`).Scan(&n); err == nil {
				t.Errorf("a query counted %d documents in a corrupt file", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, dir := projectionstest.NewLog(t), t.TempDir()
			_, last := projectionstest.ImportDocuments(t, log, 100)
			s, stop := projectionstest.Serve(t, projectionstest.Options(t, log, dir))
			projectionstest.Wait(t, s.Runner("vault"), last)
			stop()
			s, err := projections.Open(t.Context(), projectionstest.Options(t, log, dir))
			if err != nil {
				t.Fatal(err)
			}
			// Leave the first pages intact: without them the file would not open.
			path := filepath.Join(dir, "vault-1.db")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			for at := int64(3 * page); at < info.Size(); at += page {
				if _, err := f.WriteAt([]byte(strings.Repeat("x", page)), at); err != nil {
					t.Fatal(err)
				}
			}
			// Free the page cache, which still has intact pages.
			if err := errors.Join(f.Close(), s.Runner("vault").Shrink(t.Context())); err != nil {
				t.Fatal(err)
			}
			found(t, s, log)
			projectionstest.Run(t, s)
			head, err := log.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// A read that finds the corruption late may cause another rebuild, so the
			// generation may be above 2.
			r := s.Runner("vault")
			projectionstest.Until(t, r, func() bool { return r.Generation() > 1 && r.Err() == nil && r.Position() >= head })
			if got := projectionstest.Number(t, s.Runner("vault").DB(), `SELECT count(*) FROM documents`); got < 100 {
				t.Errorf("the vault has %d documents, want 100 at least", got)
			}
		})
	}
}

func TestCorruptIndexRebuiltWhileServing(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	folder, last := projectionstest.ImportDocuments(t, log, 60)
	s, _ := projectionstest.Serve(t, projectionstest.Options(t, log, dir))
	projectionstest.Wait(t, s.Runner("passages"), last)
	// The files are not truncated: reading past the end of a file that is mapped to memory
	// would crash the process, and only the next start would rebuild the index.
	err := segments(dir, func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(make([]byte, info.Size()), 0)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	_, last = projectionstest.ImportDocument(t, log, folder, "lighthouse")
	r := s.Runner("passages")
	projectionstest.Until(t, r, func() bool { return r.Generation() > 1 && r.Err() == nil && r.Position() >= last })
	if n, err := s.Search.Count(t.Context()); n != 61 || err != nil {
		t.Errorf("the index has %d passages (%v), want 61", n, err)
	}
}

// The log may be an SQLite file, too. Its errors then look like those of a corrupt read
// model, but must not cause a rebuild.
func TestCorruptLogRebuildsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corrupt.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, corrupt := control.Open(t.Context(), path)
	if !generation.IsCorrupt(corrupt) {
		t.Fatalf("opening a file that is not a database = %v, want an error that IsCorrupt reports", corrupt)
	}
	driver, broken := memory.New(), atomic.Bool{}
	read := func(events.Position) error {
		if broken.Load() {
			return corrupt
		}
		return nil
	}
	log := projectionstest.LogOver(t, projectionstest.Hooked{Driver: driver, BeforeRead: read})
	_, last := projectionstest.ImportDocuments(t, log, 3)
	o := projectionstest.Options(t, log, t.TempDir())
	s, _ := projectionstest.Serve(t, o)
	for _, r := range s.All() {
		projectionstest.Wait(t, r, last)
	}
	broken.Store(true)
	_, last = projectionstest.ImportDocuments(t, log, 1)
	vault := s.Runner("vault")
	projectionstest.Until(t, vault, func() bool { return vault.Err() != nil })
	broken.Store(false)
	projectionstest.Until(t, vault, func() bool { return vault.Err() == nil && vault.Position() >= last })
	for _, r := range s.All() {
		if inactive, err := o.Control.Inactive(t.Context(), r.Name()); err != nil || len(inactive) > 0 || r.Generation() != 1 {
			t.Errorf("generation %d of %s is active, and %+v are inactive (%v), want only generation 1", r.Generation(), r.Name(), inactive, err)
		}
	}
}
