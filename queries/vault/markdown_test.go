package vault_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

func TestMarkdownHasPageMarks(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	first := "The walrus is on page three.\nThe zebra, <!-- page 99 -->, is on page four."
	id := f.Import(events.DocumentImported{Folder: top, Name: "animals.pdf", Content: events.Content{
		MediaType: "application/pdf", Title: "Animals <!-- page 97 -->", Pages: 6,
	}},
		events.SectionExtracted{Title: "One", Level: 1, StartPage: 3, EndPage: 4, PageBreaks: []int{strings.Index(first, "The zebra")}, Text: first},
		events.SectionExtracted{Title: "Two <!-- page 98 -->", Level: 2, StartPage: 4, EndPage: 6, PageBreaks: []int{0, 0}, Text: "The gnu is on page six."})
	f.Settle()
	write, err := f.vault.Markdown(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	want := "---\ntype: document\ntitle: \"Animals &lt;!-- page 97 -->\"\n---\n\n" +
		"<!-- page 3 -->\n# One\n\nThe walrus is on page three.\n<!-- page 4 -->\nThe zebra, &lt;!-- page 99 -->, is on page four.\n\n" +
		"## Two &lt;!-- page 98 -->\n\n<!-- page 6 -->\nThe gnu is on page six."
	if out.String() != want {
		t.Errorf("Markdown =\n%s\nwant\n%s", out.String(), want)
	}
	var parts []string
	for from := int64(0); ; {
		p, err := f.vault.MarkdownPage(t.Context(), alice, id, from, 70)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p.Text)
		if from = p.Next; from == 0 {
			break
		}
	}
	for _, p := range parts[1:] {
		if !strings.HasPrefix(p, "<!-- page ") {
			t.Errorf("part %q does not begin with a page mark", p)
		}
		for animal, page := range map[string]string{"walrus": "3", "zebra": "4", "gnu": "6"} {
			before, _, found := strings.Cut(p, animal)
			if marks := strings.Split(before, "<!-- page "); found && !strings.HasPrefix(marks[len(marks)-1], page+" -->") {
				t.Errorf("part %q does not mark the %s as on page %s", p, animal, page)
			}
		}
	}
}

// Marks say of which pages words were recognised, also where that is only a part of a section.
func TestMarkdownMarksRecognisedParts(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	path := []string{"One"}
	id := f.Import(events.DocumentImported{Folder: top, Name: "a.pdf", Content: events.Content{MediaType: "application/pdf", Title: "A", Pages: 4, OCRPages: 2, Confidence: 0.9}},
		events.SectionExtracted{Title: "One", Path: path, Level: 1, StartPage: 1, EndPage: 1},
		events.SectionExtracted{Title: "One", Path: path, Level: 1, Part: 1, StartPage: 2, EndPage: 2, Text: "Scanned.\n\n", OCR: true, Confidence: 0.9},
		events.SectionExtracted{Title: "One", Path: path, Level: 1, Part: 2, StartPage: 3, EndPage: 3, Text: "Typed, and then"},
		events.SectionExtracted{Title: "One", Path: path, Level: 1, Part: 3, StartPage: 4, EndPage: 8, PageBreaks: []int{9, 9, 10, 15}, Text: " scanned.\nMore.\nEnd.", OCR: true, Confidence: 0.8}) // pages 5 and 6 are blank
	f.Settle()
	got, err := f.readEverywhere(id)["markdown"]()
	const want = "---\ntype: document\ntitle: \"A\"\nocr_pages: 2\nconfidence: 0.900\n---\n\n" +
		"<!-- page 1 -->\n# One\n\n<!-- page 2 -->\n<!-- recognised in a picture of page 2, confidence 0.900 -->\nScanned.\n\n" +
		"<!-- page 3 -->\nTyped, and then<!-- page 4 --><!-- recognised in a picture of pages 4, 7-8, confidence 0.800 --> scanned.\n<!-- page 7 -->\nMore.\n<!-- page 8 -->\nEnd."
	if err != nil || got != want {
		t.Errorf("Markdown =\n%s, %v\nwant\n%s", got, err, want)
	}
}

