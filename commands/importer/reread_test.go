package importer

import (
	"context"
	"slices"
	"strings"
	"testing"

	"annals/commands"
	"annals/commands/foldertree"
	"annals/commands/importer/extract"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// scanner reads any file as two scanned pages. Without words they stay unread.
type scanner struct {
	words []string // one text for each page
	note  string   // a warning, whatever was read
}

func (s *scanner) Read(_ context.Context, _, name string, emit func(extract.Section) error, progress extract.Progress) (extract.Info, error) {
	info := extract.Info{MediaType: "application/pdf", Title: name, Pages: 2, UnreadPages: 2 - len(s.words)}
	if s.note != "" {
		info.Warnings = []string{s.note}
	}
	for i, text := range s.words {
		progress("ocr", i+1, 2)
		info.OCRPages, info.Confidence = i+1, 0.9
		if err := emit(extract.Section{Index: i, StartPage: i + 1, EndPage: i + 1, Text: text, OCR: true, Confidence: 0.9}); err != nil {
			return extract.Info{}, err
		}
	}
	return info, nil
}

func (s *scanner) Close() error { return nil }

// scanned imports a file that is scanned, without reading its pages.
func scanned(t testing.TB) (*fixture, *scanner, uuid.UUID) {
	b := newFixture(t)
	b.reader.Close()
	s := &scanner{note: "nothing is installed that reads scans"}
	b.reader = s
	return b, s, b.imported(doc{"scan.pdf", "Library", "%PDF-1.7"})
}

// reread starts a job that reads documents of alice again.
func (b *fixture) reread(documents ...uuid.UUID) (uuid.UUID, []fileRef) {
	b.Helper()
	started, n, err := b.handler().StartReread(b.Context(), alice, "request", commands.RereadDocuments{IDs: documents})
	if err != nil || n != len(documents) {
		b.Fatalf("StartReread = %d documents, %v", n, err)
	}
	var work []fileRef
	for i := range documents {
		work = append(work, fileRef{Job: started.Job, File: i})
	}
	return started.Job, work
}

// rereads returns the DocumentReread events of a document, and the texts that they name.
func (b *fixture) rereads(document uuid.UUID) (all []events.DocumentReread, texts []string) {
	b.Helper()
	text := make(map[string][]string)
	for _, e := range b.all() {
		switch d := e.Data.(type) {
		case events.SectionExtracted:
			text[e.Stream] = append(text[e.Stream], d.Text)
		case events.DocumentReread:
			if events.StreamID(e.Stream) == document {
				all, texts = append(all, d), append(texts, strings.Join(text[d.TextStream], "|"))
			}
		}
	}
	return all, texts
}

func TestRereadReplacesText(t *testing.T) {
	b, scans, document := scanned(t)
	*scans = scanner{words: []string{"the first page", "the second page"}}
	job, work := b.reread(document)
	b.deliver(b.importer(b.driver), work)
	all, texts := b.rereads(document)
	if len(all) != 1 || texts[0] != "the first page|the second page" {
		t.Fatalf("rereads = %+v with texts %q", all, texts)
	}
	if d := all[0]; d.Version != 2 || d.OCRPages != 2 || d.Confidence != 0.9 || d.UnreadPages != 0 || d.Extractor != extract.Version || d.Size != 8 || len(d.Warnings) > 0 || d.TextBytes == 0 {
		t.Errorf("reread = %+v", d)
	}
	if f := b.outcome(job).imported[0]; f.Document != document || f.Outcome != events.OutcomeUpdated || f.Duplicate {
		t.Errorf("outcome = %+v", f)
	}
}

// If nothing has changed, nothing is appended. If only the metadata has, the document keeps
// its text stream.
func TestRereadKeepsSameText(t *testing.T) {
	b, scans, document := scanned(t)
	*scans = scanner{words: []string{"the first page"}, note: "page 2 is blurred"}
	_, work := b.reread(document)
	b.deliver(b.importer(b.driver), work)
	sections := func() (n int) {
		for _, e := range b.all() {
			if _, ok := e.Data.(events.SectionExtracted); ok {
				n++
			}
		}
		return n
	}
	before := sections()
	for range 2 {
		job, work := b.reread(document)
		b.deliver(b.importer(b.driver), work)
		if f := b.outcome(job).imported[0]; f.Outcome != events.OutcomeUnchanged || f.Duplicate || f.Document != document || !slices.Equal(f.Warnings, []string{"page 2 is blurred"}) {
			t.Errorf("outcome = %+v, want unchanged", f)
		}
	}
	scans.note = ""
	_, work = b.reread(document)
	b.deliver(b.importer(b.driver), work)
	all, _ := b.rereads(document)
	if len(all) != 2 || all[1].TextStream != all[0].TextStream || all[1].TextBytes != all[0].TextBytes || len(all[1].Warnings) > 0 || sections() != before {
		t.Errorf("rereads = %+v with %d sections, want 2 that name the same %d", all, sections(), before)
	}
}

// A document does not lose text that was recognised before, for example because Tesseract was
// removed since.
func TestRereadKeepsRecognisedText(t *testing.T) {
	b, scans, document := scanned(t)
	*scans = scanner{words: []string{"the first page", "the second page"}}
	_, work := b.reread(document)
	b.deliver(b.importer(b.driver), work)
	*scans = scanner{words: []string{"the first page"}, note: "Tesseract is missing."}
	job, work := b.reread(document)
	b.deliver(b.importer(b.driver), work)
	if all, _ := b.rereads(document); len(all) != 1 {
		t.Errorf("rereads = %+v, want only the first", all)
	}
	if failed := b.outcome(job).failed[0]; !strings.Contains(failed, "keeps its text") || !strings.Contains(failed, "Tesseract is missing.") {
		t.Errorf("the file failed with %q", failed)
	}
}

// A document that was renamed is read as the type that its file has.
func TestRereadKeepsType(t *testing.T) {
	b := newFixture(t)
	document := b.imported(doc{"notes.txt", "Library", "# not a heading"})
	name := "notes.pdf"
	if _, err := b.handler().ChangeDocument(t.Context(), alice, "", commands.ChangeDocument{ID: document, Version: 1, Name: &name}); err != nil {
		t.Fatal(err)
	}
	job, work := b.reread(document)
	b.deliver(b.importer(b.driver), work)
	if o := b.outcome(job); o.failed[0] != "" {
		t.Errorf("reading the renamed document again failed: %s", o.failed[0])
	}
	for _, e := range b.all() {
		if d, ok := e.Data.(events.DocumentReread); ok && d.MediaType != extract.PlainText {
			t.Errorf("the document is now of type %s", d.MediaType)
		}
	}
}

// Whatever append the process crashes at, the document gets its text one time.
func TestRereadSurvivesCrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		for left := 1; ; left++ {
			b, scans, document := scanned(t)
			*scans = scanner{words: []string{"the first page", "the second page"}}
			job, work := b.reread(document)
			d := &crashing{Driver: b.driver, left: left, after: after}
			b.deliver(b.crashable(d), work)
			if !d.crashed {
				break
			}
			b.deliver(b.importer(b.driver), work)
			all, texts := b.rereads(document)
			if len(all) != 1 || texts[0] != "the first page|the second page" || b.outcome(job).imported[0].Outcome != events.OutcomeUpdated {
				t.Errorf("after a crash at append %d (after %t): rereads %+v with texts %q", left, after, all, texts)
			}
			if left > 20 {
				t.Fatal("too many appends")
			}
		}
	}
}

