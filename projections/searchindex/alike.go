package searchindex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// AlikeShare is what a word of a query counts for that no passage holds, in
// passages that hold it in another spelling.
const AlikeShare = 0.5

// From how many letters on a word may be misspelt in one, or in two.
const (
	OneTypo  = 5
	TwoTypos = 9
)

// Typos returns how many letters of a term may be mistakes: none of a number.
func Typos(term string) int {
	if strings.ContainsFunc(term, unicode.IsDigit) {
		return 0
	}
	switch n := utf8.RuneCountInString(term); {
	case n >= TwoTypos:
		return 2
	case n >= OneTypo:
		return 1
	}
	return 0
}

// Alike reports whether a term may be another one that is misspelt. The first
// letter is right.
func Alike(misspelt, term string) bool {
	a, _ := utf8.DecodeRuneInString(misspelt)
	b, _ := utf8.DecodeRuneInString(term)
	return a == b && Within(misspelt, term, Typos(misspelt))
}

// Within reports whether so many letters at most have to be put in, left out,
// changed, or exchanged with their neighbour, to make one word of the other.
func Within(a, b string, most int) bool {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return false
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
		if best > most {
			return false
		}
	}
	return row[len(y)] <= most
}
