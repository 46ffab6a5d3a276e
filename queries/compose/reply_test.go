package compose

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// read returns the sentences of a reply that arrives in pieces of n bytes.
func read(text string, passages, n int, cut bool) (found []said, abstains bool) {
	r := reply{passages: passages}
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		text = text[len(piece):]
		found = append(found, r.add(piece)...)
	}
	return append(found, r.end(cut)...), r.abstains
}

func TestReply(t *testing.T) {
	for _, test := range []struct {
		text string
		cut  bool
		want string
	}{
		{"It is red. [1]\nIt was blue. [2, 3]\n", false, "It is red.[0] It was blue.[1 2]"},
		{"It is red [1]. It was blue [2][3].", false, "It is red[0] It was blue[1 2]"},
		{"It is red [1], [2] and it was blue [3]", false, "It is red[0 1] and it was blue[2]"},
		{"[1] It is red. It was blue.\n[2,3] It is big.", false, "It is red.[0] It was blue.[0] It is big.[1 2]"},
		{"- It is red. [1]\n2. It was blue. [2]\n# Colours\n", false, "It is red.[0] It was blue.[1] Colours[]"},
		{"It is red. It was blue. [1]", false, "It is red.[0] It was blue.[0]"},
		{"It is red.", false, "It is red.[]"},
		{"It is red. [4] It was blue. [0]", false, "It is red.[-1] It was blue.[-1]"},
		{"It is red. [1] It was", true, "It is red.[0]"},
		{"It is red. [1]\n[2] It was", true, "It is red.[0]"},
		{"It is red. [1]\nIt was", false, "It is red.[0] It was[]"},
		{"```\nIt is red. [1]\n```", false, "It is red.[0]"},
		{"<think>It may be blue. [2]\nOr not.</think>It is red. [1]", false, "It is red.[0]"},
		{"It costs €3.50 at Smith & Co. in the U.S. [1]", false, "It costs €3.50 at Smith & Co. in the U.S.[0]"},
		{"![y](p.png) It is red. [1] ![z](q.png) It was blue. [2]", false, "![y](p.png) It is red.[0] ![z](q.png) It was blue.[1]"},
		{"", false, ""},
		{"...\n[1]\n", false, ""},
	} {
		for n := 1; n <= len(test.text)+1; n++ {
			found, _ := read(test.text, 3, n, test.cut)
			var got []string
			for _, s := range found {
				got = append(got, fmt.Sprint(s.text, s.cited))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%q in pieces of %d bytes: %q, want %q", test.text, n, got, test.want)
				break
			}
		}
	}
	for text, want := range map[string]bool{"NO ANSWER": true, "no answer.\n": true, "**NO ANSWER**": true, "There is no answer.": false, "No answer was given. [1]": false} {
		if _, got := read(text, 3, 2, false); got != want {
			t.Errorf("%q abstains: %v, want %v", text, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"It is **red** and `big`.":                        "It is red and big.",
		"It is [red](https://evil.example/?q=1).":         "It is red.",
		"![red](https://evil.example/x.png) It is":        "It is",
		"It is red ![big](/x_(1).png \"red\") ![blue][2]": "It is red",
		"![red](https://evil.example/x.png)":              "",
		"It\u202e is\u200b \U000e0041red\x00.":            "It is red.",
		"x < 5 and y > 3 &c.":                             "x < 5 and y > 3 &c.",
		"Personal data: names.":                           "Personal data: names.",
		"<b>It</b> is":                                    "It is",
		"<script>alert(1)</script>":                       "",
		"<<b>script>alert(1)":                             "",
		"&lt;script&gt;":                                  "",
		"<img src=x onerror=alert(1)>":                    "",
		`\<script>`:                                       "",
		"[red][1]: https://evil.example":                  "",
		"It is red, see https://evil.example/x.":          "",
		"It is red, see WWW.evil.example.":                "",
		"It is red, see mailto:a@evil.example.":           "",
		"Write to a@good.example or read red.md.":         "Write to a@good.example or read red.md.", // if a passage has them
		"[a]: https://evil.example":                       "",
		"javascript:alert(1)":                             "",
		"data:text/html,x":                                "",
		"<https://evil.example>":                          "",
		"":                                                "",
	} {
		got, ok := Clean(text)
		if ok != (want != "") || ok && got != want {
			t.Errorf("Clean(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, seed := range []string{"It is red. [1]\nIt was blue. [2, 3]", "[1] A. B.\nNO ANSWER", "<think>a [1]\nb</think>c [2] d", "- a [1], [2]. b [9]\n```", "a [1]\r\n[", "<b>x</b> [y](z) [1]"} {
		f.Add(seed, 3, false)
		f.Add(seed, 1, true)
	}
	f.Fuzz(func(t *testing.T, text string, n int, cut bool) {
		if n < 1 || len(text) > 2000 {
			t.Skip()
		}
		whole, abstains := read(text, 3, len(text)+1, cut)
		pieces, also := read(text, 3, n, cut)
		if !reflect.DeepEqual(whole, pieces) || abstains != also {
			t.Errorf("%q gives %v, and in pieces of %d bytes %v", text, whole, n, pieces)
		}
		if len(whole) > maxSentences {
			t.Errorf("%d sentences", len(whole))
		}
		for _, s := range whole {
			for _, i := range s.cited {
				if i < -1 || i > 2 {
					t.Errorf("%q names passage %d of 3", s.text, i)
				}
			}
			plain, ok := Clean(s.text)
			if ok && (markup.MatchString(plain) || strings.IndexFunc(plain, func(r rune) bool { return unicode.IsControl(r) }) >= 0) {
				t.Errorf("Clean(%q) = %q", s.text, plain)
			}
		}
	})
}
