package importer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/commands"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// named are read models that know these documents, newest first. They return them for any
// folder and name.
type named []uuid.UUID

func (n named) AlikeDocuments(_ context.Context, _ []uuid.UUID, names []string, _ uuid.UUID) ([]string, error) {
	return make([]string, len(names)), nil
}

func (n named) DocumentsNamed(context.Context, uuid.UUID, string, events.Position) ([]uuid.UUID, error) {
	return n, nil
}

func (n named) NamesTaken(_ context.Context, _ []uuid.UUID, names []string) ([]bool, error) {
	return make([]bool, len(names)), nil
}

// replace imports a file with FileAccepted.Replace set, and returns its outcome.
func (b *fixture) replace(d doc, known ...uuid.UUID) events.FileImported {
	b.Helper()
	job, work := b.acceptAs(alice, true, d)
	i := b.importer(b.driver)
	i.Handler.Names = named(known)
	if nacked := b.deliver(i, work); len(nacked) > 0 {
		b.Fatalf("gave back %v", nacked)
	}
	o := b.outcome(job)
	if len(o.failed) > 0 {
		b.Fatalf("failed with %v", o.failed)
	}
	return o.imported[0]
}

// contents returns the texts of a document's versions, in order, and its tags.
func (b *fixture) contents(document uuid.UUID) (texts, tags []string) {
	b.Helper()
	text := make(map[string]string)
	for _, e := range b.all() {
		if d, ok := e.Data.(events.SectionExtracted); ok {
			text[e.Stream] += d.Text
		}
		if events.StreamID(e.Stream) != document {
			continue
		}
		if c, ok := events.ContentOf(e.Data); ok {
			texts = append(texts, text[c.TextStream])
		}
		switch d := e.Data.(type) {
		case events.DocumentImported:
			tags = d.Tags
		case events.DocumentTagged:
			tags = d.Tags
		}
	}
	return texts, tags
}

func TestReplacementBecomesVersion(t *testing.T) {
	b := newFixture(t)
	first := b.replace(doc{"a.md", "Library", "one"})
	var got []string
	for _, text := range []string{"two", "two", "three", "one"} {
		f := b.replace(doc{"a.md", "Library", text})
		if f.Document != first.Document {
			t.Fatalf("%q became document %s, want %s", text, f.Document, first.Document)
		}
		got = append(got, fmt.Sprintf("%s %v", f.Outcome, f.Duplicate))
	}
	if want := []string{"updated false", "unchanged true", "updated false", "updated false"}; first.Outcome != events.OutcomeCreated || !slices.Equal(got, want) {
		t.Errorf("outcomes = %s and then %q, want %q", first.Outcome, got, want)
	}
	if texts, _ := b.contents(first.Document); !slices.Equal(texts, []string{"one", "two", "three", "one"}) {
		t.Errorf("texts of the document = %q", texts)
	}
	if f := b.replace(doc{"b.md", "Library", "one"}); f.Outcome != events.OutcomeCreated || f.Document == first.Document {
		t.Errorf("the same bytes under another name = %+v, want a new document", f)
	}
}

// If several documents have the name of the file, the newest one gets the new content, and a
// warning lists the others.
func TestReplacementTakesNewest(t *testing.T) {
	b := newFixture(t)
	old, newest := b.imported(doc{"a.md", "Library", "old"}), b.imported(doc{"a.md", "Library", "newer"})
	f := b.replace(doc{"a.md", "Library", "new"}, newest, old)
	if f.Document != newest || f.Outcome != events.OutcomeUpdated || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], old.String()) {
		t.Errorf("imported as %+v, want a version of %s and %s in a warning", f, newest, old)
	}
	other := "b.md"
	if _, err := b.handler().ChangeDocument(b.Context(), alice, "", commands.ChangeDocument{ID: newest, Version: 2, Name: &other}); err != nil {
		t.Fatal(err)
	}
	// The read models still return the renamed document under its old name. The importer must
	// notice, and replace the other document.
	if f := b.replace(doc{"a.md", "Library", "newest"}, newest, old); f.Document != old || len(f.Warnings) > 0 {
		t.Errorf("imported as %+v, want a version of %s", f, old)
	}
	if _, err := b.handler().DeleteDocument(b.Context(), alice, "", commands.DeleteDocument{ID: old, Version: 2}); err != nil {
		t.Fatal(err)
	}
	if f := b.replace(doc{"a.md", "Library", "newest"}, newest, old); f.Document == old || f.Document == newest || f.Outcome != events.OutcomeCreated {
		t.Errorf("imported as %+v, want a new document", f)
	}
}

