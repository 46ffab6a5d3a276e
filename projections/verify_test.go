//go:build !race

package projections

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
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
	"annals/projections/verify"

	"github.com/google/uuid"
)

// proven is a data folder whose read models are in step with its log.
type proven struct {
	*testing.T
	log      *events.Log
	dir      string
	document uuid.UUID
	gone     map[string]error // originals, by SHA-256
	// search opens the index that serves, if it is not nil.
	search func(ctx context.Context, generation string) (searchindex.Engine, error)
}

func provenOver(t *testing.T, log *events.Log) *proven {
	return &proven{T: t, log: log, dir: t.TempDir(), gone: map[string]error{}}
}

// newProven tells a story of every kind of event, and lets every read model
// pass it.
func newProven(t *testing.T) *proven {
	p := provenOver(t, newLog(t))
	p.document = revised(t, p.log)
	folder, deleted, job, other := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	add(t, p.log, events.Folders,
		events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"},
		events.FolderCreated{Folder: deleted, Parent: folder, Name: "D"},
		events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "group:g", Access: "read"}}})
	add(t, p.log, events.JobStream(job),
		events.FileAccepted{File: 0, Name: "o.md", Folder: "F", SHA256: strings.Repeat("ab", 32), Size: 1},
		events.FileAccepted{File: 1, Name: "later.md", Folder: "F", SHA256: strings.Repeat("cd", 32), Size: 1},
		events.ImportRequested{Files: 2, User: "user:alice"})
	add(t, p.log, events.DocumentStream(other), events.DocumentImported{Version: 1, Folder: deleted, Name: "o.md", Content: write(t, p.log, other, 1, "lamp", 3)})
	add(t, p.log, events.JobStream(job), events.FileImported{File: 0, Document: other, Title: "O"})
	add(t, p.log, events.Folders, events.FolderRenamed{Folder: folder, Name: "G"}, events.FolderDeleted{Folder: deleted})
	kept := uuid.New()
	text := write(t, p.log, kept, 1, "oil", 30)
	add(t, p.log, text.TextStream, events.SectionExtracted{Index: text.Sections, Title: "a title alone"})
	text.Sections++
	add(t, p.log, events.DocumentStream(kept), events.DocumentImported{Version: 1, Folder: folder, Name: "k.md", Tags: []string{"t"}, Content: text})
	last := add(t, p.log, events.Folders, events.FolderMoved{Folder: folder, Owner: "user:alice"})
	p.serve(last)
	return p
}

// serve runs all read models until they have passed a position and nothing
// waits, and closes them.
func (p *proven) serve(through events.Position) {
	p.Helper()
	control := p.control()
	defer control.Close()
	set, err := Open(p.Context(), generation.Options{
		Log: p.log, Control: control, Tables: homeIn(p.T, p.dir), Logger: quiet,
		Search: bleve.Folder(p.dir),
	})
	if err != nil {
		p.Fatal(err)
	}
	for _, r := range set.All() {
		head, err := p.log.Head(p.Context())
		if err == nil {
			err = r.serving.CatchUp(p.Context(), min(through, head), nil)
		}
		if err == nil {
			err = r.serving.FinishDeferred(p.Context())
		}
		if err != nil {
			p.Error(err)
		}
	}
	if err := set.Close(); err != nil {
		p.Error(err)
	}
}

func (p *proven) control() *control.Store {
	p.Helper()
	control, err := control.Open(p.Context(), filepath.Join(p.dir, "control.db"))
	if err != nil {
		p.Fatal(err)
	}
	return control
}

