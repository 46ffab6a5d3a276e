package lookalike

import "unicode"

// slashNames are the Unicode names of characters that look like a slash.
var slashNames = map[rune]string{
	0x1735: "PHILIPPINE SINGLE PUNCTUATION", 0x2041: "CARET INSERTION POINT", 0x2044: "FRACTION SLASH", 0x2215: "DIVISION SLASH",
	0x2571: "BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT", 0x27CB: "MATHEMATICAL RISING DIAGONAL",
	0x29F8: "BIG SOLIDUS", 0xFF0F: "FULLWIDTH SOLIDUS",
}

// Slash returns the first character of a name that looks like a path separator. Letters
// that look like one, such as the Japanese no, only count between Latin letters or
// digits.
func Slash(name string) (first Character, found bool) {
	if ascii(name) {
		return Character{}, false
	}
	runes, known := []rune(name), prototypes()
	for i, r := range runes {
		if r == '/' || known[r] != "/" || unicode.IsLetter(r) && !between(runes, i) {
			continue
		}
		return Character{r, i + 1}, true
	}
	return Character{}, false
}

func between(runes []rune, i int) bool {
	latin := func(r rune) bool { return unicode.Is(unicode.Latin, r) }
	return i > 0 && i < len(runes)-1 && latin(runes[i-1]) && (latin(runes[i+1]) || unicode.IsDigit(runes[i+1]))
}
