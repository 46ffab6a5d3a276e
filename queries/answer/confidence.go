package answer

import (
	"math"
	"slices"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// Features of an answer, from which its confidence is computed. "The unit" is the best
// unit, and "the passage" is the passage that contains it. The question's weight is the
// sum of the weights of its terms.
const (
	confBias          = iota
	confCovered       // share of the question's weight found in the unit
	confContext       // share found in the unit, in its titles and lead-in, or in the unit before it
	confPassage       // share found in the passage
	confAnywhere      // share found in any passage
	confMissing       // weight of the heaviest term that the passage lacks
	confNoName        // the passage lacks a name in the question
	confNoNameAt      // all passages lack a name in the question
	confNoNumber      // the passage lacks a number in the question
	confPairs         // share of the question's consecutive terms that are close together in the unit
	confFits          // the unit has a word of the expected kind
	confMisfits       // the unit has no word of the expected kind
	confChance        // logarithm of the chance of the answer's units
	confSpan          // logarithm of the chance of the unit's best span
	confDenied        // either the question or the unit is negated, but not both
	confOpposite      // the unit has the opposite of a word of the question
	confTerms         // logarithm of the number of terms in the question
	confGap           // difference between the scores of the first two passages
	confRank          // 1 over the rank of the passage
	confFocus         // the passage has the noun after "which"
	confLogit         // score of the unit by the ranking model, not normalized
	confMass          // score of the unit by the span model
	confPhrases       // share of the question's adjacent words that are adjacent in the unit
	confDense         // share of the question's weight found within twelve words of the unit
	confMatched       // logarithm of the number of terms that the passage has
	confWhole         // square of confPassage
	confAlso          // the answer has a second unit
	confAbsent        // weight of the heaviest term that no passage has
	confModifier      // weight of the heaviest term that the unit and its titles lack, next to a term that the unit has
	confSwapped       // weight of the heaviest term in whose place the unit has another word
	confNumberSwapped // a number is in the place of another number of the question
	confNameSwapped   // a name is in the place of another name of the question
	confDefines       // how likely the unit is the definition that is asked for
	confHeading       // likeness of the section's title to the question
	confDocument      // likeness of the document's title to the question
	confOpens         // the unit is the first of its section
	confStem          // share of the question's weight matched by the terms' own stems
	confNegated       // the question is negated
	confRow           // the unit is a row
	confItem          // the unit is a list item or code
	confKinds         // one feature for each kind of answer but the first
	confFeatures      = confKinds + int(answerKinds) - 1
)

type confVector [confFeatures]float64

// confidence returns the probability that the answer is right.
func (f *finding) confidence() float64 {
	v := f.confVector()
	c := 1 / (1 + math.Exp(-confNetwork.score(v[:])))
	u := &f.units[f.best]
	p := &f.passages[u.passage]
	if !f.question.satisfied(p, u) || f.question.reversed(p.tokens[u.from:u.to]) {
		c *= unsatisfied
	}
	return c
}

// unsatisfied is by how much the confidence is multiplied if the answer has no word of the
// kind that is asked for, or says the opposite of what is asked. The network sees this as well, but in
// articles of Wikipedia it is too rare to count.
const unsatisfied = 0.25

// reversed reports whether a unit denies what the question asks: "Who is reimbursed for meals?"
// of "Contractors are not reimbursed for meals"; or the reverse, without a word that denies,
// forbids or excludes. The answer to a question of yes or no may deny.
func (q *question) reversed(tokens []words.Token) bool {
	if q.expected == aDecision || q.expected == aReason {
		return false
	}
	excludes := func(t words.Token) bool { return words.Negative(t.Lower) || words.Excluding[t.Lower] }
	if q.denied {
		return !slices.ContainsFunc(tokens, excludes)
	}
	if slices.ContainsFunc(q.tokens, excludes) || slices.ContainsFunc(tokens, func(t words.Token) bool { return t.Lower == "until" }) {
		return false
	}
	reversed := false
	for i := range tokens {
		t := tokens[i].Term
		if t < 0 || tokens[i].Credit < 0.6 || q.terms[t].name || q.terms[t].number || t == q.focus {
			continue
		}
		reversed = reversed || words.Denied(tokens, i) && !slices.ContainsFunc(tokens[:i], func(other words.Token) bool { return other.Term == t })
	}
	return reversed
}

// confVector computes the features of the answer. Call rank first.
func (f *finding) confVector() confVector {
	var v confVector
	q, u := &f.question, &f.units[f.best]
	p := &f.passages[u.passage]
	v[confBias] = 1
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
		v[confCovered] += w * u.credits[t]
		v[confContext] += w * near
		v[confPassage] += w * p.credits[t]
		v[confAnywhere] += w * anywhere
		v[confMissing] = max(v[confMissing], w*(1-p.credits[t]))
		v[confAbsent] = max(v[confAbsent], w*(1-anywhere))
		if term.name {
			v[confNoName] = max(v[confNoName], 1-p.credits[t])
			v[confNoNameAt] = max(v[confNoNameAt], 1-anywhere)
		}
		if term.number {
			v[confNoNumber] = max(v[confNoNumber], 1-p.credits[t])
		}
	}
	last := -1
	for i := range q.tokens {
		t := q.tokens[i].Term
		if t >= 0 && last >= 0 && t != last && i > 0 && q.tokens[i-1].Term == last {
			for _, pair := range [2][2]int{{last, t}, {t, last}} {
				if missing, other := pair[0], pair[1]; u.credits[other] > 0 {
					v[confModifier] = max(v[confModifier], q.terms[missing].weight/q.total*(1-max(u.credits[missing], u.context[missing])))
				}
			}
		}
		last = t
	}
	f.swapped(&v, u)
	if q.denied {
		v[confNegated] = 1
	}
	switch u.kind {
	case markdown.Row:
		v[confRow] = 1
	case markdown.Item, markdown.Code:
		v[confItem] = 1
	}
	if q.expected != anything {
		v[confKinds+int(q.expected)-1] = 1
	}
	tokens := p.tokens[u.from:u.to]
	r := f.rankVector(f.best)
	v[confDefines], v[confHeading], v[confDocument], v[confStem] = r[rankDefines], r[rankHeading], r[rankDocument], r[rankStem]
	if u.opens {
		v[confOpens] = 1
	}
	v[confPairs], v[confFits], v[confMisfits] = r[rankPairs], r[rankFits], r[rankMisfits]
	chance := f.chances[f.best] + f.agreed
	if f.also >= 0 {
		chance += f.chances[f.also]
		v[confAlso] = 1
	}
	for _, s := range f.disagreeing {
		if s.unit != f.best { // they share the chance of the statement
			chance += f.chances[s.unit]
		}
	}
	v[confChance] = math.Log(max(chance, 1e-4))
	v[confSpan] = math.Log(max(f.spanChance, 1e-3))
	v[confLogit] = rankNetwork.score(r[:]) / 10
	v[confMass] = f.mass / 10
	v[confPhrases], v[confDense], v[confWhole] = r[rankPhrases], r[rankDense], v[confPassage]*v[confPassage]
	matched := 1.0
	for _, c := range p.credits {
		matched += c
	}
	v[confMatched] = math.Log(matched)
	v[confDenied], v[confOpposite] = q.contradicts(tokens)
	v[confTerms] = math.Log(float64(len(q.terms)))
	if len(f.passages) > 1 {
		v[confGap] = math.Abs(f.passages[0].relative - f.passages[1].relative)
	}
	v[confRank] = 1 / float64(1+u.passage)
	if q.focus >= 0 {
		v[confFocus] = p.credits[q.focus]
	}
	return v
}

