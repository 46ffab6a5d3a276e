package imprint_test

import (
	"strings"
	"testing"

	"annals/queries/answer/imprint"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		title         string
		parts         []imprint.Part
		authors, date string
	}{
		// Front matter, as its reader lists it.
		{"Ward rounds", []imprint.Part{{"", "- date: 2014-07-29\n- by: Maria Lindqvist, Peter Osei\n- tags: ward, rounds"}}, "Maria Lindqvist, Peter Osei", "2014-07-29"},
		{"Ward rounds", []imprint.Part{{"", "- authors: name: Maria Lindqvist, mail: ml@example.org, name: Peter Osei, url: https://example.org\n- lastmod: 2021-01-02\n- published: 2019-05-06"}}, "Maria Lindqvist, Peter Osei", "2019-05-06"},
		{"Parser", []imprint.Part{{"", "- author: Lena Fuchs\n- lastmod: 2021-01-02"}}, "Lena Fuchs", "2021-01-02"},
		{"Parser", []imprint.Part{{"", "- tags: by-laws\n- layout: post"}}, "", ""},
		// Title pages.
		{"WOODS", []imprint.Part{{"Cover", "WOODS"}, {"Title", "WOODS"}, {"BY CARL DORN", "1854"}, {"", "©Northern Reprints 2018"}}, "CARL DORN", "1854"},
		{"Fees of depots: a study", []imprint.Part{{"", "Fees of depots: a study\n\nRuth Cohen†\n\nDecember 1, 2020\n\nAbstract\nWe study fees."}}, "Ruth Cohen", "December 1, 2020"},
		{"Shelf robots", []imprint.Part{{"Shelf robots", "Ana Ruiz1 ( ), Bo Lee2, and Cy de Witt1\n\n1 Institute of Storage ar@example.edu"}}, "Ana Ruiz, Bo Lee, and Cy de Witt", ""},
		{"Leave law", []imprint.Part{{"", "Leave law\n\nOtto Reim\n3. Mai 2021\n\n§ 1 Urlaub"}}, "Otto Reim", "3. Mai 2021"},
		{"Timetable", []imprint.Part{{"Timetable", "Written by Eva Koch\n\nLessons begin at 8."}}, "Eva Koch", ""},
		{"Guide", []imprint.Part{{"School Office", ""}, {"August 2001", ""}, {"Guide", ""}}, "", "August 2001"},
		{"Memo", []imprint.Part{{"", "**Author:** Ann Ray\n**Date:** 3 May 2021\n\nText."}}, "Ann Ray", "3 May 2021"},
		{"Depot", []imprint.Part{{"Depot", strings.Repeat("This line says nothing of the depot"+strings.Repeat(" or its staff", 5)+".\n", 19) + strings.Repeat("Hall.\n", 5) + "- author: Zoë Ångström and Maria Lindqvist"}}, "", ""}, // cut
		// What is no name and no date.
		{"Report", []imprint.Part{{"Report", "Annual Report\n\n2020"}}, "", "2020"},
		{"Depot", []imprint.Part{{"Depot", "Open Space\n\nThe depot is large."}}, "", ""},
		{"Depot", []imprint.Part{{"Depot", "By the time it opened in 1931, Ann Berg had left."}}, "", ""},
		{"Depot", []imprint.Part{{"Depot", "By Monday all goods are sent."}}, "", ""},
		{"", nil, "", ""},
	} {
		got := imprint.Of(c.title, c.parts)
		if got.Authors != c.authors || got.Date != c.date {
			t.Errorf("%s %q: got %q and %q, want %q and %q", c.title, c.parts, got.Authors, got.Date, c.authors, c.date)
		}
	}
	parts := []imprint.Part{{"Cover", "WOODS"}, {"Title", "WOODS"}, {"BY CARL DORN", "1854"}}
	if got := imprint.Of("WOODS", parts); got.AuthorAt != 2 || got.DateAt != 2 {
		t.Errorf("parts %d and %d, want 2 and 2", got.AuthorAt, got.DateAt)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("WOODS", "BY CARL DORN", "1854\n\n- by: name: A B, C")
	f.Add("Fees", "", "Fees\nRuth Cohen†, Bo Lee2 ( )\nDecember 1, 2020\n- date: '2020-01'")
	f.Fuzz(func(t *testing.T, title, section, text string) {
		got := imprint.Of(title, []imprint.Part{{Title: section, Text: text}})
		if got.AuthorAt != 0 || got.DateAt != 0 || !strings.Contains(text+"\n"+section, got.Date) {
			t.Errorf("got %+v", got)
		}
	})
}
