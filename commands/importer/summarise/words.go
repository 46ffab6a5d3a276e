package summarise

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/hungarian"
	"github.com/kljensen/snowball/norwegian"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
	"github.com/kljensen/snowball/swedish"
)

// language has the stemmer and the stop words of a language.
type language struct {
	stem func(word string, stopWords bool) string
	stop func(word string) bool
}

var languages = []language{
	{english.Stem, english.IsStopWord},
	{french.Stem, french.IsStopWord},
	{spanish.Stem, spanish.IsStopWord},
	{russian.Stem, russian.IsStopWord},
	{swedish.Stem, swedish.IsStopWord},
	{norwegian.Stem, norwegian.IsStopWord},
	{hungarian.Stem, hungarian.IsStopWord},
}

// unknown is used for languages without a stemmer: words with the same first six letters have the
// same stem, and short words are stop words.
var unknown = language{
	stem: func(word string, _ bool) string {
		runes := 0
		for i := range word {
			if runes++; runes > 6 {
				return word[:i]
			}
		}
		return word
	},
	stop: func(word string) bool { return utf8.RuneCountInString(word) < 3 && word[0] < 0x80 },
}

// vocabulary gives each stem of a document a number.
type vocabulary struct {
	language
	words map[string]int // number of the stem, by word in lower case; -1 for a stop word
	stems map[string]int
}

// newVocabulary detects the language by the stop words in the first sentences.
func newVocabulary(all []sentence) *vocabulary {
	v := &vocabulary{language: unknown, words: map[string]int{}, stems: map[string]int{}}
	hits := make([]int, len(languages))
	count := 0
	for _, s := range all {
		if count > 300 {
			break
		}
		eachWord(s.text, func(word string) {
			count++
			for i, l := range languages {
				if l.stop(word) {
					hits[i]++
				}
			}
		})
	}
	best := 0
	for i := range hits {
		if hits[i] > hits[best] {
			best = i
		}
	}
	if hits[best]*5 >= count && count > 0 {
		v.language = languages[best]
	}
	return v
}

// of returns the distinct stems of a text, and its number of words.
func (v *vocabulary) of(text string) (stems []int, count int) {
	eachWord(text, func(word string) {
		count++
		stem, ok := v.words[word]
		if !ok {
			stem = v.number(word)
			v.words[strings.Clone(word)] = stem
		}
		if stem < 0 {
			return
		}
		for _, s := range stems {
			if s == stem {
				return
			}
		}
		stems = append(stems, stem)
	})
	return stems, count
}

func (v *vocabulary) number(word string) int {
	if v.stop(word) || len(word) > 40 {
		return -1
	}
	stem := v.stem(word, true)
	n, ok := v.stems[stem]
	if !ok {
		n = len(v.stems)
		v.stems[stem] = n
	}
	return n
}

// weights returns the weight of each stem. The weight increases with the number of sentences that
// contain the stem, but decreases again for stems that many of the sentences contain.
func (v *vocabulary) weights(all []sentence) []float64 {
	in := make([]int, len(v.stems))
	for _, s := range all {
		for _, w := range s.words {
			in[w]++
		}
	}
	weights := make([]float64, len(in))
	for i, n := range in {
		if n > 0 {
			weights[i] = math.Log(1+float64(n)) * math.Log(1+float64(len(all))/float64(n))
		}
	}
	return weights
}

// eachWord calls visit with every word in lower case. In scripts without spaces, words are pairs of
// adjacent characters. The word is valid only during the call.
func eachWord(text string, visit func(string)) {
	start := -1
	var last rune
	var lastAt int
	for i, r := range text {
		switch {
		case isIdeograph(r):
			if start >= 0 {
				visit(strings.ToLower(text[start:i]))
				start = -1
			}
			if isIdeograph(last) && lastAt+utf8.RuneLen(last) == i {
				visit(text[lastAt : i+utf8.RuneLen(r)])
			}
			last, lastAt = r, i
		case isLetter(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			visit(strings.ToLower(text[start:i]))
			start = -1
		}
	}
	if start >= 0 {
		visit(strings.ToLower(text[start:]))
	}
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func isIdeograph(r rune) bool {
	return r >= 0x2e80 && (unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) || unicode.Is(unicode.Thai, r)) || r >= 0x0e00 && r < 0x0e80
}
