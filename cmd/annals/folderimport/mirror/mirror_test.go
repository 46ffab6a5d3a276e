package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/cmd/annals/folderimport/mirror"
)

// file returns a file whose Hash returns its content.
func file(at, content string) mirror.File {
	return mirror.File{Path: at, Hash: func(context.Context) (string, error) { return content, nil }}
}

func document(id, at, content string) mirror.Document {
	return mirror.Document{ID: id, Path: at, SHA256: content, Version: 3, CreatedAt: "2026-01-01"}
}

var names = map[mirror.Action]string{mirror.Create: "create", mirror.Update: "update", mirror.Leave: "leave", mirror.Keep: "keep", mirror.Rename: "rename", mirror.Remove: "remove", mirror.Fail: "fail"}

// made returns a value for the parameter made of Plan: imports created the documents
// with the given ids.
func made(ids ...string) func(mirror.Document) bool {
	return func(d mirror.Document) bool { return slices.Contains(ids, d.ID) }
}

func plan(t *testing.T, files []mirror.File, documents []mirror.Document, made func(mirror.Document) bool) string {
	t.Helper()
	changes, err := mirror.Plan(t.Context(), files, documents, made, func(at string) bool { return strings.HasPrefix(at, "excluded") })
	if err != nil {
		t.Fatal(err)
	}
	var printed []string
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
		printed = append(printed, names[c.Action]+at)
	}
	return strings.Join(printed, ", ")
}

