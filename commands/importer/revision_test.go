package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/commands"
	"annals/commands/foldertree"
	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"

	"github.com/google/uuid"
)

// imported imports a file and returns its document.
func (b *fixture) imported(d doc) uuid.UUID {
	b.Helper()
	job, work := b.accept(alice, d)
	if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
		b.Fatalf("gave back %v", nacked)
	}
	return b.outcome(job).imported[0].Document
}

// revise accepts a text as new content for the given version of a document of alice.
func (b *fixture) revise(document uuid.UUID, version int, text string) (uuid.UUID, []fileRef) {
	b.Helper()
	return b.reviseFor(alice, document, version, text)
}

func (b *fixture) reviseFor(user events.User, document uuid.UUID, version int, text string) (uuid.UUID, []fileRef) {
	b.Helper()
	s, err := b.originals.Stage(b.Context(), strings.NewReader(text), 1<<30)
	if err == nil {
		err = originals.CommitAll(b.Context(), []originals.Staged{s})
	}
	if err != nil {
		b.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	started, err := b.handler().StartRevision(b.Context(), user, "request", commands.ReviseDocument{
		ID: document, Version: version, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text)),
	})
	if err != nil {
		b.Fatal(err)
	}
	return started.Job, []fileRef{{Job: started.Job}}
}

func (b *fixture) handler() *commands.Handler { return &commands.Handler{Log: b.log} }

// rename renames a document of alice.
func (b *fixture) rename(document uuid.UUID, version int, name string) {
	b.Helper()
	if _, err := b.handler().ChangeDocument(b.Context(), alice, "", commands.ChangeDocument{ID: document, Version: version, Name: &name}); err != nil {
		b.Fatal(err)
	}
}

// revisions returns the revisions of a document and their texts.
func (b *fixture) revisions(document uuid.UUID) (revised []events.DocumentRevised, texts []string) {
	b.Helper()
	text := make(map[string]string)
	for _, e := range b.all() {
		switch d := e.Data.(type) {
		case events.SectionExtracted:
			text[e.Stream] += d.Text
		case events.DocumentRevised:
			if events.StreamID(e.Stream) == document {
				revised, texts = append(revised, d), append(texts, text[d.TextStream])
			}
		}
	}
	return revised, texts
}

func TestRevisionBecomesVersion(t *testing.T) {
	b := newFixture(t)
	document := b.imported(doc{"a.md", "Library", "# Old\n\nApples are red.\n"})
	job, work := b.revise(document, 1, "# New\n\nPears are green and long.\n")
	b.deliver(b.importer(b.driver), work)
	revised, texts := b.revisions(document)
	if len(revised) != 1 || revised[0].Version != 2 || revised[0].Title != "New" || revised[0].MediaType != "text/markdown" || texts[0] != "Pears are green and long." ||
		!strings.Contains(revised[0].Summary+revised[0].Description, "Pears") {
		t.Errorf("revisions = %+v with texts %q", revised, texts)
	}
	if f := b.outcome(job).imported[0]; f.Document != document || f.Title != "New" || f.Duplicate {
		t.Errorf("outcome = %+v", f)
	}
}

func TestSameBytesMakeNoVersion(t *testing.T) {
	b := newFixture(t)
	document := b.imported(doc{"a.md", "Library", "same"})
	job, work := b.revise(document, 1, "same")
	b.deliver(b.importer(b.driver), work)
	if revised, _ := b.revisions(document); len(revised) > 0 {
		t.Errorf("revisions for the same bytes = %+v, want none", revised)
	}
	if f := b.outcome(job).imported[0]; f.Document != document || !f.Duplicate {
		t.Errorf("outcome = %+v, want the document as a duplicate", f)
	}
}

func TestRenamedDocumentKeepsFormat(t *testing.T) {
	b := newFixture(t)
	document := b.imported(doc{"a.md", "Library", "# Old\n"})
	b.rename(document, 1, "notes")
	_, work := b.revise(document, 2, "# New\n\nText.\n")
	b.deliver(b.importer(b.driver), work)
	if revised, _ := b.revisions(document); len(revised) != 1 || revised[0].Title != "New" || revised[0].MediaType != "text/markdown" {
		t.Errorf("revisions = %+v", revised)
	}
}

