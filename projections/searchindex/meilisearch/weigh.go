package meilisearch

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/meilisearch/meilisearch-go"

	"annals/projections/searchindex"
)

// BM25's parameters are those of the embedded engine. The server tells no
// average length, and passages are cut to about the same one.
const (
	k1            = 1.2
	b             = 0.6
	averageLength = 180 // terms, those of the heading counted twice
)

const (
	// rankedTerms bounds the terms that are ranked by: the rarest ones.
	rankedTerms = 32
	// leastShare keeps words that nearly all passages have in what is asked for.
	leastShare = 1e-3
	// moreTerms bounds the further terms that are looked up.
	moreTerms = 48
)

// weighed is a query whose terms are weighed by how rare they are.
type weighed struct {
	terms []weighedTerm // by their place in the query
	more  []weighedTerm // of these alone, no passage is found
}

type weighedTerm struct {
	text   string
	weight float64
	alike  int // so many letters may be others: no passage has the term as it is
}

func (x *Index) weigh(ctx context.Context, terms, more []searchindex.Term) (*weighed, error) {
	all := slices.Concat(terms, more[:min(len(more), moreTerms)])
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = t.Text
	}
	counts, err := x.count(ctx, texts, true)
	if err != nil {
		return nil, err
	}
	passages, err := x.Count(ctx)
	if err != nil {
		return nil, err
	}
	weigh := func(t searchindex.Term, found float64) weighedTerm {
		n := max(float64(passages), found)
		return weighedTerm{text: t.Text, weight: t.Weight * math.Log(1+(n-found+0.5)/(found+0.5))}
	}
	w := new(weighed)
	for i, t := range all {
		if counts[i] == 0 {
			continue
		}
		if i < len(terms) {
			w.terms = append(w.terms, weigh(t, counts[i]))
		} else {
			w.more = append(w.more, weigh(t, counts[i]))
		}
	}
	unknown, err := x.misspelt(ctx, terms, counts)
	for t, found := range unknown {
		one := weigh(t, found)
		one.weight *= alikeShare
		one.alike = typos(t.Text)
		w.terms = append(w.terms, one)
	}
	w.terms, w.more = strongest(w.terms), strongest(w.more)
	w.bound()
	return w, err
}

// strongest returns those of the terms that weigh most, the first of them first.
func strongest(terms []weighedTerm) []weighedTerm {
	slices.SortStableFunc(terms, func(a, b weighedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text))
	})
	return terms[:min(len(terms), rankedTerms)]
}

// bound gives further terms their share of all.
func (w *weighed) bound() {
	if more := sum(w.more); more > 0 {
		share := searchindex.MoreShare / (1 - searchindex.MoreShare) * sum(w.terms) / more
		for i := range w.more {
			w.more[i].weight *= share
		}
	}
}

func sum(terms []weighedTerm) (weight float64) {
	for _, t := range terms {
		weight += t.weight
	}
	return weight
}

// part is what Meilisearch is asked for, and its share of the whole query.
type part struct {
	text  string
	share float64
}

// parts returns the strongest words, those without the first, the first two and
// so on, and each alone: Meilisearch leaves out together what is equally
// frequent.
func (w *weighed) parts() []part {
	asked := w.terms[:min(len(w.terms), wordLimit)]
	whole := sum(asked)
	var parts []part
	add := func(terms []weighedTerm) {
		words := make([]string, len(terms))
		for i, t := range terms {
			words[i] = t.text
		}
		parts = append(parts, part{strings.Join(words, " "), max(sum(terms)/whole, leastShare)})
	}
	for i := range asked {
		add(asked[i:])
		if i+1 < len(asked) {
			add(asked[i : i+1])
		}
	}
	return parts
}

// hit scores a candidate by BM25.
func (w *weighed) hit(found meilisearch.Hit) (h searchindex.Hit, err error) {
	if h.ID, err = hitID(found); err != nil {
		return h, err
	}
	counts, length := make(map[string]int), 0
	for _, attribute := range []string{"title", "section", "text"} {
		text, err := textOf(found, attribute)
		if err != nil {
			return h, err
		}
		each := 2 // a word of the heading tells what all of the text is about
		if attribute == "text" {
			each = 1
		}
		for term := range strings.FieldsSeq(text) {
			counts[term] += each
			length += each
		}
	}
	for _, t := range w.terms {
		h.Score += t.score(t.frequency(counts), length)
	}
	if h.Score > 0 {
		for _, t := range w.more {
			h.Score += t.score(counts[t.text], length)
		}
	}
	return h, nil
}

func (t weighedTerm) score(frequency, length int) float64 {
	f := float64(frequency)
	return t.weight * (k1 + 1) * f / (f + k1*(1-b+b*float64(length)/averageLength))
}

func (t weighedTerm) frequency(counts map[string]int) int {
	if t.alike == 0 {
		return counts[t.text]
	}
	found := 0
	for term, n := range counts {
		if within(t.text, term, t.alike) {
			found += n
		}
	}
	return found
}
