package answer

import "math"

// Features of an answer, from which its confidence is computed. The unit is the best one,
// and the passage the one that contains it.
const (
	sureBias     = iota
	sureCovered  // share of the question's weight found in the unit
	sureContext  // share found in the unit, its titles and lead-in, or the unit before it
	surePassage  // share found in the passage
	sureAnywhere // share found in any passage
	sureMissing  // weight of the heaviest term that the passage lacks
	sureNoName   // the passage lacks a name in the question
	sureNoNameAt // all passages lack a name in the question
	sureNoNumber // the passage lacks a number in the question
	surePairs    // share of the question's consecutive terms that are close together in the unit
	sureFits     // the unit has a word of the expected kind
	sureMisfits  // the unit has no word of the expected kind
	sureChance   // logarithm of the chance of the answer's units
	sureSpan     // logarithm of the chance of the unit's best span
	sureDenied   // either the question or the unit is negated, but not both
	sureOpposite // the unit has the opposite of a word of the question
	sureTerms    // logarithm of the number of terms in the question
	sureGap      // difference between the scores of the first two passages
	sureRank     // 1 over the rank of the passage
	sureFocus    // the passage has the noun after "which"
	sureLogit    // score of the unit by the ranking model, not normalized
	sureMass     // score of the unit by the span model
	surePhrases  // share of the question's adjacent words that are adjacent in the unit
	sureDense    // share of the question's weight found within twelve words of the unit
	sureMatched  // logarithm of the number of terms that the passage has
	sureWhole    // square of surePassage
	sureAlso     // the answer has a second unit
	sureFeatures
)

type sureVector [sureFeatures]float64

// confidence returns the probability that the answer is right.
func (f *finding) confidence() float64 {
	v := f.sureVector()
	return 1 / (1 + math.Exp(-dot(sureWeights[:], v[:])))
}

// sureVector computes the features of the answer. Call rank first.
func (f *finding) sureVector() sureVector {
	var v sureVector
	q, u := &f.question, &f.units[f.best]
	p := &f.passages[u.passage]
	v[sureBias] = 1
	for t := range q.terms {
		term := &q.terms[t]
		w := term.weight / q.total
		near := max(u.credits[t], u.context[t])
		if u.previous >= 0 {
			near = max(near, f.units[u.previous].credits[t])
		}
		anywhere := 0.0
		for i := range f.passages {
			anywhere = max(anywhere, f.passages[i].credits[t])
		}
		v[sureCovered] += w * u.credits[t]
		v[sureContext] += w * near
		v[surePassage] += w * p.credits[t]
		v[sureAnywhere] += w * anywhere
		v[sureMissing] = max(v[sureMissing], w*(1-p.credits[t]))
		if term.name {
			v[sureNoName] = max(v[sureNoName], 1-p.credits[t])
			v[sureNoNameAt] = max(v[sureNoNameAt], 1-anywhere)
		}
		if term.number {
			v[sureNoNumber] = max(v[sureNoNumber], 1-p.credits[t])
		}
	}
	tokens := p.tokens[u.from:u.to]
	r := f.rankVector(f.best)
	v[surePairs], v[sureFits], v[sureMisfits] = r[rankPairs], r[rankFits], r[rankMisfits]
	chance := f.chances[f.best]
	if f.also >= 0 {
		chance += f.chances[f.also]
		v[sureAlso] = 1
	}
	v[sureChance] = math.Log(max(chance, 1e-4))
	v[sureSpan] = math.Log(max(f.sure, 1e-3))
	v[sureLogit] = dot(rankWeights[:], r[:]) / 10
	v[sureMass] = f.mass / 10
	v[surePhrases], v[sureDense], v[sureWhole] = r[rankPhrases], r[rankDense], v[surePassage]*v[surePassage]
	matched := 1.0
	for _, c := range p.credits {
		matched += c
	}
	v[sureMatched] = math.Log(matched)
	v[sureDenied], v[sureOpposite] = q.contradicts(tokens)
	v[sureTerms] = math.Log(float64(len(q.terms)))
	if len(f.passages) > 1 {
		v[sureGap] = math.Abs(f.passages[0].relative - f.passages[1].relative)
	}
	v[sureRank] = 1 / float64(1+u.passage)
	if q.focus >= 0 {
		v[sureFocus] = p.credits[q.focus]
	}
	return v
}

// contradicts returns 1 as denied if either the question or the unit is negated, but not
// both, and 1 as opposite if the unit has the opposite of a word of the question.
func (q *question) contradicts(tokens []token) (denied, opposite float64) {
	words := make(map[string]bool, len(tokens))
	not := false
	for i := range tokens {
		words[tokens[i].lower] = true
		not = not || negative(tokens[i].lower)
	}
	if not != q.denied {
		denied = 1
	}
	for i := range q.tokens {
		if o, ok := opposites[q.tokens[i].lower]; ok && words[o] && !words[q.tokens[i].lower] {
			opposite = 1
		}
	}
	return denied, opposite
}