func TestFailedRevisionChangesNothing(t *testing.T) {
	first := newFixture(t)
	for _, test := range []struct {
		name string
		file string                               // name of the document when the new content is accepted
		then func(b *fixture, document uuid.UUID) // called while the file waits
		want string                               // part of the error
		kind string                               // kind of the error
	}{
		{"the document changed", "a.md", func(b *fixture, document uuid.UUID) { b.rename(document, 2, "b.md") }, "is at version 3, not 2", "conflict"},
		{"the document was deleted", "a.md", func(b *fixture, document uuid.UUID) {
			if _, err := b.handler().DeleteDocument(b.Context(), alice, "", commands.DeleteDocument{ID: document, Version: 2}); err != nil {
				b.Fatal(err)
			}
		}, "no document", ""},
		{"the folder was deleted", "a.md", func(b *fixture, _ uuid.UUID) { b.deleteFolder("Library") }, "no document", ""},
		{"access was withdrawn", "a.md", func(b *fixture, _ uuid.UUID) { b.share("Library", bob, "read") }, "you have read access", "forbidden"},
		{"the name has the extension of another type", "a.docx", func(*fixture, uuid.UUID) {}, "not a Word document", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := first.again()
			b.TB = t
			document := b.imported(doc{"old.md", "Library", "old"})
			b.rename(document, 1, test.file)
			b.share("Library", bob, "write")
			job, work := b.reviseFor(bob, document, 2, "new")
			test.then(b, document)
			if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
				t.Errorf("rejected %v, want none", nacked)
			}
			o := b.outcome(job)
			if got := o.failed[0]; !strings.Contains(got, test.want) || o.kinds[0] != test.kind {
				t.Errorf("failed with %q, kind %q; want %q in it, kind %q", got, o.kinds[0], test.want, test.kind)
			}
			if revised, _ := b.revisions(document); len(revised) > 0 {
				t.Errorf("revisions = %+v", revised)
			}
		})
	}
}

func (b *fixture) deleteFolder(path string) {
	b.Helper()
	h := b.handler()
	folder, _, err := h.FindFolder(b.Context(), alice, foldertree.Destination{Path: path})
	if err == nil {
		_, err = h.DeleteFolder(b.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1, Recursive: true})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func TestConcurrentRevisionsOneWins(t *testing.T) {
	b := newFixture(t)
	document := b.imported(doc{"a.md", "Library", "old"})
	const racers = 8
	jobs, work := make([]uuid.UUID, racers), make([]fileRef, racers)
	for i := range racers {
		job, w := b.revise(document, 1, fmt.Sprintf("# New\n\nText %d.\n", i))
		jobs[i], work[i] = job, w[0]
	}
	b.deliver(b.importer(b.driver), work)
	won := 0
	for i, job := range jobs {
		o := b.outcome(job)
		if _, ok := o.imported[0]; ok {
			won++
			if _, texts := b.revisions(document); !slices.Equal(texts, []string{fmt.Sprintf("Text %d.", i)}) {
				t.Errorf("revision %d won, but the texts are %q", i, texts)
			}
		} else if !strings.Contains(o.failed[0], "is at version 2, not 1") {
			t.Errorf("revision %d failed with %q", i, o.failed[0])
		}
	}
	if won != 1 {
		t.Errorf("%d revisions of one version succeeded, want 1", won)
	}
}

func TestCrashAroundAppendsRevisesOnce(t *testing.T) {
	first := newFixture(t)
	text := long(30 << 10) // long enough for two appends
	want := strings.Count(text, "a thing or two")
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			b := first.again()
			document := b.imported(doc{"a.md", "Library", "old"})
			job, work := b.revise(document, 1, text)
			d := &crashing{Driver: b.driver, after: after, left: n}
			nacked := b.deliver(b.crashable(d), work)
			if !d.crashed {
				if n < 5 {
					t.Errorf("a revision has only %d appends", n-1)
				}
				break
			}
			what := fmt.Sprintf("crash at append %d, after it %v", n, after)
			if len(nacked) != 1 {
				t.Errorf("%s: no file was rejected", what)
			}
			// If the revision was appended before the crash, rename the document before the
			// restart. The second run must still recognise its own revision.
			revised, _ := b.revisions(document)
			if len(revised) > 0 {
				b.rename(document, 2, "b.md")
			}
			if left := b.deliver(b.crashable(b.driver), work); len(left) > 0 {
				t.Errorf("%s: the second run rejected %v", what, left)
			}
			revised, texts := b.revisions(document)
			if len(revised) != 1 || strings.Count(texts[0], "a thing or two") != want {
				t.Errorf("%s: the document was revised %d times, want 1", what, len(revised))
			}
			if f := b.outcome(job).imported[0]; f.Document != document || f.Duplicate {
				t.Errorf("%s: outcome = %+v", what, f)
			}
		}
	}
}

func TestRevisionTextStream(t *testing.T) {
	job, other := uuid.New(), uuid.New()
	file := func(job uuid.UUID, document uuid.UUID) commands.ImportFile {
		return commands.ImportFile{Job: job, Accepted: events.FileAccepted{Document: document}}
	}
	document := uuid.New()
	if got := firstAttempt(file(job, uuid.Nil)); got != 0 {
		t.Errorf("firstAttempt of an import = %d, want 0", got)
	}
	one, again, two := firstAttempt(file(job, document)), firstAttempt(file(job, document)), firstAttempt(file(other, document))
	if one != again || one == two || one < maxAttempts || two < maxAttempts {
		t.Errorf("firstAttempt of revisions = %d and %d for the same job, %d for another", one, again, two)
	}
}

