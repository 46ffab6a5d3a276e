package searchindex

import (
	"math"
	"slices"
)

// Mix orders passages by their words and by their meaning. hits are those of the candidates
// that were found by words, best first, and cosines are those of the vectors of passages with
// the vector of the query, also of passages that are not among the hits. Both are scaled to
// the range from 0 to 1, and added: a convex combination of normalised scores, which loses
// less than fusion by ranks (Bruch and others, An Analysis of Fusion Functions for Hybrid
// Retrieval, 2023). Words count less if even the best hit has few of them. A hit without a
// cosine keeps its place by words. The best passage has the score of the best hit, or 1 if
// there are no hits.
func Mix(query string, candidates []Candidate, hits []Hit, cosines map[string]float64) []Hit {
	if len(cosines) == 0 {
		return hits
	}
	share := min(1, fullShare*bestShare(query, candidates, hits))
	words, meaning := newScale(), newScale()
	for _, h := range hits {
		words.add(h.Score)
	}
	for _, c := range cosines {
		meaning.add(c)
	}
	mixed := make([]Hit, 0, len(hits)+len(cosines))
	found := make(map[string]bool, len(hits))
	for _, h := range hits {
		found[h.ID] = true
		score := words.of(h.Score)
		if c, ok := cosines[h.ID]; ok {
			score = (share*score + meaningWeight*meaning.of(c)) / (share + meaningWeight)
		}
		mixed = append(mixed, Hit{h.ID, score})
	}
	for id, c := range cosines {
		if !found[id] {
			mixed = append(mixed, Hit{id, meaningWeight * meaning.of(c) / (share + meaningWeight)})
		}
	}
	slices.SortFunc(mixed, CompareHits)
	top := 1.0
	if len(hits) > 0 {
		top = words.most
	}
	best := mixed[0].Score
	for i := range mixed {
		mixed[i].Score = top * max(mixed[i].Score/max(best, leastMixed), leastMixed)
	}
	return mixed
}

const (
	// meaningWeight is the weight of meaning; that of words is 1, or less.
	meaningWeight = 1.5
	// fullShare is the inverse of the share of the query's words that the best hit has to
	// have, so that words have their whole weight.
	fullShare = 2
)

// bestShare returns how many of the query's words, without stop words, the best hit has, as a
// share. It returns 1 for a query of stop words.
func bestShare(query string, candidates []Candidate, hits []Hit) float64 {
	for _, c := range candidates {
		if len(hits) == 0 || c.ID != hits[0].ID {
			continue
		}
		l := languageOf(c.Title, c.Section, c.Text)
		has := make(map[string]bool)
		for _, text := range []string{c.Title, c.Section, c.Text} {
			for _, t := range termsIn(l, text) {
				has[t] = true
			}
		}
		all, found := 0.0, 0.0
		for _, t := range QueryTermsIn(l, query) {
			if IsStop(t.Text) {
				continue
			}
			all += t.Weight
			if has[t.Text] {
				found += t.Weight
			}
		}
		if all > 0 {
			return found / all
		}
	}
	return 1
}

// leastMixed is the least share of the best score that a mixed score has: scores are positive.
const leastMixed = 1e-6

// scale is the range of some scores.
type scale struct{ least, most float64 }

func newScale() scale { return scale{math.Inf(1), math.Inf(-1)} }

func (s *scale) add(score float64) { s.least, s.most = min(s.least, score), max(s.most, score) }

// of returns the place of a score in the range, from 0 to 1.
func (s scale) of(score float64) float64 {
	if s.most <= s.least {
		return 1
	}
	return (score - s.least) / (s.most - s.least)
}
