package lookalike

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Character is one character of a name.
type Character struct {
	Rune     rune
	Position int // counted from 1, in characters
}

// String describes a character and its position, such as "U+200B ZERO WIDTH SPACE at
// position 4".
func (c Character) String() string {
	name := fmt.Sprintf("U+%04X", c.Rune)
	if unicodeName := cmp.Or(hiddenNames[c.Rune], slashNames[c.Rune]); unicodeName != "" {
		name += " " + unicodeName
	}
	return fmt.Sprintf("%s at position %d", name, c.Position)
}

// hiddenNames are the Unicode names of common hidden characters.
var hiddenNames = map[rune]string{
	0x00AD: "SOFT HYPHEN", 0x034F: "COMBINING GRAPHEME JOINER", 0x061C: "ARABIC LETTER MARK",
	0x115F: "HANGUL CHOSEONG FILLER", 0x1160: "HANGUL JUNGSEONG FILLER", 0x180E: "MONGOLIAN VOWEL SEPARATOR",
	0x200B: "ZERO WIDTH SPACE", zwnj: "ZERO WIDTH NON-JOINER", zwj: "ZERO WIDTH JOINER",
	0x200E: "LEFT-TO-RIGHT MARK", 0x200F: "RIGHT-TO-LEFT MARK", 0x2028: "LINE SEPARATOR", 0x2029: "PARAGRAPH SEPARATOR",
	0x202A: "LEFT-TO-RIGHT EMBEDDING", 0x202B: "RIGHT-TO-LEFT EMBEDDING", 0x202C: "POP DIRECTIONAL FORMATTING",
	0x202D: "LEFT-TO-RIGHT OVERRIDE", 0x202E: "RIGHT-TO-LEFT OVERRIDE",
	0x2060: "WORD JOINER", 0x2061: "FUNCTION APPLICATION", 0x2062: "INVISIBLE TIMES", 0x2063: "INVISIBLE SEPARATOR", 0x2064: "INVISIBLE PLUS",
	0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE", 0x2068: "FIRST STRONG ISOLATE", 0x2069: "POP DIRECTIONAL ISOLATE",
	brailleBlank: "BRAILLE PATTERN BLANK", 0x3164: "HANGUL FILLER", 0xFE0E: "VARIATION SELECTOR-15", emojiStyle: "VARIATION SELECTOR-16",
	0xFEFF: "ZERO WIDTH NO-BREAK SPACE", 0xFFA0: "HALFWIDTH HANGUL FILLER",
}

const (
	zwnj         = 0x200C
	zwj          = 0x200D
	brailleBlank = 0x2800
	emojiStyle   = 0xFE0F
	keycap       = 0x20E3
)

// Hidden returns the first character of a name that is invisible or changes the text
// direction. Joiners and variation selectors that a script or an emoji needs are allowed.
func Hidden(name string) (first Character, found bool) {
	if ascii(name) {
		return Character{}, false
	}
	runes := []rune(name)
	for i, r := range runes {
		if hidden(runes[:i], r, runes[i+1:]) {
			return Character{r, i + 1}, true
		}
	}
	return Character{}, false
}

// Clean returns a text without its hidden and control characters. Use it for texts that
// users do not type, such as the title in a file.
func Clean(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return ignorable(r) || unicode.IsControl(r) }) {
		return text
	}
	runes := []rune(text)
	kept := make([]rune, 0, len(runes))
	for i, r := range runes {
		if !unicode.IsControl(r) && !hidden(kept, r, runes[i+1:]) {
			kept = append(kept, r)
		}
	}
	return string(kept)
}

// hidden reports whether r, between the characters before and after, is hidden. An
// invisible character is not hidden if its neighbours need it.
func hidden(before []rune, r rune, after []rune) bool {
	if !ignorable(r) {
		return false
	}
	last, next := utf8.RuneError, utf8.RuneError
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	if len(after) > 0 {
		next = after[0]
	}
	switch {
	case r == zwj:
		return !virama(last) && !(emoji(before) && unicode.IsSymbol(next))
	case r == zwnj:
		return !virama(last) && !(joins(before) && unicode.In(next, joining...))
	case r == emojiStyle && next == keycap:
		return !strings.ContainsRune("0123456789#*", last)
	case unicode.Is(unicode.Mongolian, last):
		return !(r >= 0x180B && r <= 0x180F)
	case unicode.Is(unicode.Variation_Selector, r):
		return !unicode.IsSymbol(last) && !unicode.In(last, unicode.Han, unicode.Myanmar, unicode.Phags_Pa)
	}
	return true
}

// ignorable reports whether a character is invisible by itself. Such are characters with
// the Unicode property Default_Ignorable_Code_Point, invisible format controls, and
// blank characters that are not spaces.
func ignorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == brailleBlank, r == 0x2028, r == 0x2029:
		return true
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// virama reports whether a character is a virama, which joins consonants in Indic
// scripts. A joiner directly after a virama is needed, because it selects the form of
// the consonants.
func virama(r rune) bool {
	const ccc = 9
	return r != utf8.RuneError && norm.NFC.PropertiesString(string(r)).CCC() == ccc
}

// emoji reports whether a text ends with a symbol, which may be followed by a variation
// selector.
func emoji(text []rune) bool {
	if n := len(text); n > 1 && text[n-1] == emojiStyle {
		text = text[:n-1]
	}
	return len(text) > 0 && unicode.IsSymbol(text[len(text)-1])
}

// joining are the scripts in which the form of a letter depends on its neighbours.
var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Adlam, unicode.Mandaic, unicode.Hanifi_Rohingya}

// joins reports whether a text ends with a letter of a joining script.
func joins(text []rune) bool {
	for i := len(text) - 1; i >= 0; i-- {
		if !unicode.Is(unicode.Mn, text[i]) {
			return unicode.IsLetter(text[i]) && unicode.In(text[i], joining...)
		}
	}
	return false
}
