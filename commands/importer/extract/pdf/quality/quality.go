// Package quality says whether the text that a PDF has for a page may be what the page shows: fonts may not say which letters their glyphs are, and
// scans have text that was recognised badly. It imports no other package of this module.
package quality

import (
	"iter"
	"regexp"
	"strings"
	"unicode"
)

// Missing describes characters that the fonts of a page do not map to Unicode.
type Missing struct {
	Unusable float32 // share of characters without any meaning
	Unmapped float32 // share of characters that are shown by their codes in the font
	Visible  int     // number of characters that are no spaces
}

// sampled is the number of words of a page that are looked at.
const sampled = 250

// Text says how much words look like text of some language.
type Text struct {
	Letters int  // letters and digits; of a sample of the words, if All is false
	All     bool // all words were looked at

	latin, upper8 int // Latin letters, and those of the upper half of Latin-1
	words, odd    int // words with letters, and those that no language has
	mixed         int // words with digits between small letters

	seen                  map[string]bool // different words of Latin letters only
	seenLatin, seenVowels int             // letters of these
}

// Of measures n words. Of many it takes a sample.
func Of(n int, words iter.Seq[string]) *Text {
	t := &Text{seen: map[string]bool{}}
	every, at := 1+n/sampled, 0
	t.All = every == 1
	for w := range words {
		if at%every == 0 {
			t.add(w)
		}
		at++
	}
	return t
}

// vowels of the Latin alphabets. They are 30 to 50 % of the letters of a language.
const vowels = "aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝāăąēĕėęěīĭįıōŏőœūŭůűųĀĂĄĒĖĘĚĪĮŌŐŒŪŮŰŲ"

// digitInWord matches digits between small letters, as in a bad recognition.
var digitInWord = regexp.MustCompile(`\p{Ll}[0-9]\p{Ll}`)

// add counts a word.
func (t *Text) add(s string) {
	s = strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var latin, vowel, other, digits, symbols, turns, repeated int
	var last rune
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
			if strings.ContainsRune(vowels, r) {
				vowel++
			}
			if r >= 0xc0 && r <= 0xff {
				t.upper8++
			}
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				turns++
			}
		case unicode.IsLetter(r):
			other++
		case unicode.IsDigit(r):
			digits++
		case !strings.ContainsRune("-'’.,/:&@_()–\u00ad", r):
			symbols++
		}
		if r == last && !unicode.IsDigit(r) {
			repeated++
		}
		last = r
	}
	t.Letters += latin + other + digits
	t.latin += latin
	if latin+other == 0 {
		return
	}
	t.words++
	if latin >= 4 && vowel == 0 && s != strings.ToUpper(s) || latin > 1 && other > 1 || symbols > 0 && latin+other < 4*symbols || turns > 1 || repeated > 3 {
		t.odd++
	}
	if digits > 0 && digitInWord.MatchString(s) {
		t.mixed++
	}
	if latin > 2 && other+digits+symbols == 0 && !t.seen[s] {
		t.seen[s] = true
		t.seenLatin += latin
		t.seenVowels += vowel
	}
}

// Rubbish reports whether the text cannot be that of the page.
func (t *Text) Rubbish(m Missing) bool {
	vowels := float32(t.seenVowels) / float32(max(t.seenLatin, 1))
	switch {
	case m.Visible >= 15 && m.Unusable > 0.3:
		return true
	case len(t.seen) >= 50 && vowels < 0.24: // as if the letters were shifted in the alphabet
		return true
	case t.latin >= 100 && t.upper8*5 > t.latin*3: // text in another alphabet, read as Latin-1
		return true
	}
	return m.Visible >= 40 && m.Unmapped > 0.5 && (len(t.seen) >= 10 && vowels < 0.28 || t.odd*10 > t.words*3)
}

// Implausible reports whether the text may have shifted or confused letters, even if it has few different words.
func (t *Text) Implausible() bool {
	return len(t.seen) >= 8 && float32(t.seenVowels) < 0.26*float32(t.seenLatin) || t.words >= 15 && t.mixed*5 > t.words*2
}

// Doubtful reports whether the text may be a bad recognition of a scan.
func (t *Text) Doubtful() bool { return t.words >= 15 && t.odd*5 > t.words*2 }
