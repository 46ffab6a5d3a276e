package projections_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/events/sqldb"
	"annals/projections/readmodel/passages"

	"github.com/google/uuid"
)

// goldenTexts returns sections of many kinds: prose of even and uneven sentences, lists,
// tables, code, scripts without spaces, and very long words.
func goldenTexts() []string {
	rnd := &numbers{17}
	prose := func(sentences, words int, paragraph int, end string) string {
		var b strings.Builder
		for i := range sentences {
			b.WriteString(goldenSentence(rnd, 2+rnd.below(words)) + end)
			if (i+1)%paragraph == 0 {
				b.WriteString("\n\n")
			}
		}
		return b.String()
	}
	lines := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, goldenSentence(rnd, 1+rnd.below(9)), i)
		}
		return b.String()
	}
	return []string{
		"", " \n\t ", "One. Two!",
		"Dr. Smith's e-mail, No. 5: \"Is 2,500.75 the O’Brien’s v1.2 price?\" (He said so.) snake_case/path.go ﬁne Ｆｕｌｌ Straße МОСКВА Ёлка",
		prose(30, 20, 4, ". "), prose(60, 40, 7, "! "), prose(20, 160, 3, "?\r\n"), prose(90, 12, 1000, ".\n"), prose(50, 14, 5, ".” "),
		"Before.\n\n" + lines(120, "| %s | %d |\n") + "\nAfter. " + prose(12, 20, 4, ". "),
		lines(80, "- %s (%d)\n"), prose(8, 20, 4, ". ") + "```go\n" + lines(90, "\tx := %q // %d\n") + "```\n" + prose(9, 20, 4, ". "),
		strings.Repeat("春天来了，花开了。小河边的柳树绿了！", 60), strings.Repeat("กรุงเทพมหานคร ", 90), strings.Repeat("안녕하세요 여러분. ", 120),
		strings.Repeat("x", 9000), strings.Repeat("word ", 900), strings.Repeat("Ein Satz ohne Ende, der weitergeht; ", 90),
	}
}

// TestCuttingGolden compares the passages that sections are cut into with the recorded
// ones.
func TestCuttingGolden(t *testing.T) {
	driver := memory.New()
	set := openSet(t, driver)
	log, document, texts := events.NewLog(driver), uuid.New(), goldenTexts()
	text := events.TextStream(document, 1)
	add := func(stream string, data events.Data) events.Position {
		t.Helper()
		at, err := log.Append(t.Context(), stream, events.AnyRevision, events.Cause{}, events.New{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		return at.Position
	}
	for i, section := range texts {
		s := events.SectionExtracted{Index: i, Level: 1, Title: "Title", StartPage: 10 * i, Text: section}
		for page := 1200; page < len(section); page += 1200 {
			s.PageBreaks = append(s.PageBreaks, page)
		}
		add(text, s)
	}
	fold(t, set, add(events.DocumentStream(document), events.DocumentImported{
		Version: 1, Folder: uuid.New(), Name: "a.md", Content: events.Content{Title: "A", TextStream: text, Sections: len(texts)},
	}))
	type passage struct{ section, number, start, length, first, last int }
	cut, err := sqldb.List(t.Context(), set.Runner(passages.Name).DB(), func(p *passage) []any {
		return []any{&p.section, &p.number, &p.start, &p.length, &p.first, &p.last}
	}, `SELECT section, number, start, length, start_page, end_page FROM passages ORDER BY section, number`)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, p := range cut {
		piece := texts[p.section][p.start : p.start+p.length]
		fmt.Fprintf(&out, "section %d passage %d: bytes %d to %d, pages %d to %d: %.20q … %q\n", p.section, p.number, p.start, p.start+p.length, p.first, p.last, piece, piece[max(0, len(piece)-20):])
	}
	checkPassages(t, "cutting", "the passages of sections", out.Bytes())
}
