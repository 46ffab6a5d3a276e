package meilisearch

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bm25"
	"annals/projections/searchindex/language"

	"github.com/meilisearch/meilisearch-go"
)

// averageLength is the assumed average length of passages in terms. The server does
// not report it, and all passages are cut to about this length.
const averageLength = 180

const (
	// combined is the maximum number of parts with several words. Each part drops one
	// more word than the previous one. A part takes the server at least a millisecond.
	combined = 4
	// filteredValues is the maximum number of filter values of one request, because each
	// value takes the server up to 0.1 ms. allValues is the maximum for all requests of
	// one search. At least minParts parts are sent in any case.
	filteredValues = 2000
	allValues      = 8000
	minParts       = 3
	// countedValues is the maximum number of filter values of the requests that count
	// words. If there would be more, words are counted only among the candidates.
	countedValues = 500
	// minShare is the minimum share of a part. It is above zero so that a query of only
	// very common words finds passages, too.
	minShare = 1e-3
	// moreTerms is how many terms of Query.More are used at most.
	moreTerms = 48
)

// weightedQuery has terms weighted by how rare they are in the passages that the caller
// may read. No other passages are counted, so a score reveals nothing about them.
type weightedQuery struct {
	terms []weightedTerm // the term with the greatest weight first
	more  []weightedTerm // terms that raise the score of passages, but do not find any
	// Whether terms still have to be counted among the candidates, and whether more have.
	termsUncounted, moreUncounted bool
	languages                     []*language.Language // of the terms; nil is English
}

// weightedTerm is a term of the query. Its weight is an estimate until passages with the
// term have been counted.
type weightedTerm struct {
	bm25.Term
	given   float64 // its weight in the query
	alike   int     // number of letters that may differ; above 0 only if no passage contains the exact term
	nearest int     // number of letters that differ in the nearest term of the candidates
}

// weights weights the terms of a query, in all languages of a scope, by counting passages
// in the scope. If that is too expensive, it only estimates the weights.
func (x *index) weights(ctx context.Context, query string, more []searchindex.Term, scope filter) (*weightedQuery, error) {
	passages, languages, err := x.describe(ctx, scope)
	if err != nil {
		return nil, err
	}
	w := &weightedQuery{languages: append([]*language.Language{nil}, languages...)}
	terms, words := inLanguages(query, w.languages)
	more = more[:min(len(more), moreTerms)]
	w.termsUncounted = len(terms)*scope.values > countedValues
	w.moreUncounted = w.termsUncounted || (len(terms)+len(more))*scope.values > countedValues
	if w.moreUncounted {
		w.more = estimate(more)
		more = nil
	}
	if w.termsUncounted {
		w.terms = strongest(estimate(terms))
		return w, nil
	}
	all := slices.Concat(terms, more)
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = t.Text
	}
	counts, err := x.count(ctx, texts, true, scope)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, len(all)) // by word
	for i, word := range words {
		sums[word] += counts[i]
	}
	for i, t := range all {
		switch {
		case counts[i] == 0:
		case i < len(terms):
			w.terms = append(w.terms, newWeightedTerm(t, 0, bm25.Rareness(sums[words[i]], passages)))
		case bm25.Frequent(counts[i], passages):
			w.more = append(w.more, newWeightedTerm(t, 0, bm25.Rareness(counts[i], passages)))
		}
	}
	var unknown []searchindex.Term
	for i, t := range terms {
		if sums[words[i]] == 0 && searchindex.Typos(t.Text) > 0 {
			unknown = append(unknown, t)
		}
	}
	misspelt, err := x.misspelt(ctx, unknown, scope)
	for t, found := range misspelt {
		w.terms = append(w.terms, newWeightedTerm(t, searchindex.Typos(t.Text), bm25.Rareness(found, passages)))
	}
	w.terms = strongest(w.terms)
	return w, err
}

