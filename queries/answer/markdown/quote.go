package markdown

import (
	"strings"
	"unicode/utf8"
)

// IsSyntax reports whether a quotation has flags, placeholders or other code, of which a few
// words do not stand by themselves.
func IsSyntax(text string) bool {
	return strings.Contains(text, "--") || strings.ContainsAny(text, "{}[]<>=|\\")
}

// Trim narrows a quotation so that it does not begin or end with punctuation that
// only makes sense in the full text: commas, brackets or quotes whose other half is
// missing, and brackets around all of it.
func Trim(text string, start, end int) (int, int) {
	if s := text[start:end]; strings.HasPrefix(s, "(") && strings.IndexByte(s, ')') == len(s)-1 {
		start, end = start+1, end-1
	}
	for start < end {
		r, n := utf8.DecodeRuneInString(text[start:end])
		if !strings.ContainsRune(`,;:)]}–—.`, r) && !unpaired(text[start:end], r) {
			break
		}
		start += n
	}
	for end > start {
		r, n := utf8.DecodeLastRuneInString(text[start:end])
		if !strings.ContainsRune(`,;:([{–—.`, r) && !unpaired(text[start:end], r) {
			break
		}
		end -= n
	}
	return start, end
}

// unpaired reports whether r is a bracket, quote or emphasis mark whose other half is
// not in s.
func unpaired(s string, r rune) bool {
	for _, pair := range [...]string{"()", "[]", "“”", "«»"} {
		if strings.ContainsRune(pair, r) {
			open, shut := []rune(pair)[0], []rune(pair)[1]
			return strings.Count(s, string(open)) != strings.Count(s, string(shut))
		}
	}
	if strings.ContainsRune("\"*_`", r) {
		return strings.Count(s, string(r))%2 == 1
	}
	return false
}
