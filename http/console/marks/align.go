// Package marks finds where the words of a passage stand: in the words of a page, for the
// rectangles around them, and in the words of a text.
//
// It imports no other package of this module.
package marks

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Limits of an alignment. Words beyond them are not aligned, and of longer lists of runs only
// the heaviest are used.
const (
	maxWords     = 4_000  // of a passage
	maxSeenWords = 60_000 // of pages or of a text
	maxPairs     = 4_000_000
	maxRuns      = 3_000
)

// symbol is a word, or a letter of a script that is written without spaces.
type symbol struct {
	text string
	word int // number of the word that it is part of
}

// symbols returns the symbols of words, up to a number of them. A word may be several symbols,
// or none if it consists of signs.
func symbols(words []string, limit int) []symbol {
	var out []symbol
	for i, w := range words {
		for _, part := range strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			part = strings.ToLower(norm.NFKC.String(part))
			start := 0
			for at, r := range part {
				if !unspaced(r) {
					continue
				}
				if start < at {
					out = append(out, symbol{part[start:at], i})
				}
				out = append(out, symbol{string(r), i})
				start = at + len(string(r))
			}
			if start < len(part) {
				out = append(out, symbol{part[start:], i})
			}
		}
		if len(out) >= limit {
			return out[:limit]
		}
	}
	return out
}

// unspaced reports whether words of the script of a letter are not separated by spaces, so that
// two readers cut them differently.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// run is a sequence of symbols that stands both in the passage and in what is seen.
type run struct {
	passage, seen, length int
	weight                float64
}

// Align returns for each seen word the number of the passage's word that it shows, or -1. The
// order may differ: tables and columns are read in more than one way. What is not equal, such as
// a word that is divided at the end of a line, is aligned if its neighbours are.
func Align(passage, seen []string) []int {
	p, s := symbols(passage, maxWords), symbols(seen, maxSeenWords)
	at := make([]int, len(s)) // for each symbol that is seen, that of the passage
	for i := range at {
		at[i] = -1
	}
	for _, r := range chain(runs(p, s)) {
		for i := range r.length {
			at[r.seen+i] = r.passage + i
		}
	}
	bridge(p, s, at)
	out := make([]int, len(seen))
	for i := range out {
		out[i] = -1
	}
	for i, k := range at {
		if k >= 0 && out[s[i].word] < 0 {
			out[s[i].word] = p[k].word
		}
	}
	return out
}

// runs returns the longest sequences that p and s have in common, in the order of p.
func runs(p, s []symbol) []run {
	where := map[string][]int{}
	for i, w := range s {
		where[w.text] = append(where[w.text], i)
	}
	var out []run
	pairs := 0
	for i, w := range p {
		if pairs += len(where[w.text]); pairs > maxPairs {
			break
		}
		for _, j := range where[w.text] {
			if i > 0 && j > 0 && p[i-1].text == s[j-1].text {
				continue // part of a run that began before
			}
			r := run{passage: i, seen: j}
			for i+r.length < len(p) && j+r.length < len(s) && p[i+r.length].text == s[j+r.length].text {
				r.weight += weight(p[i+r.length].text)
				r.length++
			}
			out = append(out, r)
		}
	}
	if len(out) > maxRuns {
		slices.SortFunc(out, func(a, b run) int { return cmp.Compare(b.weight, a.weight) })
		out = out[:maxRuns]
	}
	slices.SortFunc(out, func(a, b run) int { return cmp.Or(a.passage-b.passage, a.seen-b.seen) })
	return out
}

// weight is what an equal symbol says for an alignment: the longer it is, the more.
func weight(s string) float64 { return 1 + float64(min(len(s), 8))/2 }

// chain chooses the runs that together weigh most, less what the jumps between them cost. Runs
// follow each other in the passage, and overlap neither there nor, one after the other, in what
// is seen.
func chain(runs []run) []run {
	best, before := make([]float64, len(runs)), make([]int, len(runs))
	last := -1
	for i, b := range runs {
		best[i], before[i] = b.weight-entry, -1
		for j := range i {
			a := runs[j]
			overlap := max(0, a.passage+a.length-b.passage)
			if near := a.seen + a.length - b.seen; a.seen <= b.seen {
				overlap = max(overlap, near)
			} else if b.seen+b.length > a.seen {
				continue
			}
			if overlap >= b.length || overlap > 0 && overlap >= a.length {
				continue
			}
			jump := b.seen - a.seen - a.length
			gap := b.passage - a.passage - a.length
			w := best[j] + b.weight*float64(b.length-overlap)/float64(b.length) - cost(jump, gap)
			if w > best[i] {
				best[i], before[i] = w, j
			}
		}
		if last < 0 || best[i] > best[last] {
			last = i
		}
	}
	if last < 0 || best[last] <= 0 {
		return nil
	}
	var out []run
	for i := last; i >= 0; i = before[i] {
		out = append(out, runs[i])
	}
	slices.Reverse(out)
	return out
}

// entry is what the first run costs, so that a passage of which a page has only a few words in
// common is not found there.
const entry = 6

// cost is what it costs that two runs do not follow each other. Words that only one side has
// cost little, going back costs more.
func cost(jump, gap int) float64 {
	if jump < 0 {
		return 3 + 1.2*math.Log2(float64(2-jump)) + .5*math.Log2(float64(1+max(gap, 0)))
	}
	off := jump - gap
	if off < 0 {
		off = -off
	}
	return .5 + .7*math.Log2(float64(1+jump)) + .3*math.Log2(float64(1+off))
}

// slack is the number of symbols of a gap that need no counterpart in the passage.
const slack = 2

// bridge aligns what is seen between two aligned symbols, if the passage has about as much
// between them: words that one side has divided, joined or recognised differently.
func bridge(p, s []symbol, at []int) {
	before := -1
	for i := range s {
		if at[i] < 0 {
			continue
		}
		if before >= 0 && i > before+1 {
			between := at[i] - at[before] - 1
			if gap := i - before - 1; between >= 0 && gap <= 2*between+slack && letters(s[before+1:i]) <= 2*letters(p[at[before]+1:at[i]])+4*slack {
				for j := before + 1; j < i; j++ {
					at[j] = at[before] + min(j-before, max(between, 0))
				}
			}
		}
		before = i
	}
}

// letters returns the number of bytes of symbols.
func letters(all []symbol) (n int) {
	for _, s := range all {
		n += len(s.text)
	}
	return n
}