// inLanguages returns the terms of a query in several languages, and for each term the
// index of its word. Terms that are the same in all languages are returned once.
func inLanguages(query string, languages []*language.Language) (terms []searchindex.Term, words []int) {
	seen := make(map[string]bool)
	for _, l := range languages {
		for i, t := range searchindex.QueryTermsIn(l, query) {
			if !seen[t.Text] {
				seen[t.Text] = true
				terms, words = append(terms, t), append(words, i)
			}
		}
	}
	return terms, words
}

func newWeightedTerm(t searchindex.Term, alike int, rareness float64) weightedTerm {
	w := weightedTerm{bm25.Term{Text: t.Text, Weight: t.Weight * rareness}, t.Weight, alike, 0}
	if alike > 0 {
		w.Weight *= bm25.AlikeShare
	}
	return w
}

// estimate weights terms by their length, because long words are rarer.
func estimate(terms []searchindex.Term) []weightedTerm {
	estimated := make([]weightedTerm, len(terms))
	for i, t := range terms {
		estimated[i] = newWeightedTerm(t, 0, float64(utf8.RuneCountInString(t.Text)))
	}
	return estimated
}

// strongest returns the terms with the greatest weights, the greatest first.
func strongest(terms []weightedTerm) []weightedTerm {
	slices.SortStableFunc(terms, func(a, b weightedTerm) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Text, b.Text))
	})
	return bm25.Strongest(terms)
}

// countAmong weights terms that were not counted yet by counting them among the
// candidates, and finds the terms that are nearest to misspelt ones. Then it scales the weights of the further terms to their share of the total
// weight.
func (w *weightedQuery) countAmong(found []candidate) {
	if w.termsUncounted {
		w.terms = strongest(reweighted(w.terms, found, true))
	}
	if w.moreUncounted {
		w.more = reweighted(w.more, found, false)
	}
	for i := range w.terms {
		w.terms[i].approach(found)
	}
	w.more = strongest(w.more)
	bm25.Balance(w.terms, w.more)
}

// reweighted returns the terms that some candidates contain, with their weights. If
// misspelt is set, a term that no candidate contains may match words of similar spelling.
func reweighted(terms []weightedTerm, found []candidate, misspelt bool) (held []weightedTerm) {
	for _, t := range terms {
		n := holding(found, t)
		if n == 0 && misspelt {
			if t.alike = searchindex.Typos(t.Text); t.alike > 0 {
				n = holding(found, t)
			}
		}
		if n > 0 {
			held = append(held, newWeightedTerm(searchindex.Term{Text: t.Text, Weight: t.given}, t.alike, bm25.RarenessAmong(n, len(found))))
		}
	}
	return held
}

// holding returns how many candidates contain a term.
func holding(found []candidate, t weightedTerm) (n int) {
	for _, c := range found {
		if t.frequencies(c.counts) != (frequencies{}) {
			n++
		}
	}
	return n
}

// part is one query to Meilisearch, with some of the words of the user's query. share is
// the share of these words in the total weight.
type part struct {
	text  string
	share float64
}

// parts returns the parts of a query: those with the terms of each language, because a
// passage has terms of one language only.
func (w *weightedQuery) parts(required [][]string, excluded []string) (parts []part) {
	for _, l := range w.languages {
		in := func(term string) bool { return language.Of(term) == l }
		var terms []weightedTerm
		for _, t := range w.terms {
			if in(t.Text) {
				terms = append(terms, t)
			}
		}
		if len(terms) == 0 {
			continue
		}
		var demanded, forbidden []string
		for _, forms := range required {
			demanded = append(demanded, forms[max(0, slices.IndexFunc(forms, in))])
		}
		for _, t := range excluded {
			if in(t) {
				forbidden = append(forbidden, t)
			}
		}
		parts = append(parts, w.partsOf(terms, demanded, forbidden)...)
	}
	return parts
}

