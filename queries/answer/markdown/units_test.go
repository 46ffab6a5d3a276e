package markdown_test

import (
	"reflect"
	"testing"

	"annals/queries/answer/markdown"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		text  string
		forms []markdown.Form
		want  []string
	}{
		{"One thing. Another\nthing! A third?", []markdown.Form{markdown.Sentence, markdown.Sentence, markdown.Sentence}, []string{"One thing.", "Another\nthing!", "A third?"}},
		{"Dr. A. B. Smith met Mr. Jones at 3.5 p.m. in the U.S. capital. He left.", []markdown.Form{markdown.Sentence, markdown.Sentence}, []string{"Dr. A. B. Smith met Mr. Jones at 3.5 p.m. in the U.S. capital.", "He left."}},
		{`He said "Go." Then he went.[2] Nobody[who?] saw.:12–14 End.`, []markdown.Form{markdown.Sentence, markdown.Sentence, markdown.Sentence, markdown.Sentence}, []string{`He said "Go."`, "Then he went.[2]", "Nobody[who?] saw.:12–14", "End."}},
		{"# Title\n\nText.", []markdown.Form{markdown.Sentence}, []string{"Text."}},
		{"Such as:\n\n- one\n- two\n  more\n1. three", []markdown.Form{markdown.Sentence, markdown.Item, markdown.Item, markdown.Item}, []string{"Such as:", "one", "two\n  more", "three"}},
		{"| A | B |\n|---|:-:|\n| 1 | 2 |\n\n| 3 | 4 |", []markdown.Form{markdown.Row, markdown.Row}, []string{"| 1 | 2 |", "| 3 | 4 |"}},
		{"```go\nx := 1\n\ny\n```\nafter", []markdown.Form{markdown.Code, markdown.Sentence}, []string{"x := 1\n\ny", "after"}},
		{"港の橋。設計者は田中！", []markdown.Form{markdown.Sentence, markdown.Sentence}, []string{"港の橋。", "設計者は田中！"}},
		{"...\n\n---", nil, nil},
	} {
		var forms []markdown.Form
		var got []string
		for _, u := range markdown.Units(c.text) {
			forms, got = append(forms, u.Form), append(got, c.text[u.Start:u.End])
		}
		if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(forms, c.forms) {
			t.Errorf("%q: got %v %q, want %v %q", c.text, forms, got, c.forms, c.want)
		}
	}
}

func FuzzUnits(f *testing.F) {
	f.Add("# A\n\nOne. Two:\n\n- three\n\n| a | b |\n|--|--|\n| 1 | 2 |\n```\nx\n```\n")
	f.Add("|\n|-\n|\\|")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, u := range markdown.Units(text) {
			if u.Start < last || u.End <= u.Start || u.End > len(text) || u.Lead[0] > u.Lead[1] || u.Lead[1] > len(text) || u.Header[0] > u.Header[1] || u.Header[1] > u.Start {
				t.Fatalf("Units(%q): got %+v after byte %d", text, u, last)
			}
			last = u.End
		}
		if n := markdown.Headless(text); n > 0 {
			markdown.Header(text, n)
		}
	})
}

func TestBracketsAroundAnAnswerAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{"(91%)": "91%", "(a) and (b)": "(a) and (b)", "f(x)": "f(x)"} {
		if from, to := markdown.Trim(text, 0, len(text)); text[from:to] != want {
			t.Errorf("Trim(%q): got %q, want %q", text, text[from:to], want)
		}
	}
}
