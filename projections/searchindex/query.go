package searchindex

import (
	"cmp"
	"math"
	"strings"

	"annals/events/fault"
	"annals/events/prose"
	"annals/projections/searchindex/language"
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
func QueryTerms(text string) []Term { return QueryTermsIn(nil, text) }

// QueryTermsIn returns the same terms as QueryTerms, in the same order, as passages in
// another language have them.
func QueryTermsIn(l *language.Language, text string) []Term {
	text = clip(text)
	english := queryTerms(nil, text)
	forms := english
	if l != nil {
		forms = queryTerms(l, text)
	}
	counts := make(map[string]int)
	var terms []Term
	var names []string
	for i, t := range english {
		if counts[t]++; counts[t] == 1 && len(terms) < maxQueryTerms {
			terms, names = append(terms, Term{Text: forms[i]}), append(names, t)
		}
	}
	for i, t := range terms {
		terms[i].Weight = termWeight(t.Text) * math.Sqrt(float64(counts[names[i]]))
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

// stopTerms are the terms of stop words in all languages, which do not describe the
// subject of a query.
var stopTerms = func() map[string]bool {
	terms := make(map[string]bool)
	for _, t := range Terms(strings.Join(prose.StopWords(), " ")) {
		terms[t] = true
	}
	for _, l := range language.All {
		for _, t := range termsIn(l, strings.Join(l.StopWords(), " ")) {
			terms[t] = true
		}
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

// pathSeparator joins the titles of a section's path.
const pathSeparator = " > "

func languageOf(title, section, text string) *language.Language {
	return language.Detect(title, section, text)
}

// Terms returns the terms of a passage in its language, which is nil for English. The
// language depends only on the passage's texts. So it needs not be stored, and a document
// may have several.
func (p Passage) Terms() (l *language.Language, title, section, text []string) {
	l = languageOf(p.Title, p.Section, p.Text)
	return l, termsIn(l, p.Title), termsIn(l, p.Section), termsIn(l, p.Text)
}
