package answer

import (
	"math"
	"slices"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// maxSpan is the maximum number of words of a span that is ranked.
const maxSpan = 12

// maxUnit is the maximum number of words of a unit whose spans are ranked. An answer from
// a longer unit is the whole unit.
const maxUnit = 120

// Features of a span, by which the spans of a unit are ranked. Features named After or
// Before are about the word directly before or after the span; features named Starts or
// Ends are about the first or last word of the span. "It" is the span.
const (
	spanLong       = iota // logarithm of its length
	spanLength            // its length
	spanAfterPause        // it follows the unit's start or punctuation
	spanAfterDeterminer
	spanAfterPreposition
	spanAfterAuxiliary
	spanAfterConjunction
	spanAfterContent
	spanAfterTerm // it follows a word of the question
	spanBeforePause
	spanBeforePreposition
	spanBeforeConjunction
	spanBeforeAuxiliary
	spanBeforeContent
	spanBeforeTerm
	spanStartsDeterminer
	spanStartsPreposition
	spanStartsOther // it starts with another function word
	spanEndsFunction
	spanPause      // it has punctuation inside
	spanTerms      // share of its words that are terms of the question
	spanOnlyTerms  // all its content words are in the question
	spanFits       // it has a word of the expected kind
	spanFitsShare  // share of its words that are of the expected kind
	spanMisfits    // it has no word of the expected kind
	spanNames      // share of its words that are capitalised, if no kind is expected
	spanNumbers    // it has a number, if no kind is expected
	spanNear       // nearness of the question's terms around it
	spanFocus      // nearness of the noun after "which"
	spanSplitsName // it starts or ends inside a run of capitalised words
	spanSplitsNumber
	spanContent                                                // share of content words
	spanEnd                                                    // it is at the end of the unit
	spanLeftOfVerb                                             // share of spanNear that is on its right, if the question word is the subject ("who built")
	spanLeftOfObject                                           // share of spanNear that is on its right, if the question word is not the subject ("what did he build")
	spanAsked                                                  // it follows the preposition at the start or end of the question ("named after")
	spanPlaced                                                 // it follows a preposition of place, if a place is expected
	spanCounts                                                 // it is followed by the noun after "which" or "how many"
	spanApposed                                                // it follows the noun after "which" ("the physicist Bohr")
	spanLeftNear                                               // nearness of the question's terms on its left
	spanNext                                                   // the first content word after it is the first term after the question word ("who built it": "… built")
	spanLast                                                   // the last content word before it is the last term of the question ("named after whom": "named after …")
	spanYear                                                   // it has a year
	spanMeasure                                                // it ends with a unit of measure, or has a sign of currency or per cent
	spanStart                                                  // it is at the start of the unit
	spanKinds                                                  // one feature for each kind of answer but the first
	spanBefore       = spanKinds + int(matching.KindCount) - 1 // one feature for each of wordsBefore, if the span follows it
	spanAfter        = spanBefore + len(wordsBefore)           // one feature for each of wordsAfter, if it follows the span
	spanFeatures     = spanAfter + len(wordsAfter)
)

// Words that often stand directly before or after an answer.
var (
	wordsBefore = [...]string{"of", "in", "by", "to", "for", "at", "from", "on", "with", "as", "is", "was", "were", "called", "the", "a"}
	wordsAfter  = [...]string{"of", "in", "and", "to", "by", "is", "was", "who", "which", "that", "for", "on"}
)

type spanVector [spanFeatures]float64

// reading is the span model's result for one unit.
type reading struct {
	spans   []matching.Span
	chances []float64
	mass    float64    // logarithm of the sum of the spans' exponentiated scores
	top     float64    // highest score
	best    spanVector // features of the span with the highest score
}

// read ranks the spans of a unit. The result is empty for rows, code and long units.
func (f *finding) read(u *matching.Unit) reading {
	if matching.Kinds[f.question.Expected].Whole || u.Kind == markdown.Row || u.Kind == markdown.Code || u.To-u.From > maxUnit {
		return reading{}
	}
	tokens := f.passages[u.Passage].Tokens
	r := reading{spans: spans(tokens, u), top: math.Inf(-1)}
	if len(r.spans) == 0 {
		return reading{}
	}
	near := newNearness(&f.question, tokens[u.From:u.To])
	r.chances = f.patterns(u).scores(&spanNetwork, r.spans)
	for i, s := range r.spans {
		v := f.spanVector(u, s, &near)
		r.chances[i] += spanNetwork.score(v[:])
		if r.chances[i] > r.top {
			r.top, r.best = r.chances[i], v
		}
	}
	for _, c := range r.chances {
		r.mass += math.Exp(c - r.top)
	}
	r.mass = r.top + math.Log(r.mass)
	softmax(r.chances)
	return r
}

// spans returns the spans of a unit to rank, ordered by start and length.
func spans(tokens []words.Token, u *matching.Unit) []matching.Span {
	out := make([]matching.Span, 0, (u.To-u.From)*maxSpan)
	for i := u.From; i < u.To; i++ {
		if tokens[i].Class == prose.Conjunction {
			continue
		}
		for j := i + 1; j <= min(i+maxSpan, u.To); j++ {
			if c := tokens[j-1].Class; c == prose.Determiner || c == prose.Preposition && j-i > 1 || c == prose.Conjunction {
				continue
			}
			out = append(out, matching.Span{From: i, To: j})
		}
	}
	return out
}

// spanVector computes the features of a span of a unit.
func (f *finding) spanVector(u *matching.Unit, s matching.Span, near *nearness) spanVector {
	var v spanVector
	q := &f.question
	tokens := f.passages[u.Passage].Tokens
	n := float64(s.To - s.From)
	v[spanLong], v[spanLength] = math.Log(n), n/10
	edges(&v, tokens, s, u)
	var terms, fit, names, numbers, content, focus float64
	for i := s.From; i < s.To; i++ {
		t := &tokens[i]
		if i > s.From && t.Pause {
			v[spanPause] = 1
		}
		if t.Term >= 0 {
			terms += t.Credit
			if t.Term == q.Focus {
				focus = 1
			}
		} else if matching.Fits(tokens[u.From:u.To], i-u.From, q.Expected) {
			fit++
		}
		if t.Class == prose.Content {
			content++
			if t.Term < 0 && t.Capital && i > u.From {
				names++
			}
		}
		if t.Digit {
			numbers++
		}
	}
	v[spanTerms] = terms / n
	if terms > 0 && content <= terms+0.5 {
		v[spanOnlyTerms] = 1
	}
	v[spanContent] = content / n
	if matching.Kinds[q.Expected].Fits == nil {
		v[spanNames] = names / n
		if numbers > 0 {
			v[spanNumbers] = 1
		}
	} else {
		v[spanFitsShare] = fit / n
		if fit > 0 {
			v[spanFits] = 1
		} else {
			v[spanMisfits] = 1
		}
	}
	if q.Expected != matching.Anything {
		v[spanKinds+int(q.Expected)-1] = 1
	}
	from, to := s.From-u.From, s.To-u.From
	v[spanNear] = near.left[from] + near.right[to]
	v[spanLeftNear] = near.left[from]
	if s.From == u.From {
		v[spanStart] = 1
	}
	if s.From > u.From {
		if k := slices.Index(wordsBefore[:], tokens[s.From-1].Lower); k >= 0 && !tokens[s.From].Pause {
			v[spanBefore+k] = 1
		}
	}
	if s.To < u.To {
		if k := slices.Index(wordsAfter[:], tokens[s.To].Lower); k >= 0 && !tokens[s.To].Pause {
			v[spanAfter+k] = 1
		}
	}
	if s.From > u.From && q.Focus >= 0 && tokens[s.From-1].Term == q.Focus && !tokens[s.From].Pause {
		v[spanApposed] = 1
	}
	for i := s.To; i < min(s.To+4, u.To); i++ {
		if tokens[i].Class == prose.Content {
			if q.Follows >= 0 && tokens[i].Term == q.Follows {
				v[spanNext] = 1
			}
			break
		}
	}
	for i := s.From - 1; i >= max(s.From-4, u.From); i-- {
		if tokens[i].Class == prose.Content {
			if tokens[i].Term >= 0 && tokens[i].Term == q.Last() {
				v[spanLast] = 1
			}
			break
		}
	}
	for i := s.From; i < s.To; i++ {
		if t := &tokens[i]; t.Digit && len(t.Lower) == 4 && (t.Lower[0] == '1' || t.Lower[0] == '2') {
			v[spanYear] = 1
		}
	}
	text := f.passages[u.Passage].Text
	if words.Measures[tokens[s.To-1].Lower] || tokens[s.To-1].End < len(text) && text[tokens[s.To-1].End] == '%' || tokens[s.From].Start > 0 && text[tokens[s.From].Start-1] == '$' {
		v[spanMeasure] = 1
	}
	if both := v[spanNear]; both > 0 {
		if q.Subject {
			v[spanLeftOfVerb] = near.right[to] / both
		} else {
			v[spanLeftOfObject] = near.right[to] / both
		}
	}
	if s.From > u.From {
		before := &tokens[s.From-1]
		if before.Class == prose.Determiner && s.From-1 > u.From {
			before = &tokens[s.From-2]
		}
		if before.Class == prose.Preposition {
			if before.Lower == q.Preposition {
				v[spanAsked] = 1
			}
			if q.Expected == matching.Place && places[before.Lower] {
				v[spanPlaced] = 1
			}
		}
	}
	if s.To < u.To && q.Focus >= 0 && tokens[s.To].Term == q.Focus {
		v[spanCounts] = 1
	}
	v[spanFocus] = max(focus, near.focusLeft[from], near.focusRight[to])
	return v
}

// places are prepositions of place.
var places = words.Set("in at from to near into within across around on")

// edges computes the features of the start and end of a span.
func edges(v *spanVector, tokens []words.Token, s matching.Span, u *matching.Unit) {
	first, last := &tokens[s.From], &tokens[s.To-1]
	if s.From == u.From || first.Pause {
		v[spanAfterPause] = 1
	} else {
		before := &tokens[s.From-1]
		switch before.Class {
		case prose.Determiner:
			v[spanAfterDeterminer] = 1
		case prose.Preposition:
			v[spanAfterPreposition] = 1
		case prose.Auxiliary:
			v[spanAfterAuxiliary] = 1
		case prose.Conjunction:
			v[spanAfterConjunction] = 1
		case prose.Content:
			v[spanAfterContent] = 1
			if before.Term >= 0 {
				v[spanAfterTerm] = 1
			}
			if before.Capital && first.Capital && first.Class == prose.Content {
				v[spanSplitsName]++
			}
			if words.Number(before) && (words.Number(first) || words.Measures[first.Lower]) {
				v[spanSplitsNumber]++
			}
		}
	}
	if s.To == u.To {
		v[spanEnd] = 1
		v[spanBeforePause] = 1
	} else if after := &tokens[s.To]; after.Pause {
		v[spanBeforePause] = 1
	} else {
		switch after.Class {
		case prose.Preposition:
			v[spanBeforePreposition] = 1
		case prose.Auxiliary:
			v[spanBeforeAuxiliary] = 1
		case prose.Conjunction:
			v[spanBeforeConjunction] = 1
		case prose.Content:
			v[spanBeforeContent] = 1
			if after.Term >= 0 {
				v[spanBeforeTerm] = 1
			}
			if after.Capital && last.Capital && last.Class == prose.Content {
				v[spanSplitsName]++
			}
			if words.Number(last) && (words.Number(after) || words.Measures[after.Lower]) {
				v[spanSplitsNumber]++
			}
		}
	}
	switch first.Class {
	case prose.Content:
	case prose.Determiner:
		v[spanStartsDeterminer] = 1
	case prose.Preposition:
		v[spanStartsPreposition] = 1
	default:
		v[spanStartsOther] = 1
	}
	if last.Class != prose.Content {
		v[spanEndsFunction] = 1
	}
}

// nearness has, for each position between the words of a unit, how near the question's
// terms are on its left and right: the sum of the terms' shares of the question's
// weight, each reduced by the term's distance. Punctuation adds three words to the
// distance. focusLeft and focusRight are the same for the question's focus.
type nearness struct{ left, right, focusLeft, focusRight []float64 }

// newNearness computes the nearness of the question's terms in a unit.
func newNearness(q *matching.Question, tokens []words.Token) nearness {
	n := len(tokens)
	flat := make([]float64, 4*(n+1))
	s := nearness{flat[:n+1], flat[n+1 : 2*n+2], flat[2*n+2 : 3*n+3], flat[3*n+3:]}
	for i := range tokens {
		t := &tokens[i]
		if t.Term < 0 {
			continue
		}
		w := t.Credit * q.Terms[t.Term].Weight / q.Total
		add := func(sum, focus []float64, at, d int) {
			nearer := 1 / (1 + float64(d)/3)
			sum[at] += w * nearer
			if t.Term == q.Focus {
				focus[at] = max(focus[at], t.Credit*nearer)
			}
		}
		for at, d := i+1, 0; at < n; at, d = at+1, d+1 { // the term is to the left of spans that start at position at
			if tokens[at].Pause {
				d += 3
			}
			add(s.left, s.focusLeft, at, d)
		}
		for at, d := i, 0; at > 0; at, d = at-1, d+1 { // the term is to the right of spans that end at position at
			if tokens[at].Pause {
				d += 3
			}
			add(s.right, s.focusRight, at, d)
		}
	}
	return s
}
