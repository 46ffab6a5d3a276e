package blocks

import "testing"

func TestNumeral(t *testing.T) {
	for _, c := range []struct {
		n            int
		format, want string
	}{
		{4, "upperRoman", "IV"}, {28, "lowerLetter", "bb"}, {12, "ordinal", "12th"},
		{1, "hebrew1", "א"}, {11, "hebrew1", "יא"}, {15, "hebrew1", "טו"}, {116, "hebrew1", "קטז"}, {999, "hebrew1", "תתקצט"}, {1000, "hebrew1", "1000"},
		{4, "arabicAbjad", "د"}, {28, "arabicAbjad", "غ"}, {29, "arabicAbjad", "أأ"}, {7, "none", ""}, {7, "other", "7"},
	} {
		if got := Numeral(c.n, c.format); got != c.want {
			t.Errorf("Numeral(%d, %s) = %q, want %q", c.n, c.format, got, c.want)
		}
	}
}