func TestPlan(t *testing.T) {
	unreadable := mirror.File{Path: "a", Hash: func(context.Context) (string, error) { return "", errors.New("unreadable") }}
	inFlight := file("a", "1")
	inFlight.InFlight = true
	// noted returns a file at a path. At its last import its content was then, and it
	// became the document x.
	noted := func(at, content, then string) mirror.File {
		f := file(at, content)
		f.Noted, f.Same = mirror.Noted{Document: "x", SHA256: then, Version: 3, Made: true}, content == then
		return f
	}
	restarted := noted("a", "2", "1")
	restarted.Noted = mirror.Noted{Document: "x", Made: true, Replace: true}
	byVersion := noted("a", "2", "")
	unknown := byVersion
	unknown.Noted.Version = 0
	older := byVersion
	older.Noted.Version = 2
	found := noted("a", "1", "1")
	found.Noted.Made = false
	newer := document("y", "a", "2")
	newer.CreatedAt = "2026-01-02"
	x := document("x", "a", "1")
	for _, test := range []struct {
		name      string
		files     []mirror.File
		documents []mirror.Document
		want      string
	}{
		{"nothing", nil, nil, ""},
		{"a new file", []mirror.File{file("a", "1")}, nil, "create a"},
		{"a new file is not read needlessly", []mirror.File{unreadable}, nil, "create a"},
		{"the same", []mirror.File{file("a", "1")}, []mirror.Document{x}, "leave a (x@3)"},
		{"other bytes", []mirror.File{file("a", "2")}, []mirror.Document{x}, "update a (x@3)"},
		{"unreadable", []mirror.File{unreadable}, []mirror.Document{x}, "fail a (x@3)"},
		{"gone", nil, []mirror.Document{x}, "remove (x@3)"},
		{"gone, but excluded", nil, []mirror.Document{document("x", "excluded", "1")}, ""},
		{"in flight", []mirror.File{inFlight, file("b", "1")}, []mirror.Document{x}, "create b"},
		{"two files of a path", []mirror.File{file("a", "1"), file("a", "2")}, []mirror.Document{x}, "leave a (x@3), fail a"},

		{"renamed", []mirror.File{file("b/c", "1")}, []mirror.Document{x}, "rename b/c (x@3)"},
		{"not renamed, since no import created it", []mirror.File{file("b/c", "1")}, []mirror.Document{document("z", "a", "1")}, "create b/c, remove (z@3)"},
		{"copied", []mirror.File{file("a", "1"), file("b", "1")}, []mirror.Document{x}, "leave a (x@3), create b"},
		{"renamed once of two", []mirror.File{file("b", "1"), file("c", "1")}, []mirror.Document{x}, "rename b (x@3), create c"},
		{"moved rather than renamed", []mirror.File{file("d/b", "1")}, []mirror.Document{x, document("y", "b", "1")}, "rename d/b (y@3), remove (x@3)"},
		{"excluded, so not renamed", []mirror.File{file("b", "1")}, []mirror.Document{document("x", "excluded", "1")}, "create b"},
		{"unknown hash", []mirror.File{file("b", "")}, []mirror.Document{document("x", "a", "")}, "create b, remove (x@3)"},

		{"file changed", []mirror.File{noted("a", "2", "1")}, []mirror.Document{x}, "update a (x@3)"},
		{"document changed", []mirror.File{noted("a", "1", "1")}, []mirror.Document{document("x", "a", "2")}, "keep a (x@3)"},
		{"both changed", []mirror.File{noted("a", "3", "1")}, []mirror.Document{document("x", "a", "2")}, "fail a (x@3)"},
		{"both changed, after --restart", []mirror.File{restarted}, []mirror.Document{document("x", "a", "3")}, "update a (x@3)"},
		{"both changed to the same", []mirror.File{noted("a", "2", "1")}, []mirror.Document{document("x", "a", "2")}, "leave a (x@3)"},
		{"file changed, document at the noted version", []mirror.File{byVersion}, []mirror.Document{x}, "update a (x@3)"},
		{"file changed, document at a later version", []mirror.File{older}, []mirror.Document{x}, "fail a (x@3)"},
		{"file changed, nothing known of the document", []mirror.File{unknown}, []mirror.Document{x}, "fail a (x@3)"},
		{"document replaced by another", []mirror.File{noted("a", "1", "1")}, []mirror.Document{document("z", "a", "2")}, "keep a (z@3)"},
		{"file changed, document replaced by another", []mirror.File{noted("a", "3", "1")}, []mirror.Document{document("z", "a", "2")}, "fail a (z@3)"},
		{"document deleted", []mirror.File{noted("a", "1", "1")}, nil, "create a"},
		{"document renamed", []mirror.File{noted("a", "1", "1")}, []mirror.Document{document("x", "b", "1")}, "keep a (x@3)"},
		{"document renamed, file changed", []mirror.File{noted("a", "2", "1")}, []mirror.Document{document("x", "b", "1")}, "fail a (x@3)"},
		{"document renamed, which no import created", []mirror.File{found}, []mirror.Document{document("x", "b", "1")}, "create a"},
		{"document renamed to the name of another file", []mirror.File{noted("a", "1", "1"), file("b", "1")}, []mirror.Document{document("x", "b", "1")}, "create a, leave b (x@3)"},

		{"two of a path: the newest", []mirror.File{file("a", "3")}, []mirror.Document{x, newer}, "update a (y@3) shared, remove (x@3) shared"},
		{"two of a path: the one that was noted", []mirror.File{noted("a", "1", "1")}, []mirror.Document{x, newer}, "leave a (x@3) shared, remove (y@3) shared"},
		{"two of a path: the one that was noted is replaced", []mirror.File{noted("a", "3", "1")}, []mirror.Document{x, newer}, "update a (x@3) shared, remove (y@3) shared"},
	} {
		if got := plan(t, test.files, test.documents, made("x", "y")); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestPlanMakesAMirror carries out plans for random files, documents and records. A
// document that no import created must not be renamed, and a document that was changed
// on the server must not be replaced. Afterwards the documents must equal the files,
// except for those that were kept or failed, and a second plan must not create, update
// or rename anything.
func TestPlanMakesAMirror(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		// Create documents as an import does, and change some of them on the server.
		notes := make(map[string]mirror.Noted)
		var documents []mirror.Document
		for n := range random.IntN(7) {
			d := document(fmt.Sprint("d", n), fmt.Sprint("p", random.IntN(6)), fmt.Sprint(random.IntN(4)))
			if _, ok := notes[d.Path]; !ok && random.IntN(2) == 0 {
				notes[d.Path] = mirror.Noted{Document: d.ID, SHA256: d.SHA256, Version: d.Version, Made: random.IntN(3) > 0}
				switch random.IntN(5) {
				case 0:
					d.SHA256, d.Version = fmt.Sprint(random.IntN(4)), d.Version+1
				case 1:
					d.Path, d.Version = fmt.Sprint("p", random.IntN(6)), d.Version+1
				case 2:
					continue // this document was deleted on the server
				}
			}
			documents = append(documents, d)
		}
		var files []mirror.File
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
		made := func(d mirror.Document) bool {
			n, ok := notes[d.Path]
			_, there := want[d.Path]
			return ok && n.Made && n.Document == d.ID && !there
		}
		before := slices.Clone(documents)
		changes, err := mirror.Plan(t.Context(), files, documents, made, func(string) bool { return false })
		if err != nil || !slices.Equal(before, documents) {
			t.Fatalf("%v; the documents were %v and are %v", err, before, documents)
		}
		kept := make(map[string]bool) // paths of files that were kept or failed, so their documents may differ
		for _, c := range changes {
			at := slices.IndexFunc(documents, func(d mirror.Document) bool { return d.ID == c.Document.ID })
			var f mirror.File
			if c.File >= 0 {
				f = files[c.File]
			}
			switch c.Action {
			case mirror.Create:
				documents = append(documents, mirror.Document{ID: "new " + f.Path, Path: f.Path, SHA256: want[f.Path]})
				notes[f.Path] = mirror.Noted{Document: "new " + f.Path, SHA256: want[f.Path], Made: true}
			case mirror.Update:
				if f.Noted.Document != "" && documents[at].SHA256 != f.Noted.SHA256 {
					t.Errorf("a document that was changed is replaced: %v by %+v", documents[at], f)
				}
				documents[at].SHA256 = want[f.Path]
				notes[f.Path] = mirror.Noted{Document: c.Document.ID, SHA256: want[f.Path]}
			case mirror.Rename:
				if !made(documents[at]) {
					t.Errorf("document %v is renamed, which no import created: %+v", documents[at], notes)
				}
				documents[at].Path = f.Path
				notes[f.Path] = mirror.Noted{Document: c.Document.ID, SHA256: want[f.Path], Made: true}
			case mirror.Remove:
				documents = slices.Delete(documents, at, at+1)
			case mirror.Leave:
				notes[f.Path] = mirror.Noted{Document: c.Document.ID, SHA256: want[f.Path], Made: f.Noted.Made && f.Noted.Document == c.Document.ID}
			case mirror.Keep, mirror.Fail:
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
			// If a file now belongs to another document than the one in its record, Plan
			// removes the recorded document only the next time.
			documents = slices.DeleteFunc(documents, func(d mirror.Document) bool { _, ok := want[d.Path]; return !ok })
		}
		if len(kept) == 0 && (len(documents) != len(want) || len(got) < len(want)) {
			t.Fatalf("files %v and documents %v became %v by %+v", want, before, documents, changes)
		}
		for i, f := range files {
			files[i].Noted, files[i].Same = notes[f.Path], notes[f.Path].SHA256 == want[f.Path]
		}
		left := plan(t, files, documents, made)
		for _, action := range []mirror.Action{mirror.Create, mirror.Update, mirror.Rename} {
			if strings.Contains(left, names[action]) {
				t.Fatalf("after all was done there is left: %s; it was %+v of %+v and %v", left, changes, files, before)
			}
		}
	}
}

func TestPlanStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mirror.Plan(ctx, []mirror.File{file("a", "1")}, nil, made(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Plan of a context that has ended = %v", err)
	}
}
