// Package prose knows how texts of people are written: where a sentence ends,
// what Markdown says without its marks, and which words name nothing. What
// summarises, searches and answers shares it. It imports nothing of ours.
package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closing are quotes, brackets and marks of emphasis that belong to the sentence
// that they follow.
const closing = `"'”’)]*_»」』）`

// abbreviations end in a full stop that ends no sentence.
var abbreviations = words(`mr mrs ms dr prof st sr jr gen col lt sgt rev hon gov sen rep no nr vol vs etc e.g i.e cf ca c al fig eq
	sec ch inc ltd co corp dept approx u.s u.k p pp ed eds mt ft z.b d.h u.a bzw usw vgl abb bspw m mme sra
	jan feb mar apr jun jul aug sep sept oct nov dec`)

func words(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// SentenceEnd returns where the sentence ends that begins at start of a text,
// with the white space after it: the beginning of the next one, or stop at the
// latest.
func SentenceEnd(text string, start, stop int) int {
	for i := start; i < stop; {
		r, n := utf8.DecodeRuneInString(text[i:stop])
		i += n
		switch r {
		case '。', '！', '？', '｡':
			return afterClosing(text, i, stop)
		case '.', '!', '?', '…':
		default:
			continue
		}
		mark := i - n
		if i < stop && text[i] == ']' { // "[who?]" ends no sentence
			continue
		}
		i = afterClosing(text, i, stop)
		if i < stop && !isSpace(text[i]) {
			continue
		}
		next := i
		for next < stop && isSpace(text[next]) {
			next++
		}
		if next == stop {
			return next
		}
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[next:min(stop, next+16)], `"'(“‘«[*_`))
		if unicode.IsLower(first) || r == '.' && isAbbreviation(text[start:mark]) {
			continue
		}
		return next
	}
	return stop
}

// afterClosing returns the offset after what closes a sentence at i: quotes and
// brackets, further marks, and references as "[2]" or ":12–14".
func afterClosing(text string, i, stop int) int {
	for i < stop {
		switch r, n := utf8.DecodeRuneInString(text[i:stop]); {
		case strings.ContainsRune(closing+".!?", r):
			i += n
		case r == ':' && i+1 < stop && text[i+1] >= '0' && text[i+1] <= '9':
			for i++; i < stop && !isSpace(text[i]); i++ {
			}
		case r == '[':
			end := strings.IndexByte(text[i:min(stop, i+20)], ']')
			if end < 0 {
				return i
			}
			i += end + 1
		default:
			return i
		}
	}
	return i
}

// isAbbreviation reports whether the full stop after a text belongs to its last
// word: an abbreviation, or the initial of a name.
func isAbbreviation(text string) bool {
	word := text[strings.LastIndexAny(text, " \t\n([\"'“")+1:]
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) && len(text) > 2 {
		return true
	}
	return abbreviations[strings.ToLower(word)]
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// IsComplete reports whether a text ends as a sentence does.
func IsComplete(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, closing))
	return strings.ContainsRune(".!?…。！？｡", last)
}
