package support

import (
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/words"
)

// maxParts limits the places where a sentence is divided.
const maxParts = 6

// joined reports whether several passages together support a sentence, which none of them supports alone. all
// has the places of each cited passage. Either two parts of the sentence are each supported by one of them, and the
// second part has a subject of its own or its place has a name of the first part; or the best places of two have
// the words together, and the subject of the sentence each. Otherwise anything that is said of one thing could be
// said of another.
func (s *Checker) joined(sentence string, c *claim, cited []int, all [][]place) bool {
	if len(cited) < 2 || !c.checkable() {
		return false
	}
	about := false
	for i := range all {
		for j := range all[:i] {
			a, b := c.best(all[i]), c.best(all[j])
			if a == nil || b == nil {
				continue
			}
			both := a.with(b)
			if c.share(both.credits) < leastSupport || !c.named(&both) || !c.linked(&both) || !s.about(c, &both) {
				continue
			}
			about = true
			if c.shared(a, b) && c.holds(&both) {
				return true
			}
		}
	}
	return about && s.divided(sentence, c, cited)
}

// best returns the place that has most of the claim, or nil if there is none.
func (c *claim) best(places []place) *place {
	if len(places) == 0 {
		return nil
	}
	best := &places[0]
	for i := range places {
		if c.share(places[i].credits) > c.share(best.credits) {
			best = &places[i]
		}
	}
	return best
}

// with returns a place that has both.
func (p *place) with(o *place) place {
	both := place{units: slices.Concat(p.units[:1], o.units[:1], p.units[1:], o.units[1:]), main: 2, context: slices.Concat(p.context, o.context), rows: p.rows || o.rows,
		credits: slices.Clone(p.credits), lent: slices.Clone(p.lent), text: p.text + "\n" + o.text}
	for t, c := range o.credits {
		both.credits[t] = max(both.credits[t], c)
		both.lent[t] = max(both.lent[t], o.lent[t])
	}
	return both
}

// shared reports whether two places have the subject of the claim, which is its first phrase, and a name of it.
func (c *claim) shared(a, b *place) bool {
	all := c.phrases()
	return len(all) > 0 && !slices.ContainsFunc(all[0].terms, func(t int) bool { return a.credits[t] < 0.5 || b.credits[t] < 0.5 }) && slices.ContainsFunc(c.names, func(i int) bool { return a.contains(&c.Tokens[i]) && b.contains(&c.Tokens[i]) })
}

// divided reports whether two parts of a sentence are each supported by one of the passages.
func (s *Checker) divided(sentence string, c *claim, cited []int) bool {
	parts := 0
	for i := 2; i < len(c.Tokens)-1; i++ {
		t := &c.Tokens[i]
		if !t.Pause && t.Class != prose.Conjunction {
			continue
		}
		if parts++; parts > maxParts {
			return false
		}
		first, second := s.claim(strings.TrimSpace(sentence[:t.Start])), s.claim(strings.TrimSpace(sentence[t.Start:]))
		if !first.checkable() || !second.checkable() || len(first.Terms) < 2 || len(second.Terms) < 2 {
			continue
		}
		own := second.subject()
		if s.anywhere(&first, cited, func(*place) bool { return true }) && s.anywhere(&second, cited, func(p *place) bool {
			return own || slices.ContainsFunc(first.names, func(i int) bool { return p.contains(&first.Tokens[i]) })
		}) {
			return true
		}
	}
	return false
}

// anywhere reports whether a place of a kind in one of the passages supports a claim.
func (s *Checker) anywhere(c *claim, cited []int, is func(*place) bool) bool {
	return slices.ContainsFunc(cited, func(i int) bool {
		return slices.ContainsFunc(s.places(c, i), func(p place) bool { return c.holds(&p) && is(&p) })
	})
}

// subject reports whether a part of a sentence has a subject of its own: it begins with an article or a name, and nothing
// in it refers to another part.
func (c *claim) subject() bool {
	at := 0
	if c.Tokens[0].Class == prose.Conjunction {
		at = 1
	}
	first := &c.Tokens[at]
	return (first.Class == prose.Determiner || first.Capital && first.Class == prose.Content) &&
		!slices.ContainsFunc(c.Tokens, func(t words.Token) bool { return referring[t.Lower] })
}
