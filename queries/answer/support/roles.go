package support

import (
	"slices"

	"annals/events/prose"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// fits reports whether the words of a claim have roles that they may have in a place: each phrase of the claim is there,
// for no word of the claim the place has another one, phrases that come from different sentences belong
// together, and who does something to whom is not reversed.
func (c *claim) fits(p *place) bool {
	return c.phrased(p) && !c.replaces(p) && !c.reverses(p) && !c.activates(p) && !c.misnames(p)
}

// misnames reports whether a name of the claim is, wherever the place has it, in a clause that says something else, while another
// clause of the same sentence says what the claim says, but of a name that the claim has not: "the director is Bob" of "the director
// is Ann; her deputy is Bob".
func (c *claim) misnames(p *place) bool {
	if p.rows {
		return false
	}
	for _, n := range c.names {
		found, wrong := false, false
		for _, unit := range p.units {
			all := clauses(unit)
			for k, one := range all {
				if !slices.ContainsFunc(one, func(t words.Token) bool { return alike(&t, &c.Tokens[n]) }) {
					continue
				}
				if found = found || !c.strange(one); found {
					break
				}
				wrong = wrong || slices.ContainsFunc(slices.Concat(all[:k], all[k+1:]), func(other []words.Token) bool { return c.ofAnother(other) })
			}
		}
		if wrong && !found {
			return true
		}
	}
	return false
}

// clauses divides a sentence at its punctuation and conjunctions.
func clauses(unit []words.Token) (all [][]words.Token) {
	from := 0
	for i := range unit {
		if i > from && (unit[i].Pause || unit[i].Class == prose.Conjunction) {
			all = append(all, unit[from:i])
			from = i
		}
	}
	return append(all, unit[from:])
}

// strange reports whether a clause has words that are no names, none of them of the claim.
func (c *claim) strange(clause []words.Token) bool {
	other := false
	for i := range clause {
		t := &clause[i]
		if t.Class != prose.Content || t.Capital || t.Digit {
			continue
		}
		if t.Term >= 0 && t.Credit >= 0.5 {
			return false
		}
		other = true
	}
	return other
}

// ofAnother reports whether a clause has a word of the claim that is no name, and a name after it that the claim has not.
func (c *claim) ofAnother(clause []words.Token) bool {
	known, another := false, false
	for i := range clause {
		t := &clause[i]
		switch {
		case t.Class != prose.Content || t.Digit:
		case t.Capital && i > 0 && c.isNamed(t):
			return false
		case t.Capital && i > 0:
			another = another || known
		case t.Term >= 0 && t.Credit >= 0.5:
			known = true
		}
	}
	return known && another
}

var being = words.Set("is are was were be been being")

// activates reports whether the claim says that something does what the place says is done to it: "the
// mill owns the firm" of "the mill is owned by the firm".
func (c *claim) activates(p *place) bool {
	for _, unit := range p.units {
		for v := 1; v < len(unit); v++ {
			if unit[v].Term < 0 || unit[v].Credit < 0.5 || !being[unit[v-1].Lower] {
				continue
			}
			by := v + 1
			for by < len(unit) && !unit[by].Pause && !isBy(unit[by]) {
				by++
			}
			if by == len(unit) || unit[by].Pause {
				continue
			}
			verb := slices.IndexFunc(c.Tokens, func(t words.Token) bool { return t.Term == unit[v].Term })
			if verb < 1 || being[c.Tokens[verb-1].Lower] || slices.ContainsFunc(c.Tokens[verb:], isBy) {
				continue
			}
			doer := slices.IndexFunc(unit[by:], func(t words.Token) bool { return t.Term >= 0 && t.Credit >= 0.5 })
			if doer >= 0 && slices.ContainsFunc(c.Tokens[verb+1:], func(t words.Token) bool { return t.Term == unit[by+doer].Term }) &&
				slices.ContainsFunc(unit[:v], func(t words.Token) bool {
					return t.Term >= 0 && slices.ContainsFunc(c.Tokens[:verb], func(o words.Token) bool { return o.Term == t.Term })
				}) {
				return true
			}
		}
	}
	return false
}

// checkable reports whether the claim has words that say something, and all of them are terms.
func (c *claim) checkable() bool {
	return len(c.Terms) > 0 && !c.Bare && len(c.Terms) < matching.MaxTerms
}

// light are verbs that say little. A phrase of them alone need not be in the place.
var light = words.Set("located situated given called named known takes took lasts lasted amounts consists includes contains applies refers relates concerns occurs occurred happens happened uses used makes made")

// phrase is a range of words of a claim without function words or punctuation between them.
type phrase struct {
	terms    []int
	light    bool
	modifies bool // a preposition is before it
	moves    bool // it is one of moving
}

// phrases returns the phrases of the claim. There is at least one if a place has a share of the claim.
func (c *claim) phrases() (all []phrase) {
	inside, preposition, moves := false, false, false
	for i := range c.Tokens {
		t := &c.Tokens[i]
		if t.Term < 0 || limiting[t.Lower] != "" || attributing[t.Lower] {
			inside = false
			if t.Class != prose.Determiner {
				preposition, moves = t.Class == prose.Preposition, moving[t.Lower]
			}
			continue
		}
		if !inside || t.Pause {
			all = append(all, phrase{light: true, modifies: preposition && !t.Pause, moves: moves && !t.Pause})
			inside, preposition, moves = true, false, false
		}
		last := &all[len(all)-1]
		last.terms = append(last.terms, t.Term)
		last.light = last.light && (light[t.Lower] || c.rings && ringing[t.Lower])
	}
	return all
}

// phrased reports whether the place has a word of each phrase. A phrase that is only in a neighbouring sentence must modify
// another one ("at Leeds"), unless one of both sentences refers to the other ("It …").
func (c *claim) phrased(p *place) bool {
	for _, one := range c.phrases() {
		in := func(unit []words.Token) bool {
			return slices.ContainsFunc(one.terms, func(t int) bool { return has(unit, t) })
		}
		if one.light || slices.ContainsFunc(p.units[:p.main], in) || slices.ContainsFunc(one.terms, func(t int) bool { return p.lent[t] >= 0.5 }) {
			continue
		}
		near := func(k int) bool {
			later := p.units[:p.main]
			if k >= len(p.units)-p.after {
				later = p.units[k : k+1]
			}
			return in(p.units[k]) && (one.modifies || slices.ContainsFunc(later, refers))
		}
		found := false
		for k := p.main; k < len(p.units); k++ {
			found = found || near(k)
		}
		if !found {
			return false
		}
	}
	return true
}

// referring are words at the beginning of a sentence that stand for something in the one before.
var referring = words.Set("it its he his she her they their them this that these those both such here there")

// refers reports whether a sentence may refer to the one before.
func refers(unit []words.Token) bool {
	return slices.ContainsFunc(unit[:min(len(unit), 4)], func(t words.Token) bool { return referring[t.Lower] })
}

// replaces reports whether the claim has a word beside another one, where the place has a third one instead: "a red
// boat" of "a green boat".
func (c *claim) replaces(p *place) bool {
	for i := range c.Tokens {
		t := &c.Tokens[i]
		if t.Term < 0 || p.credits[t.Term] >= 0.5 || attributing[t.Lower] || limiting[t.Lower] != "" {
			continue
		}
		if i > 0 && !t.Pause && c.instead(p, c.Tokens[i-1].Term, 1) || i+1 < len(c.Tokens) && !c.Tokens[i+1].Pause && c.instead(p, c.Tokens[i+1].Term, -1) {
			return true
		}
	}
	return false
}

// instead reports whether the place has a term, and each time a word beside it, on the side of step, that is no word of the
// claim.
func (c *claim) instead(p *place, term, step int) bool {
	found := false
	if term < 0 {
		return false
	}
	for _, unit := range p.units {
		for i := range unit {
			if unit[i].Term != term || unit[i].Credit < 0.5 {
				continue
			}
			at := i + step
			if at < 0 || at >= len(unit) || unit[max(i, at)].Pause || unit[at].Class != prose.Content || unit[at].Term >= 0 {
				return false
			}
			found = true
		}
	}
	return found
}

// maxRow limits the words of a claim whose order after the first one is compared, and maxBegins the places in a
// text from which it is.
const (
	maxRow    = 16
	maxBegins = 8
)

// reverses reports whether some words of the claim are only in the reverse order in the place: three in a row, or the first
// and two others, such as "the council belongs to the mill" of "the mill belongs to the council"; two names; or
// two numbers. "By" reverses, too: "was built by Ann".
func (c *claim) reverses(p *place) bool {
	var all, names, numbers []int // tokens of the claim whose terms the place has
	for i := range c.Tokens {
		t := c.Tokens[i].Term
		if t < 0 || p.credits[t] < 0.5 || len(all) > 0 && c.Tokens[all[len(all)-1]].Term == t {
			continue
		}
		all = append(all, i)
		switch {
		case c.Tokens[i].Digit:
			numbers = append(numbers, i)
		case slices.Contains(c.names, i):
			names = append(names, i)
		}
	}
	units := p.inOrder()
	phrases := c.phrases()
	reversed := func(row []int) bool {
		terms := make([]int, len(row))
		for k, i := range row {
			terms[k] = c.Tokens[i].Term
		}
		begin, end := phrases[0], phrases[len(phrases)-1]
		if begin.moves && slices.Contains(begin.terms, terms[0]) || end.moves && slices.Contains(end.terms, terms[len(terms)-1]) {
			return false // "in 1931" may be at the begin or the end
		}
		by := slices.ContainsFunc(c.Tokens[row[0]:row[len(row)-1]], isBy)
		if ordered(slices.Concat(units...), terms, by) {
			return false
		}
		slices.Reverse(terms)
		for i, unit := range units {
			if i > 0 && refers(unit) {
				unit = slices.Concat(units[i-1], unit)
			}
			if ordered(unit, terms, by) {
				return true
			}
		}
		return false
	}
	for k := 2; k < len(all); k++ {
		if reversed(all[k-2 : k+1]) {
			return true
		}
	}
	for j := 1; j < min(len(all), maxRow); j++ {
		for k := j + 1; k < min(len(all), maxRow); k++ {
			if slices.Contains(phrases[0].terms, c.Tokens[all[0]].Term) && reversed([]int{all[0], all[j], all[k]}) {
				return true
			}
		}
	}
	for _, same := range [][]int{names, numbers} {
		for k := 1; k < len(same); k++ {
			if between := c.Tokens[same[k-1]+1 : same[k]]; !lists(between) && reversed(same[k-1:k+1]) {
				return true
			}
		}
	}
	return false
}

// lists reports whether the words between two others only list them: "Ann and Bob".
func lists(between []words.Token) bool {
	return !slices.ContainsFunc(between, func(t words.Token) bool { return t.Class != prose.Conjunction && t.Class != prose.Determiner })
}

// moving are prepositions of phrases that may stand at the beginning or at the end of a sentence.
var moving = words.Set("in on at during after before since until within throughout")

func isBy(t words.Token) bool { return t.Lower == "by" }

// ordered reports whether a text has terms in an order, with "by" between them or without it.
func ordered(text []words.Token, terms []int, by bool) bool {
	begins := 0
	for begin := range text {
		if text[begin].Term != terms[0] {
			continue
		}
		if begins++; begins > maxBegins {
			return false
		}
		next := 0
		for i := begin; i < len(text) && (next > 0 || i == begin); i++ {
			if text[i].Term != terms[next] || text[i].Credit < 0.5 {
				continue
			}
			if next++; next == len(terms) {
				if slices.ContainsFunc(text[begin:i], isBy) == by {
					return true
				}
				break
			}
		}
	}
	return false
}
