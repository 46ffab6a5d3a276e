package mirror

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// file is a file whose content is its hash.
func file(at, content string) File {
	return File{Path: at, Hash: func(context.Context) (string, error) { return content, nil }}
}

func document(id, at, content string) Document {
	return Document{ID: id, Path: at, SHA256: content, Version: 3, Created: "2026-01-01"}
}

var names = map[Action]string{Create: "create", Update: "update", Leave: "leave", Keep: "keep", Rename: "rename", Remove: "remove", Fail: "fail"}

// made returns what reports the documents of ids as made by the import, where they
// are now.
func made(ids ...string) func(Document) bool {
	return func(d Document) bool { return slices.Contains(ids, d.ID) }
}

func plan(t *testing.T, files []File, documents []Document, made func(Document) bool) string {
	t.Helper()
	changes, err := Plan(t.Context(), files, documents, made, func(at string) bool { return strings.HasPrefix(at, "foreign") })
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, c := range changes {
		at := ""
		if c.File >= 0 {
			at = " " + files[c.File].Path
		}
		if c.Document.ID != "" {
			at += fmt.Sprintf(" (%s@%d)", c.Document.ID, c.Document.Version)
		}
		if c.Shared {
			at += " shared"
		}
		told = append(told, names[c.Action]+at)
	}
	return strings.Join(told, ", ")
}

