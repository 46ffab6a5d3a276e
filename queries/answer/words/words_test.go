package words_test

import (
	"strings"
	"testing"

	"annals/queries/answer/words"
)

func TestTokenize(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Möngke's U.S.A. plan—3,5 or 4.25% of O'Neil-Smith", "mongke u.s.a plan 3,5 or 4.25 of o'neil-smith"},
		{"橋は 2. Then", "橋 は 2 then"},
		{"don't stop. Now", "don't stop now"},
		{"Dec-2015, e-mail to Taxes.Forms@irs.gov.", "dec 2015 e-mail to taxes forms@irs.gov"},
		{"\xff- '", ""},
	} {
		var got []string
		for _, tok := range words.Tokenize(c.text, 0, len(c.text), nil) {
			got = append(got, tok.Lower)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestEmojiIsNoWord(t *testing.T) {
	if got := words.Tokenize("😀 🏳️‍🌈 ✌️", 0, len("😀 🏳️‍🌈 ✌️"), nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestForeign(t *testing.T) {
	for question, want := range map[string]string{
		"Wo steht die Brücke von Aldmund?":      "wo die von",
		"¿Cuándo es la reunión de la junta?":    "cuando es la de la",
		"Quelle est la durée de l’essai ?":      "quelle est la de",
		"Где хранятся книги?":                   "где",
		"橋の設計者は誰ですか":                            "の は 誰 で す か",
		"What is die casting?":                  "",
		"notice period":                         "",
		"Who wrote the comment on die casting?": "",
	} {
		tokens := words.Tokenize(question, 0, len(question), nil)
		var got []string
		if function := words.Foreign(tokens); function != nil {
			for i := range tokens {
				if function(&tokens[i]) {
					got = append(got, tokens[i].Lower)
				}
			}
		}
		if strings.Join(got, " ") != words.Plain(want) {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
	}
}

func TestMisspelt(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"hamza", "hamaz", true}, {"rhou", "rou", true}, {"iain", "lain", true}, {"receive", "recieve", true}, {"harbour", "harbor", true},
		{"berg", "dorn", false}, {"berg", "bergen", false}, {"form", "from", true}, {"ab", "ad", false}, {"abcd", "badc", false}, {"", "a", false},
	} {
		if got := words.Misspelt(c.a, c.b); got != c.want || words.Misspelt(c.b, c.a) != c.want {
			t.Errorf("Misspelt(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
