//go:build !race

package verify_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
	"annals/projections/verify"

	"github.com/google/uuid"
)

// dataFolder is a folder with read models that are up to date with their log.
type dataFolder struct {
	*testing.T
	log      *events.Log
	dir      string
	document uuid.UUID
	missing  map[string]error // errors that Original returns, by SHA-256
	// openIndex, if set, opens the active search index.
	openIndex func(ctx context.Context, generation string) (searchindex.Engine, error)
}

func newDataFolder(t *testing.T, log *events.Log) *dataFolder {
	return &dataFolder{T: t, log: log, dir: t.TempDir(), missing: map[string]error{}}
}

// filledDataFolder returns a folder whose log has events of many types.
func filledDataFolder(t *testing.T) *dataFolder {
	f := newDataFolder(t, projectionstest.NewLog(t))
	f.document = projectionstest.ReviseDocument(t, f.log)
	folder, deleted, job, other := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, f.log, events.Folders,
		events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"},
		events.FolderCreated{Folder: deleted, Parent: folder, Name: "D"},
		events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "group:g", Access: "read"}}})
	projectionstest.Append(t, f.log, events.JobStream(job),
		events.FileAccepted{File: 0, Name: "o.md", Folder: "F", SHA256: strings.Repeat("ab", 32), Size: 1},
		events.FileAccepted{File: 1, Name: "later.md", Folder: "F", SHA256: strings.Repeat("cd", 32), Size: 1},
		events.ImportRequested{Files: 2, User: "user:alice"})
	projectionstest.Append(t, f.log, events.DocumentStream(other), events.DocumentImported{Version: 1, Folder: deleted, Name: "o.md", Content: projectionstest.AppendText(t, f.log, other, 1, "lamp", 3)})
	projectionstest.Append(t, f.log, events.JobStream(job), events.FileImported{File: 0, Document: other, Title: "O"})
	projectionstest.Append(t, f.log, events.Folders, events.FolderRenamed{Folder: folder, Name: "G"}, events.FolderDeleted{Folder: deleted})
	kept := uuid.New()
	text := projectionstest.AppendText(t, f.log, kept, 1, "oil", 30)
	projectionstest.Append(t, f.log, text.TextStream, events.SectionExtracted{Index: text.Sections, Title: "a title alone"})
	text.Sections++
	projectionstest.Append(t, f.log, events.DocumentStream(kept), events.DocumentImported{Version: 1, Folder: folder, Name: "k.md", Tags: []string{"t"}, Content: text})
	last := projectionstest.Append(t, f.log, events.Folders, events.FolderMoved{Folder: folder, Owner: "user:alice"})
	f.fold(last)
	return f
}

// fold applies the log up to a position to all read models.
func (f *dataFolder) fold(through events.Position) {
	f.Helper()
	control := f.control()
	defer control.Close()
	projectionstest.FoldAll(f, generation.Options{
		Log: f.log, Control: control, Tables: projectionstest.Home(f, f.dir), Logger: projectionstest.Quiet, Search: bleve.Folder(f.dir),
	}, through)
}

func (f *dataFolder) control() *control.Store {
	f.Helper()
	control, err := control.Open(f.Context(), filepath.Join(f.dir, "control.db"))
	if err != nil {
		f.Fatal(err)
	}
	return control
}

