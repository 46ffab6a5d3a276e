package meilisearch

import (
	"context"

	"annals/projections/searchindex"
)

// misspelt returns the terms that passages of a scope hold only in another spelling,
// with the number of these passages.
func (x *Index) misspelt(ctx context.Context, terms []searchindex.Term, counts []float64, scope filter) (map[searchindex.Term]float64, error) {
	var unknown []searchindex.Term
	var words []string
	for i, t := range terms {
		if counts[i] == 0 && searchindex.Typos(t.Text) > 0 {
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
