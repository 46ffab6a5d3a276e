package lookalike

import "testing"

func TestSlash(t *testing.T) {
	for name, want := range map[string]string{
		"Zoe\u22152026": "U+2215 DIVISION SLASH at position 4",
		"Zoe\u20442026": "U+2044 FRACTION SLASH at position 4",
		"Zoe\u29f82026": "U+29F8 BIG SOLIDUS at position 4",
		"Zoe\uff0f2026": "U+FF0F FULLWIDTH SOLIDUS at position 4",
		"Zoe\u25712026": "U+2571 BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT at position 4",
		"Zoe\u30ce2026": "U+30CE at position 4",
		"ノート":           "",
		"春ノ海":           "",
		"Zoe 2026":      "",
		"Zürich":        "",
	} {
		got, found := Slash(name)
		if found != (want != "") || found && got.String() != want {
			t.Errorf("Slash(%q): got %q, %t, want %q", name, got, found, want)
		}
	}
}
