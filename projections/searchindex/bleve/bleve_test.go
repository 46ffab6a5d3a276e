package bleve_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
)

func open(t testing.TB, dir string) *bleve.Index {
	t.Helper()
	x, err := bleve.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestEngine(t *testing.T) {
	root := t.TempDir()
	searchindextest.Run(t, func(t testing.TB, name string) searchindex.Engine {
		return open(t, filepath.Join(root, strings.ReplaceAll(t.Name(), "/", "-"), name))
	})
}

// Opening a corrupt index must fail, or return an earlier state of the index with the
// position of that state.
func TestOpenDetectsCorruption(t *testing.T) {
	for name, corrupt := range map[string]func(dir string) error{
		"no catalogue":          func(dir string) error { return os.Remove(filepath.Join(dir, "index_meta.json")) },
		"a truncated catalogue": func(dir string) error { return os.Truncate(filepath.Join(dir, "index_meta.json"), 5) },
		"a truncated root":      func(dir string) error { return os.Truncate(filepath.Join(dir, "store", "root.bolt"), 100) },
		"a half truncated root": func(dir string) error {
			return os.Truncate(filepath.Join(dir, "store", "root.bolt"), 3*int64(os.Getpagesize()))
		},
		"a truncated segment": func(dir string) error { return eachSegment(dir, func(f string) error { return os.Truncate(f, 50) }) },
		"an empty segment":    func(dir string) error { return eachSegment(dir, func(f string) error { return os.Truncate(f, 0) }) },
		"a flipped byte":      func(dir string) error { return eachSegment(dir, flip) },
		"a lost segment":      func(dir string) error { return eachSegment(dir, os.Remove) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			x := open(t, dir)
			if err := x.Apply(t.Context(), searchindex.Batch{Put: []searchindex.Passage{{ID: "1", Text: "lighthouse"}}, Position: 1}); err != nil {
				t.Fatal(err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if err := corrupt(dir); err != nil {
				t.Fatal(err)
			}
			wantCorrupt(t, dir, bleve.OpenReadOnly)
			wantCorrupt(t, dir, bleve.Open)
		})
	}
}

func wantCorrupt(t *testing.T, dir string, open func(string) (*bleve.Index, error)) {
	t.Helper()
	x, err := open(dir)
	if err != nil {
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open: %v, want an internal error that names the folder", err)
		}
		return
	}
	defer x.Close()
	position, err := x.Position(t.Context())
	count, err2 := x.Count(t.Context())
	if err != nil || err2 != nil || position != 0 || count != 0 {
		t.Errorf("a corrupt index opens with %d passages (%[3]v) at position %[2]d (%[4]v), want 0 at 0", count, position, err, err2)
	}
}

func flip(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[len(content)/2] ^= 1
	return os.WriteFile(path, content, 0o600)
}

func eachSegment(dir string, f func(string) error) error {
	segments, err := filepath.Glob(filepath.Join(dir, "store", "*.zap"))
	for _, s := range segments {
		if err := f(s); err != nil {
			return err
		}
	}
	return err
}

func TestOneProcessAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	open(t, dir)
	if x, err := bleve.Open(dir); !fault.Is(err, fault.Unavailable) {
		if err == nil {
			x.Close()
		}
		t.Fatalf("Open of an open index = %v, want an error of kind unavailable", err)
	}
}

