package searchindex

import (
	"strings"

	"annals/events/fault"
)

// Bounds of a query's text.
const (
	maxQueryBytes = 8 << 10 // what follows is ignored
	maxQueryTerms = 256     // distinct ones
)

// Term is a term of a query.
type Term struct {
	Text   string
	Weight float64 // of the words of a query 1, or less for one that says little
}

// QueryTerms returns the distinct terms of a query in their order, at most
// 256.
func QueryTerms(text string) []Term {
	seen := make(map[string]bool)
	var terms []Term
	for _, t := range queryTerms(clip(text)) {
		if !seen[t] && len(terms) < maxQueryTerms {
			seen[t] = true
			terms = append(terms, Term{t, termWeight(t)})
		}
	}
	return terms
}

func clip(text string) string { return text[:min(len(text), maxQueryBytes)] }

// stopWeight is what a stop word counts for, beside other words. It is not
// zero, so that a query of stop words alone finds what holds them, and a
// quotation finds its passage.
const stopWeight = 0.4

func termWeight(term string) float64 {
	if stopTerms[term] {
		return stopWeight
	}
	return 1
}

// stopTerms are English words that tell how a question is asked rather than
// what about.
var stopTerms = func() map[string]bool {
	terms := make(map[string]bool)
	for _, t := range Terms(`a about all an and any are as at be been being between but by can could did do does during for from
		had has have he her his how if in into is it its may no not of on or she should such than that the their them then there
		these they this those to was were what when where which who whom why will with would you your`) {
		terms[t] = true
	}
	return terms
}()

// Check returns an error if a bound of the query is exceeded.
func (q Query) Check() error {
	switch {
	case q.Limit < 0 || q.Limit > MaxLimit:
		return fault.Errorf(fault.Invalid, "a search returns up to %d passages, not %d", MaxLimit, q.Limit)
	case q.Offset < 0 || q.Offset > MaxOffset:
		return fault.Errorf(fault.Invalid, "a search skips up to %d passages, not %d", MaxOffset, q.Offset)
	}
	return nil
}

// Heading returns the text above a passage that is searched along with it:
// the document's title and the titles of the section's path.
func (p Passage) Heading() string { return strings.TrimSpace(p.Title + "\n" + p.Section) }
