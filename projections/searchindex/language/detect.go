package language

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
)

const (
	// detectBytes is the maximum length of the text that Detect reads. More changes the
	// result rarely, and each search detects the languages of its candidates.
	detectBytes = 800
	// minStopWords is how many of its stop words a text has to contain at least, and
	// minStopShare their minimum share of the words. In running text the share is above
	// .25; names and quotations in an English text have less.
	minStopWords = 4
	minStopShare = 0.15
	// minDistinct is the minimum number of different stop words, because a name or an
	// address may contain one word several times.
	minDistinct = 3
	// overEnglish is how many times as many stop words as English ones the text has to
	// contain.
	overEnglish = 1.5
	// minScriptShare is the minimum share of a language's script in the letters.
	minScriptShare = 0.5
	// earlyWords is after how many words Detect ends early if the text is plainly English.
	earlyWords = 24
	// maxStopWord is more than the maximum length of a stop word in bytes. The rest of a
	// longer word is ignored.
	maxStopWord = 24
	// firstOther is the first letter after those of the Latin and the Greek script.
	firstOther = 0x400
)

// stopOf has the languages of each stop word in the Latin script, as bits: bit i for
// All[i], and the bit english.
var stopOf = func() map[string]uint32 {
	of := make(map[string]uint32)
	for i, l := range All {
		if l.script == nil {
			for _, w := range l.StopWords() {
				of[w] |= 1 << i
			}
		}
	}
	list := analysis.NewTokenMap()
	if err := list.LoadBytes(en.EnglishStopWords); err != nil {
		panic(err) // it has no errors when it reads from memory
	}
	for w := range list {
		of[w] |= 1 << english
	}
	return of
}()

const english = 31

// Detect returns the language of a text, which may consist of several parts. It returns
// nil if the text is English or its language is not recognised. Languages are recognised
// by their script or by their stop words, so a text of a few words is not.
func Detect(parts ...string) *Language {
	var c counts
	for left, i := detectBytes, 0; i < len(parts) && left > 0 && !c.plain; i++ {
		part := parts[i][:min(left, len(parts[i]))]
		c.add(part)
		left -= len(part)
	}
	if l := c.byScript(); l != nil {
		return l
	}
	return c.byStopWords()
}

// counts describes a text.
type counts struct {
	words, letters int
	stop           [english + 1]int    // stop words, by bit in stopOf
	distinct       [english + 1]uint64 // a bit for each different stop word; some share one
	script, own    [english]int        // by index in All: letters in the script, and those that other languages lack
	word           [maxStopWord]byte
	n              int  // length of the current word
	plain          bool // it is plainly English
}

func (c *counts) add(text string) {
	for i := 0; i < len(text) && !c.plain; {
		b := text[i]
		if b < utf8.RuneSelf {
			i++
			digit := b >= '0' && b <= '9'
			if b |= 0x20; !digit && (b < 'a' || b > 'z') { // in lower case
				c.endWord()
				continue
			}
			if c.n < maxStopWord {
				c.word[c.n] = b
			}
			c.n++
			if !digit {
				c.letters++
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case unicode.IsLetter(r):
			r = unicode.ToLower(r)
			c.letter(r, utf8.RuneLen(r))
		case !unicode.IsMark(r):
			c.endWord()
		}
	}
	c.endWord()
}

// letter adds a letter of n bytes, which is not ASCII, to the current word.
func (c *counts) letter(r rune, n int) {
	c.letters++
	if r >= firstOther {
		for i, l := range All {
			if l.script != nil && unicode.Is(l.script, r) {
				c.script[i]++
				if strings.ContainsRune(l.letters, r) {
					c.own[i]++
				}
			}
		}
	}
	if c.n+n <= maxStopWord {
		utf8.EncodeRune(c.word[c.n:], r)
	}
	c.n += n
}

func (c *counts) endWord() {
	if c.n == 0 {
		return
	}
	c.words++
	if word := c.word[:min(c.n, maxStopWord)]; c.n > 1 { // letters are also names and options
		for of := stopOf[string(word)]; of != 0; of &= of - 1 {
			i := bits.TrailingZeros32(of)
			c.stop[i]++
			c.distinct[i] |= 1 << ((int(word[0])*31 + int(word[len(word)-1])*7 + c.n) % 64)
		}
	}
	c.n = 0
	c.plain = c.words%earlyWords == 0 && c.stop[english] >= c.words/4 && c.byStopWords() == nil && c.byScript() == nil
}

// byScript returns the language in whose script most letters are. If there are several, it
// is the one with letters that the others lack.
func (c *counts) byScript() (found *Language) {
	for i, l := range All {
		if c.script[i] > 0 && float64(c.script[i]) >= minScriptShare*float64(c.letters) && (found == nil || c.own[i] > 0) {
			found = l
		}
	}
	return found
}

// byStopWords returns the language of most stop words.
func (c *counts) byStopWords() (found *Language) {
	best := max(minStopWords, int(minStopShare*float64(c.words)), int(overEnglish*float64(c.stop[english]))) - 1
	for i, l := range All {
		if c.stop[i] > best && bits.OnesCount64(c.distinct[i]) >= minDistinct {
			found, best = l, c.stop[i]
		}
	}
	return found
}
