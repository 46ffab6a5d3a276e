package searchindex

import (
	"cmp"
	"math"
	"strings"

	"annals/events/fault"
	"annals/events/prose"
)

// Bounds of a query's text.
const (
	maxQueryBytes = 8 << 10 // bytes of the text; the rest is ignored
	maxQueryTerms = 256     // distinct terms
)

// Term is a term of a query.
type Term struct {
	Text   string
	Weight float64 // 1 for a word of a query, less for a stop word, more for a repeated word
}

// QueryTerms returns the distinct terms of a query in the order of the text, at most 256.
// The weight of a repeated term grows with the square root of its count: in a long query
// the subject is what is named again and again, but twice is not twice as important.
func QueryTerms(text string) []Term {
	counts := make(map[string]int)
	var terms []Term
	for _, t := range queryTerms(clip(text)) {
		if counts[t]++; counts[t] == 1 && len(terms) < maxQueryTerms {
			terms = append(terms, Term{Text: t})
		}
	}
	for i, t := range terms {
		terms[i].Weight = termWeight(t.Text) * math.Sqrt(float64(counts[t.Text]))
	}
	return terms
}

func clip(text string) string { return text[:min(len(text), maxQueryBytes)] }

// stopWeight is the weight of a stop word; other words have weight 1. It is above zero,
// so that a query of only stop words finds something, and a quotation finds its passage.
const stopWeight = 0.4

// IsStop reports whether a term is that of a stop word.
func IsStop(term string) bool { return stopTerms[term] }

func termWeight(term string) float64 {
	if IsStop(term) {
		return stopWeight
	}
	return 1
}

// stopTerms are the terms of stop words, which do not describe the subject of a
// query.
var stopTerms = func() map[string]bool {
	terms := make(map[string]bool)
	for _, t := range Terms(strings.Join(prose.StopWords(), " ")) {
		terms[t] = true
	}
	return terms
}()

// Check returns an error if Limit, Offset or another field exceeds its bound.
func (q Query) Check() error {
	switch {
	case q.Limit < 0 || q.Limit > MaxLimit:
		return fault.Errorf(fault.Invalid, "a search returns at most %d passages, not %d", MaxLimit, q.Limit)
	case q.Offset < 0 || q.Offset > MaxOffset:
		return fault.Errorf(fault.Invalid, "a search skips at most %d passages, not %d", MaxOffset, q.Offset)
	}
	return nil
}

// End returns the number of hits that an engine has to find: the skipped ones and the
// returned ones.
func (q Query) End() int { return q.Offset + cmp.Or(q.Limit, 10) }

// Heading returns the text that is searched in addition to the passage's own text: the
// document's title and the titles of the section's path.
func (p Passage) Heading() string { return strings.TrimSpace(p.Title + "\n" + p.Section) }
