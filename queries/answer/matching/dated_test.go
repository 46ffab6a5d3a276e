package matching

import "testing"

func TestDateOf(t *testing.T) {
	for _, c := range []struct{ title, text, want string }{
		{"Policy", "Date: 2024-03-01\n\nText.", "2024-03-01"},
		{"Policy", "- date: 2024-03-01\n- author: Ann", "2024-03-01"},
		{"Policy", "**Date:** 3rd May 2021", "2021-05-03"},
		{"Policy", "Last updated: May 3, 2021", "2021-05-03"},
		{"Ordnung", "Stand: 1.3.2024", "2024-03-01"},
		{"Ordnung", "Stand: März 2024", "2024"},
		{"Policy", "Version 2024", "2024"},
		{"Policy 2021", "Version 1.2 of the text", "2021"},
		{"Policy 2021", "Date: 1 March 2024", "2024-03-01"},
		{"Policy 2021-2024", "Text.", ""},
		{"Policy", "The date of the meeting was 3 May 2021.", ""},
		{"Policy", "Date: 31 May 20211", ""},
		{"Room 2024b", "Date: yesterday", ""},
	} {
		got := ""
		if d := DateOf([]Passage{{Document: c.title, Text: c.text, Opens: true}}); !d.Time.IsZero() {
			got = d.String()
		}
		if got != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.title, c.text, got, c.want)
		}
	}
}

func FuzzDateOf(f *testing.F) {
	f.Add("Policy 2021", "Date: 31 February 2024")
	f.Add("", "version: 2024-13-99\nstand 99.99.2024")
	f.Fuzz(func(t *testing.T, title, text string) {
		if d := DateOf([]Passage{{Document: title, Text: text, Opens: true}}); !d.Time.IsZero() && (d.Time.Year() < 1900 || d.Time.Year() > 2099) {
			t.Errorf("got %v", d)
		}
	})
}