// copied returns a copy of the data in another folder.
func (f *dataFolder) copied(t *testing.T) *dataFolder {
	t.Helper()
	if postgrestest.Chosen() {
		return filledDataFolder(t)
	}
	other := *f
	other.T, other.dir = t, filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(other.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	return &other
}

// verify returns the results of the checks, by name.
func (f *dataFolder) verify() map[string]verify.Check {
	f.Helper()
	checks, err := f.verifyOver(f.log)
	if err != nil {
		f.Fatal(err)
	}
	return checks
}

// verifyOver is like verify, but reads the events from another log. It also returns the
// error of Run.
func (f *dataFolder) verifyOver(log *events.Log) (map[string]verify.Check, error) {
	f.Helper()
	control := f.control()
	defer control.Close()
	checks, problems := map[string]verify.Check{}, 0
	v := &verify.Verifier{
		Options: generation.Options{
			Log: log, Control: control, Tables: projectionstest.Home(f, f.dir),
			Search: searchindextest.Store{Store: bleve.Folder(f.dir), OnOpenReadOnly: f.openIndex},
		},
		Scratch:  f.TempDir(),
		Original: func(_ context.Context, sha256 string, _ int64) error { return f.missing[sha256] },
		Progress: func(string, int64, int64) {},
		Report: func(c verify.Check) {
			checks[c.Name] = c
			problems += c.Problems
		},
	}
	n, err := v.Run(f.Context())
	if n != problems {
		f.Errorf("Run returned %d problems, and its checks have %d", n, problems)
	}
	return checks, err
}

// wantProblem checks that exactly one check has problems, and that the problems contain
// the text want.
func (f *dataFolder) wantProblem(check, want string) {
	f.Helper()
	checks := f.verify()
	if c := checks[check]; !strings.Contains(strings.Join(c.First, "\n"), want) {
		f.Errorf("%s has the problems %q, want %q", check, c.First, want)
	}
	delete(checks, check)
	for name, c := range checks {
		if c.Problems > 0 {
			f.Errorf("%s has the problems %q, want none", name, c.First)
		}
	}
}

func TestVerifyAcceptsSoundData(t *testing.T) {
	f := filledDataFolder(t)
	checks := f.verify()
	for _, name := range append(readmodel.Names(), "log", "search index", "texts", "originals") {
		if c, found := checks[name]; !found || c.Problems > 0 || len(c.Skipped) > 0 || c.Counts == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if got, want := checks["texts"].Counts, "4 texts of 2 documents"; got != want {
		t.Errorf("counts of texts = %q, want %q", got, want)
	}
	// A read model that is behind the log is not a problem.
	projectionstest.Append(t, f.log, events.DocumentStream(f.document), events.DocumentRenamed{Version: 6, Name: "z.md"})
	for name, c := range f.verify() {
		if c.Problems > 0 || len(c.Skipped) > 0 {
			t.Errorf("with a new event, %s: %+v, want no problems", name, c)
		}
	}
}

// A server may apply events that were appended after verify read the head of the log.
// That must not be a problem.
func TestVerifyBesideServer(t *testing.T) {
	driver := memory.New()
	f := newDataFolder(t, projectionstest.LogOver(t, driver))
	s, _ := projectionstest.Serve(t, projectionstest.Options(t, f.log, f.dir))
	f.openIndex = func(context.Context, string) (searchindex.Engine, error) {
		return nil, fault.Errorf(fault.Unavailable, "a server has the index open")
	}
	importFile := func() {
		job := uuid.New()
		projectionstest.Append(t, f.log, events.JobStream(job), events.FileAccepted{Name: "o.md", Folder: "F", SHA256: strings.Repeat("ab", 32), Size: 1})
		last := projectionstest.Append(t, f.log, events.JobStream(job), events.ImportRequested{Files: 1, User: "user:alice"})
		for _, r := range s.All() {
			projectionstest.Wait(t, r, last)
		}
	}
	importFile()
	checks, err := f.verifyOver(events.NewLog(projectionstest.Hooked{Driver: driver, AfterHead: importFile}))
	if err != nil || len(checks) < len(readmodel.Names()) {
		t.Errorf("verify returned %d checks (%v), want one at least for each read model", len(checks), err)
	}
	for name, c := range checks {
		if c.Problems > 0 {
			t.Errorf("%s: %q", name, c.First)
		}
	}
}

func TestVerifyReportsBeforeError(t *testing.T) {
	driver := memory.New()
	f := newDataFolder(t, projectionstest.LogOver(t, driver))
	stream := events.JobStream(uuid.New())
	for range 1200 {
		if _, err := driver.Append(t.Context(), stream, events.AnyRevision, []events.Record{{ID: uuid.New(), Type: "Unknown", Data: []byte(`{}`), Metadata: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	lost := errors.New("the log cannot be read")
	checks, err := f.verifyOver(events.NewLog(projectionstest.Hooked{Driver: driver, BeforeRead: func(after events.Position) error {
		if after > 0 {
			return lost
		}
		return nil
	}}))
	if c := checks["log"]; !errors.Is(err, lost) || c.Problems != 1000 {
		t.Errorf("the log has %d problems (%v), want 1000 and the error of the read", c.Problems, err)
	}
}

func TestVerifyReportsEditedRows(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	sound := filledDataFolder(t)
	for name, test := range map[string]struct{ generation, edit, check, want string }{
		"a changed row":        {"vault-1", `UPDATE documents SET name = 'x' WHERE id = $1`, "vault", `documents id=DOCUMENT: name is "x", according to the log "a.md"`},
		"a lost row":           {"vault-1", `DELETE FROM tags WHERE document = $1`, "vault", `tags tag=t document=DOCUMENT is missing`},
		"an added permission":  {"vault-1", `INSERT INTO permissions VALUES ('user:mallory', $1, 3, 1)`, "vault", `permissions principal=user:mallory folder=DOCUMENT owner=1 does not follow from the log`},
		"a lost version":       {"vault-1", `DELETE FROM versions WHERE document = $1 AND version = 2`, "vault", `versions document=DOCUMENT version=2 is missing`},
		"a lost table":         {"summaries-1", `ALTER TABLE busy RENAME TO idle`, "summaries", `the active generation cannot be read: read the table busy: `},
		"a file of a job":      {"jobs-1", `UPDATE files SET state = 'failed' WHERE file = 1`, "jobs", `state is "failed", according to the log "waiting"`},
		"lost work":            {"work-1", `DELETE FROM files`, "work", `is missing`},
		"a parked event":       {"summaries-1", `INSERT INTO parked VALUES (3, $1, 0, 'why')`, "summaries", `parked position=3 does not follow from the log`},
		"a changed text":       {"passages-1", `UPDATE sections SET text = substr(text, 1, 8) WHERE text_id = (SELECT text FROM documents WHERE id = $1)`, "passages", `text is "The text", according to the log "The text of version three."`},
		"a passage cut short":  {"passages-1", `UPDATE passages SET length = 3 WHERE document = $1`, "passages", `passages document=DOCUMENT version=3 section=0 number=0: length is 3, according to the log 26`},
		"a document not shown": {"passages-1", `UPDATE documents SET shown = 1 WHERE id = $1`, "passages", `shown is 1, according to the log 3`},
		"a position too far":   {"work-1", `UPDATE checkpoint SET position = 1000000`, "work", `it is at position 1000000, beyond the end of the log at`},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound.copied(t)
			var args []any
			if strings.Contains(test.edit, "$1") {
				args = []any{f.document.String()}
			}
			projectionstest.Edit(f, projectionstest.Home(f, f.dir), test.generation, test.edit, args...)
			f.wantProblem(test.check, strings.ReplaceAll(test.want, "DOCUMENT", f.document.String()))
		})
	}
}

func TestVerifyReportsCorruptModel(t *testing.T) {
	f := filledDataFolder(t)
	home := projectionstest.Home(t, f.dir)
	if err := home.Remove(t.Context(), "jobs-1"); err != nil {
		t.Fatal(err)
	}
	f.wantProblem("jobs", home.Describe("jobs-1")+" is missing")
	projectionstest.Corrupt(t, home, "jobs-1")
	f.wantProblem("jobs", "the active generation cannot be read")
}

func TestVerifyReportsIndexProblems(t *testing.T) {
	sound := filledDataFolder(t)
	for name, test := range map[string]struct {
		change func(document string) searchindex.Batch
		want   string
	}{
		"a lost passage": {func(d string) searchindex.Batch { return searchindex.Batch{Delete: []string{d + "/3/0/0"}} }, "passage DOCUMENT/3/0/0 is missing"},
		"an extra passage": {func(d string) searchindex.Batch {
			return searchindex.Batch{Put: []searchindex.Passage{{ID: d + "/2/0/0", Document: d, Text: "old"}}}
		}, "passage DOCUMENT/2/0/0 should not exist"},
		"another text": {func(d string) searchindex.Batch {
			return searchindex.Batch{Put: []searchindex.Passage{{ID: d + "/3/0/0", Document: d, Text: "another", Folders: []string{"f"}}}}
		}, "a search for "},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound.copied(t)
			x, err := bleve.Folder(f.dir).Open(t.Context(), "passages-1")
			if err != nil {
				t.Fatal(err)
			}
			batch := test.change(f.document.String())
			if batch.Position, err = x.Position(t.Context()); err == nil {
				err = x.Apply(t.Context(), batch)
			}
			if err := errors.Join(err, x.Close()); err != nil {
				t.Fatal(err)
			}
			f.wantProblem("search index", strings.ReplaceAll(test.want, "DOCUMENT", f.document.String()))
		})
	}
	t.Run("no index", func(t *testing.T) {
		f := sound.copied(t)
		if err := os.RemoveAll(filepath.Join(f.dir, "passages-1")); err != nil {
			t.Fatal(err)
		}
		f.wantProblem("search index", "it cannot be opened")
	})
}

// A rebuild may end during verify, and the previous generation is then deleted. verify
// must skip the deleted index.
func TestVerifySkipsReplacedIndex(t *testing.T) {
	f := filledDataFolder(t)
	opened := 0
	f.openIndex = func(context.Context, string) (searchindex.Engine, error) {
		if opened++; opened == 1 {
			return new(emptyIndex), nil
		}
		control := f.control()
		return nil, errors.Join(errors.New("the folder does not exist"), control.Replace(t.Context(), "passages", (*passages.Projection)(nil).Version(), 2), control.Close())
	}
	if c := f.verify()["search index"]; c.Problems > 0 || len(c.Skipped) != 1 || opened != 2 {
		t.Errorf("search index: %+v after opening it %d times, want it skipped after 2", c, opened)
	}
}

func TestVerifySkipsIndexBehind(t *testing.T) {
	f := filledDataFolder(t)
	projectionstest.Edit(f, projectionstest.Home(f, f.dir), "passages-1", `INSERT INTO unindexed (document) VALUES ($1)`, f.document.String())
	checks := f.verify()
	if c := checks["search index"]; c.Problems > 0 || len(c.Skipped) != 1 || !strings.Contains(c.Skipped[0], "1 documents and passages of its tables are not indexed") {
		t.Errorf("search index: %+v", c)
	}
	if c := checks["passages"]; c.Problems > 0 {
		t.Errorf("passages: %+v", c)
	}
}

func TestVerifyIgnoresDeferredRemoval(t *testing.T) {
	f := filledDataFolder(t)
	projectionstest.Edit(f, projectionstest.Home(f, f.dir), "vault-1", `CREATE TEMP TABLE ghost AS SELECT * FROM documents LIMIT 1; UPDATE ghost SET id = 'ghost', folder = 'deleted';
		INSERT INTO documents SELECT * FROM ghost; INSERT INTO tags VALUES ('t', 'ghost'); INSERT INTO emptied VALUES ('deleted')`)
	if c := f.verify()["vault"]; c.Problems > 0 || len(c.Skipped) > 0 {
		t.Errorf("vault: %+v", c)
	}
	projectionstest.Edit(f, projectionstest.Home(f, f.dir), "vault-1", `DELETE FROM emptied`)
	f.wantProblem("vault", "documents id=ghost does not follow from the log")
}

func TestVerifySkipsOtherVersion(t *testing.T) {
	f := filledDataFolder(t)
	control := f.control()
	err := control.Replace(t.Context(), "vault", readmodel.Vault{}.Version()-1, 1)
	if err := errors.Join(err, control.Close()); err != nil {
		t.Fatal(err)
	}
	c := f.verify()["vault"]
	if c.Problems > 0 || c.Counts != "" || len(c.Skipped) != 1 || !strings.Contains(c.Skipped[0], "serve rebuilds it") {
		t.Errorf("vault: %+v", c)
	}
}

func TestVerifyReportsMissingOriginal(t *testing.T) {
	f := filledDataFolder(t)
	sha256 := strings.Repeat("ab", 32)
	document := uuid.New()
	content := projectionstest.AppendText(t, f.log, document, 1, "glass", 1)
	content.SHA256 = sha256
	folder := uuid.New()
	projectionstest.Append(t, f.log, events.Folders, events.FolderCreated{Folder: folder, Name: "O"})
	f.fold(projectionstest.Append(t, f.log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "g.md", Content: content}))
	f.missing[sha256] = fault.Errorf(fault.NotFound, "the original does not exist")
	f.wantProblem("originals", "document "+document.String()+": the original does not exist")
	// A missing original must not be a problem if no document refers to it, even if the
	// last document that did was deleted during the check.
	projectionstest.Append(t, f.log, events.DocumentStream(document), events.DocumentDeleted{Version: 2})
	for name, c := range f.verify() {
		if c.Problems > 0 {
			t.Errorf("%s: %q", name, c.First)
		}
	}
}

func TestVerifyReportsIncompleteText(t *testing.T) {
	f := filledDataFolder(t)
	document, folder := uuid.New(), uuid.New()
	content := projectionstest.AppendText(t, f.log, document, 1, "glass", 2)
	content.Sections = 3
	projectionstest.Append(t, f.log, events.Folders, events.FolderCreated{Folder: folder, Name: "O"})
	f.fold(projectionstest.Append(t, f.log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "g.md", Content: content}))
	c := f.verify()["texts"]
	if want := "refers to " + content.TextStream + " with 3 sections, but 2 exist"; c.Problems != 1 || !strings.Contains(c.First[0], want) {
		t.Errorf("texts: %+v, want %q", c, want)
	}
}

// A later version of the program may have written an event that this version cannot read.
// verify must report that event.
func TestVerifyReportsUnreadableEvent(t *testing.T) {
	driver := memory.New()
	f := newDataFolder(t, projectionstest.LogOver(t, driver))
	document := events.DocumentStream(projectionstest.ReviseDocument(t, f.log))
	history, err := driver.ReadStream(t.Context(), document, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	last := history[len(history)-1]
	unknown := events.Record{ID: uuid.New(), Type: "DocumentUnknown", Data: []byte(`{}`), Metadata: last.Metadata}
	appended, err := driver.Append(t.Context(), document, last.Revision, []events.Record{unknown})
	if err != nil {
		t.Fatal(err)
	}
	f.fold(appended.Position)
	checks := f.verify()
	for name, c := range checks {
		if wrong := name == "log" || name == "texts"; wrong != (c.Problems == 1) || wrong && !strings.Contains(c.First[0], "DocumentUnknown") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if checks["originals"].Counts == "" {
		t.Error("the originals were not checked")
	}
}

// emptyIndex is a search index without passages.
type emptyIndex struct{ searchindex.Engine }

func (*emptyIndex) Close() error { return nil }
