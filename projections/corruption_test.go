//go:build !race

package projections

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/tables"
)

// page is how many bytes are overwritten at once.
const page = 4096

// overwrite writes bytes into the middle of a file, where one of its pages
// begins.
func overwrite(path string, bytes []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(bytes, info.Size()/2/page*page)
	return errors.Join(err, f.Close())
}

func zeroPage(path string) error { return overwrite(path, make([]byte, page)) }

// blank leaves nothing but the length of a file.
func blank(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, make([]byte, info.Size()), 0o600)
}

func halve(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/2)
}

func flip(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[len(content)/2] ^= 1
	return os.WriteFile(path, content, 0o600)
}

// exchange puts the files of one generation in the place of another's.
func exchange(path, by string) error {
	content, err := os.ReadFile(by)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// segments calls damage with the segments of a search index.
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
	ofFiles(t)
	log, sound := newLog(t), t.TempDir()
	folder, last := manyDocuments(t, log, 60)
	s, stop := serve(t, optionsIn(t, log, sound))
	for _, r := range s.All() {
		wait(t, r, last)
	}
	stop()
	in := func(damage func(string) error, path ...string) func(string) error {
		return func(dir string) error { return damage(filepath.Join(append([]string{dir}, path...)...)) }
	}
	for name, test := range map[string]struct {
		damage  func(dir string) error
		model   string
		rebuilt int // generation that serves then
	}{
		"the vault's file, cut off":            {in(halve, "vault-1.db"), "vault", 2},
		"the vault's file, cut off to nothing": {in(func(path string) error { return os.Truncate(path, 0) }, "vault-1.db"), "vault", 1},
		"the vault's file, with a zeroed page": {in(zeroPage, "vault-1.db"), "vault", 2},
		"the vault's file, removed":            {in(os.Remove, "vault-1.db"), "vault", 2},
		"the vault's file, exchanged": {func(dir string) error {
			return exchange(filepath.Join(dir, "vault-1.db"), filepath.Join(dir, "jobs-1.db"))
		}, "vault", 2},
		"the tables of passages, cut off":        {in(halve, "passages-1.db"), "passages", 2},
		"the tables of passages, a zeroed page":  {in(zeroPage, "passages-1.db"), "passages", 2},
		"the tables of passages, removed":        {in(os.Remove, "passages-1.db"), "passages", 2},
		"the search index, a segment cut off":    {func(dir string) error { return segments(dir, halve) }, "passages", 2},
		"the search index, a zeroed page":        {func(dir string) error { return segments(dir, zeroPage) }, "passages", 2},
		"the search index, a flipped byte":       {func(dir string) error { return segments(dir, flip) }, "passages", 2},
		"the search index, a segment removed":    {func(dir string) error { return segments(dir, os.Remove) }, "passages", 2},
		"the search index, its root cut off":     {in(func(path string) error { return os.Truncate(path, page+100) }, "passages-1", "store", "root.bolt"), "passages", 2},
		"the search index, its root zeroed":      {in(blank, "passages-1", "store", "root.bolt"), "passages", 2},
		"the search index, its root removed":     {in(os.Remove, "passages-1", "store", "root.bolt"), "passages", 2},
		"the search index, removed":              {in(os.RemoveAll, "passages-1"), "passages", 2},
		"the search index, its catalogue zeroed": {in(blank, "passages-1", "index_meta.json"), "passages", 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			if err := test.damage(dir); err != nil {
				t.Fatal(err)
			}
			s, _ := serve(t, optionsIn(t, log, dir))
			for _, r := range s.All() {
				wait(t, r, last)
				if want := map[bool]int{true: test.rebuilt, false: 1}[r.Name() == test.model]; r.Generation() != want {
					t.Errorf("generation %d of %s serves, want %d", r.Generation(), r.Name(), want)
				}
			}
			if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents`); got != 60 {
				t.Errorf("the vault holds %d documents, want 60", got)
			}
			hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lighthouse", Granted: []string{folder.String()}, Limit: searchindex.MaxLimit})
			if n, errCount := s.Search.Count(t.Context()); err != nil || errCount != nil || n != 60 || len(hits) != 60 {
				t.Errorf("of %d passages (%v) %d are found (%v), want 60", n, errCount, len(hits), err)
			}
		})
	}
}

// What is larger than what a start looks at serves, until it is found out.
func TestCorruptModelRebuiltWhileServing(t *testing.T) {
	ofFiles(t)
	for name, found := range map[string]func(t *testing.T, s *Set, log *events.Log){
		"by looking at it": func(t *testing.T, s *Set, _ *events.Log) {
			s.Runner("vault").serving.Store().(interface{ Recheck() }).Recheck() // as it is of a large file
		},
		"by writing to it": func(t *testing.T, _ *Set, log *events.Log) {
			manyDocuments(t, log, 1)
		},
		"by listing what it holds": func(t *testing.T, s *Set, _ *events.Log) {
			if names, err := Column(t.Context(), s.Runner("vault").DB(), `SELECT name FROM documents`); err == nil {
				t.Errorf("%d documents are read of a file without any", len(names))
			}
		},
		"by asking it": func(t *testing.T, s *Set, _ *events.Log) {
			var n int
			if err := s.Runner("vault").DB().QueryRowContext(t.Context(), `SELECT count(DISTINCT name) FROM documents`).Scan(&n); err == nil {
				t.Errorf("%d documents are counted in a file without any", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, dir := newLog(t), t.TempDir()
			_, last := manyDocuments(t, log, 100)
			s, stop := serve(t, optionsIn(t, log, dir))
			wait(t, s.Runner("vault"), last)
			stop()
			s, err := Open(t.Context(), optionsIn(t, log, dir))
			if err != nil {
				t.Fatal(err)
			}
			// Every page but those that tell what the file is, and where it ends.
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
			// What is still in memory is sound.
			if err := errors.Join(f.Close(), s.Runner("vault").shrink(t.Context())); err != nil {
				t.Fatal(err)
			}
			found(t, s, log)
			run(t, s)
			head, err := log.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// The last reader to find the corruption may cause another rebuild.
			for {
				_, moved := s.Runner("vault").Moved()
				if s.Runner("vault").Generation() > 1 && s.Runner("vault").Err() == nil && s.Runner("vault").Position() >= head {
					break
				}
				<-moved
			}
			if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents`); got < 100 {
				t.Errorf("the vault holds %d documents, want 100 at least", got)
			}
		})
	}
}