func TestMarkdownPagesJoinToWholeText(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, "Line %d is übrigens short.\n", i)
	}
	id := f.AddDocument(top, "a.md", nil, lines.String(), strings.Repeat("ü", 500), "The end.")
	f.Settle()
	write, err := f.vault.Markdown(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	if err := write(&whole); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{2, 3, 40, 41, 333, whole.Len() - 1, whole.Len(), whole.Len() + 1} {
		var got strings.Builder
		for from := int64(0); ; {
			p, err := f.vault.MarkdownPage(t.Context(), alice, id, from, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Text) > limit || p.Document.ID != id {
				t.Fatalf("MarkdownPage(%d, %d) has %d bytes of %s", from, limit, len(p.Text), p.Document.ID)
			}
			got.WriteString(p.Text)
			if from = p.Next; from == 0 {
				break
			}
		}
		if got.String() != whole.String() {
			t.Errorf("parts of %d bytes do not join to the whole text", limit)
		}
	}
	if p, err := f.vault.MarkdownPage(t.Context(), alice, id, 1<<40, 10); err != nil || p.Text != "" || p.Next != 0 {
		t.Errorf("MarkdownPage beyond the end: %+v, %v, want no text", p, err)
	}
	if _, err := f.vault.MarkdownPage(t.Context(), bob, id, 0, 10); !fault.Is(err, fault.NotFound) {
		t.Errorf("MarkdownPage for bob: %v, want not found", err)
	}
}

// readEverywhere returns the three ways of reading a document's text.
func (f *fixture) readEverywhere(id uuid.UUID) map[string]func() (string, error) {
	ctx := f.t.Context()
	return map[string]func() (string, error){
		"single": func() (string, error) {
			d, err := f.vault.Document(ctx, alice, id)
			return content(d), err
		},
		"batch": func() (string, error) {
			docs, err := f.vault.DocumentBatch(ctx, alice, []uuid.UUID{id})
			if err != nil || len(docs) != 1 {
				return "", errors.Join(err, errors.New("the batch has no document"))
			}
			return content(docs[0]), nil
		},
		"markdown": func() (string, error) {
			write, err := f.vault.Markdown(ctx, alice, id)
			if err != nil {
				return "", err
			}
			var b strings.Builder
			err = write(io.Writer(&b))
			return b.String(), err
		},
	}
}

func TestReadsAwaitText(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	old := f.AddDocument(top, "old.md", nil, "The text before.")
	f.Settle()
	release := f.HoldDuring(engine, func() { f.AddDocument(top, "first.md", nil, "The index blocks on this.") })
	id := f.AddDocument(top, "late.md", nil, "The late text.")
	f.Revise(old, 2, "The text after.")
	f.Await(f.Models.Vault)
	wants := map[uuid.UUID]string{id: "The late text.", old: "The text after."}
	f.Models.MaxLag = time.Nanosecond // do not wait
	for doc := range wants {
		for how, read := range f.readEverywhere(doc) {
			text, err := read()
			if how == "batch" && (err != nil || text != "") || how != "batch" && !fault.Is(err, fault.Unavailable) {
				t.Errorf("%s before the text is there: got %q (%v)", how, text, err)
			}
		}
	}
	f.Models.MaxLag = time.Hour
	type result struct {
		how, text, want string
		err             error
	}
	results := make(chan result)
	readers := 0
	for doc, want := range wants {
		for how, read := range f.readEverywhere(doc) {
			readers++
			go func() {
				text, err := read()
				results <- result{how, text, want, err}
			}()
		}
	}
	release()
	for range readers {
		if r := <-results; r.err != nil || !strings.HasSuffix(r.text, r.want) {
			t.Errorf("%s: got %q (%v), want it to end with %q", r.how, r.text, r.err, r.want)
		}
	}
}

func TestTextOfStoppedPassagesIsUnavailable(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	old := f.AddDocument(top, "old.md", nil, "An old zebra.")
	f.Settle()
	engine.FailWrites()
	f.AddDocument(top, "first.md", nil, "The engine fails to index this.")
	f.AwaitStop(f.Models.Passages)
	id := uuid.New()
	f.Append(events.DocumentStream(id), events.DocumentImported{Version: 7, Folder: top, Name: "late.md", Content: events.Content{
		MediaType: "text/markdown", Title: "Late", TextStream: events.TextStream(id, 0),
	}})
	f.Await(f.Models.Vault)
	for how, read := range f.readEverywhere(id) {
		text, err := read()
		if how == "batch" {
			if err != nil || text != "" {
				t.Errorf("batch: %q (%v), want the document without content", text, err)
			}
			continue
		}
		if !fault.Is(err, fault.Unavailable) || text != "" {
			t.Errorf("%s: %q (%v), want fault.Unavailable", how, text, err)
		}
	}
	if d, err := f.vault.Document(t.Context(), alice, old); err != nil || !strings.HasSuffix(content(d), "An old zebra.") {
		t.Errorf("Document with an earlier text: got %q (%v)", content(d), err)
	}
}
