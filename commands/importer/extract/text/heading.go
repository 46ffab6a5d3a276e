package text

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTextHeading = 100 // bytes of a heading in plain text

// divisions are words that precede the number of a chapter or other division, with the level of
// the heading.
var divisions = map[string]int{
	"volume": 1, "part": 1, "book": 1, "act": 1, "teil": 1, "band": 1, "buch": 1, "partie": 1, "livre": 1, "parte": 1, "libro": 1,
	"chapter": 2, "kapitel": 2, "chapitre": 2, "capítulo": 2, "capitulo": 2, "capitolo": 2, "hoofdstuk": 2, "rozdział": 2, "глава": 2,
	"adventure": 2, "letter": 2, "canto": 2, "scene": 2, "appendix": 2, "anhang": 2, "annexe": 2, "article": 2, "section": 3,
}

// textHeading reports whether a line that follows a blank line may be a heading. If level is not
// 0, the line is a heading of this level if a blank line follows it, too. If level is 0, the line
// is a heading only if it is underlined.
func textHeading(line, trimmed []byte) (level int, possible bool) {
	if c, _ := utf8.DecodeRune(trimmed); !unicode.IsLetter(c) && !unicode.IsDigit(c) {
		return 0, false
	}
	text := string(trimmed)
	if level := divisionLevel(text); level > 0 {
		return level, true
	}
	indented := line[0] == ' ' || line[0] == '\t'
	if !indented {
		if level := numberedLevel(text); level > 0 {
			return level, true
		}
	}
	if isCapitals(text) {
		return 2, true
	}
	return 0, !indented && !bytes.Contains(trimmed, []byte("  "))
}

// divisionLevel returns the level of a heading such as "CHAPTER IV", "Chapter 12. Of Whales" or
// "PART ONE". It returns 0 for other lines.
func divisionLevel(text string) int {
	word, rest, ok := strings.Cut(text, " ")
	if !ok || len(word) > 12 {
		return 0
	}
	level := divisions[strings.ToLower(word)]
	if level == 0 {
		return 0
	}
	number, title, _ := strings.Cut(strings.TrimSpace(rest), " ")
	bare := strings.TrimRight(number, ".:,-–—)")
	if !isNumeral(bare) {
		return 0
	}
	title = strings.TrimSpace(title)
	if title == "" {
		return level
	}
	// "Chapter 3 shows that …" is a sentence; a title starts with a capital.
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(title, "-–—:.[(\"“ "))
	if strings.HasSuffix(title, ".") && bare == number || !unicode.IsUpper(first) && !unicode.IsDigit(first) {
		return 0
	}
	return level
}

var numberWords = map[string]bool{
	"one": true, "two": true, "three": true, "four": true, "five": true, "six": true, "seven": true, "eight": true, "nine": true,
	"ten": true, "eleven": true, "twelve": true, "first": true, "second": true, "third": true, "fourth": true, "fifth": true, "last": true,
}

// isNumeral reports whether s is a number, such as 12, IV, A or Three.
func isNumeral(s string) bool {
	if s == "" || len(s) > 12 {
		return false
	}
	if numberWords[strings.ToLower(s)] || len(s) == 1 && s[0] >= 'A' && s[0] <= 'Z' {
		return true
	}
	return strings.Trim(s, "0123456789.") == "" || strings.Trim(s, "IVXLC") == "" || strings.Trim(s, "ivxlc") == ""
}

// numberedLevel returns the level of a heading such as "1.2 Title", or "3  Title" with two spaces.
// It returns 0 for other lines: "3. Do this" may be a list item, and "3 June" a date.
func numberedLevel(text string) int {
	number, title, ok := strings.Cut(text, " ")
	title = strings.TrimSpace(title)
	if !ok || title == "" || strings.Trim(number, "0123456789.") != "" || number[0] == '.' || strings.Contains(number, "..") {
		return 0
	}
	parts := strings.Split(strings.TrimSuffix(number, "."), ".")
	for _, p := range parts {
		if len(p) > 2 {
			return 0
		}
	}
	words := strings.Fields(title)
	first, _ := utf8.DecodeRuneInString(title)
	if !unicode.IsUpper(first) || len(words) > 12 || strings.ContainsAny(title[len(title)-1:], ".,;:!?") {
		return 0
	}
	if len(parts) == 1 && (len(words) > 8 || lowerWords(words) > len(words)/3 || !strings.HasPrefix(text, number+"  ")) {
		return 0
	}
	return min(len(parts), 6)
}

// lowerWords returns the number of lower-case words of more than three letters.
func lowerWords(words []string) int {
	n := 0
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsLower(r) && utf8.RuneCountInString(w) > 3 {
			n++
		}
	}
	return n
}

// isCapitals reports whether the line is a title in capitals: it has up to ten words, one of at
// least four letters, and no punctuation at the end.
func isCapitals(text string) bool {
	letters, run, longest := 0, 0, 0
	for _, r := range text {
		switch {
		case unicode.IsLower(r) || strings.ContainsRune("|=<>{}[]_\t", r):
			return false
		case unicode.IsUpper(r):
			letters++
			run++
			longest = max(longest, run)
		case unicode.IsLetter(r): // a letter of a script without upper and lower case
			return false
		default:
			run = 0
		}
	}
	return letters*3 >= len(text)*2 && longest >= 4 && len(text) <= 70 && len(strings.Fields(text)) <= 10 &&
		!strings.ContainsAny(text[len(text)-1:], ".,;!?")
}

// underline returns the level of a heading of n bytes, given the next line: 1 if that line
// underlines the heading with "=", 2 with "-", and 0 if it is not an underline.
func underline(line []byte, n int) int {
	if len(line) < 3 || len(line) < n/2 || len(line) > n+5 {
		return 0
	}
	switch {
	case len(bytes.Trim(line, "=")) == 0:
		return 1
	case len(bytes.Trim(line, "-")) == 0:
		return 2
	}
	return 0
}
