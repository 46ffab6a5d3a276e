package reader

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/process"
)

func TestCheckerRefusesInvalidSections(t *testing.T) {
	valid := extract.Section{Index: 0, Level: 1, Title: "t", Path: []string{"t"}, StartPage: 1, EndPage: 2, PageBreaks: []int{1}, Text: "ab"}
	next := extract.Section{Index: 0, Part: 1, Level: 1, Title: "t", Path: []string{"t"}, StartPage: 2, EndPage: 2, Text: "c"}
	for name, change := range map[string]func(s *extract.Section){
		"too much text":                      func(s *extract.Section) { s.Text = strings.Repeat("x", extract.MaxPart+1) },
		"a long title":                       func(s *extract.Section) { s.Title = strings.Repeat("x", extract.MaxTitle+1) },
		"a deep path":                        func(s *extract.Section) { s.Path = make([]string, extract.MaxLevel+1) },
		"a long path":                        func(s *extract.Section) { s.Path = []string{strings.Repeat("x", extract.MaxTitle+1)} },
		"invalid UTF-8":                      func(s *extract.Section) { s.Text = "\xff" },
		"a missing section":                  func(s *extract.Section) { s.Index, s.Part = 2, 0 },
		"a missing part":                     func(s *extract.Section) { s.Part = 2 },
		"an empty part":                      func(s *extract.Section) { s.Text = "" },
		"another title":                      func(s *extract.Section) { s.Title = "u" },
		"a repeated page":                    func(s *extract.Section) { s.StartPage, s.EndPage = 1, 1 },
		"a break outside":                    func(s *extract.Section) { s.PageBreaks, s.EndPage = []int{2}, 3 },
		"breaks not sorted":                  func(s *extract.Section) { s.Text, s.PageBreaks, s.EndPage = "abc", []int{2, 1}, 4 },
		"text recognised without confidence": func(s *extract.Section) { s.OCR = true },
		"too much confidence":                func(s *extract.Section) { s.OCR, s.Confidence = true, 1.001 },
		"a wrong end page":                   func(s *extract.Section) { s.EndPage = 9 },
	} {
		c := checker{limits: extract.Limits{TextBytes: 1 << 20}}
		s := next
		if err := errors.Join(c.section(valid), c.section(s)); err != nil {
			t.Fatal(err)
		}
		c = checker{limits: extract.Limits{TextBytes: 1 << 20}}
		change(&s)
		if c.section(valid) != nil || c.section(s) == nil {
			t.Errorf("section accepted %s", name)
		}
	}
	c := checker{limits: extract.Limits{TextBytes: 1 << 20}}
	endless := extract.Section{Text: strings.Repeat("x", extract.MaxPart)}
	n := 0
	for ; c.section(endless) == nil && n < 1000; n++ {
		endless.Part++
	}
	if n > 3*(1<<20)/extract.MaxPart {
		t.Errorf("section accepted %d bytes, the limit is %d", n*extract.MaxPart, 1<<20)
	}
	c = checker{limits: extract.Limits{TextBytes: 1 << 30, Pages: 100_000}}
	mixed := extract.Section{StartPage: 1, EndPage: 1, Text: "x"} // every other page is scanned
	for mixed.Part < c.limits.Pages {
		if err := c.section(mixed); err != nil {
			t.Fatalf("section refused part %d of a file with scanned pages: %v", mixed.Part, err)
		}
		mixed.Part, mixed.StartPage, mixed.EndPage = mixed.Part+1, mixed.StartPage+1, mixed.EndPage+1
	}
	c = checker{limits: extract.Limits{TextBytes: 1 << 30}}
	tiny := extract.Section{}
	for n = 0; c.section(tiny) == nil && n < 10*extract.MaxSections; n++ {
		tiny.Index++
	}
	if n > extract.MaxSections+10 {
		t.Errorf("section accepted %d empty sections", n)
	}
}

func TestCheckerRefusesInvalidRecognition(t *testing.T) {
	valid := extract.Info{Pages: 3, OCRPages: 2, Confidence: 0.873, UnreadPages: 1}
	if got, _, err := decodeInfo(encodeInfo(valid, false)); err != nil || !reflect.DeepEqual(got, valid) || new(checker).info(&got) != nil {
		t.Errorf("decodeInfo = %+v, %v, want %+v, which is valid", got, err, valid)
	}
	for name, change := range map[string]func(i *extract.Info){
		"more recognised pages than pages": func(i *extract.Info) { i.OCRPages = 4 },
		"more unread pages than pages":     func(i *extract.Info) { i.UnreadPages = 4 },
		"too much confidence":              func(i *extract.Info) { i.Confidence = 1.001 },
		"confidence in no page":            func(i *extract.Info) { i.OCRPages = 0 },
	} {
		i := valid
		if change(&i); new(checker).info(&i) == nil {
			t.Errorf("info accepted %s", name)
		}
	}
}

// A hostile process may send anything. It is decoded or refused, and whatever is accepted is
// within the limits.
func FuzzResponses(f *testing.F) {
	var e process.Encoder
	encodeSection(&e, extract.Section{Title: "t", Path: []string{"t"}, Level: 1, StartPage: 1, EndPage: 2, PageBreaks: []int{1}, Text: "ab", OCR: true, Confidence: 0.9})
	f.Add(e.B)
	f.Add(encodeInfo(extract.Info{Title: "t", Pages: 2, OCRPages: 1, Confidence: 0.9, UnreadPages: 1, Warnings: []string{"w"}}, false))
	f.Fuzz(func(t *testing.T, in []byte) {
		decodeInfo(in)
		decodeFailure(in)
		decodeRequest(in)
		s, err := decodeSection(in)
		if err != nil {
			return
		}
		c := checker{limits: extract.Limits{TextBytes: 1 << 20}}
		if c.section(s) == nil && (len(s.Text) > extract.MaxPart || len(s.Title) > extract.MaxTitle || len(s.Path) > extract.MaxLevel || s.Index != 0 || s.Part != 0) {
			t.Errorf("section accepted %+v", s)
		}
	})
}