// A word that recurs in the passages that have it names their subject. It weighs more than
// a word that is as rare, unless it recurs in passages that the caller may not read.
func TestRecurringWordsWeighMore(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "index"))
	b := searchindex.Batch{Put: []searchindex.Passage{
		{ID: "boat", Folders: []string{"a"}, Text: "boat one two three"}, {ID: "ship", Folders: []string{"a"}, Text: "ship one two three"},
		{ID: "boat2", Folders: []string{"a"}, Text: "boat one two three"}, {ID: "ship2", Folders: []string{"a"}, Text: "ship ship ship two"},
		{ID: "hidden", Folders: []string{"b"}, Text: "boat boat boat boat boat boat boat boat"},
	}}
	for i := range 200 {
		b.Put = append(b.Put, searchindex.Passage{ID: fmt.Sprint("other", i), Folders: []string{"a"}, Text: "one two three four"})
	}
	if err := x.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	hits, err := x.Search(t.Context(), searchindex.Query{Text: "boats and ships", Granted: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	scores := make(map[string]float64)
	for _, h := range hits {
		scores[h.ID] = h.Score
	}
	if scores["ship"] < 1.1*scores["boat"] || scores["boat"] == 0 {
		t.Errorf("a word that recurs elsewhere scores %g, one that does not %g, want more for the first", scores["ship"], scores["boat"])
	}
}

func TestMoreTermsRaisePassages(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "index"))
	err := x.Apply(t.Context(), searchindex.Batch{Put: []searchindex.Passage{{ID: "1", Text: "ships and meadow"}, {ID: "2", Text: "ships and harbour"}}})
	if err != nil {
		t.Fatal(err)
	}
	q := searchindex.Query{Text: "ships", All: true, More: []searchindex.Term{{Text: "harbour", Weight: 1}}}
	hits, err := x.Search(t.Context(), q)
	if err != nil || len(hits) != 2 || hits[0].ID != "2" || hits[0].Score <= hits[1].Score {
		t.Errorf("Search(%+v) = %v, %v, want 2 before 1", q, hits, err)
	}
	for _, weight := range []float64{0.001, 1000} { // only the share of a term in the total weight of More counts
		q.More[0].Weight = weight
		if again, err := x.Search(t.Context(), q); err != nil || math.Abs(again[0].Score-hits[0].Score) > 1e-6 {
			t.Errorf("with the weight %g the hits are %v (%v), want %v", weight, again, err, hits)
		}
	}
}

func TestReadOnlyChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	if _, err := bleve.OpenReadOnly(dir); err == nil {
		t.Error("OpenReadOnly opens an index that does not exist")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("OpenReadOnly creates an index that does not exist")
	}
	x := open(t, dir)
	if err := x.Apply(t.Context(), searchindex.Batch{Put: []searchindex.Passage{{ID: "1", Text: "lighthouse"}}, Position: 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := bleve.OpenReadOnly(dir); err == nil {
		t.Error("OpenReadOnly opens an index that is open for writing")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	r, err := bleve.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := r.Search(t.Context(), searchindex.Query{Text: "lighthouse", All: true})
	if err != nil || len(hits) != 1 || hits[0].ID != "1" {
		t.Errorf("Search = %v, %v", hits, err)
	}
	if p, err := r.Position(t.Context()); err != nil || p != 7 {
		t.Errorf("Position = %d, %v, want 7", p, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("after reading the files are\n%s\nwant\n%s", after, before)
	}
	if n, err := open(t, dir).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("opened for writing, the index has %d passages (%v), want 1", n, err)
	}
}

// listing returns the paths of the files in a folder with the hashes of their contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The last word of a short query must find longer words that begin with it, ranked below
// the word itself. In a longer query it must not find them.
func TestPrefixFindsWord(t *testing.T) {
	x, err := bleve.Open(filepath.Join(t.TempDir(), "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	batch := searchindex.Batch{Position: 1}
	for id, text := range map[string]string{
		"whole": "a light in the long dark night over all of the sea", "longer": "a lighthouse", "other": "ships in fog", "theirs": "the lightship of others",
	} {
		folder := "mine"
		if id == "theirs" {
			folder = "theirs"
		}
		batch.Put = append(batch.Put, searchindex.Passage{ID: id, Folders: []string{folder}, Text: text})
	}
	if err := x.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"light": "whole longer", "lights": "whole longer", "lightho": "longer", "ships ligh": "other longer whole", "lig": "", "light ships": "other whole",
		"which ships saw what light that night": "whole other",
	} {
		hits, err := x.Search(t.Context(), searchindex.Query{Text: text, Granted: []string{"mine"}})
		var got []string
		for _, h := range hits {
			got = append(got, h.ID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q finds %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestStore(t *testing.T) {
	searchindextest.RunStore(t, bleve.Kind, "")
	searchindextest.RunStore(t, bleve.Kind, "bleve://"+filepath.ToSlash(t.TempDir()))
}
