package support

import (
	"slices"

	"annals/events/prose"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// about reports whether a claim that a place supports may answer the question: it has a word of the question, or the
// place mentions what the question asks about, and the claim has what is asked for, such as a number. A document
// may contain sentences that answer nothing, such as instructions.
func (s *Checker) about(c *claim, p *place) bool {
	if s.asked.Bare || len(s.asked.Terms) == 0 {
		return true
	}
	for i := range c.Tokens {
		t := c.Tokens[i]
		if term, ok := s.asks(t); ok && !term.Tells && (term.Rarity > 0.4 || s.common()) && !attributing[t.Lower] {
			return true
		}
	}
	return s.mentioned(p) && s.kept(c, p)
}

// Responds reports whether a sentence that cites passages has what the question asks for, or a word that relates that to the rest of the
// question: a number, time or name that is not in the question, an address, or "founded" of "who founded the mill". It
// reports true if the question asks for something else. Sentences that have neither say other things of the same subject.
func (s *Checker) Responds(sentence string, cited []int) bool {
	c := s.claim(canonical(sentence))
	if s.relates(&c) {
		return true
	}
	isNew := func(i int) bool { _, known := s.asks(c.Tokens[i]); return !known }
	switch s.asked.Expected {
	case matching.Number, matching.Phone:
		return slices.ContainsFunc(c.numbers, isNew)
	case matching.Time:
		return slices.ContainsFunc(c.numbers, isNew) || slices.ContainsFunc(c.Tokens, func(t words.Token) bool { _, known := s.asks(t); return !known && words.Calendar[t.Lower] })
	case matching.Person, matching.Place:
		return slices.ContainsFunc(c.names, isNew) || len(c.Tokens) > 0 && isNew(0) && slices.ContainsFunc(cited, func(i int) bool {
			return slices.ContainsFunc(s.places(&c, i), func(p place) bool { return p.names(&c.Tokens[0]) })
		})
	}
	return s.asked.Expected != matching.Address || len(c.links) > 0 || len(c.numbers) > 0
}

// relates reports whether a claim has one of the words of the question that relate what is asked for to the rest: of "who founded the
// mill" the one after the question word, of "when was the mill founded" the last one, of "who is the director of the mill" the
// nouns after "is". It reports true if there is none.
func (s *Checker) relates(c *claim) bool {
	relations := s.relations()
	return len(relations) == 0 || slices.ContainsFunc(c.Tokens, func(t words.Token) bool {
		term, ok := s.asks(t)
		return ok && relations[term.Stem]
	})
}

func (s *Checker) relations() map[string]bool {
	all := make(map[string]bool)
	ts := s.asked.Tokens
	add := func(i int) {
		if term := ts[i].Term; term >= 0 && !s.asked.Terms[term].Tells && term != s.asked.Focus {
			all[s.asked.Terms[term].Stem] = true
		}
	}
	content := func(i int) bool { return i < len(ts) && ts[i].Class == prose.Content && !ts[i].Capital }
	last, is := -1, false
	for i := range ts {
		if ts[i].Class == prose.Interrogative && content(i+1) {
			add(i + 1)
		}
		if i >= 2 && ts[i].Class == prose.Determiner && being[ts[i-1].Lower] && (ts[i-2].Lower == "who" || ts[i-2].Lower == "what") {
			for k := i + 1; content(k) && !ts[k].Pause; k++ {
				add(k)
				is = true
			}
		}
		if ts[i].Class == prose.Content {
			last = i
		}
	}
	if !is && last > 0 && content(last) && ts[last-1].Class != prose.Determiner && ts[last-1].Class != prose.Preposition {
		add(last)
	}
	return all
}

// asks returns the term of the question that a word matches.
func (s *Checker) asks(t words.Token) (term matching.Term, ok bool) {
	t.Term, t.Credit = -1, 0
	s.asked.Match(&t)
	if t.Term < 0 || t.Credit < 0.5 {
		return term, false
	}
	return s.asked.Terms[t.Term], true
}

// common reports whether the question has only frequent words.
func (s *Checker) common() bool {
	return !slices.ContainsFunc(s.asked.Terms, func(t matching.Term) bool { return t.Rarity > 0.4 && !t.Tells })
}

// mentioned reports whether a place has all names and numbers of the question, and half of its other words by their
// rarity.
func (s *Checker) mentioned(p *place) bool {
	known := make(map[string]bool)
	for part := range p.parts() {
		for i := range part {
			if term, ok := s.asks(part[i]); ok {
				known[term.Stem] = true
			}
		}
	}
	found, total := 0.0, 0.0
	for _, t := range s.asked.Terms {
		switch {
		case t.Tells, s.asked.Expected == matching.Phone && ringing[t.Word], s.asked.Expected == matching.Address && sending[t.Word]:
			continue // the kind of what is asked for; what is found is of this kind, see kept
		case known[t.Stem]:
			found += t.Rarity
		case t.Name || t.Number:
			return false
		}
		total += t.Rarity
	}
	return 2*found >= total
}

// sending are words for addresses. They need not be beside one.
var sending = words.Set("email e-mail mail address website url homepage")

// kept reports whether the claim has a word of the kind that the question asks for.
func (s *Checker) kept(c *claim, p *place) bool {
	switch s.asked.Expected {
	case matching.Number, matching.Phone:
		return len(c.numbers) > 0
	case matching.Time:
		return len(c.numbers) > 0 || slices.ContainsFunc(c.Tokens, func(t words.Token) bool { return words.Calendar[t.Lower] })
	case matching.Person, matching.Place:
		return len(c.names) > 0 || len(c.Tokens) > 0 && p.names(&c.Tokens[0])
	case matching.Address:
		return len(c.links) > 0 || len(c.numbers) > 0
	}
	return true
}

// names reports whether a word has a capital letter inside of a unit, and so is a name.
func (p *place) names(word *words.Token) bool {
	for _, unit := range p.units {
		for i := 1; i < len(unit); i++ {
			if t := &unit[i]; t.Capital && t.Class == prose.Content && t.Lower == word.Lower {
				return true
			}
		}
	}
	return false
}