// partsOf returns queries for all of the strongest words, for all but the first, for all
// but the first two, and so on. Meilisearch itself drops words only from the end. Then it
// returns a query for each single word. If the weights are only estimated, it returns
// only queries of the first kind, until one word is left. Each query demands the required
// terms, and excludes others.
func (w *weightedQuery) partsOf(terms []weightedTerm, required, excluded []string) []part {
	operators := ""
	required = required[:min(len(required), wordLimit-1)]
	for _, t := range required {
		operators += ` "` + t + `"`
	}
	for _, t := range excluded {
		operators += ` -"` + t + `"`
	}
	asked := terms[:min(len(terms), wordLimit-len(required))]
	whole := bm25.Sum(w.terms[:min(len(w.terms), wordLimit-len(required))])
	var parts []part
	add := func(terms []weightedTerm) {
		words := make([]string, len(terms))
		for i, t := range terms {
			words[i] = t.Text
		}
		parts = append(parts, part{strings.Join(words, " ") + operators, max(bm25.Sum(terms)/whole, minShare)})
	}
	if w.termsUncounted {
		for i := range asked {
			add(asked[i:])
		}
		return parts
	}
	for i := range min(combined, len(asked)) {
		add(asked[i:])
	}
	for i := range asked {
		if i+1 < len(asked) || i >= combined { // otherwise the word is already one of the parts
			add(asked[i : i+1])
		}
	}
	return parts
}

// candidate is a passage that Meilisearch found, as counts of its terms.
type candidate struct {
	id     string
	counts map[string]int
	length int
}

func newCandidate(found meilisearch.Hit) (c candidate, err error) {
	if c.id, err = hitID(found); err != nil {
		return c, err
	}
	c.counts = make(map[string]int)
	for attribute, each := range map[string]int{"title": bm25.TitleTimes, "section": bm25.SectionTimes, "text": 1} {
		text, err := textOf(found, attribute)
		if err != nil {
			return c, err
		}
		for term := range strings.FieldsSeq(text) {
			c.counts[term] += each
			c.length += each
		}
	}
	return c, nil
}

// passes reports whether a candidate contains one of each list of required terms, and no
// excluded term.
func (c candidate) passes(required [][]string, excluded []string) bool {
	contains := func(term string) bool { return c.counts[term] > 0 }
	lacks := func(forms []string) bool { return !slices.ContainsFunc(forms, contains) }
	return !slices.ContainsFunc(required, lacks) && !slices.ContainsFunc(excluded, contains)
}

// score returns the BM25 score of a candidate.
func (w *weightedQuery) score(c candidate) (score float64) {
	for _, t := range w.terms {
		for mistakes, n := range t.frequencies(c.counts) {
			share := math.Pow(bm25.FartherShare, float64(max(0, mistakes-t.nearest)))
			score += share * t.score(n, c.length)
		}
	}
	if score > 0 {
		for _, t := range w.more {
			score += t.score(c.counts[t.Text], c.length)
		}
	}
	return score
}

func (t weightedTerm) score(frequency, length int) float64 {
	return bm25.Score(t.Weight, float64(frequency), bm25.Norm(float64(length), averageLength))
}

// frequencies are how often a passage has words, by the number of letters that differ from a term.
type frequencies [3]int

func (t weightedTerm) frequencies(counts map[string]int) (found frequencies) {
	if t.alike == 0 {
		found[0] = counts[t.Text]
		return found
	}
	for term, n := range counts {
		if mistakes := searchindex.Mistakes(t.Text, term); mistakes >= 0 {
			found[mistakes] += n
		}
	}
	return found
}

// approach finds the term that is nearest to a misspelt one.
func (t *weightedTerm) approach(found []candidate) {
	if t.alike == 0 {
		return
	}
	t.nearest = len(frequencies{})
	for _, c := range found {
		for mistakes, n := range t.frequencies(c.counts) {
			if n > 0 {
				t.nearest = min(t.nearest, mistakes)
			}
		}
	}
}

// misspelt returns those terms for which passages of a scope contain words of similar
// spelling, with the number of these passages.
func (x *index) misspelt(ctx context.Context, unknown []searchindex.Term, scope filter) (map[searchindex.Term]float64, error) {
	words := make([]string, len(unknown))
	for i, t := range unknown {
		words[i] = t.Text
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
