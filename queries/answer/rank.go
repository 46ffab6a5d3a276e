package answer

import "math"

// Features of a unit, by which units are ranked.
const (
	rankCovered  = iota // share of the question's weight that the unit has
	rankContext         // share that only its titles and lead-ins have
	rankBefore          // share that only the unit before it has
	rankAfterRef        // the same, where the unit starts by referring back ("He", "This")
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
	rankFeatures
)

type rankVector [rankFeatures]float64

// rank gives every unit its chance, and finds and narrows the best one.
func (f *finding) rank() {
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
	for i, c := range f.chances {
		if c > f.chances[f.best] {
			f.best = i
		}
	}
	f.narrow()
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
	tokens := p.tokens[u.from:u.to]
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
		if tokens[k].term < 0 && tokens[k].class == content {
			fresh++
		}
	}
	v[rankNew] = float64(fresh) / float64(len(tokens))
	return v
}

// refersBack says whether a sentence leans on the one before it.
func refersBack(tokens []token) bool {
	for i := range tokens[:min(len(tokens), 2)] {
		switch tokens[i].lower {
		case "he", "she", "it", "they", "this", "these", "those", "his", "her", "its", "their", "such":
			return true
		}
	}
	return false
}

// pairs returns which share of the question's neighbouring terms stand at
// most four words apart in tokens.
func (q *question) pairs(tokens []token) float64 {
	var all, near float64
	last := -1
	for i := range q.tokens {
		t := q.tokens[i].term
		if t < 0 {
			continue
		}
		if last >= 0 && last != t {
			w := q.terms[t].weight + q.terms[last].weight
			all += w
			if close(tokens, last, t) {
				near += w
			}
		}
		last = t
	}
	if all == 0 {
		return 0
	}
	return near / all
}

func close(tokens []token, a, b int) bool {
	at := -10
	bt := -10
	for i := range tokens {
		switch tokens[i].term {
		case a:
			at = i
		case b:
			bt = i
		default:
			continue
		}
		if at >= 0 && bt >= 0 && max(at-bt, bt-at) <= 4 {
			return true
		}
	}
	return false
}

// holds says whether the tokens have something of the sort that is sought and
// that the question did not say itself.
func holds(tokens []token, s sought) bool {
	for i := range tokens {
		if tokens[i].term < 0 && fits(tokens, i, s) {
			return true
		}
	}
	return false
}

// fits says whether tokens[i] may belong to an answer of that sort.
func fits(tokens []token, i int, s sought) bool {
	t := &tokens[i]
	switch s {
	case aTime:
		return t.digit && len(t.lower) >= 2 || calendar[t.lower]
	case aNumber:
		return t.digit || numerals[t.lower]
	case aPerson, aPlace:
		return t.capital && t.class == content && (i > 0 || !common[t.lower])
	}
	return false
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
