// Package accent knows the accents that a file draws over letters as characters of their own. It imports no other package of this
// module.
package accent

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// accents are the combining characters of spacing accents. TeX and others draw an accent over a
// letter.
var accents = map[rune]rune{
	'`': '\u0300', '´': '\u0301', '^': '\u0302', 'ˆ': '\u0302', '~': '\u0303', '˜': '\u0303', '¯': '\u0304', 'ˉ': '\u0304', '˘': '\u0306',
	'˙': '\u0307', '¨': '\u0308', '˚': '\u030a', '˝': '\u030b', 'ˇ': '\u030c', '¸': '\u0327', '˛': '\u0328', Slash: Slash,
}

// Slash is drawn through the sign after it, and takes no space of its own.
const Slash = '\u0338'

// Of returns the combining character of a spacing accent, or 0 for any other character.
func Of(r rune) rune { return accents[r] }

// Compose returns a letter with an accent as one character.
func Compose(letter, mark rune) (rune, bool) {
	switch letter {
	case 'ı':
		letter = 'i'
	case 'ȷ':
		letter = 'j'
	}
	if !unicode.IsLetter(letter) && mark != Slash {
		return 0, false
	}
	runes := []rune(norm.NFC.String(string([]rune{letter, mark})))
	return runes[0], len(runes) == 1
}
