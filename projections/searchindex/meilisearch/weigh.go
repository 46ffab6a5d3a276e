package meilisearch

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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
	// combined is of how many words one after the other is left out. The server
	// takes a millisecond or more for each part.
	combined = 4
	// filteredValues bounds the values of the filters of the parts that are asked
	// for at once, for each of which the server takes up to a tenth of a
	// millisecond, and allValues those of one search; but there are a few parts
	// always.
	filteredValues = 2000
	allValues      = 8000
	fewestParts    = 3
	// countedValues bounds the values of the filters that words are counted with.
	// Where that would be more, words are counted among the candidates.
	countedValues = 500
	// unfound is for how many passages, besides itself, a candidate counts where
	// the words are counted among these: those hold nothing of the query.
	unfound = 3
	// leastShare keeps words that nearly all passages have in what is asked for.
	leastShare = 1e-3
	// moreTerms bounds the further terms that are looked up.
	moreTerms = 48
)

// weighed is a query whose terms are weighed by how rare they are in what the
// caller may read. All is counted there, so that a score tells nothing of other
// passages.
type weighed struct {
	terms []weighedTerm // the strongest first
	more  []weighedTerm // of these alone, no passage is found
	// Whether these are yet to be counted, among the candidates.
	termsWait, moreWait bool
}

type weighedTerm struct {
	text   string
	given  float64 // its weight in the query
	weight float64 // that, times its rareness; a guess while it was not counted
	alike  int     // so many letters may be others: no passage has the term as it is
}

// weigh counts the terms that a caller looks for in a scope, if that is not too
// dear.
func (x *Index) weigh(ctx context.Context, terms, more []searchindex.Term, scope filter) (*weighed, error) {
	w := new(weighed)
	more = more[:min(len(more), moreTerms)]
	w.termsWait = len(terms)*scope.values > countedValues
	w.moreWait = w.termsWait || (len(terms)+len(more))*scope.values > countedValues
	if w.moreWait {
		w.more = guess(more)
		more = nil
	}
	if w.termsWait {
		w.terms = strongest(guess(terms))
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
	passages, err := x.countWithin(ctx, scope.text)
	if err != nil {
		return nil, err
	}
	for i, t := range all {
		switch one := weigh(t, 0, counts[i], float64(passages)); {
		case counts[i] == 0:
		case i < len(terms):
			w.terms = append(w.terms, one)
		default:
			w.more = append(w.more, one)
		}
	}
	unknown, err := x.misspelt(ctx, terms, counts, scope)
	for t, found := range unknown {
		w.terms = append(w.terms, weigh(t, searchindex.Typos(t.Text), found, float64(passages)))
	}
	w.terms = strongest(w.terms)
	return w, err
}

// weigh gives a term that was found in some of so many passages its weight.
func weigh(t searchindex.Term, alike int, found, passages float64) weighedTerm {
	n := max(passages, found)
	w := weighedTerm{t.Text, t.Weight, t.Weight * math.Log(1+(n-found+0.5)/(found+0.5)), alike}
	if alike > 0 {
		w.weight *= searchindex.AlikeShare
	}
	return w
}

// guess weighs terms by their length: long words are rarer.
func guess(terms []searchindex.Term) []weighedTerm {
	guessed := make([]weighedTerm, len(terms))
	for i, t := range terms {
		guessed[i] = weighedTerm{t.Text, t.Weight, t.Weight * float64(utf8.RuneCountInString(t.Text)), 0}
	}
	return guessed
}

// strongest returns those of the terms that weigh most, the first of them first.
func strongest(terms []weighedTerm) []weighedTerm {
	slices.SortStableFunc(terms, func(a, b weighedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text))
	})
	return terms[:min(len(terms), rankedTerms)]
}

// settle counts the terms that wait for it among the candidates, and gives
// further terms their share of all.
func (w *weighed) settle(found []candidate) {
	if w.termsWait {
		w.terms = strongest(countAmong(w.terms, found, true))
	}
	if w.moreWait {
		w.more = countAmong(w.more, found, false)
	}
	w.more = strongest(w.more)
	if more := sum(w.more); more > 0 {
		share := searchindex.MoreShare / (1 - searchindex.MoreShare) * sum(w.terms) / more
		for i := range w.more {
			w.more[i].weight *= share
		}
	}
}

// countAmong weighs those of the terms that some candidates have, in another
// spelling if none has them as they are.
func countAmong(terms []weighedTerm, found []candidate, misspelt bool) (weighed []weighedTerm) {
	for _, t := range terms {
		n := holding(found, t)
		if n == 0 && misspelt {
			if t.alike = searchindex.Typos(t.text); t.alike > 0 {
				n = holding(found, t)
			}
		}
		if n > 0 {
			weighed = append(weighed, weigh(searchindex.Term{Text: t.text, Weight: t.given}, t.alike, float64(n), float64((1+unfound)*len(found))))
		}
	}
	return weighed
}

// holding returns how many candidates hold a term.
func holding(found []candidate, t weighedTerm) (n int) {
	for _, c := range found {
		if t.frequency(c.counts) > 0 {
			n++
		}
	}
	return n
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
// so on as far as that tells, and each alone: Meilisearch leaves out the last
// ones only. Where it is a guess which are the strongest, each word comes first in
// one part.
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
	if w.termsWait {
		for i := range asked {
			add(asked[i:])
		}
		return parts
	}
	for i := range min(combined, len(asked)) {
		add(asked[i:])
	}
	for i := range asked {
		if i+1 < len(asked) || i >= combined { // else it was among these
			add(asked[i : i+1])
		}
	}
	return parts
}

// candidate is a passage that Meilisearch found, in terms.
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
	for _, attribute := range []string{"title", "section", "text"} {
		text, err := textOf(found, attribute)
		if err != nil {
			return c, err
		}
		each := 2 // a word of the heading tells what all of the text is about
		if attribute == "text" {
			each = 1
		}
		for term := range strings.FieldsSeq(text) {
			c.counts[term] += each
			c.length += each
		}
	}
	return c, nil
}

// score is BM25.
func (w *weighed) score(c candidate) (score float64) {
	for _, t := range w.terms {
		score += t.score(t.frequency(c.counts), c.length)
	}
	if score > 0 {
		for _, t := range w.more {
			score += t.score(c.counts[t.text], c.length)
		}
	}
	return score
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
		if searchindex.Alike(t.text, term) {
			found += n
		}
	}
	return found
}
