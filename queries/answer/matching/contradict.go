package matching

import (
	"annals/queries/answer/words"
	"slices"
)

// Reversed reports whether a unit denies what the question asks: "Who is reimbursed for meals?"
// of "Contractors are not reimbursed for meals"; or the reverse, without a word that denies,
// forbids or excludes. The answer to a question of yes or no may deny.
func (q *Question) Reversed(tokens []words.Token) bool {
	if q.Expected == Decision || q.Expected == Reason {
		return false
	}
	excludes := func(t words.Token) bool { return words.Negative(t.Lower) || words.Excluding[t.Lower] }
	if q.Denied {
		return !slices.ContainsFunc(tokens, excludes)
	}
	if slices.ContainsFunc(q.Tokens, excludes) || slices.ContainsFunc(tokens, func(t words.Token) bool { return t.Lower == "until" }) {
		return false
	}
	reversed := false
	for i := range tokens {
		t := tokens[i].Term
		if t < 0 || tokens[i].Credit < 0.6 || q.Terms[t].Name || q.Terms[t].Number || t == q.Focus {
			continue
		}
		reversed = reversed || words.Denied(tokens, i) && !slices.ContainsFunc(tokens[:i], func(other words.Token) bool { return other.Term == t })
	}
	return reversed
}

// Contradicts returns 1 as denied if either the question or the unit is negated, but not
// both, and 1 as opposite if the unit has the opposite of a word of the question.
func (q *Question) Contradicts(tokens []words.Token) (denied, opposite float64) {
	has := make(map[string]bool, len(tokens))
	not := false
	for i := range tokens {
		has[tokens[i].Lower] = true
		not = not || words.Negative(tokens[i].Lower)
	}
	if not != q.Denied {
		denied = 1
	}
	for i := range q.Tokens {
		if o, ok := words.Opposites[q.Tokens[i].Lower]; ok && has[o] && !has[q.Tokens[i].Lower] {
			opposite = 1
		}
	}
	return denied, opposite
}
