package meilisearch

import (
	"context"
	"unicode/utf8"

	"annals/projections/searchindex"
)

// alikeShare is what a word counts for that is written otherwise.
const alikeShare = 0.5

// typos returns how many letters of a word Meilisearch takes for mistakes.
func typos(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n >= twoTypos:
		return 2
	case n >= oneTypo:
		return 1
	}
	return 0
}

// misspelt returns, of the terms that were counted and that no passage of a
// scope has, those that some have in another spelling, with their number.
func (x *Index) misspelt(ctx context.Context, terms []searchindex.Term, counts []float64, scope filter) (map[searchindex.Term]float64, error) {
	var unknown []searchindex.Term
	var words []string
	for i, t := range terms {
		if counts[i] == 0 && typos(t.Text) > 0 {
			unknown, words = append(unknown, t), append(words, t.Text)
		}
	}
	alike, err := x.count(ctx, words, false, scope)
	if err != nil {
		return nil, err
	}
	found := make(map[searchindex.Term]float64)
	for i, t := range unknown {
		if alike[i] > 0 {
			found[t] = alike[i]
		}
	}
	return found, nil
}

// within reports whether so many letters at most have to be put in, left out,
// changed, or exchanged with their neighbour, to make one word of the other.
func within(a, b string, most int) bool {
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
