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

func plan(t *testing.T, files []File, documents []Document) string {
	t.Helper()
	changes, err := Plan(t.Context(), files, documents, func(at string) bool { return strings.HasPrefix(at, "foreign") })
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
		told = append(told, names[c.Action]+at)
	}
	return strings.Join(told, ", ")
}

func TestPlan(t *testing.T) {
	unreadable := File{Path: "a", Hash: func(context.Context) (string, error) { return "", errors.New("unreadable") }}
	imported := file("a", "1")
	imported.Imported = "x"
	inWork, resent := file("a", "1"), file("a", "1")
	inWork.InWork, resent.Resend = true, true
	newer := document("y", "a", "2")
	newer.Created = "2026-01-02"
	for _, test := range []struct {
		name      string
		files     []File
		documents []Document
		want      string
	}{
		{"nothing", nil, nil, ""},
		{"a new file", []File{file("a", "1")}, nil, "create a"},
		{"a new file is not read without need", []File{unreadable}, nil, "create a"},
		{"the same", []File{file("a", "1")}, []Document{document("x", "a", "1")}, "leave a (x@3)"},
		{"other bytes", []File{file("a", "2")}, []Document{document("x", "a", "1")}, "update a (x@3)"},
		{"other bytes at the service alone", []File{imported}, []Document{document("x", "a", "2")}, "keep a (x@3)"},
		{"another document since", []File{imported}, []Document{document("z", "a", "2")}, "update a (z@3)"},
		{"unreadable", []File{unreadable}, []Document{document("x", "a", "1")}, "fail a (x@3)"},
		{"gone", nil, []Document{document("x", "a", "1")}, "remove (x@3)"},
		{"gone, and none of an import", nil, []Document{document("x", "foreign", "1")}, ""},
		{"renamed", []File{file("b/c", "1")}, []Document{document("x", "a", "1")}, "rename b/c (x@3)"},
		{"copied", []File{file("a", "1"), file("b", "1")}, []Document{document("x", "a", "1")}, "leave a (x@3), create b"},
		{"renamed once of two", []File{file("b", "1"), file("c", "1")}, []Document{document("x", "a", "1")}, "rename b (x@3), create c"},
		{"moved rather than renamed", []File{file("d/b", "1")}, []Document{document("x", "a", "1"), document("y", "b", "1")}, "rename d/b (y@3), remove (x@3)"},
		{"none of an import is not renamed", []File{file("b", "1")}, []Document{document("x", "foreign", "1")}, "create b"},
		{"no hash is none", []File{file("b", "")}, []Document{document("x", "a", "")}, "create b, remove (x@3)"},
		{"two of a path", []File{file("a", "3")}, []Document{document("x", "a", "1"), newer}, "update a (y@0), remove (x@3)"},
		{"in work", []File{inWork, file("b", "1")}, []Document{document("x", "a", "1")}, "create b"},
		{"for tags", []File{resent}, []Document{document("x", "a", "1")}, "update a (x@0)"},
		{"two files of a path", []File{file("a", "1"), file("a", "2")}, []Document{document("x", "a", "1")}, "leave a (x@3), fail a"},
	} {
		if got := plan(t, test.files, test.documents); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Whatever the files and documents are: once all is done the documents are as the
// files, those of renamed files have kept their ids, and nothing is left to do.
func TestPlanMakesAMirror(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var files []File
		want := make(map[string]string)
		for range random.IntN(6) {
			at, content := fmt.Sprint("p", random.IntN(6)), fmt.Sprint(random.IntN(4))
			if _, ok := want[at]; !ok {
				files, want[at] = append(files, file(at, content)), content
			}
		}
		var documents []Document
		for n := range random.IntN(7) {
			documents = append(documents, document(fmt.Sprint("d", n), fmt.Sprint("p", random.IntN(6)), fmt.Sprint(random.IntN(4))))
		}
		before := slices.Clone(documents)
		changes, err := Plan(t.Context(), files, documents, func(string) bool { return false })
		if err != nil || !slices.Equal(before, documents) {
			t.Fatalf("%v; the documents were %v and are %v", err, before, documents)
		}
		for _, c := range changes {
			at := slices.IndexFunc(documents, func(d Document) bool { return d.ID == c.Document.ID })
			switch c.Action {
			case Create:
				documents = append(documents, Document{ID: "new " + files[c.File].Path, Path: files[c.File].Path, SHA256: want[files[c.File].Path]})
			case Update:
				documents[at].SHA256 = want[files[c.File].Path]
			case Rename:
				if slices.ContainsFunc(files, func(f File) bool { return f.Path == documents[at].Path }) {
					t.Errorf("document %v is renamed, whose file is there: %v", documents[at], files)
				}
				documents[at].Path = files[c.File].Path
			case Remove:
				documents = slices.Delete(documents, at, at+1)
			case Leave:
			default:
				t.Errorf("unexpected %+v", c)
			}
		}
		got := make(map[string]string)
		for _, d := range documents {
			got[d.Path] = d.SHA256
		}
		if len(documents) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("files %v and documents %v became %v by %+v", want, before, documents, changes)
		}
		left := plan(t, files, documents)
		for _, action := range []Action{Create, Update, Rename, Remove} {
			if strings.Contains(left, names[action]) {
				t.Fatalf("after all was done there is left: %s", left)
			}
		}
	}
}

func TestPlanEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Plan(ctx, []File{file("a", "1")}, nil, nil); !errors.Is(err, context.Canceled) {
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
