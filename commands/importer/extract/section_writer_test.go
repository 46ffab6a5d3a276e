package extract_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/events/fault"

	"golang.org/x/text/unicode/norm"
)

// collected returns a function that appends the sections of a Writer to out.
func collected(out *[]extract.Section) func(extract.Section) error {
	return func(s extract.Section) error { *out = append(*out, s); return nil }
}

func TestSectionsHavePathAndPages(t *testing.T) {
	var got []extract.Section
	w := extract.NewWriter(collected(&got), 0)
	w.Page(1)
	w.Write("preface\r\n\r\n")
	w.Begin(1, " One\n more ")
	w.Write("\n\nfirst page")
	w.Page(2)
	w.Page(4)
	w.Write("\n\nfourth page\n")
	w.Page(5)
	w.Begin(3, "Deep")
	w.Begin(2, "Less deep")
	w.Page(6)
	w.Write("\nsixth")
	w.Begin(1, "Two")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []extract.Section{
		{Index: 0, StartPage: 1, EndPage: 1, Text: "preface"},
		{Index: 1, Level: 1, Title: "One more", Path: []string{"One more"}, StartPage: 1, EndPage: 4, PageBreaks: []int{12, 12, 12}, Text: "first page\n\nfourth page"},
		{Index: 2, Level: 3, Title: "Deep", Path: []string{"One more", "Deep"}, StartPage: 5, EndPage: 5},
		{Index: 3, Level: 2, Title: "Less deep", Path: []string{"One more", "Less deep"}, StartPage: 5, EndPage: 6, PageBreaks: []int{0}, Text: "sixth"},
		{Index: 4, Level: 1, Title: "Two", Path: []string{"Two"}, StartPage: 6, EndPage: 6},
	}
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("sections\n got %s\nwant %s", g, w)
	}
	if w.Sections() != 5 {
		t.Errorf("Sections() = %d, want 5", w.Sections())
	}
}

func TestPartsConcatenateToText(t *testing.T) {
	var got []extract.Section
	w := extract.NewWriter(collected(&got), 0)
	var want strings.Builder
	pageOf := map[string]int{}
	for page := 1; page <= 400; page++ {
		w.Page(page)
		for line := range 20 {
			text := fmt.Sprintf("page %d line %d %s", page, line, strings.Repeat("é", line))
			pageOf[text] = page
			if want.Len() > 0 {
				text = "\n" + text
			}
			want.WriteString(text)
			if err := w.Write(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Close()
	var all strings.Builder
	for i, s := range got {
		if s.Part != i || s.Index != 0 || len(s.Text) > extract.MaxPart {
			t.Errorf("part %d: Index %d, Part %d, %d bytes", i, s.Index, s.Part, len(s.Text))
		}
		all.WriteString(s.Text)
		offset := 0
		for line := range strings.Lines(s.Text) {
			if page := pageAt(s, offset); page != pageOf[strings.TrimSuffix(line, "\n")] {
				t.Fatalf("part %d has page %d for %q", i, page, line)
			}
			offset += len(line)
		}
		if end := s.StartPage + len(s.PageBreaks); s.EndPage != end {
			t.Errorf("part %d: EndPage %d, want %d", i, s.EndPage, end)
		}
	}
	if all.String() != want.String() {
		t.Error("the concatenated parts differ from the text written")
	}
}

// pageAt returns the page of the text at an offset.
func pageAt(s extract.Section, offset int) int {
	page := s.StartPage
	for _, b := range s.PageBreaks {
		// The line end before the first line of a page belongs to that page.
		if b <= offset {
			page++
		}
	}
	return page
}

func TestPartsEndBetweenRunes(t *testing.T) {
	var got []extract.Section
	w := extract.NewWriter(collected(&got), 0)
	text := strings.Repeat("世", extract.MaxPart)
	w.Write(text)
	w.Close()
	var all strings.Builder
	for _, s := range got {
		if !utf8.ValidString(s.Text) || len(s.Text) > extract.MaxPart || s.StartPage != 0 || s.EndPage != 0 {
			t.Errorf("part %d has %d bytes and pages %d-%d", s.Part, len(s.Text), s.StartPage, s.EndPage)
		}
		all.WriteString(s.Text)
	}
	if all.String() != text {
		t.Error("the concatenated parts differ from the text written")
	}
}

func TestTextOverLimitIsRefused(t *testing.T) {
	w := extract.NewWriter(func(extract.Section) error { return nil }, 10)
	if err := w.Write("0123456789"); err != nil {
		t.Fatal(err)
	}
	if err := w.Write("x"); !fault.Is(err, fault.Invalid) {
		t.Errorf("Write over the limit = %v, want kind invalid", err)
	}
}

func TestEmitErrorIsReturned(t *testing.T) {
	want := errors.New("stop")
	w := extract.NewWriter(func(extract.Section) error { return want }, 0)
	w.Write("x")
	if err := w.Close(); err != want {
		t.Errorf("Close = %v, want %v", err, want)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add("a\u0301", "\u0301 b\r\n", "\xff\x00", 2)
	f.Add(strings.Repeat("x\n\n", 40000), "", "y", 1)
	f.Fuzz(func(t *testing.T, a, b, c string, page int) {
		var got []extract.Section
		w := extract.NewWriter(collected(&got), 0)
		w.Page(1)
		w.Write(a)
		w.Page(page % 1000)
		w.Write(b)
		w.Begin(len(c), c)
		w.Write(a)
		w.Close()
		for _, s := range got {
			if len(s.Text) > extract.MaxPart || !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\r\x00") || !norm.NFC.IsNormalString(s.Title) {
				t.Errorf("part %d of section %d: %d bytes, %q", s.Part, s.Index, len(s.Text), s.Title)
			}
			if !slices.IsSorted(s.PageBreaks) || s.EndPage != s.StartPage+len(s.PageBreaks) {
				t.Errorf("pages %d-%d, breaks %v", s.StartPage, s.EndPage, s.PageBreaks)
			}
			for _, b := range s.PageBreaks {
				if b < 0 || b > len(s.Text) {
					t.Errorf("break %d in %d bytes", b, len(s.Text))
				}
			}
		}
	})
}