func TestReplacingFileAddsTags(t *testing.T) {
	b := newFixture(t)
	f := b.replace(doc{"a.md", "Library", "text"})
	tags := []string{"mine"}
	if _, err := b.handler().ChangeDocument(b.Context(), alice, "", commands.ChangeDocument{ID: f.Document, Version: 1, Tags: &tags}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{events.OutcomeUpdated, events.OutcomeUnchanged} {
		if again := b.replace(doc{"a.md", "Library", "text"}); again.Outcome != want || !again.Duplicate {
			t.Errorf("imported as %+v, want outcome %s", again, want)
		}
	}
	if texts, tags := b.contents(f.Document); len(texts) != 1 || !slices.Equal(tags, []string{"mine", "t"}) {
		t.Errorf("the document has %d texts and tags %q", len(texts), tags)
	}
}

// Concurrent uploads are filed in any order. The document must end up with the content of the
// upload that was accepted last.
func TestConcurrentReplacementsLastAcceptedWins(t *testing.T) {
	for range 3 {
		b := newFixture(t)
		const racers = 8
		var jobs []uuid.UUID
		var work []fileRef
		for n := range racers {
			job, w := b.acceptAs(alice, true, doc{"a.md", "Library", fmt.Sprintf("Text %d.", n)}, doc{"a.md", "Library", fmt.Sprintf("Text %d, again.", n)})
			jobs, work = append(jobs, job), append(work, w...)
		}
		slices.Reverse(work) // deliver them in reverse order
		for left := work; len(left) > 0; {
			left = b.deliver(b.importer(b.driver), left)
		}
		var document uuid.UUID
		for _, job := range jobs {
			o := b.outcome(job)
			for n, f := range o.imported {
				if document == uuid.Nil {
					document = f.Document
				}
				if f.Document != document {
					t.Errorf("file %d became document %s, want %s", n, f.Document, document)
				}
			}
			if len(o.failed) > 0 {
				t.Errorf("failed: %v", o.failed)
			}
		}
		texts, _ := b.contents(document)
		if want := fmt.Sprintf("Text %d, again.", racers-1); len(texts) == 0 || texts[len(texts)-1] != want {
			t.Errorf("texts of the document = %q, want %q last", texts, want)
		}
		b.log.Close()
	}
}

func TestCrashAroundAnyAppendReplacesOnce(t *testing.T) {
	first := newFixture(t)
	text := long(30 << 10) // long enough for two appends
	want := strings.Count(text, "a thing or two")
	for _, before := range []string{"", "old", text} {
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				b := first.again()
				var versions int
				var document uuid.UUID
				if before != "" {
					document, versions = b.replace(doc{"a.md", "Library", before}).Document, 1
					tags := []string{}
					if _, err := b.handler().ChangeDocument(b.Context(), alice, "", commands.ChangeDocument{ID: document, Version: 1, Tags: &tags}); err != nil {
						t.Fatal(err)
					}
				}
				job, work := b.acceptAs(alice, true, doc{"a.md", "Library", text})
				d := &crashing{Driver: b.driver, after: after, left: n}
				nacked := b.deliver(b.crashable(d), work)
				if !d.crashed {
					if atLeast := map[string]int{"": 5, "old": 4, text: 2}[before]; n <= atLeast {
						t.Errorf("a replacement of %q has only %d appends", before, n-1)
					}
					break
				}
				what := fmt.Sprintf("after %.10q, crash at append %d, after it %v", before, n, after)
				if len(nacked) != 1 {
					t.Errorf("%s: no file was rejected", what)
				}
				if left := b.deliver(b.crashable(b.driver), work); len(left) > 0 {
					t.Errorf("%s: the second run rejected %v", what, left)
				}
				f := b.outcome(job).imported[0]
				if document == uuid.Nil {
					document = f.Document
				}
				if before != text {
					versions++
				}
				outcome := events.OutcomeUpdated
				if before == "" {
					outcome = events.OutcomeCreated
				}
				texts, tags := b.contents(document)
				if f.Document != document || f.Outcome != outcome || f.Duplicate != (before == text) {
					t.Errorf("%s: outcome = %+v", what, f)
				}
				if len(texts) != versions || strings.Count(texts[versions-1], "a thing or two") != want || !slices.Equal(tags, []string{"t"}) {
					t.Errorf("%s: the document has %d texts and tags %q", what, len(texts), tags)
				}
			}
		}
	}
}

// While the file is filed, its document gets another version. Then read models drop the text
// that was appended before, so it must be appended again, to another stream.
func TestNewVersionAppendsTextAgain(t *testing.T) {
	b := newFixture(t)
	document := b.replace(doc{"a.md", "Library", "one"}).Document
	job, work := b.acceptAs(alice, true, doc{"a.md", "Library", "two"})
	d := &interfering{Driver: b.driver, before: func() { b.rename(document, 1, "b.md"); b.rename(document, 2, "a.md") }}
	i := b.importer(d)
	i.Handler.Names = named{document}
	b.deliver(i, work)
	if f := b.outcome(job).imported[0]; f.Document != document || f.Outcome != events.OutcomeUpdated {
		t.Errorf("outcome = %+v", f)
	}
	streams := make(map[string]bool)
	for _, e := range b.all() {
		if d, ok := e.Data.(events.SectionExtracted); ok && d.Text == "two" {
			streams[e.Stream] = true
		}
	}
	if len(streams) != 2 {
		t.Errorf("the text is in %d streams, want one for each version that it was to replace", len(streams))
	}
}

func TestReplacementNeedsAccess(t *testing.T) {
	b := newFixture(t)
	document := b.replace(doc{"a.md", "Library", "one"}).Document
	b.share("Library", bob, "write")
	job, work := b.acceptAs(bob, true, doc{"a.md", "Library", "two"})
	b.share("Library", bob, "read")
	b.deliver(b.importer(b.driver), work)
	if o := b.outcome(job); o.kinds[0] != fault.Forbidden.String() || !strings.Contains(o.failed[0], `you may not write in folder "Library"`) {
		t.Errorf("failed with %q, kind %q", o.failed[0], o.kinds[0])
	}
	if texts, _ := b.contents(document); len(texts) != 1 {
		t.Errorf("texts of the document = %q", texts)
	}
}
