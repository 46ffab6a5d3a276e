package queries_test

import (
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/search"

	"github.com/google/uuid"
)

// The Markdown of a document with pages says where each begins, whole and in parts;
// nothing that is found, answered or in the text itself does.
func TestMarkdownCarriesPageMarks(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	id := uuid.New()
	stream := events.TextStream(id, 0)
	first := "The walrus is on page three.\nThe zebra, <!-- page 99 -->, is on page four."
	f.add(stream,
		events.SectionExtracted{Title: "One", Level: 1, StartPage: 3, EndPage: 4, PageBreaks: []int{strings.Index(first, "The zebra")}, Text: first},
		events.SectionExtracted{Index: 1, Title: "Two <!-- page 98 -->", Level: 2, StartPage: 4, EndPage: 6, PageBreaks: []int{0, 0}, Text: "The gnu is on page six."})
	f.add(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: top, Name: "animals.pdf", Content: events.Content{
		MediaType: "application/pdf", Title: "Animals <!-- page 97 -->", Pages: 6, TextStream: stream, Sections: 2,
	}})
	f.settle()
	write, err := f.Markdown(t.Context(), alice, id)
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
		p, err := f.MarkdownPage(t.Context(), alice, id, from, 70)
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
			t.Errorf("a part begins without its page: %q", p)
		}
		for animal, page := range map[string]string{"walrus": "3", "zebra": "4", "gnu": "6"} {
			before, _, found := strings.Cut(p, animal)
			if marks := strings.Split(before, "<!-- page "); found && !strings.HasPrefix(marks[len(marks)-1], page+" -->") {
				t.Errorf("the %s is not on page %s by %q", animal, page, p)
			}
		}
	}
	for _, word := range []string{"walrus", "zebra", "gnu"} {
		found, err := f.Search(t.Context(), alice, search.Query{Query: word})
		if err != nil || len(found) != 1 {
			t.Fatalf("Search(%s) = %+v, %v", word, found, err)
		}
		for _, p := range []string{"page 3 -->", "page 4 -->", "page 6 -->", "&lt;"} {
			if strings.Contains(found[0].Text, p) {
				t.Errorf("the passage of %s holds a mark: %q", word, found[0].Text)
			}
		}
	}
	if found, err := f.Search(t.Context(), alice, search.Query{Query: "-->"}); err != nil && !fault.Is(err, fault.Invalid) || len(found) > 1 {
		t.Errorf("marks are found: %+v, %v", found, err)
	}
}
