// Package bm25 computes the weight of a term of a query, and the score of the term in a
// passage. All search engines share it. Each engine counts terms and passages in its own
// way. The package imports no other package of this module.
//
// The formula is Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework: BM25 and Beyond, 2009), with the rareness that Lucene uses, which is never
// negative.
package bm25

import (
	"cmp"
	"math"
	"slices"
)

// k1 and b were chosen on collections of abstracts, articles, manual pages and novels.
// Passages are of similar length, so b is below the usual 0.75.
const (
	k1 = 1.4
	b  = 0.6
)

const (
	// TitleTimes and SectionTimes are how many times a word counts in the title of the
	// document, and in the titles of the section's path. Section titles describe the
	// passage; the title of a document is above all its passages, and often begins the path.
	TitleTimes, SectionTimes = 1, 3
	// rankedTerms is the maximum number of terms of a query that contribute to scores.
	rankedTerms = 32
	// AlikeShare is the weight of a word of the query if passages contain only words of
	// similar spelling, as a share of its usual weight.
	AlikeShare = 0.5
	// FartherShare is the weight of a word with one more wrong letter than another one that may be meant, as a share of
	// the weight of that. The nearer one is likelier, however rare the other is.
	FartherShare = 0.1
	// moreShare is the share of the total weight that all further terms (More) have
	// together. Further terms raise the score of passages, but do not find any.
	moreShare = 0.5
	// leastFound is in how many passages a further term has to be. What fewer passages have
	// in common is chance. Where there are few passages, a share of them is enough:
	// one of every leastOf.
	leastFound, leastOf = 4, 100
	// maxRecurrence bounds how often a term recurs: a word of a section title counts
	// SectionTimes in each passage of the section.
	maxRecurrence = 4
	// commonShare is the share of the passages from which on a term is too common to name a
	// subject.
	commonShare = 0.15
	// perCandidate is used if rareness is computed from candidates only: each candidate
	// then counts as perCandidate passages, itself and three passages without any word of
	// the query.
	perCandidate = 4
)

// Rareness returns the weight of a term that was found in a number of passages, if
// passages is the number of all passages.
func Rareness(found, passages float64) float64 {
	passages = max(passages, found)
	return math.Log(1 + (passages-found+0.5)/(found+0.5))
}

// Recurrence returns a factor of the weight of a term: how often a passage that contains
// the term contains it on average, where total is how often the found passages contain it
// together. Names of subjects recur in the passages about them, while words that any passage
// might use mostly occur once. One is added to total, so that a term in a single passage, of
// which little is known, is not taken for such a word. In the models of divergence from
// randomness it is a part of the after-effect B (Amati and van Rijsbergen, Probabilistic
// Models of Information Retrieval, 2002). The more common a term is, the closer to 1 is the
// factor, and exponent reduces it further.
func Recurrence(total, found, passages, exponent float64) float64 {
	if Common(found, passages) {
		return 1
	}
	return math.Pow(min((total+1)/found, maxRecurrence), exponent*(1-found/(commonShare*passages)))
}

// Common reports whether a term was found in so many of the passages that its Recurrence is
// 1, and need not be counted.
func Common(found, passages float64) bool { return found >= commonShare*passages }

// Frequent reports whether a further term was found in enough passages to be used.
func Frequent(found, passages float64) bool {
	return found >= min(leastFound, 1+math.Floor(passages/leastOf))
}

// RarenessAmong is like Rareness, but estimates the weight from candidates only.
func RarenessAmong(found, candidates int) float64 {
	return Rareness(float64(found), perCandidate*float64(candidates))
}

// Norm returns by how much the length of a passage reduces the scores of its terms. length
// is the passage's length in terms, and average is the average length of passages.
func Norm(length, average float64) float64 { return k1 * (1 - b + b*length/average) }

// Score returns the score of a term in a passage. frequency is how often the passage
// contains the term, and norm is the Norm of the passage.
func Score(weight, frequency, norm float64) float64 {
	return weight * (k1 + 1) * frequency / (frequency + norm)
}

// Term is a term of a query.
type Term struct {
	Text   string
	Weight float64 // weight in the query, multiplied by rareness
}

func (t *Term) term() *Term { return t }

// embeds is a pointer to a T that embeds Term.
type embeds[T any] interface {
	*T
	term() *Term
}

// Strongest returns the rankedTerms terms with the greatest weights, the greatest first.
// If there are at most rankedTerms terms, it returns terms unchanged.
func Strongest[T any, P embeds[T]](terms []T) []T {
	if len(terms) <= rankedTerms {
		return terms
	}
	slices.SortStableFunc(terms, func(a, b T) int {
		return cmp.Compare(P(&b).term().Weight, P(&a).term().Weight)
	})
	return terms[:rankedTerms]
}

// Sum returns the sum of the terms' weights.
func Sum[T any, P embeds[T]](terms []T) (weight float64) {
	for i := range terms {
		weight += P(&terms[i]).term().Weight
	}
	return weight
}

// Balance scales the weights of more so that together they are moreShare of the total
// weight.
func Balance[T any, P embeds[T]](terms, more []T) {
	share := moreShare / (1 - moreShare) * Sum[T, P](terms) / Sum[T, P](more)
	for i := range more {
		P(&more[i]).term().Weight *= share
	}
}
