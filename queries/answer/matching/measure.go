package matching

import (
	"annals/events/prose"
	"annals/queries/answer/words"
)

// RefersBack reports whether a sentence begins with a word such as "he" or "this", which
// refers to the sentence before.
func RefersBack(tokens []words.Token) bool {
	for i := range tokens[:min(len(tokens), 2)] {
		switch tokens[i].Lower {
		case "he", "she", "it", "they", "this", "these", "those", "his", "her", "its", "their", "such":
			return true
		}
	}
	return false
}

// Pairs returns the share of the question's pairs of consecutive terms that are at most
// four words apart in tokens.
func (q *Question) Pairs(tokens []words.Token) float64 {
	var all, near float64
	last := -1
	for i := range q.Tokens {
		t := q.Tokens[i].Term
		if t < 0 {
			continue
		}
		if last >= 0 && last != t {
			w := q.Terms[t].Weight + q.Terms[last].Weight
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

// HasAnswer reports whether the tokens have a word of the expected kind that is not in
// the question.
func HasAnswer(tokens []words.Token, k Kind) bool {
	for i := range tokens {
		if tokens[i].Term < 0 && Fits(tokens, i, k) {
			return true
		}
	}
	return false
}

// Fits reports whether tokens[i] may be part of an answer of the expected kind.
func Fits(tokens []words.Token, i int, k Kind) bool {
	return Kinds[k].Fits != nil && Kinds[k].Fits(tokens, i)
}

// Words that often introduce an answer.
var (
	reasonCues = words.Set("because due since reason reasons cause caused causes therefore thus hence order so thereby by through resulted result means")
	namingCues = words.Set("called known termed named dubbed referred titled nicknamed")
)

// Cued reports whether a unit has a word that often introduces the expected answer.
func (q *Question) Cued(tokens []words.Token) bool {
	var cues map[string]bool
	switch {
	case q.Expected == Reason || q.Expected == Manner:
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

// Dense returns the highest share of the question's weight in any twelve consecutive
// words.
func (q *Question) Dense(tokens []words.Token) float64 {
	const window = 12
	best := 0.0
	var credits [MaxTerms]float64
	for i := range tokens {
		if tokens[i].Term < 0 {
			continue
		}
		clear(credits[:len(q.Terms)])
		sum := 0.0
		for k := i; k < min(i+window, len(tokens)); k++ {
			if t := &tokens[k]; t.Term >= 0 && t.Credit > credits[t.Term] {
				sum += (t.Credit - credits[t.Term]) * q.Terms[t.Term].Weight
				credits[t.Term] = t.Credit
			}
		}
		best = max(best, sum)
	}
	return best / q.Total
}

// Phrases returns the share of the question's pairs of adjacent words that are also
// adjacent in tokens. Pairs without a term do not count.
func (q *Question) Phrases(tokens []words.Token) float64 {
	var all, found float64
	for i := 1; i < len(q.Tokens); i++ {
		a, b := &q.Tokens[i-1], &q.Tokens[i]
		w := 0.0
		for _, t := range [2]*words.Token{a, b} {
			if t.Term >= 0 {
				w += q.Terms[t.Term].Weight
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

// Share returns the share of the question's weight that has the credits.
func (q *Question) Share(credits []float64) float64 {
	sum := 0.0
	for t, c := range credits {
		sum += c * q.Terms[t].Weight / q.Total
	}
	return sum
}