// copied returns the same data in another folder.
func (p *proven) copied(t *testing.T) *proven {
	t.Helper()
	if postgrestest.Chosen() {
		return newProven(t)
	}
	other := *p
	other.T, other.dir = t, filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(other.dir, os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	return &other
}

// verify returns what each check finds.
func (p *proven) verify() map[string]verify.Check {
	p.Helper()
	checks, err := p.verifyOver(p.log)
	if err != nil {
		p.Fatal(err)
	}
	return checks
}

// verifyOver reads the log by another log of the same events.
func (p *proven) verifyOver(log *events.Log) (map[string]verify.Check, error) {
	p.Helper()
	control := p.control()
	defer control.Close()
	checks, problems := map[string]verify.Check{}, 0
	v := &verify.Verifier{
		Options: generation.Options{
			Log: log, Control: control, Tables: homeIn(p.T, p.dir),
			Search: searchindextest.Store{Store: bleve.Folder(p.dir), OnOpenReadOnly: p.search},
		},
		Scratch:  p.TempDir(),
		Original: func(_ context.Context, sha256 string, _ int64) error { return p.gone[sha256] },
		Progress: func(string, int64, int64) {},
		Report: func(c verify.Check) {
			checks[c.Name] = c
			problems += c.Problems
		},
	}
	n, err := v.Run(p.Context())
	if n != problems {
		p.Errorf("Run counts %d problems, its checks %d", n, problems)
	}
	return checks, err
}

// wantProblem checks that one check alone finds problems, and names one of them.
func (p *proven) wantProblem(check, want string) {
	p.Helper()
	checks := p.verify()
	if c := checks[check]; !strings.Contains(strings.Join(c.First, "\n"), want) {
		p.Errorf("%s finds %q, want %q", check, c.First, want)
	}
	delete(checks, check)
	for name, c := range checks {
		if c.Problems > 0 {
			p.Errorf("%s has problems: %q", name, c.First)
		}
	}
}

// edit changes the file of a read model.
func (p *proven) edit(generation, statement string, args ...any) {
	p.Helper()
	db := meddle(p, homeIn(p.T, p.dir), generation)
	defer db.Close()
	if _, err := db.ExecContext(p.Context(), statement, args...); err != nil {
		p.Fatal(err)
	}
}

func TestWhatTheLogGivesIsSound(t *testing.T) {
	p := newProven(t)
	checks := p.verify()
	for _, name := range append(readmodel.Names(), "log", "search index", "texts", "originals") {
		if c, found := checks[name]; !found || c.Problems > 0 || len(c.Skipped) > 0 || c.Counts == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if got, want := checks["texts"].Counts, "4 texts of 2 documents"; got != want {
		t.Errorf("texts: %s, want %s", got, want)
	}
	// What serves may be behind the log.
	add(t, p.log, events.DocumentStream(p.document), events.DocumentRenamed{Version: 6, Name: "z.md"})
	for name, c := range p.verify() {
		if c.Problems > 0 || len(c.Skipped) > 0 {
			t.Errorf("behind the log, %s: %+v", name, c)
		}
	}
}

// restless is a log in which something happens whenever it is asked where it
// ends, or when it is read on.
type restless struct {
	events.Driver
	head func()
	read func(after events.Position) error
}

func (r restless) Head(ctx context.Context) (events.Position, error) {
	head, err := r.Driver.Head(ctx)
	if r.head != nil {
		r.head()
	}
	return head, err
}

func (r restless) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	if r.read != nil {
		if err := r.read(after); err != nil {
			return nil, after, err
		}
	}
	return r.Driver.ReadAll(ctx, after, limit, skip)
}

// What serves passes events that came after verify asked where the log ends.
func TestVerifyBesideServer(t *testing.T) {
	driver := memory.New()
	p := provenOver(t, events.NewLog(driver))
	t.Cleanup(func() { _ = p.log.Close() })
	s, _ := serve(t, optionsIn(t, p.log, p.dir))
	p.search = func(context.Context, string) (searchindex.Engine, error) {
		return nil, fault.Errorf(fault.Unavailable, "the server has it open")
	}
	goOn := func() {
		job := uuid.New()
		add(t, p.log, events.JobStream(job), events.FileAccepted{Name: "o.md", Folder: "F", SHA256: strings.Repeat("ab", 32), Size: 1})
		last := add(t, p.log, events.JobStream(job), events.ImportRequested{Files: 1, User: "user:alice"})
		for _, r := range s.All() {
			wait(t, r, last)
		}
	}
	goOn()
	checks, err := p.verifyOver(events.NewLog(restless{Driver: driver, head: goOn}))
	if err != nil || len(checks) < len(readmodel.Names()) {
		t.Errorf("%d checks, %v", len(checks), err)
	}
	for name, c := range checks {
		if c.Problems > 0 {
			t.Errorf("%s: %q", name, c.First)
		}
	}
}

func TestVerifyReportsBeforeError(t *testing.T) {
	driver := memory.New()
	p := provenOver(t, events.NewLog(driver))
	t.Cleanup(func() { _ = p.log.Close() })
	stream := events.JobStream(uuid.New())
	for range 1200 {
		if _, err := driver.Append(t.Context(), stream, events.AnyRevision, []events.Record{{ID: uuid.New(), Type: "Unknown", Data: []byte(`{}`), Metadata: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	lost := errors.New("the rest of the log cannot be read")
	checks, err := p.verifyOver(events.NewLog(restless{Driver: driver, read: func(after events.Position) error {
		if after > 0 {
			return lost
		}
		return nil
	}}))
	if c := checks["log"]; !errors.Is(err, lost) || c.Problems != 1000 {
		t.Errorf("log: %d problems, want 1000; the error is %v", c.Problems, err)
	}
}

func TestVerifyReportsEditedRows(t *testing.T) {
	heavy(t)
	sound := newProven(t)
	for name, test := range map[string]struct{ generation, edit, check, want string }{
		"a changed row":        {"vault-1", `UPDATE documents SET name = 'x' WHERE id = $1`, "vault", `documents id=DOCUMENT: name is "x", according to the log "a.md"`},
		"a lost row":           {"vault-1", `DELETE FROM tags WHERE document = $1`, "vault", `tags tag=t document=DOCUMENT is missing`},
		"an added right":       {"vault-1", `INSERT INTO permissions VALUES ('user:mallory', $1, 3, 1)`, "vault", `permissions principal=user:mallory folder=DOCUMENT owner=1 does not follow from the log`},
		"a lost earlier one":   {"vault-1", `DELETE FROM versions WHERE document = $1 AND version = 2`, "vault", `versions document=DOCUMENT version=2 is missing`},
		"a lost table":         {"summaries-1", `ALTER TABLE busy RENAME TO lazy`, "summaries", `the active generation cannot be read: busy: `},
		"a file of a job":      {"jobs-1", `UPDATE files SET state = 'failed' WHERE file = 1`, "jobs", `state is "failed", according to the log "waiting"`},
		"work that is not":     {"work-1", `DELETE FROM files`, "work", `is missing`},
		"a parked event":       {"summaries-1", `INSERT INTO parked VALUES (3, $1, 0, 'why')`, "summaries", `parked position=3 does not follow from the log`},
		"a changed text":       {"passages-1", `UPDATE sections SET text = substr(text, 1, 8) WHERE text_id = (SELECT text FROM documents WHERE id = $1)`, "passages", `text is "The text", according to the log "The text of version three."`},
		"a passage cut short":  {"passages-1", `UPDATE passages SET length = 3 WHERE document = $1`, "passages", `passages document=DOCUMENT version=3 section=0 number=0: length is 3, according to the log 26`},
		"a document not shown": {"passages-1", `UPDATE documents SET shown = 1 WHERE id = $1`, "passages", `shown is 1, according to the log 3`},
		"a position too far":   {"work-1", `UPDATE checkpoint SET position = 1000000`, "work", `it is at position 1000000, beyond the end of the log at`},
	} {
		t.Run(name, func(t *testing.T) {
			p := sound.copied(t)
			var args []any
			if strings.Contains(test.edit, "$1") {
				args = []any{p.document.String()}
			}
			p.edit(test.generation, test.edit, args...)
			p.wantProblem(test.check, strings.ReplaceAll(test.want, "DOCUMENT", p.document.String()))
		})
	}
}

func TestVerifyReportsCorruptModel(t *testing.T) {
	p := newProven(t)
	home := homeIn(t, p.dir)
	if err := home.Remove(t.Context(), "jobs-1"); err != nil {
		t.Fatal(err)
	}
	p.wantProblem("jobs", home.Describe("jobs-1")+" is missing")
	spoil(t, home, "jobs-1")
	p.wantProblem("jobs", "the active generation cannot be read")
}

func TestVerifyReportsIndexProblems(t *testing.T) {
	sound := newProven(t)
	for name, test := range map[string]struct {
		change func(document string) searchindex.Batch
		want   string
	}{
		"a lost passage": {func(d string) searchindex.Batch { return searchindex.Batch{Delete: []string{d + "/3/0/0"}} }, "passage DOCUMENT/3/0/0 is missing"},
		"one too many": {func(d string) searchindex.Batch {
			return searchindex.Batch{Put: []searchindex.Passage{{ID: d + "/2/0/0", Document: d, Text: "old"}}}
		}, "passage DOCUMENT/2/0/0 should not be there"},
		"another text": {func(d string) searchindex.Batch {
			return searchindex.Batch{Put: []searchindex.Passage{{ID: d + "/3/0/0", Document: d, Text: "another", Folders: []string{"f"}}}}
		}, "a search for "},
	} {
		t.Run(name, func(t *testing.T) {
			p := sound.copied(t)
			x, err := bleve.Open(filepath.Join(p.dir, "passages-1"))
			if err != nil {
				t.Fatal(err)
			}
			batch := test.change(p.document.String())
			if batch.Position, err = x.Position(t.Context()); err == nil {
				err = x.Apply(t.Context(), batch)
			}
			if err := errors.Join(err, x.Close()); err != nil {
				t.Fatal(err)
			}
			p.wantProblem("search index", strings.ReplaceAll(test.want, "DOCUMENT", p.document.String()))
		})
	}
	t.Run("no index", func(t *testing.T) {
		p := sound.copied(t)
		if err := os.RemoveAll(filepath.Join(p.dir, "passages-1")); err != nil {
			t.Fatal(err)
		}
		p.wantProblem("search index", "it cannot be opened")
	})
}

// Rebuilds may end during verify, and the previous generation is deleted then.
func TestVerifySkipsReplacedIndex(t *testing.T) {
	p := newProven(t)
	opened := 0
	p.search = func(context.Context, string) (searchindex.Engine, error) {
		if opened++; opened == 1 {
			return new(noIndex), nil
		}
		control := p.control()
		return nil, errors.Join(errors.New("no such folder"), control.Replace(t.Context(), "passages", (*passages.Projection)(nil).Version(), 2), control.Close())
	}
	if c := p.verify()["search index"]; c.Problems > 0 || len(c.Skipped) != 1 || opened != 2 {
		t.Errorf("search index: %+v", c)
	}
}

func TestVerifySkipsIndexBehind(t *testing.T) {
	p := newProven(t)
	p.edit("passages-1", `INSERT INTO unindexed (document) VALUES ($1)`, p.document.String())
	checks := p.verify()
	if c := checks["search index"]; c.Problems > 0 || len(c.Skipped) != 1 || !strings.Contains(c.Skipped[0], "1 documents and passages of its tables are not indexed") {
		t.Errorf("search index: %+v", c)
	}
	if c := checks["passages"]; c.Problems > 0 {
		t.Errorf("passages: %+v", c)
	}
}

func TestVerifyIgnoresDeferredRemoval(t *testing.T) {
	p := newProven(t)
	p.edit("vault-1", `CREATE TEMP TABLE ghost AS SELECT * FROM documents LIMIT 1; UPDATE ghost SET id = 'ghost', folder = 'gone';
		INSERT INTO documents SELECT * FROM ghost; INSERT INTO tags VALUES ('t', 'ghost'); INSERT INTO emptied VALUES ('gone')`)
	if c := p.verify()["vault"]; c.Problems > 0 || len(c.Skipped) > 0 {
		t.Errorf("vault: %+v", c)
	}
	p.edit("vault-1", `DELETE FROM emptied`)
	p.wantProblem("vault", "documents id=ghost does not follow from the log")
}

func TestVerifySkipsOtherVersion(t *testing.T) {
	p := newProven(t)
	control := p.control()
	err := control.Replace(t.Context(), "vault", readmodel.Vault{}.Version()-1, 1)
	if err := errors.Join(err, control.Close()); err != nil {
		t.Fatal(err)
	}
	c := p.verify()["vault"]
	if c.Problems > 0 || c.Counts != "" || len(c.Skipped) != 1 || !strings.Contains(c.Skipped[0], "serve rebuilds it") {
		t.Errorf("vault: %+v", c)
	}
}

func TestVerifyReportsMissingOriginal(t *testing.T) {
	p := newProven(t)
	sha256 := strings.Repeat("ab", 32)
	document := uuid.New()
	content := write(t, p.log, document, 1, "glass", 1)
	content.SHA256 = sha256
	folder := uuid.New()
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "O"})
	p.serve(add(t, p.log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "g.md", Content: content}))
	p.gone[sha256] = fault.Errorf(fault.NotFound, "the original does not exist")
	p.wantProblem("originals", "document "+document.String()+": the original does not exist")
	// Once nobody names it any more it may go, also while this is looked at.
	add(t, p.log, events.DocumentStream(document), events.DocumentDeleted{Version: 2})
	for name, c := range p.verify() {
		if c.Problems > 0 {
			t.Errorf("%s: %q", name, c.First)
		}
	}
}

func TestVerifyReportsIncompleteText(t *testing.T) {
	p := newProven(t)
	document, folder := uuid.New(), uuid.New()
	content := write(t, p.log, document, 1, "glass", 2)
	content.Sections = 3
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "O"})
	p.serve(add(t, p.log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "g.md", Content: content}))
	c := p.verify()["texts"]
	if want := "names " + content.TextStream + " with 3 sections, but 2 exist"; c.Problems != 1 || !strings.Contains(c.First[0], want) {
		t.Errorf("texts: %+v, want %q", c, want)
	}
}

// A later version of the program may have written it.
func TestVerifyReportsUnreadableEvent(t *testing.T) {
	driver := memory.New()
	p := provenOver(t, events.NewLog(driver))
	document := events.DocumentStream(revised(t, p.log))
	history, err := driver.ReadStream(t.Context(), document, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	last := history[len(history)-1]
	burnt := events.Record{ID: uuid.New(), Type: "DocumentBurnt", Data: []byte(`{}`), Metadata: last.Metadata}
	made, err := driver.Append(t.Context(), document, last.Revision, []events.Record{burnt})
	if err != nil {
		t.Fatal(err)
	}
	p.serve(made.Position)
	checks := p.verify()
	for name, c := range checks {
		if wrong := name == "log" || name == "texts"; wrong != (c.Problems == 1) || wrong && !strings.Contains(c.First[0], "DocumentBurnt") {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if checks["originals"].Counts == "" {
		t.Error("the originals are not looked at")
	}
}
