package extract

import (
	"errors"
	"strings"
	"testing"
)

func TestWhatAProcessMayNotSendIsRefused(t *testing.T) {
	good := Section{Index: 0, Level: 1, Title: "t", Path: []string{"t"}, StartPage: 1, EndPage: 2, PageBreaks: []int{1}, Text: "ab"}
	next := Section{Index: 0, Part: 1, Level: 1, Title: "t", Path: []string{"t"}, StartPage: 2, EndPage: 2, Text: "c"}
	for name, change := range map[string]func(s *Section){
		"too much text":      func(s *Section) { s.Text = strings.Repeat("x", MaxPart+1) },
		"a long title":       func(s *Section) { s.Title = strings.Repeat("x", maxTitle+1) },
		"a deep path":        func(s *Section) { s.Path = make([]string, maxLevel+1) },
		"a long path":        func(s *Section) { s.Path = []string{strings.Repeat("x", maxTitle+1)} },
		"no UTF-8":           func(s *Section) { s.Text = "\xff" },
		"a section left out": func(s *Section) { s.Index, s.Part = 2, 0 },
		"a part left out":    func(s *Section) { s.Part = 2 },
		"an empty part":      func(s *Section) { s.Text = "" },
		"another title":      func(s *Section) { s.Title = "u" },
		"a page again":       func(s *Section) { s.StartPage, s.EndPage = 1, 1 },
		"a break outside":    func(s *Section) { s.PageBreaks, s.EndPage = []int{2}, 3 },
		"breaks not rising":  func(s *Section) { s.Text, s.PageBreaks, s.EndPage = "abc", []int{2, 1}, 4 },
		"a wrong end":        func(s *Section) { s.EndPage = 9 },
	} {
		c := checker{limits: Limits{TextBytes: 1 << 20}}
		s := next
		if err := errors.Join(c.section(good), c.section(s)); err != nil {
			t.Fatal(err)
		}
		c = checker{limits: Limits{TextBytes: 1 << 20}}
		change(&s)
		if c.section(good) != nil || c.section(s) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	c := checker{limits: Limits{TextBytes: 1 << 20}}
	endless := Section{Text: strings.Repeat("x", MaxPart)}
	n := 0
	for ; c.section(endless) == nil && n < 1000; n++ {
		endless.Part++
	}
	if n > 3*(1<<20)/MaxPart {
		t.Errorf("%d bytes were taken where %d are the limit", n*MaxPart, 1<<20)
	}
	c = checker{limits: Limits{TextBytes: 1 << 30}}
	tiny := Section{}
	for n = 0; c.section(tiny) == nil && n < 10*maxSections; n++ {
		tiny.Index++
	}
	if n > maxSections+10 {
		t.Errorf("%d empty sections were taken", n)
	}
}
