package accent_test

import (
	"testing"

	"annals/commands/importer/extract/pdf/accent"
)

func TestCompose(t *testing.T) {
	for _, c := range []struct {
		letter, spacing, want rune // want is 0 if there is no such character
	}{
		{'e', '´', 'é'}, {'C', 'ˇ', 'Č'}, {'u', '˚', 'ů'}, {'o', '¨', 'ö'}, {'c', '¸', 'ç'}, {'a', '˛', 'ą'}, {'n', '~', 'ñ'}, {'o', '˝', 'ő'}, {'g', '˘', 'ğ'},
		{'ı', '´', 'í'}, {'ȷ', 'ˆ', 'ĵ'}, // letters without a dot, below an accent
		{'ε', '´', 'έ'}, {'и', '˘', 'й'},
		{'=', accent.Slash, '≠'}, {'∈', accent.Slash, '∉'}, // a slash crosses signs, too
		{'q', '¸', 0}, {'1', '´', 0}, {' ', '´', 0}, {'=', '´', 0},
	} {
		mark := accent.Of(c.spacing)
		if mark == 0 {
			t.Errorf("%q is no accent", c.spacing)
			continue
		}
		if got, ok := accent.Compose(c.letter, mark); ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%q with %q is %q, %t, want %q", c.letter, c.spacing, got, ok, c.want)
		}
	}
}

func TestOtherCharactersAreNoAccents(t *testing.T) {
	for _, r := range "aZ9 '\"-.,°|é\u0301" {
		if mark := accent.Of(r); mark != 0 {
			t.Errorf("%q is an accent, %q", r, mark)
		}
	}
}
