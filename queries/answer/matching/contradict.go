package matching

import (
	"slices"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// Other reports whether unit i speaks of another thing than the question asks about, so that it
// has most words of the question and is no answer to it. Rows and steps are no reasons.
func (q *Question) Other(units []Unit, i int, p *Parsed) bool {
	u := &units[i]
	return q.Expected == Reason && (u.Kind == markdown.Row || u.Kind == markdown.Item && markdown.Numbered(p.Text, u.Start)) || q.otherSubject(units, i, p) || q.otherName(units, i, p) || q.otherRow(units, i) || q.otherYear(p, u, u.Kind == markdown.Row) || q.present(p, u) || q.swapped(units, i, p)
}

// has reports whether a unit has a term, or its titles and lead-in have it, or the sentence before
// does if the unit refers to that.
func (q *Question) has(units []Unit, i, term int, p *Parsed) bool {
	const enough = 0.5
	u := &units[i]
	if u.Credits[term] >= enough || u.Context[term] >= enough {
		return true
	}
	return u.Previous >= 0 && RefersBack(p.Tokens[u.From:u.To]) && units[u.Previous].Credits[term] >= enough
}

// universal are words with which a statement is about any subject.
var universal = words.Set("nothing none nobody everyone everybody everything anyone anybody all every each")

// otherSubject reports whether the subject of a question of yes or no is not that of a unit which
// has the rest of the question, or of another unit of the passage which has more of the rest:
// "May contractors fly business class?" is answered neither by "Managers may fly business class"
// nor by "Contractors fly economy class" beside that.
func (q *Question) otherSubject(units []Unit, i int, p *Parsed) bool {
	at := 1
	for at < len(q.Tokens) && q.Tokens[at].Class == prose.Determiner {
		at++
	}
	if q.Expected != Decision || at >= len(q.Tokens) || q.Tokens[at].Term < 0 || slices.ContainsFunc(q.Tokens, func(t words.Token) bool { return t.Lower == "or" }) {
		return false
	}
	if slices.ContainsFunc(p.Tokens[units[i].From:units[i].To], func(t words.Token) bool { return universal[t.Lower] }) {
		return false
	}
	const most = 0.75
	subject := q.Tokens[at].Term
	rest := func(k int) float64 { // share of the rest of the question that unit k has
		found, total := 0.0, 0.0
		for t := range q.Terms {
			if t == subject {
				continue
			}
			total += q.Terms[t].Weight
			if q.has(units, k, t, p) {
				found += q.Terms[t].Weight
			}
		}
		return found / max(total, 1e-9)
	}
	own := rest(i)
	if !q.has(units, i, subject, p) {
		return own >= most
	}
	for k := range units {
		if units[k].Passage == units[i].Passage && !q.has(units, k, subject, p) {
			if other := rest(k); other >= most && other > own {
				return true
			}
		}
	}
	return false
}

// otherName reports whether a unit has a part of a name of the question, and another name in
// the place of the rest: "Carl Dorn" for "Carl Berg".
func (q *Question) otherName(units []Unit, i int, p *Parsed) bool {
	u := &units[i]
	tokens := p.Tokens[u.From:u.To]
	part := func(k int) bool { // q.Tokens[k] is a part of a name
		return k > 0 && k < len(q.Tokens) && q.Tokens[k].Term >= 0 && q.Tokens[k].Capital
	}
	for k := range q.Tokens {
		if !part(k) || q.has(units, i, q.Tokens[k].Term, p) {
			continue
		}
		for _, side := range [2]int{-1, 1} {
			if !part(k-side) || q.Tokens[max(k, k-side)].Pause {
				continue
			}
			for n := range tokens {
				at := n + side
				if tokens[n].Term != q.Tokens[k-side].Term || !tokens[n].Capital || at < 0 || at >= len(tokens) || tokens[max(n, at)].Pause {
					continue
				}
				if t := &tokens[at]; t.Term < 0 && t.Capital && t.Class == prose.Content && !words.Misspelt(q.Tokens[k].Lower, t.Lower) {
					return true
				}
			}
		}
	}
	return false
}

// otherRow reports whether a row has one of two adjacent words of the question, and lacks the
// other, which another row of its table has: "brass washers" are neither in the row of the brass
// bolts nor in that of the steel washers.
func (q *Question) otherRow(units []Unit, i int) bool {
	const enough = 0.5
	u := &units[i]
	if u.Kind != markdown.Row {
		return false
	}
	for k := 1; k < len(q.Tokens); k++ {
		a, b := q.Tokens[k-1].Term, q.Tokens[k].Term
		if a < 0 || b < 0 || q.Tokens[k].Pause || q.Terms[a].Number || q.Terms[b].Number {
			continue
		}
		if u.Credits[a] < enough {
			a, b = b, a
		}
		if u.Credits[a] < enough || u.Credits[b] >= enough || u.Context[b] >= enough || words.Common[q.Terms[b].Word] {
			continue
		}
		if slices.ContainsFunc(units, func(o Unit) bool {
			return o.Passage == u.Passage && o.Kind == markdown.Row && o.header == u.header && o.Credits[b] >= enough
		}) {
			return true
		}
	}
	return false
}

// Words of what was before, in questions and in statements.
var (
	formerly  = words.Set("previous previously former formerly")
	currently = words.Set("is are has have current currently now today")
	past      = words.Set("before earlier originally was were had did until till since ago once used replaced replaces succeeded succeeds followed follows predecessor old older changed became")
)

// AsksFormer reports whether the question asks for what was before, and the words do not say that
// of themselves.
func (q *Question) AsksFormer(tokens []words.Token) bool {
	for i, t := range q.Tokens {
		if formerly[t.Lower] && t.Class == prose.Content || i == len(q.Tokens)-1 && (t.Lower == "before" || t.Lower == "earlier") {
			return !slices.ContainsFunc(tokens, func(t words.Token) bool { return formerly[t.Lower] })
		}
	}
	return false
}

// Former reports whether the question asks for what is, and the words tell what was before.
func (q *Question) Former(tokens []words.Token) bool {
	is := func(t words.Token) bool { return currently[t.Lower] }
	return slices.ContainsFunc(q.Tokens, is) && !q.says(past) && !q.says(formerly) &&
		(len(tokens) > 0 && tokens[0].Lower == "before" || slices.ContainsFunc(tokens, func(t words.Token) bool { return formerly[t.Lower] }))
}

// present reports whether the question asks for what was before, and a unit says only what is.
func (q *Question) present(p *Parsed, u *Unit) bool {
	tokens := p.Tokens[u.From:u.To]
	says := func(set map[string]bool) bool {
		return slices.ContainsFunc(tokens, func(t words.Token) bool { return set[t.Lower] })
	}
	return q.AsksFormer(tokens) && (u.Kind == markdown.Row || says(currently)) && !says(past)
}

// Reversed reports whether a unit denies what the question asks: "Who is reimbursed for meals?"
// of "Contractors are not reimbursed for meals"; or the reverse, without a word that denies,
// forbids or excludes. The answer to a question of yes or no may deny.
func (q *Question) Reversed(tokens []words.Token) bool {
	if q.Expected == Decision || q.Expected == Reason || q.Foreign && (foreignVerbs[q.Tokens[0].Lower] || q.says(foreignReasons)) {
		return false
	}
	excludes := func(t words.Token) bool {
		return words.Negative(t.Lower) || words.Excluding[t.Lower] || q.Foreign && foreignNegations[t.Lower]
	}
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
		denied := words.Denied(tokens, i) || q.Foreign && i > 0 && !tokens[i].Pause && foreignNegations[tokens[i-1].Lower]
		reversed = reversed || denied && !slices.ContainsFunc(tokens[:i], func(other words.Token) bool { return other.Term == t })
	}
	return reversed
}

// German and French words that deny, and question words for a reason.
var (
	foreignNegations = words.Set("nicht kein keine keinen keinem keiner keines nie niemals pas jamais aucun aucune")
	foreignReasons   = words.Set("warum wieso weshalb pourquoi")
)

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
