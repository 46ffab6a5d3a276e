package answer

import (
	"math"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
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
	confTopic         // share of the passages' scores that those of the answer's document have, see topic
	confDocuments     // logarithm of the number of documents among the passages
	confKinds         // one feature for each kind of answer but the first
	confFeatures      = confKinds + int(matching.KindCount) - 1
)

type confVector [confFeatures]float64

// confidence returns the probability that the answer is right.
func (f *finding) confidence() float64 {
	v := f.confVector()
	c := 1 / (1 + math.Exp(-confNetwork.score(v[:])))
	if f.doubtful() {
		c *= unsatisfied
	}
	if f.placed < 0 {
		return c * unsatisfied
	}
	return max(c, f.placed)
}

// doubtful reports whether the best unit has no word of the kind that is asked for, says the
// opposite of what is asked, or says it of something else.
func (f *finding) doubtful() bool {
	u := &f.units[f.best]
	p := &f.passages[u.Passage]
	return f.announces(f.best) || !f.question.Satisfied(p, u) || f.question.Reversed(p.Tokens[u.From:u.To]) || f.question.Other(f.units, f.best, p)
}

// unsatisfied is by how much the confidence is multiplied if the answer is doubtful. The network sees this as well, but in
// articles of Wikipedia it is too rare to count.
const unsatisfied = 0.25

// confVector computes the features of the answer. Call rank first.
func (f *finding) confVector() confVector {
	var v confVector
	q, u := &f.question, &f.units[f.best]
	p := &f.passages[u.Passage]
	v[confBias] = 1
	for t := range q.Terms {
		term := &q.Terms[t]
		w := term.Weight / q.Total
		near := max(u.Credits[t], u.Context[t])
		if u.Previous >= 0 {
			near = max(near, f.units[u.Previous].Credits[t])
		}
		anywhere := 0.0
		for i := range f.passages {
			anywhere = max(anywhere, f.passages[i].Credits[t])
		}
		v[confCovered] += w * u.Credits[t]
		v[confContext] += w * near
		v[confPassage] += w * p.Credits[t]
		v[confAnywhere] += w * anywhere
		v[confMissing] = max(v[confMissing], w*(1-p.Credits[t]))
		v[confAbsent] = max(v[confAbsent], w*(1-anywhere))
		if term.Name {
			v[confNoName] = max(v[confNoName], 1-p.Credits[t])
			v[confNoNameAt] = max(v[confNoNameAt], 1-anywhere)
		}
		if term.Number {
			v[confNoNumber] = max(v[confNoNumber], 1-p.Credits[t])
		}
	}
	last := -1
	for i := range q.Tokens {
		t := q.Tokens[i].Term
		if t >= 0 && last >= 0 && t != last && i > 0 && q.Tokens[i-1].Term == last {
			for _, pair := range [2][2]int{{last, t}, {t, last}} {
				if missing, other := pair[0], pair[1]; u.Credits[other] > 0 {
					v[confModifier] = max(v[confModifier], q.Terms[missing].Weight/q.Total*(1-max(u.Credits[missing], u.Context[missing])))
				}
			}
		}
		last = t
	}
	f.swapped(&v, u)
	if q.Denied {
		v[confNegated] = 1
	}
	switch u.Kind {
	case markdown.Row:
		v[confRow] = 1
	case markdown.Item, markdown.Code:
		v[confItem] = 1
	}
	if q.Expected != matching.Anything {
		v[confKinds+int(q.Expected)-1] = 1
	}
	tokens := p.Tokens[u.From:u.To]
	r := f.rankVector(f.best)
	v[confDefines], v[confHeading], v[confDocument], v[confStem] = r[rankDefines], r[rankHeading], r[rankDocument], r[rankStem]
	if u.Opens {
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
	for _, c := range p.Credits {
		matched += c
	}
	v[confMatched] = math.Log(matched)
	v[confDenied], v[confOpposite] = q.Contradicts(tokens)
	v[confTerms] = math.Log(float64(len(q.Terms)))
	if len(f.passages) > 1 {
		v[confGap] = math.Abs(f.passages[0].Relative - f.passages[1].Relative)
	}
	f.topic(&v)
	v[confRank] = 1 / float64(1+u.Passage)
	if q.Focus >= 0 {
		v[confFocus] = p.Credits[q.Focus]
	}
	return v
}

// topic computes the features for how the search saw the question: the passages about its subject
// are of few documents, and those that have some of its words by chance are of many. A few
// passages tell little of that, because there may be no others, so the features are then near
// values that tell nothing.
func (f *finding) topic(v *confVector) {
	own, all := 0.0, 0.0
	documents := map[string]bool{}
	for i := range f.passages {
		p := &f.passages[i]
		all += p.Relative
		if p.Source.Document == f.source(f.best).Document {
			own += p.Relative
		}
		documents[p.Source.Document] = true
	}
	const even, several = 0.6, 2.0 // between the means of questions about the documents and about other subjects
	told := float64(len(f.passages)) / matching.MaxPassages
	share := even
	if all > 0 {
		share = own / all
	}
	v[confTopic] = told*share + (1-told)*even
	v[confDocuments] = told*math.Log(float64(len(documents))) + (1-told)*several
}

// swapped computes the features for terms in whose place the unit has another word: the
// question has "three identical particles", the unit "two identical particles". The place of
// a term is beside the nearest term on its left or right.
func (f *finding) swapped(v *confVector, u *matching.Unit) {
	q := &f.question
	tokens := f.passages[u.Passage].Tokens[u.From:u.To]
	for i := range q.Tokens {
		asked := &q.Tokens[i]
		t := asked.Term
		if t < 0 || t == q.Focus || u.Credits[t] > 0.5 {
			continue
		}
		for _, side := range [2]int{-1, 1} {
			j := beside(q.Tokens, i, -side)
			if j < 0 || q.Tokens[j].Term < 0 || q.Tokens[j].Term == t {
				continue
			}
			for k := range tokens {
				if tokens[k].Term != q.Tokens[j].Term {
					continue
				}
				at := beside(tokens, k, side)
				if at < 0 || tokens[at].Term >= 0 {
					continue
				}
				other := &tokens[at]
				v[confSwapped] = max(v[confSwapped], q.Terms[t].Weight/q.Total)
				switch {
				case words.Number(asked) && words.Number(other):
					v[confNumberSwapped] = 1
				case asked.Capital && i > 0 && other.Capital && u.Context[t] < 0.5:
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