// If the folder is deleted after the importer has checked it last, but before the document is
// appended, the file fails.
func TestFileFailsIfFolderDeleted(t *testing.T) {
	for name, accept := range map[string]func(b *fixture) (uuid.UUID, []fileRef){
		"of an import": func(b *fixture) (uuid.UUID, []fileRef) { return b.accept(alice, doc{"b.md", "Library", "new"}) },
		"of a revision": func(b *fixture) (uuid.UUID, []fileRef) {
			return b.revise(b.imported(doc{"a.md", "Library", "old"}), 1, "new")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			b.TB = t
			b.imported(doc{"other.md", "Library", "other"})
			job, work := accept(b)
			d := &interfering{Driver: b.driver, before: func() { b.deleteFolder("Library") }}
			b.deliver(b.importer(d), work)
			if got, want := b.outcome(job).failed[0], `folder "Library" was deleted while the file was being filed in it`; got != want {
				t.Errorf("failed with %q, want %q", got, want)
			}
		})
	}
}

// interfering is a driver that calls before when the first append to a document's stream
// begins.
type interfering struct {
	events.Driver
	before func()
	done   bool
}

func (d *interfering) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if strings.HasPrefix(stream, "document-") && !d.done {
		d.done = true
		d.before()
	}
	return d.Driver.Append(ctx, stream, expected, records)
}

// If a document was moved into the folder, or revised there, its id cannot be computed from
// its bytes. A duplicate of it must still be found, through the read models.
func TestDuplicateIsFoundUnderAnyID(t *testing.T) {
	for _, test := range []struct {
		name  string
		known func(b *fixture) uuid.UUID
		found bool
	}{
		{"moved into the folder", func(b *fixture) uuid.UUID {
			document := b.imported(doc{"a.md", "Other", "same"})
			folder, err := b.handler().EnsureFolder(b.Context(), alice, events.Cause{}, foldertree.Destination{Path: "Library"})
			if err == nil {
				_, err = b.handler().ChangeDocument(b.Context(), alice, "", commands.ChangeDocument{ID: document, Version: 1, Folder: &folder})
			}
			if err != nil {
				b.Fatal(err)
			}
			return document
		}, true},
		{"revised in the folder", func(b *fixture) uuid.UUID {
			document := b.imported(doc{"a.md", "Library", "other"})
			_, work := b.revise(document, 1, "same")
			b.deliver(b.importer(b.driver), work)
			return document
		}, true},
		{"in another folder", func(b *fixture) uuid.UUID { return b.imported(doc{"a.md", "Other", "same"}) }, false},
		{"deleted from the folder", func(b *fixture) uuid.UUID {
			document := b.imported(doc{"a.md", "Library", "same"})
			if _, err := b.handler().DeleteDocument(b.Context(), alice, "", commands.DeleteDocument{ID: document, Version: 1}); err != nil {
				b.Fatal(err)
			}
			return document
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newFixture(t)
			b.TB = t
			document := test.known(b)
			sum := sha256.Sum256([]byte("same"))
			b.find = found{document, hex.EncodeToString(sum[:])}
			job, work := b.accept(alice, doc{"b.md", "Library", "same"})
			b.deliver(b.importer(b.driver), work)
			if f := b.outcome(job).imported[0]; !f.Duplicate || (f.Document == document) != test.found {
				t.Errorf("imported as %+v; want document %s: %v", f, document, test.found)
			}
		})
	}
}

func TestRevisionRetriesAfterOutage(t *testing.T) {
	b := newFixture(t)
	document := b.imported(doc{"a.md", "Library", "old"})
	job, work := b.revise(document, 1, "# New\n\nText.\n")
	readers, tries := b.reader, 0
	b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
		if tries++; tries > 1 {
			return extract.Info{}, sections(emit, "two", 1)
		}
		return extract.Info{}, errors.Join(sections(emit, "one", 12), fault.Errorf(fault.Unavailable, "the log is unreachable"))
	})
	defer func() { b.reader = readers }()
	b.deliver(b.importer(b.driver), work)
	revised, texts := b.revisions(document)
	if len(revised) != 1 || !strings.HasPrefix(texts[0], "two") || len(texts[0]) != extract.MaxPart {
		t.Errorf("after %d tries the document was revised %d times, want 1", tries, len(revised))
	}
	if o := b.outcome(job); len(o.imported) != 1 {
		t.Errorf("outcome = %+v", o)
	}
}
