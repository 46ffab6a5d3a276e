package searchindex

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"annals/projections/searchindex/language"

	"github.com/blevesearch/go-porterstemmer"
	"golang.org/x/text/unicode/norm"
)

// maxTerm is the maximum length of a term in bytes. The rest of a longer word is ignored.
const maxTerm = 64

// Terms returns the terms of a text in order: its words, folded (case, width, diacritics)
// and, if they consist of plain Latin letters, stemmed as English words. In scripts
// without spaces between words, each character is a term, and so is each pair of adjacent
// characters.
//
// It is for names and texts in English. Passages in another language have the terms that
// Passage.Terms returns.
func Terms(text string) []string { return termsIn(nil, text) }

// termsIn returns the terms of a text that is in a language. The terms of its
// words are stemmed in that language and begin with its mark; nil is English. So the terms
// of two languages never match by accident.
func termsIn(l *language.Language, text string) []string {
	return appendTerms(make([]string, 0, len(text)/6), l, text, true)
}

// queryTerms is like termsIn, but for a query: in scripts without spaces it returns only
// the pairs of adjacent characters. In every language it returns the same number of terms.
func queryTerms(l *language.Language, text string) []string { return appendTerms(nil, l, text, false) }

func appendTerms(terms []string, l *language.Language, text string, single bool) []string {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && !wordByte[c] {
			i++
			continue
		}
		end, plain := wordEnd(text, i)
		if end > i {
			if term := wordTerm(l, text[i:end], plain); term != "" {
				terms = append(terms, term)
			}
			i = end
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if syllabic(r) {
			i, terms = appendSyllables(terms, text, i, single)
		} else {
			i += n
		}
	}
	return terms
}

// wordByte reports for each ASCII character whether it is a letter or digit.
var wordByte = func() (is [utf8.RuneSelf]bool) {
	for c := range is {
		is[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return is
}()

// wordEnd returns the end of the word that begins at offset i, or i if no word begins
// there. plain reports whether the word is only ASCII. A full stop or comma between
// digits, an apostrophe between letters, and hidden characters are a part of the word.
func wordEnd(text string, i int) (end int, plain bool) {
	plain = true
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			if !wordByte[c] && !joins(text, i) {
				return i, plain
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case hidden(r):
		case r == '’' && i+n < len(text) && text[i+n] < utf8.RuneSelf && wordByte[text[i+n]] && i > 0 && text[i-1] < utf8.RuneSelf && wordByte[text[i-1]]:
		case syllabic(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			return i, plain
		}
		plain = false
		i += n
	}
	return i, plain
}

// hidden reports whether a character only tells where a line may or must not be broken, such as
// the soft hyphens of typeset texts. Terms are without it. A zero-width non-joiner is none of
// them: in Persian it separates a word from its ending.
func hidden(r rune) bool {
	return r == 0xAD || r == 0x200B || r == 0x2060 || r == 0xFEFF
}

// joins reports whether the punctuation mark at offset i is a part of a word.
func joins(text string, i int) bool {
	if i == 0 || i+1 >= len(text) || text[i-1] >= utf8.RuneSelf || text[i+1] >= utf8.RuneSelf {
		return false
	}
	before, after := text[i-1], text[i+1]
	switch text[i] {
	case '.', ',':
		return before >= '0' && before <= '9' && after >= '0' && after <= '9'
	case '\'':
		return before > '9' && after > '9' && wordByte[before] && wordByte[after]
	}
	return false
}

// syllabic reports whether a character is indexed by itself and in pairs. That applies to
// Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer characters.
func syllabic(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer)
}

// appendSyllables appends the terms of the sequence of syllabic characters that begins at
// offset i, and returns the offset after it.
func appendSyllables(terms []string, text string, i int, single bool) (int, []string) {
	first, before := true, -1
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !syllabic(r) {
			break
		}
		next, _ := utf8.DecodeRuneInString(text[i+n:])
		if single || first && !syllabic(next) {
			terms = append(terms, norm.NFKC.String(text[i:i+n]))
		}
		if !first {
			terms = append(terms, norm.NFKC.String(text[before:i+n]))
		}
		first, before = false, i
		i += n
	}
	return i, terms
}

// stems caches the terms of words, because texts repeat words. Its size is fixed: a newer
// word replaces an older one.
var (
	stems    [1 << 15]atomic.Pointer[stemmed]
	stemSeed = maphash.MakeSeed()
)

type stemmed struct {
	language   *language.Language
	word, term string
}

func wordTerm(l *language.Language, word string, plain bool) string {
	if len(word) > 2*maxTerm {
		return makeTerm(l, word, plain)
	}
	slot := &stems[maphash.String(stemSeed, word)%uint64(len(stems))]
	if s := slot.Load(); s != nil && s.word == word && s.language == l {
		return s.term
	}
	s := &stemmed{language: l, word: strings.Clone(word)}
	s.term = makeTerm(l, s.word, plain)
	slot.Store(s)
	return s.term
}

// makeTerm returns the term of a word, or "" if nothing remains of it. In every language
// it returns "" for the same words.
func makeTerm(l *language.Language, word string, plain bool) string {
	term := englishTerm(word, plain)
	if l == nil || term == "" {
		return term
	}
	word = strings.ToLower(strings.ReplaceAll(norm.NFKC.String(word), "’", "'"))
	if len(word) > 2*maxTerm || strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || hidden(r) }) {
		return l.Mark + term
	}
	if stem, _ := fold(l.Stem(word)); stem != "" && len(stem) <= maxTerm {
		term = stem
	}
	return l.Mark + term
}

func englishTerm(word string, plain bool) string {
	if !plain {
		word, plain = fold(word)
	}
	word = strings.ToLower(word)
	if s, found := strings.CutSuffix(word, "'s"); found {
		word = s
	}
	if len(word) > maxTerm {
		end := maxTerm
		for end > 0 && !utf8.RuneStart(word[end]) {
			end--
		}
		return strings.Clone(word[:end])
	}
	if !plain || len(word) < 3 {
		return word
	}
	return string(porterstemmer.StemWithoutLowerCasing([]rune(word)))
}

// unmarked replaces letters that Unicode does not decompose.
var unmarked = strings.NewReplacer("ß", "ss", "ẞ", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o",
	"đ", "d", "Đ", "d", "ł", "l", "Ł", "l", "ı", "i", "’", "'", "ς", "σ")

// fold replaces wide letters, ligatures, and letters with diacritics by plain letters.
// Other marks, such as the vowels of Indic scripts, remain. A character that stands for
// several words becomes one term.
func fold(word string) (folded string, plain bool) {
	plain = true
	folded = strings.Map(func(r rune) rune {
		if r >= 0x300 && r < 0x370 || unicode.IsSpace(r) || hidden(r) {
			return -1
		}
		plain = plain && r < utf8.RuneSelf
		return r
	}, norm.NFKD.String(unmarked.Replace(word)))
	if !plain {
		folded = norm.NFC.String(folded)
	}
	return folded, plain
}