// A document that is changed while it waits to be read again keeps its new content. Other
// changes of it do not matter.
func TestRereadAfterChange(t *testing.T) {
	rename, tags := "other.pdf", []string{"x"}
	for name, test := range map[string]struct {
		change  func(b *fixture, document uuid.UUID)
		rereads int
		outcome string // "" if the file fails
	}{
		"renamed and tagged": {func(b *fixture, document uuid.UUID) {
			if _, err := b.handler().ChangeDocument(t.Context(), alice, "", commands.ChangeDocument{ID: document, Version: 1, Name: &rename, Tags: &tags}); err != nil {
				t.Fatal(err)
			}
		}, 1, events.OutcomeUpdated},
		"revised": {func(b *fixture, document uuid.UUID) {
			_, work := b.revise(document, 1, "%PDF-1.7 new")
			b.deliver(b.importer(b.driver), work)
		}, 0, events.OutcomeUnchanged},
		"read again": {func(b *fixture, document uuid.UUID) {
			_, work := b.reread(document)
			b.deliver(b.importer(b.driver), work)
		}, 1, events.OutcomeUnchanged},
		"deleted": {func(b *fixture, document uuid.UUID) {
			if _, err := b.handler().DeleteDocument(t.Context(), alice, "", commands.DeleteDocument{ID: document, Version: 1}); err != nil {
				t.Fatal(err)
			}
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, scans, document := scanned(t)
			*scans = scanner{words: []string{"the first page"}}
			job, work := b.reread(document)
			test.change(b, document)
			b.deliver(b.importer(b.driver), work)
			if all, _ := b.rereads(document); len(all) != test.rereads {
				t.Errorf("rereads = %+v, want %d", all, test.rereads)
			}
			o := b.outcome(job)
			if o.imported[0].Outcome != test.outcome || (test.outcome == "") != (o.failed[0] != "") {
				t.Errorf("outcome = %+v, failed %q; want %q", o.imported[0], o.failed[0], test.outcome)
			}
		})
	}
}