func TestCorruptIndexRebuiltWhileServing(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	folder, last := manyDocuments(t, log, 60)
	s, _ := serve(t, optionsIn(t, log, dir))
	wait(t, s.Runner("passages"), last)
	// Nothing is cut off: who reads beyond the end of a file that is mapped to
	// memory dies of it, and the next start finds it out.
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
	_, last = fileInto(t, log, folder, "lighthouse")
	for {
		_, moved := s.Runner("passages").Moved()
		if s.Runner("passages").Generation() > 1 && s.Runner("passages").Err() == nil && s.Runner("passages").Position() >= last {
			break
		}
		<-moved
	}
	if n, err := s.Search.Count(t.Context()); n != 61 || err != nil {
		t.Errorf("the index holds %d passages (%v), want 61", n, err)
	}
}

// The log may be a file of the same kind as the read models, and its faults look
// like theirs.
func TestCorruptLogSaysNothingOfReadModels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corrupt.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, fault := control.Open(t.Context(), path)
	if !generation.IsCorrupt(fault) {
		t.Fatalf("a file that is not a database is opened: %v", fault)
	}
	driver, harmed := memory.New(), atomic.Bool{}
	read := func(events.Position) error {
		if harmed.Load() {
			return fault
		}
		return nil
	}
	log := events.NewLog(restless{Driver: driver, read: read})
	t.Cleanup(func() { _ = log.Close() })
	_, last := manyDocuments(t, log, 3)
	o := optionsIn(t, log, t.TempDir())
	s, _ := serve(t, o)
	for _, r := range s.All() {
		wait(t, r, last)
	}
	harmed.Store(true)
	_, last = manyDocuments(t, log, 1)
	for {
		_, moved := s.Runner("vault").Moved()
		if s.Runner("vault").Err() != nil {
			break
		}
		<-moved
	}
	harmed.Store(false)
	for {
		_, moved := s.Runner("vault").Moved()
		if s.Runner("vault").Err() == nil && s.Runner("vault").Position() >= last {
			break
		}
		<-moved
	}
	for _, r := range s.All() {
		if spares, err := o.Control.Inactive(t.Context(), r.Name()); err != nil || len(spares) > 0 || r.Generation() != 1 {
			t.Errorf("generation %d of %s serves, with %+v (%v), want 1 alone", r.Generation(), r.Name(), spares, err)
		}
	}
}

// A rebuild that continued with corrupt tables would always fail.
func TestCorruptRebuildIsGivenUp(t *testing.T) {
	ofFiles(t)
	log, dir := newLog(t), t.TempDir()
	folder, _ := manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	begun, err := o.Begin(t.Context(), readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Fill(t.Context(), readmodel.Vault{}, begun, nil); err != nil {
		t.Fatal(err)
	}
	p := proven{T: t, dir: dir}
	p.edit("vault-1", `CREATE TABLE large (bytes)`) // more than is looked at when it is opened
	p.edit("vault-1", `INSERT INTO large VALUES (zeroblob($1))`, tables.CheckedAtOpen)
	path := filepath.Join(dir, "vault-1.db")
	db, err := tables.Folder(dir).View(t.Context(), "vault-1")
	if err != nil {
		t.Fatal(err)
	}
	var root int64
	err = db.QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = 'documents'`).Scan(&root)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("x", page)), (root-1)*page)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	fileInto(t, log, folder, "lighthouse")
	if _, err := o.Rebuild(t.Context(), "vault", nil); !generation.IsCorrupt(err) {
		t.Errorf("Rebuild that continues with corrupt tables = %v, want IsCorrupt", err)
	}
	if generation, err := o.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Errorf("the next rebuild made generation %d, %v", generation, err)
	}
}
