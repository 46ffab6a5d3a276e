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
