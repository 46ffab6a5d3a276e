package answer

import (
	"math"
	"slices"

	"annals/events/prose"
)

// Features of a unit, by which units are ranked.
const (
	rankCovered  = iota // share of the question's weight that the unit has
	rankContext         // share that only its titles and lead-ins have
	rankBefore          // share that only the unit before it has
	rankAfterRef        // the same, if the unit starts by referring back ("He", "This")
	rankPassage         // share that its whole passage has
	rankPairs           // share of neighbouring question words that are close here too
	rankRarest          // it has the question's rarest term
	rankFocus           // it has the noun after "which"
	rankFits            // it has an answer of the sort that is sought
	rankMisfits         // a sort is sought, and it has none
	rankScore           // score of its passage, as a share of the best
	rankFirst           // 1 over the rank of its passage
	rankLong            // logarithm of its length
	rankShort           // it has fewer than five words
	rankNames           // share of the question's names that are in unit or context
	rankNew             // share of its words that are not the question's
	rankDense           // share of the question's weight within twelve words
	rankPhrases         // share of the question's neighbouring words that are neighbours here, function words too
	rankSquare          // square of rankCovered
	rankMissing         // share of the heaviest term that neither passage nor titles have
	rankStart           // it starts its passage
	rankStem            // share of matched weight that matched by a whole stem
	rankCue             // it has a word that often introduces the sort of answer that is sought
	rankFeatures
)

type rankVector [rankFeatures]float64

// rank gives every unit its chance, and finds and narrows the best one.
func (f *finding) rank() {
	f.rankUnits()
	f.readBest()
}

// rankUnits gives every unit its chance by the words that it shares with the
// question.
func (f *finding) rankUnits() {
	top := 0.0
	for _, p := range f.passages {
		top = max(top, p.source.Score)
	}
	for i := range f.passages {
		p := &f.passages[i]
		if p.relative = 1 / (1 + float64(i)); top > 0 && !math.IsInf(top, 0) {
			p.relative = max(0, p.source.Score/top)
		}
		if math.IsNaN(p.relative) {
			p.relative = 0
		}
	}
	f.chances = make([]float64, len(f.units))
	for i := range f.units {
		v := f.rankVector(i)
		f.chances[i] = dot(rankWeights[:], v[:])
	}
	softmax(f.chances)
}

// readClosely is how many of the likeliest units are read word by word.
const readClosely = 6

// Features of a unit that was read word by word.
const (
	closeChance = iota // logarithm of its chance so far
	closeMass          // what the span model makes of it in all, less what its length gives
	closeTop           // and of its best span
	closeFirst         // it was the likeliest so far
	closeFeatures
)

type closeVector [closeFeatures]float64

// readBest reads the likeliest units word by word, ranks them again, and narrows the
// best one.
func (f *finding) readBest() {
	order := f.likeliest(readClosely)
	readings := make([]reading, len(order))
	again := make([]float64, len(order))
	kept := 0.0
	for k, i := range order {
		readings[k] = f.read(&f.units[i])
		v := f.closeVector(k, i, readings[k])
		again[k] = dot(closeWeights[:], v[:])
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
	f.narrow(readings[best])
	f.also = f.second(order)
}

// A second sentence of the same document joins the answer if the chance of the best one
// is below doubtful and the second's is at least nearly of it.
const doubtful, nearly = 0.65, 0.3

// second returns the sentence to add to the best one, or -1.
func (f *finding) second(order []int) int {
	u := &f.units[f.best]
	if f.chances[f.best] >= doubtful || u.kind != sentence {
		return -1
	}
	second := -1
	for _, i := range order {
		if i != f.best && f.sameDocument(i, f.best) && (second < 0 || f.chances[i] > f.chances[second]) {
			second = i
		}
	}
	if second < 0 || f.units[second].kind != sentence || f.chances[second] < nearly*f.chances[f.best] {
		return -1
	}
	f.window = span{u.from, u.to}
	return second
}

func (f *finding) closeVector(k, i int, r reading) closeVector {
	var v closeVector
	v[closeChance] = math.Log(max(f.chances[i], 1e-6))
	if len(r.spans) > 0 {
		v[closeMass] = r.mass - math.Log(float64(len(r.spans)))
		v[closeTop] = r.top
	}
	if k == 0 {
		v[closeFirst] = 1
	}
	return v
}

// likeliest returns the indexes of the n likeliest units, best first.
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
	return f.passages[f.units[a].passage].source.Document == f.passages[f.units[b].passage].source.Document
}

// rankVector measures one unit.
func (f *finding) rankVector(i int) rankVector {
	var v rankVector
	q, u := &f.question, &f.units[i]
	p := &f.passages[u.passage]
	var names, named float64
	rarest := 0
	for t := range q.terms {
		w := q.terms[t].weight / q.total
		here, context, before := u.credits[t], u.context[t], 0.0
		if u.previous >= 0 {
			before = f.units[u.previous].credits[t]
		}
		v[rankCovered] += w * here
		v[rankContext] += w * max(0, context-here)
		v[rankBefore] += w * max(0, before-max(here, context))
		v[rankPassage] += w * p.credits[t]
		if q.terms[t].weight > q.terms[rarest].weight {
			rarest = t
		}
		if q.terms[t].name {
			names++
			named += max(here, context)
		}
	}
	for t := range q.terms {
		v[rankMissing] = max(v[rankMissing], q.terms[t].weight/q.total*(1-p.credits[t]))
		if u.credits[t] == 1 {
			v[rankStem] += q.terms[t].weight / q.total
		}
	}
	v[rankSquare] = v[rankCovered] * v[rankCovered]
	if u.previous < 0 {
		v[rankStart] = 1
	}
	tokens := p.tokens[u.from:u.to]
	if q.cued(tokens) {
		v[rankCue] = 1
	}
	v[rankDense] = q.dense(tokens)
	v[rankPhrases] = q.phrases(tokens)
	if refersBack(tokens) {
		v[rankAfterRef] = v[rankBefore]
	}
	v[rankPairs] = q.pairs(tokens)
	v[rankRarest] = u.credits[rarest]
	if q.focus >= 0 {
		v[rankFocus] = u.credits[q.focus]
	}
	if q.sought == aPerson || q.sought == aTime || q.sought == aNumber || q.sought == aPlace {
		if holds(tokens, q.sought) {
			v[rankFits] = 1
		} else {
			v[rankMisfits] = 1
		}
	}
	v[rankScore] = p.relative
	v[rankFirst] = 1 / float64(1+u.passage)
	v[rankLong] = math.Log(1 + float64(len(tokens)))
	if len(tokens) < 5 {
		v[rankShort] = 1
	}
	if names > 0 {
		v[rankNames] = named / names
	}
	fresh := 0
	for k := range tokens {
		if tokens[k].term < 0 && tokens[k].class == prose.Content {
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