func TestPlan(t *testing.T) {
	unreadable := File{Path: "a", Hash: func(context.Context) (string, error) { return "", errors.New("unreadable") }}
	inWork := file("a", "1")
	inWork.InWork = true
	// noted is a file whose document was x, with those bytes then.
	noted := func(at, content, then string) File {
		f := file(at, content)
		f.Noted, f.Same = Noted{Document: "x", SHA256: then, Version: 3, Made: true}, content == then
		return f
	}
	restarted := noted("a", "2", "1")
	restarted.Noted = Noted{Document: "x", Made: true, Replace: true}
	byVersion := noted("a", "2", "")
	unknown := byVersion
	unknown.Noted.Version = 0
	older := byVersion
	older.Noted.Version = 2
	found := noted("a", "1", "1")
	found.Noted.Made = false
	newer := document("y", "a", "2")
	newer.Created = "2026-01-02"
	x := document("x", "a", "1")
	for _, test := range []struct {
		name      string
		files     []File
		documents []Document
		want      string
	}{
		{"nothing", nil, nil, ""},
		{"a new file", []File{file("a", "1")}, nil, "create a"},
		{"a new file is not read without need", []File{unreadable}, nil, "create a"},
		{"the same", []File{file("a", "1")}, []Document{x}, "leave a (x@3)"},
		{"other bytes", []File{file("a", "2")}, []Document{x}, "update a (x@3)"},
		{"unreadable", []File{unreadable}, []Document{x}, "fail a (x@3)"},
		{"gone", nil, []Document{x}, "remove (x@3)"},
		{"gone, and none of an import", nil, []Document{document("x", "foreign", "1")}, ""},
		{"in work", []File{inWork, file("b", "1")}, []Document{x}, "create b"},
		{"two files of a path", []File{file("a", "1"), file("a", "2")}, []Document{x}, "leave a (x@3), fail a"},

		{"renamed", []File{file("b/c", "1")}, []Document{x}, "rename b/c (x@3)"},
		{"not renamed, since somebody else made it", []File{file("b/c", "1")}, []Document{document("z", "a", "1")}, "create b/c, remove (z@3)"},
		{"copied", []File{file("a", "1"), file("b", "1")}, []Document{x}, "leave a (x@3), create b"},
		{"renamed once of two", []File{file("b", "1"), file("c", "1")}, []Document{x}, "rename b (x@3), create c"},
		{"moved rather than renamed", []File{file("d/b", "1")}, []Document{x, document("y", "b", "1")}, "rename d/b (y@3), remove (x@3)"},
		{"none of an import is not renamed", []File{file("b", "1")}, []Document{document("x", "foreign", "1")}, "create b"},
		{"no hash is none", []File{file("b", "")}, []Document{document("x", "a", "")}, "create b, remove (x@3)"},

		{"changed here alone", []File{noted("a", "2", "1")}, []Document{x}, "update a (x@3)"},
		{"changed at the service alone", []File{noted("a", "1", "1")}, []Document{document("x", "a", "2")}, "keep a (x@3)"},
		{"changed here and there", []File{noted("a", "3", "1")}, []Document{document("x", "a", "2")}, "fail a (x@3)"},
		{"changed here and there, and replaced all the same", []File{restarted}, []Document{document("x", "a", "3")}, "update a (x@3)"},
		{"changed to the same", []File{noted("a", "2", "1")}, []Document{document("x", "a", "2")}, "leave a (x@3)"},
		{"changed here, at the version that was noted", []File{byVersion}, []Document{x}, "update a (x@3)"},
		{"changed here, at a later version", []File{older}, []Document{x}, "fail a (x@3)"},
		{"changed here, and nothing known of the document", []File{unknown}, []Document{x}, "fail a (x@3)"},
		{"replaced at the service by another document", []File{noted("a", "1", "1")}, []Document{document("z", "a", "2")}, "keep a (z@3)"},
		{"changed here, and replaced there", []File{noted("a", "3", "1")}, []Document{document("z", "a", "2")}, "fail a (z@3)"},
		{"deleted at the service", []File{noted("a", "1", "1")}, nil, "create a"},
		{"renamed at the service", []File{noted("a", "1", "1")}, []Document{document("x", "b", "1")}, "keep a (x@3)"},
		{"renamed at the service, changed here", []File{noted("a", "2", "1")}, []Document{document("x", "b", "1")}, "fail a (x@3)"},
		{"renamed at the service, and made by somebody else", []File{found}, []Document{document("x", "b", "1")}, "create a"},
		{"renamed at the service to the name of another file", []File{noted("a", "1", "1"), file("b", "1")}, []Document{document("x", "b", "1")}, "create a, leave b (x@3)"},

		{"two of a path: the newest", []File{file("a", "3")}, []Document{x, newer}, "update a (y@3) shared, remove (x@3) shared"},
		{"two of a path: the one that was noted", []File{noted("a", "1", "1")}, []Document{x, newer}, "leave a (x@3) shared, remove (y@3) shared"},
		{"two of a path: the one that was noted is replaced", []File{noted("a", "3", "1")}, []Document{x, newer}, "update a (x@3) shared, remove (y@3) shared"},
	} {
		if got := plan(t, test.files, test.documents, made("x", "y")); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Whatever the files and documents are, and whatever was noted: nobody else's document
// is renamed, what was changed at the service is not replaced, and once all is done
// nothing is left to do. The documents are then as the files, but for those that were
// kept or could not be replaced.
func TestPlanMakesAMirror(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		// What an import of the paths made, and what became of it at the service.
		notes := make(map[string]Noted)
		var documents []Document
		for n := range random.IntN(7) {
			d := document(fmt.Sprint("d", n), fmt.Sprint("p", random.IntN(6)), fmt.Sprint(random.IntN(4)))
			if _, ok := notes[d.Path]; !ok && random.IntN(2) == 0 {
				notes[d.Path] = Noted{Document: d.ID, SHA256: d.SHA256, Version: d.Version, Made: random.IntN(3) > 0}
				switch random.IntN(5) {
				case 0:
					d.SHA256, d.Version = fmt.Sprint(random.IntN(4)), d.Version+1
				case 1:
					d.Path, d.Version = fmt.Sprint("p", random.IntN(6)), d.Version+1
				case 2:
					continue // deleted
				}
			}
			documents = append(documents, d)
		}
		var files []File
		want := make(map[string]string)
		for range random.IntN(6) {
			f := file(fmt.Sprint("p", random.IntN(6)), fmt.Sprint(random.IntN(4)))
			if _, ok := want[f.Path]; ok {
				continue
			}
			want[f.Path], _ = f.Hash(t.Context())
			f.Noted = notes[f.Path]
			f.Same = f.Noted.Document != "" && f.Noted.SHA256 == want[f.Path]
			files = append(files, f)
		}
		made := func(d Document) bool {
			n, ok := notes[d.Path]
			_, there := want[d.Path]
			return ok && n.Made && n.Document == d.ID && !there
		}
		before := slices.Clone(documents)
		changes, err := Plan(t.Context(), files, documents, made, func(string) bool { return false })
		if err != nil || !slices.Equal(before, documents) {
			t.Fatalf("%v; the documents were %v and are %v", err, before, documents)
		}
		kept := make(map[string]bool) // paths of files that are not in their documents
		for _, c := range changes {
			at := slices.IndexFunc(documents, func(d Document) bool { return d.ID == c.Document.ID })
			var f File
			if c.File >= 0 {
				f = files[c.File]
			}
			switch c.Action {
			case Create:
				documents = append(documents, Document{ID: "new " + f.Path, Path: f.Path, SHA256: want[f.Path]})
				notes[f.Path] = Noted{Document: "new " + f.Path, SHA256: want[f.Path], Made: true}
			case Update:
				if f.Noted.Document != "" && documents[at].SHA256 != f.Noted.SHA256 {
					t.Errorf("what was changed at the service is replaced: %v by %+v", documents[at], f)
				}
				documents[at].SHA256 = want[f.Path]
				notes[f.Path] = Noted{Document: c.Document.ID, SHA256: want[f.Path]}
			case Rename:
				if !made(documents[at]) {
					t.Errorf("document %v is renamed, which the import did not make: %+v", documents[at], notes)
				}
				documents[at].Path = f.Path
				notes[f.Path] = Noted{Document: c.Document.ID, SHA256: want[f.Path], Made: true}
			case Remove:
				documents = slices.Delete(documents, at, at+1)
			case Leave:
				notes[f.Path] = Noted{Document: c.Document.ID, SHA256: want[f.Path], Made: f.Noted.Made && f.Noted.Document == c.Document.ID}
			case Keep, Fail:
				if f.Noted.Document == "" || documents[at].Path == f.Path && documents[at].SHA256 == f.Noted.SHA256 {
					t.Errorf("file %+v is not imported though its document %v is as it was", f, documents[at])
				}
				kept[f.Path] = true
			default:
				t.Errorf("unexpected %+v", c)
			}
		}
		got := make(map[string]string)
		for _, d := range documents {
			got[d.Path] = d.SHA256
		}
		for at, content := range want {
			if got[at] != content && !kept[at] {
				t.Fatalf("files %v and documents %v became %v by %+v", want, before, documents, changes)
			}
		}
		if len(kept) == 0 && len(documents) > len(want) {
			// What was noted of a file is removed once the file has another document.
			documents = slices.DeleteFunc(documents, func(d Document) bool { _, ok := want[d.Path]; return !ok })
		}
		if len(kept) == 0 && (len(documents) != len(want) || len(got) < len(want)) {
			t.Fatalf("files %v and documents %v became %v by %+v", want, before, documents, changes)
		}
		for i, f := range files {
			files[i].Noted, files[i].Same = notes[f.Path], notes[f.Path].SHA256 == want[f.Path]
		}
		left := plan(t, files, documents, made)
		for _, action := range []Action{Create, Update, Rename} {
			if strings.Contains(left, names[action]) {
				t.Fatalf("after all was done there is left: %s; it was %+v of %+v and %v", left, changes, files, before)
			}
		}
	}
}

func TestPlanEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Plan(ctx, []File{file("a", "1")}, nil, made(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Plan of a context that has ended = %v", err)
	}
}

// shelves is a Lister of folders by their ids.
type shelves map[string]struct {
	folders   []Folder
	documents []Document
}

func (s shelves) Subfolders(_ context.Context, id string) ([]Folder, error) {
	if id == "broken" {
		return nil, errors.New("broken")
	}
	return s[id].folders, nil
}

func (s shelves) Documents(_ context.Context, id string) ([]Document, error) {
	return s[id].documents, nil
}

func TestListReadsAllLevels(t *testing.T) {
	s := shelves{
		"top": {[]Folder{{"1", "a"}, {"2", "b"}}, []Document{{ID: "x", Path: "x.md"}}},
		"1":   {[]Folder{{"3", "c"}}, nil},
		"3":   {nil, []Document{{ID: "y", Path: "y.md"}}},
	}
	tree, err := List(t.Context(), s, "top", 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range tree.Documents {
		got = append(got, d.Path)
	}
	slices.Sort(got)
	if want := []string{"a/c/y.md", "x.md"}; !slices.Equal(got, want) || fmt.Sprint(tree.Folders) != "map[:top a:1 a/c:3 b:2]" {
		t.Errorf("List = %v, %v", got, tree.Folders)
	}
	s["2"] = struct {
		folders   []Folder
		documents []Document
	}{[]Folder{{"broken", "d"}}, nil}
	if _, err := List(t.Context(), s, "top", 2); err == nil {
		t.Error("a folder that cannot be listed is taken for an empty one")
	}
}
