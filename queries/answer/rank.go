package answer

import (
	"maps"
	"math"
	"slices"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// Features of a unit, by which units are ranked. "It" is the unit. The question's weight
// is the sum of the weights of its terms.
const (
	rankCovered      = iota // share of the question's weight found in the unit
	rankContext             // share found only in its titles and lead-in
	rankBefore              // share found only in the unit before it
	rankAfterRef            // rankBefore, if the unit refers to the unit before it ("He", "This"), else 0
	rankPassage             // share found in its passage
	rankPairs               // share of the question's consecutive terms that are close together
	rankRarest              // it has the heaviest term
	rankFocus               // it has the noun after "which"
	rankFits                // it has a word of the expected kind
	rankMisfits             // it has no word of the expected kind
	rankScore               // score of its passage, as a share of the best passage's score
	rankFirst               // 1 over the rank of its passage
	rankLong                // logarithm of its length
	rankShort               // it has fewer than five words
	rankNames               // share of the question's names found in the unit or its context
	rankNew                 // share of its words that are not in the question
	rankDense               // share of the question's weight found within twelve words
	rankPhrases             // share of the question's adjacent words that are adjacent
	rankSquare              // square of rankCovered
	rankMissing             // weight of the heaviest term that its passage lacks
	rankStart               // it is the first unit of its passage
	rankStem                // share of the question's weight matched by the term's own stem
	rankCue                 // it has a word that often introduces the expected answer
	rankDefines             // it defines what the question asks for
	rankNoDefinition        // a definition is asked for, and it is none
	rankHeading             // likeness of its section's title to the question
	rankDocument            // likeness of its document's title to the question
	rankOpens               // rankHeading, if it is the first unit of its section
	rankOpensAny            // it is the first unit of its section
	rankLeads               // it ends with a colon, so a list or code follows
	rankAsks                // it is a question
	rankAnswers             // share of the question's weight found in the question before it
	rankNext                // share of the question's weight found only in the unit after it
	rankNumbers             // share of the question's numbers found in the unit or its context
	rankUnion               // share found in the unit, its context or the unit before it
	rankUnionFits           // rankUnion, if the unit has a word of the expected kind
	rankShare               // rankCovered, as a share of that of the best covered unit
	rankMost                // it is the best covered unit
	rankPassageShare        // rankPassage, as a share of that of the best covered passage
	rankIsItem
	rankIsRow
	rankIsCode
	rankKinds    // one feature for each kind of answer but the first
	rankFeatures = rankKinds + int(matching.KindCount) - 1
)

type rankVector [rankFeatures]float64

// rank computes for each unit the probability that it has the answer, chooses the best
// unit and the words of the answer in it, and finds the documents that disagree with it.
func (f *finding) rank() {
	f.rankUnits()
	f.readBest()
	f.chooseItem()
	if from, to := f.list(); from == to {
		if f.disagreeing = f.disagreements(); len(f.disagreeing) > 0 {
			f.also = -1
		}
	}
}

// rankUnits computes the probability of each unit from the words that it shares with the
// question.
func (f *finding) rankUnits() {
	f.relate()
	f.chances = make([]float64, len(f.units))
	var own []uint16
	for i := range f.units {
		v := f.rankVector(i)
		own = f.unitPatterns(i, own[:0])
		f.chances[i] = rankNetwork.score(v[:]) + rankNetwork.patterned(own)
		if v[rankAsks] > 0 { // a question is no answer
			f.chances[i] -= questionCost
		}
		if u := &f.units[i]; matching.Introduces(f.passages[u.Passage].Tokens[u.From:u.To]) || f.announces(i) {
			f.chances[i] -= introductionCost
		}
		if f.shows(i) {
			f.chances[i] += mannerGain
		}
	}
	softmax(f.chances)
}

// announces reports whether unit i is a sentence that only announces something.
func (f *finding) announces(i int) bool {
	u := &f.units[i]
	return u.Kind == markdown.Sentence && matching.Announces(f.passages[u.Passage].Tokens[u.From:u.To])
}

// Costs are subtracted from the score of a unit that is itself a question, that speaks of its
// document, or that has no word of the kind that is asked for.
const questionCost, introductionCost, kindCost = 4, 2, 2

// mannerGain is added to the score of a unit that shows the way that is asked for.
const mannerGain = 2

// shows reports whether unit i shows the way to do something that is asked for: a list or
// code follows it, and it has most of what is asked for, of which some may be in its titles.
func (f *finding) shows(i int) bool {
	const most = 0.5
	next := i + 1
	if f.question.Expected != matching.Manner || !f.leadsIn(i) || next == len(f.units) || f.units[next].Passage != f.units[i].Passage || f.units[next].Kind == markdown.Sentence {
		return false
	}
	share, own := 0.0, 0.0
	for t := range f.question.Terms {
		own = max(own, f.units[i].Credits[t])
		share += max(f.units[i].Credits[t], f.units[i].Context[t]) * f.question.Terms[t].Weight / f.question.Total
	}
	return own > 0 && share >= most
}

// relate sets the scores of the passages as shares of the best score.
func (f *finding) relate() {
	top := 0.0
	for _, p := range f.passages {
		top = max(top, p.Source.Score)
	}
	for i := range f.passages {
		p := &f.passages[i]
		if p.Relative = 1 / (1 + float64(i)); top > 0 && !math.IsInf(top, 0) {
			p.Relative = max(0, p.Source.Score/top)
		}
		if math.IsNaN(p.Relative) {
			p.Relative = 0
		}
		f.coveredBy = max(f.coveredBy, f.question.Share(p.Credits))
	}
	for i := range f.units {
		f.covered = max(f.covered, f.question.Share(f.units[i].Credits))
	}
}

// reranked is how many of the best units are ranked again, by the span model.
const reranked = 6

// Features by which the best units are ranked again.
const (
	rerankChance   = iota                           // logarithm of the chance by rankUnits
	rerankMass                                      // logarithm of the mean of its spans' exponentiated scores
	rerankTop                                       // score of its best span
	rerankFirst                                     // it is the best unit by rankUnits
	rerankUnit                                      // the features by which rankUnits ranks it
	rerankSpan     = rerankUnit + int(rankFeatures) // the features of its best span
	rerankFeatures = rerankSpan + int(spanFeatures)
)

type rerankVector [rerankFeatures]float64

// readBest ranks the best units again, by their spans, and chooses the words of the
// best one.
func (f *finding) readBest() {
	order := f.likeliest(reranked)
	readings := make([]reading, len(order))
	again := make([]float64, len(order))
	kept := 0.0
	for k, i := range order {
		readings[k] = f.read(&f.units[i])
		v := f.rerankVector(k, i, readings[k])
		again[k] = rerankNetwork.score(v[:])
		if p := &f.passages[f.units[i].Passage]; !f.question.Satisfied(p, &f.units[i]) || f.question.Other(f.units, i, p) {
			again[k] -= kindCost
		}
		if f.announces(i) {
			again[k] -= introductionCost
		}
		if f.shows(i) {
			again[k] += mannerGain
		}
		kept += f.chances[i]
	}
	softmax(again)
	best := 0
	for k, i := range order {
		f.chances[i] = kept * again[k]
		if again[k] > again[best] {
			best = k
		}
	}
	f.best, f.mass = order[best], 0
	if r := readings[best]; len(r.spans) > 0 {
		f.mass = r.mass - math.Log(float64(len(r.spans)))
	}
	f.window, _ = f.narrow(f.best, readings[best])
	if u := &f.units[f.best]; f.question.AsksFormer(f.passages[u.Passage].Tokens[u.From:u.To]) { // "Helen Marsh, who followed Victor Dunn" is nothing to choose a name from
		f.window = u.Whole()
	}
	f.spanChance = 0
	for _, c := range readings[best].chances {
		f.spanChance = max(f.spanChance, c)
	}
	switch {
	case len(readings[best].spans) == 0:
		f.also = f.second(order)
	case !f.follows:
		f.also = f.alternative(order, readings)
	default:
		f.also = -1
	}
}

// A second sentence of the same document is added to an answer that is a whole sentence if
// the probability of the best sentence is below doubtBelow, and the probability of the second
// is at least secondShare times that of the best.
const doubtBelow, secondShare = 0.65, 0.3

// askedTitle is the likeness of a section's title to a question from which on the title
// asks the very question: its second sentence is then a part of the answer to a "why".
const askedTitle = 0.6

// second returns the index of the sentence to add to the best sentence, or -1, and sets
// alsoWindow to its words.
func (f *finding) second(order []int) int {
	u := &f.units[f.best]
	if u.Kind != markdown.Sentence {
		return -1
	}
	q := &f.question
	if q.Expected == matching.Reason && u.Opens && q.Likeness(&f.passages[u.Passage].Headings[0]) > askedTitle && f.same(f.best+1) && f.units[f.best+1].Kind == markdown.Sentence {
		return f.whole(f.best + 1)
	}
	if before := u.Previous; q.Expected == matching.Definition && before >= 0 && f.units[before].Kind == markdown.Sentence && matching.PointsBack(f.passages[u.Passage].Tokens[u.From:u.To]) {
		f.window = u.Whole()
		return f.whole(before)
	}
	if f.chances[f.best] >= doubtBelow || !q.Understood() {
		return -1
	}
	second := -1
	for _, i := range order {
		if fits := matching.Kinds[q.Expected].Fits; fits != nil && !matching.HasAnswer(f.passages[f.units[i].Passage].Tokens[f.units[i].From:f.units[i].To], q.Expected) {
			continue
		}
		if i != f.best && f.sameDocument(i, f.best) && !f.repeats(i, f.units[i].Whole()) && (second < 0 || f.chances[i] > f.chances[second]) {
			second = i
		}
	}
	if second < 0 || f.units[second].Kind != markdown.Sentence || f.chances[second] < secondShare*f.chances[f.best] {
		return -1
	}
	f.window = u.Whole()
	return f.whole(second)
}

// whole sets alsoWindow to all words of unit i, and returns i.
func (f *finding) whole(i int) int {
	f.alsoWindow = f.units[i].Whole()
	return i
}

// alternativeCost is lengthCost for the words of a second unit. They are only told if they are
// alternativeShare times as likely as the first, or exactShare times if a number or time is asked for: two numbers
// leave nobody wiser.
const alternativeCost, alternativeShare, exactShare = 0.1, 0.25, 0.5

// alternative returns the index of the unit of which the likeliest words are added to the
// answer, on a line of their own, and sets alsoWindow to these. They are added if they raise
// the probability that the answer has the right words by more than their length costs. The
// index is -1 if there is none, or the question is in a language of which it is not known what
// it asks for.
func (f *finding) alternative(order []int, readings []reading) int {
	f.agreed = 0
	also, most := -1, 0.0
	if !f.question.Understood() {
		return also
	}
	n := float64(f.window.To - f.window.From)
	_, mass := f.narrow(f.best, readings[slices.Index(order, f.best)])
	likeliest := f.chances[f.best] * mass
	for k, i := range order {
		if i == f.best || len(readings[k].spans) == 0 || f.units[i].Kind != markdown.Sentence && f.units[i].Kind != markdown.Item {
			continue
		}
		w, mass := f.narrow(i, readings[k])
		if f.repeats(i, w) {
			f.agreed += f.chances[i]
			continue
		}
		least := alternativeShare
		if f.exact() {
			least = exactShare
		}
		if f.chances[i]*mass < least*likeliest || !f.related(i, w) {
			continue
		}
		m := float64(w.To - w.From)
		if gain := f.chances[i]*mass - alternativeCost*(math.Log(n+m+1)-math.Log(n+1)); gain > most {
			also, most, f.alsoWindow = i, gain, w
		}
	}
	return also
}

// related reports whether words of unit i can be an alternative to the answer: they have a word
// of the kind that is asked for, the unit has two fifths as much of the question as the best one, and it tells another
// value for the same: neither what was before, nor what somebody else did, nor the answer with more words.
func (f *finding) related(i int, w matching.Span) bool {
	const enough = 0.4
	u := &f.units[i]
	tokens := f.passages[u.Passage].Tokens[u.From:u.To]
	others := tokens[w.From-u.From : w.To-u.From]
	if k := f.question.Expected; matching.Kinds[k].Fits != nil && !matching.HasAnswer(others, k) {
		return false
	}
	if f.question.Former(tokens) || f.within(others) || f.otherDeed(u, w) {
		return false
	}
	near := func(u *matching.Unit) (share float64) {
		for t := range f.question.Terms {
			c := max(u.Credits[t], u.Context[t])
			if u.Previous >= 0 {
				c = max(c, f.units[u.Previous].Credits[t])
			}
			share += c * f.question.Terms[t].Weight
		}
		return share
	}
	return near(u) >= enough*near(&f.units[f.best])
}

// within reports whether some words have all content words of the answer that the question has not.
func (f *finding) within(others []words.Token) bool {
	some := false
	for _, t := range f.passages[f.units[f.best].Passage].Tokens[f.window.From:f.window.To] {
		if t.Digit || t.Class == prose.Content && t.Term < 0 {
			some = true
			if !slices.ContainsFunc(others, func(o words.Token) bool { return o.Lower == t.Lower }) {
				return false
			}
		}
	}
	return some
}

// otherDeed reports whether a unit lacks what the person who is asked for did, which the best unit has: the first
// term after "who". "By" before the words stands for it.
func (f *finding) otherDeed(u *matching.Unit, w matching.Span) bool {
	const enough = 0.5
	q := &f.question
	if q.Expected != matching.Person || q.Follows < 0 || f.units[f.best].Credits[q.Follows] < enough || u.Credits[q.Follows] >= enough {
		return false
	}
	return w.From == u.From || f.passages[u.Passage].Tokens[w.From-1].Lower != "by"
}

// exact reports whether a number, a time or a phone number is asked for.
func (f *finding) exact() bool {
	k := f.question.Expected
	return k == matching.Number || k == matching.Time || k == matching.Phone
}

// repeats reports whether words of unit i say what the answer's own words say already: they
// have no other content words, or few others, such as the number of a docket. If a number
// or time is asked, only the numbers count.
func (f *finding) repeats(i int, w matching.Span) bool {
	const nearlyEqual, short = 0.8, 8 // share of the words; number of words that must be equal
	own := f.passages[f.units[f.best].Passage].Tokens[f.window.From:f.window.To]
	others := f.passages[f.units[i].Passage].Tokens[w.From:w.To]
	if f.exact() {
		if a, b := numbers(own), numbers(others); len(a) > 0 && maps.Equal(a, b) {
			return true
		}
	}
	told := map[string]bool{}
	for _, t := range own {
		told[t.Lower] = true
	}
	known, fresh := 0, false
	for _, t := range others {
		if told[t.Lower] {
			known++
		} else {
			fresh = fresh || t.Class == prose.Content
		}
	}
	n := w.To - w.From
	return !fresh || n > short && float64(known) >= nearlyEqual*float64(n)
}

// numbers returns the numbers and names of months among some words.
func numbers(tokens []words.Token) map[string]bool {
	m := map[string]bool{}
	for i := range tokens {
		if t := &tokens[i]; words.Number(t) || words.Calendar[t.Lower] && t.Capital {
			m[t.Lower] = true
		}
	}
	return m
}

// rerankVector computes the features of unit i. k is its rank by rankUnits, 0 for the
// best unit.
func (f *finding) rerankVector(k, i int, r reading) rerankVector {
	var v rerankVector
	v[rerankChance] = math.Log(max(f.chances[i], 1e-6))
	if len(r.spans) > 0 {
		v[rerankMass] = r.mass - math.Log(float64(len(r.spans)))
		v[rerankTop] = r.top
	}
	if k == 0 {
		v[rerankFirst] = 1
	}
	u := f.rankVector(i)
	copy(v[rerankUnit:], u[:])
	copy(v[rerankSpan:], r.best[:])
	return v
}

// likeliest returns the indexes of the n units with the highest chances, best first.
func (f *finding) likeliest(n int) []int {
	order := make([]int, 0, n+1)
	for i, c := range f.chances {
		k := len(order)
		for k > 0 && c > f.chances[order[k-1]] {
			k--
		}
		if k < n {
			order = slices.Insert(order, k, i)
			order = order[:min(n, len(order))]
		}
	}
	return order
}

func (f *finding) sameDocument(a, b int) bool {
	x, y := f.source(a), f.source(b)
	return x.ID == y.ID && x.Document == y.Document
}

// rankVector computes the features of unit i.
func (f *finding) rankVector(i int) rankVector {
	var v rankVector
	q, u := &f.question, &f.units[i]
	p := &f.passages[u.Passage]
	var names, named, numbers, numbered float64
	rarest := 0
	for t := range q.Terms {
		w := q.Terms[t].Weight / q.Total
		here, context, before := u.Credits[t], u.Context[t], 0.0
		if u.Previous >= 0 {
			before = f.units[u.Previous].Credits[t]
		}
		v[rankCovered] += w * here
		v[rankContext] += w * max(0, context-here)
		v[rankBefore] += w * max(0, before-max(here, context))
		v[rankPassage] += w * p.Credits[t]
		if q.Terms[t].Weight > q.Terms[rarest].Weight {
			rarest = t
		}
		if q.Terms[t].Name {
			names++
			named += max(here, context)
		}
		if q.Terms[t].Number {
			numbers++
			numbered += max(here, context)
		}
		if next := i + 1; next < len(f.units) && f.units[next].Passage == u.Passage {
			v[rankNext] += w * max(0, f.units[next].Credits[t]-max(here, context, before))
		}
	}
	if numbers > 0 {
		v[rankNumbers] = numbered / numbers
	}
	if f.covered > 0 {
		v[rankShare] = v[rankCovered] / f.covered
		if v[rankShare] > 0.999 {
			v[rankMost] = 1
		}
	}
	if f.coveredBy > 0 {
		v[rankPassageShare] = v[rankPassage] / f.coveredBy
	}
	for t := range q.Terms {
		v[rankMissing] = max(v[rankMissing], q.Terms[t].Weight/q.Total*(1-p.Credits[t]))
		if u.Credits[t] == 1 {
			v[rankStem] += q.Terms[t].Weight / q.Total
		}
	}
	v[rankSquare] = v[rankCovered] * v[rankCovered]
	if u.Previous < 0 {
		v[rankStart] = 1
	}
	tokens := p.Tokens[u.From:u.To]
	if q.Cued(tokens) {
		v[rankCue] = 1
	}
	v[rankDense] = q.Dense(tokens)
	v[rankPhrases] = q.Phrases(tokens)
	if matching.RefersBack(tokens) {
		v[rankAfterRef] = v[rankBefore]
	}
	v[rankPairs] = q.Pairs(tokens)
	v[rankRarest] = u.Credits[rarest]
	if q.Focus >= 0 {
		v[rankFocus] = u.Credits[q.Focus]
	}
	v[rankHeading], v[rankDocument] = q.Likeness(&p.Headings[0]), q.Likeness(&p.Headings[1])
	if u.Opens {
		v[rankOpens], v[rankOpensAny] = max(v[rankHeading], v[rankDocument]), 1
	}
	if q.Expected == matching.Definition {
		v[rankDefines] = q.Definition(p, u)
		if v[rankDefines] == 0 {
			v[rankNoDefinition] = 1
		}
	}
	if p.Text[u.End-1] == ':' {
		v[rankLeads] = 1
	}
	if p.Text[u.End-1] == '?' {
		v[rankAsks] = 1
	}
	if u.Previous >= 0 && p.Text[f.units[u.Previous].End-1] == '?' {
		for t, c := range f.units[u.Previous].Credits {
			v[rankAnswers] += c * q.Terms[t].Weight / q.Total
		}
	}
	if u.Kind != markdown.Sentence {
		v[rankIsItem+int(u.Kind)-1] = 1
	}
	if q.Expected != matching.Anything {
		v[rankKinds+int(q.Expected)-1] = 1
	}
	if matching.Kinds[q.Expected].Fits != nil {
		if matching.HasAnswer(tokens, q.Expected) {
			v[rankFits] = 1
		} else {
			v[rankMisfits] = 1
		}
	}
	v[rankUnion] = v[rankCovered] + v[rankContext] + v[rankBefore]
	v[rankUnionFits] = v[rankUnion] * v[rankFits]
	v[rankScore] = p.Relative
	v[rankFirst] = 1 / float64(1+u.Passage)
	v[rankLong] = math.Log(1 + float64(len(tokens)))
	if len(tokens) < 5 {
		v[rankShort] = 1
	}
	if names > 0 {
		v[rankNames] = named / names
	}
	fresh := 0
	for k := range tokens {
		if tokens[k].Term < 0 && tokens[k].Class == prose.Content {
			fresh++
		}
	}
	v[rankNew] = float64(fresh) / float64(len(tokens))
	return v
}

func dot(weights, features []float64) float64 {
	sum := 0.0
	for i, w := range weights {
		sum += w * features[i]
	}
	return sum
}

// softmax turns scores into chances that sum to 1.
func softmax(x []float64) {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	sum := 0.0
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}
