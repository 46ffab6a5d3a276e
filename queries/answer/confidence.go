package answer

import "math"

// Features of a finding, from which the probability that it is right is estimated.
const (
	sureBias     = iota
	sureCovered  // share of the question's weight that the best unit has
	sureContext  // share that unit, titles, lead-ins and the unit before have
	surePassage  // share that its passage has
	sureAnywhere // share that any passage has
	sureMissing  // weight of the heaviest term that its passage lacks
	sureNoName   // a name of the question is not in its passage
	sureNoNameAt // a name of the question is in no passage
	sureNoNumber // a number of the question is not in its passage
	surePairs    // share of the question's neighbouring words that are close there
	sureFits     // the unit has an answer of the sort that is sought
	sureMisfits  // a sort is sought, and the unit has none
	sureChance   // logarithm of the chance of the answer among all units
	sureSpan     // logarithm of the best span's chance among those of the unit
	sureDenied   // the question denies and the unit does not, or the other way round
	sureOpposite // the unit has the opposite of a word of the question
	sureTerms    // logarithm of the number of terms in the question
	sureGap      // how far the second passage's score is behind the first's
	sureRank     // 1 over the rank of its passage
	sureFocus    // the noun after "which" is in the passage
	sureLogit    // the unit's score before it was set against the others
	sureMass     // what the span model makes of the unit in all
	surePhrases  // share of the question's neighbouring words that are neighbours there
	sureDense    // share of the question's weight within twelve words
	sureMatched  // logarithm of the number of terms that its passage has
	sureWhole    // square of surePassage
	sureAlso     // the answer has a second unit
	sureFeatures
)

type sureVector [sureFeatures]float64

// confidence returns the probability that the best unit answers.
func (f *finding) confidence() float64 {
	v := f.sureVector()
	return 1 / (1 + math.Exp(-dot(sureWeights[:], v[:])))
}

// sureVector measures the finding after ranking.
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

// contradicts reports whether a unit denies what the question does not, and whether it
// has the opposite of one of its words.
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