// contradicts returns 1 as denied if either the question or the unit is negated, but not
// both, and 1 as opposite if the unit has the opposite of a word of the question.
func (q *question) contradicts(tokens []words.Token) (denied, opposite float64) {
	has := make(map[string]bool, len(tokens))
	not := false
	for i := range tokens {
		has[tokens[i].Lower] = true
		not = not || words.Negative(tokens[i].Lower)
	}
	if not != q.denied {
		denied = 1
	}
	for i := range q.tokens {
		if o, ok := words.Opposites[q.tokens[i].Lower]; ok && has[o] && !has[q.tokens[i].Lower] {
			opposite = 1
		}
	}
	return denied, opposite
}

// swapped computes the features for terms in whose place the unit has another word: the
// question has "three identical particles", the unit "two identical particles". The place of
// a term is beside the nearest term on its left or right.
func (f *finding) swapped(v *confVector, u *unit) {
	q := &f.question
	tokens := f.passages[u.passage].tokens[u.from:u.to]
	for i := range q.tokens {
		asked := &q.tokens[i]
		t := asked.Term
		if t < 0 || t == q.focus || u.credits[t] > 0.5 {
			continue
		}
		for _, side := range [2]int{-1, 1} {
			j := beside(q.tokens, i, -side)
			if j < 0 || q.tokens[j].Term < 0 || q.tokens[j].Term == t {
				continue
			}
			for k := range tokens {
				if tokens[k].Term != q.tokens[j].Term {
					continue
				}
				at := beside(tokens, k, side)
				if at < 0 || tokens[at].Term >= 0 {
					continue
				}
				other := &tokens[at]
				v[confSwapped] = max(v[confSwapped], q.terms[t].weight/q.total)
				switch {
				case words.Number(asked) && words.Number(other):
					v[confNumberSwapped] = 1
				case asked.Capital && i > 0 && other.Capital && u.context[t] < 0.5:
					v[confNameSwapped] = 1
				}
			}
		}
	}
}

// beside returns the index of the first word beside tokens[i] that is not a function word,
// on the left if side is -1, or on the right if it is 1; -1 if there is none within three
// words, or before punctuation.
func beside(tokens []words.Token, i, side int) int {
	for k := i + side; k >= 0 && k < len(tokens) && (k-i)*side <= 3; k += side {
		if side > 0 && tokens[k].Pause || side < 0 && tokens[k+1].Pause {
			return -1
		}
		if tokens[k].Class == prose.Content || words.Number(&tokens[k]) {
			return k
		}
	}
	return -1
}
