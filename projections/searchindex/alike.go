package searchindex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/projections/searchindex/language"
)

// A word of at least OneTypo letters may have one wrong letter, and a word of at least
// TwoTypos letters may have two.
const (
	OneTypo  = 5
	TwoTypos = 9
)

// Typos returns how many letters of a term may be wrong. It is 0 for numbers.
func Typos(term string) int {
	if strings.ContainsFunc(term, unicode.IsDigit) {
		return 0
	}
	term = unmark(term)
	switch n := utf8.RuneCountInString(term); {
	case n >= TwoTypos:
		return 2
	case n >= OneTypo:
		return 1
	}
	return 0
}

// unmark returns a term without the mark of its language.
func unmark(term string) string {
	if l := language.Of(term); l != nil {
		return term[len(l.Mark):]
	}
	return term
}

// FirstLetter returns the beginning of a term up to its first letter, with the mark of its
// language.
func FirstLetter(term string) string {
	rest := unmark(term)
	_, n := utf8.DecodeRuneInString(rest)
	return term[:len(term)-len(rest)+n]
}

// Mistakes returns how many letters of misspelt are wrong if term is meant, or -1 if term is too
// different. Their languages and their first letters have to be the same.
func Mistakes(misspelt, term string) int {
	limit := Typos(misspelt)
	if FirstLetter(misspelt) != FirstLetter(term) {
		return -1
	}
	if n := distance(misspelt, term, limit); n <= limit {
		return n
	}
	return -1
}

// Within reports whether the edit distance of two words is at most limit. Swapping
// two adjacent letters counts as one edit (optimal string alignment).
func Within(a, b string, limit int) bool { return distance(a, b, limit) <= limit }

// distance returns the edit distance of two words, or more than limit if it is above limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	var before, last []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, make([]int, len(y)+1)
		row[0] = i
		best := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			best = min(best, row[j])
		}
		if best > limit {
			return best
		}
	}
	return row[len(y)]
}