func TestRereadNeedsWriteAccess(t *testing.T) {
	b, _, document := scanned(t)
	bob, other := events.User{Principal: "user:bob"}, uuid.New()
	h := b.handler()
	read := commands.RereadDocuments{IDs: []uuid.UUID{document}}
	if _, _, err := h.StartReread(t.Context(), bob, "", read); !fault.Is(err, fault.NotFound) {
		t.Errorf("StartReread by a stranger: %v, want not found", err)
	}
	var folder uuid.UUID
	for _, e := range b.all() {
		if d, ok := e.Data.(events.FolderCreated); ok {
			folder = d.Folder
		}
	}
	share := foldertree.ShareFolder{ID: folder, Version: 1, Permissions: []events.Permission{{Principal: "group:staff", Access: "read"}}}
	if _, err := h.ShareFolder(t.Context(), alice, "", share); err != nil {
		t.Fatal(err)
	}
	bob.Groups = []events.Principal{"group:staff"}
	if _, _, err := h.StartReread(t.Context(), bob, "", read); !fault.Is(err, fault.Forbidden) {
		t.Errorf("StartReread by a reader: %v, want forbidden", err)
	}
	for _, ids := range [][]uuid.UUID{{document}, {other, document}} {
		if started, n, err := h.StartReread(t.Context(), bob, "", commands.RereadDocuments{IDs: ids, Skip: true}); started.Job != uuid.Nil || n != 0 || err != nil {
			t.Errorf("StartReread by a reader, with Skip: job %s for %d documents, %v", started.Job, n, err)
		}
	}
	if _, n, err := h.StartReread(t.Context(), alice, "", commands.RereadDocuments{IDs: []uuid.UUID{other, document}, Skip: true}); n != 1 || err != nil {
		t.Errorf("StartReread with Skip: %d documents, %v, want 1", n, err)
	}
	if _, _, err := h.StartReread(t.Context(), alice, "", commands.RereadDocuments{IDs: make([]uuid.UUID, commands.MaxReread+1)}); !fault.Is(err, fault.Invalid) {
		t.Errorf("StartReread of too many documents: %v, want invalid", err)
	}
}

// A summary is not made of text that was hardly recognised, unless there is no other.
func TestSummaryAvoidsDoubtfulText(t *testing.T) {
	summarise := func(sections ...extract.Section) string {
		b := newFixture(t)
		b.reader.Close()
		b.reader = script(func(_ context.Context, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
			for i, s := range sections {
				s.Index = i
				if err := emit(s); err != nil {
					return extract.Info{}, err
				}
			}
			return extract.Info{MediaType: "application/pdf"}, nil
		})
		job, work := b.accept(alice, doc{"a.pdf", "Library", "%PDF"})
		b.deliver(b.importer(b.driver), work)
		o := b.outcome(job)
		d := o.documents[o.imported[0].Document]
		return d.Description + " " + d.Summary
	}
	doubtful := extract.Section{Text: "Tbe qnick brovvn f0x jumps over tbe lazy d0g today.", OCR: true, Confidence: 0.3}
	sure := extract.Section{Text: "The harbour master signs every page of the log book.", OCR: true, Confidence: 0.9}
	if got := summarise(doubtful, sure); strings.Contains(got, "brovvn") || !strings.Contains(got, "harbour master") {
		t.Errorf("the summary is %q", got)
	}
	if got := summarise(doubtful); !strings.Contains(got, "brovvn") {
		t.Errorf("the summary of doubtful text alone is %q", got)
	}
}
