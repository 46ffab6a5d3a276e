// Package prose analyses natural-language text: it finds the ends of sentences, and
// classifies English words. Summaries, search and answers use it. It imports no other
// package of this module.
package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closing are quotes, brackets and emphasis marks that belong to the preceding sentence.
const closing = `"'”’)]*_»」』）`

// abbreviations are words whose full stop does not end a sentence.
var abbreviations = words(`mr mrs ms dr prof st sr jr gen col lt sgt rev hon gov sen rep no vol vs etc e.g i.e cf ca c al fig
	inc ltd co corp dept approx u.s u.k p pp ed eds mt ft z.b d.h u.a bzw usw vgl bspw mme sra`)

// numbered are words that are abbreviations only before a number: in "12 sec. Then" the full
// stop ends the sentence, in "Sec. 12" it does not.
var numbered = words("eq sec ch nr abb jan feb mar apr jun jul aug sep sept oct nov dec")

func words(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// SentenceEnd returns the end of the sentence that begins at start, including the white
// space after the sentence, as an offset in text. The result is at most stop.
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
		if i < stop && text[i] == ']' { // "[who?]" does not end a sentence
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
		if unicode.IsLower(first) || r == '.' && isAbbreviation(text[start:mark], unicode.IsDigit(first)) {
			continue
		}
		return next
	}
	return stop
}

// afterClosing returns the offset after closing quotes and brackets, further punctuation,
// and references such as "[2]" or ":12–14" at i.
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

// isAbbreviation reports whether the last word of a text is an abbreviation or the
// initial of a name. The text ends before a full stop; beforeDigit says whether a number
// follows that full stop.
func isAbbreviation(text string, beforeDigit bool) bool {
	word := text[strings.LastIndexAny(text, " \t\n([\"'“")+1:]
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) && len(text) > 2 {
		return true
	}
	word = strings.ToLower(word)
	return abbreviations[word] || beforeDigit && numbered[word]
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// IsComplete reports whether a text ends with the end of a sentence.
func IsComplete(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, closing))
	return strings.ContainsRune(".!?…。！？｡", last)
}
