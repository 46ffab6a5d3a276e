package answer

import (
	"annals/events/prose"
	"annals/queries/answer/words"
)

// refersBack reports whether a sentence begins with a word such as "he" or "this", which
// refers to the sentence before.
func refersBack(tokens []words.Token) bool {
	for i := range tokens[:min(len(tokens), 2)] {
		switch tokens[i].Lower {
		case "he", "she", "it", "they", "this", "these", "those", "his", "her", "its", "their", "such":
			return true
		}
	}
	return false
}

// pairs returns the share of the question's pairs of consecutive terms that are at most
// four words apart in tokens.
func (q *question) pairs(tokens []words.Token) float64 {
	var all, near float64
	last := -1
	for i := range q.tokens {
		t := q.tokens[i].Term
		if t < 0 {
			continue
		}
		if last >= 0 && last != t {
			w := q.terms[t].weight + q.terms[last].weight
			all += w
			if nearby(tokens, last, t) {
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

// nearby reports whether two terms are at most four words apart.
func nearby(tokens []words.Token, a, b int) bool {
	at := -10
	bt := -10
	for i := range tokens {
		switch tokens[i].Term {
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

// hasAnswer reports whether the tokens have a word of the expected kind that is not in
// the question.
func hasAnswer(tokens []words.Token, k answerKind) bool {
	for i := range tokens {
		if tokens[i].Term < 0 && fits(tokens, i, k) {
			return true
		}
	}
	return false
}

// fits reports whether tokens[i] may be part of an answer of the expected kind.
func fits(tokens []words.Token, i int, k answerKind) bool {
	return kinds[k].fits != nil && kinds[k].fits(tokens, i)
}

// Words that often introduce an answer.
var (
	reasonCues = words.Set("because due since reason reasons cause caused causes therefore thus hence order so thereby by through resulted result means")
	namingCues = words.Set("called known termed named dubbed referred titled nicknamed")
)

// cued reports whether a unit has a word that often introduces the expected answer.
func (q *question) cued(tokens []words.Token) bool {
	var cues map[string]bool
	switch {
	case q.expected == aReason || q.expected == aManner:
		cues = reasonCues
	case q.naming:
		cues = namingCues
	default:
		return false
	}
	for i := range tokens {
		if cues[tokens[i].Lower] {
			return true
		}
	}
	return false
}

// dense returns the highest share of the question's weight in any twelve consecutive
// words.
func (q *question) dense(tokens []words.Token) float64 {
	const window = 12
	best := 0.0
	var credits [maxTerms]float64
	for i := range tokens {
		if tokens[i].Term < 0 {
			continue
		}
		clear(credits[:len(q.terms)])
		sum := 0.0
		for k := i; k < min(i+window, len(tokens)); k++ {
			if t := &tokens[k]; t.Term >= 0 && t.Credit > credits[t.Term] {
				sum += (t.Credit - credits[t.Term]) * q.terms[t.Term].weight
				credits[t.Term] = t.Credit
			}
		}
		best = max(best, sum)
	}
	return best / q.total
}

// phrases returns the share of the question's pairs of adjacent words that are also
// adjacent in tokens. Pairs without a term do not count.
func (q *question) phrases(tokens []words.Token) float64 {
	var all, found float64
	for i := 1; i < len(q.tokens); i++ {
		a, b := &q.tokens[i-1], &q.tokens[i]
		w := 0.0
		for _, t := range [2]*words.Token{a, b} {
			if t.Term >= 0 {
				w += q.terms[t.Term].weight
			}
		}
		if w == 0 || a.Class == prose.Interrogative || b.Class == prose.Interrogative {
			continue
		}
		all += w
		for k := 1; k < len(tokens); k++ {
			if same(a, &tokens[k-1]) && same(b, &tokens[k]) {
				found += w
				break
			}
		}
	}
	if all == 0 {
		return 0
	}
	return found / all
}

// same reports whether t, a token of a passage, matches asked, a token of the question.
func same(asked, t *words.Token) bool {
	if asked.Term >= 0 {
		return asked.Term == t.Term
	}
	return asked.Lower == t.Lower
}
