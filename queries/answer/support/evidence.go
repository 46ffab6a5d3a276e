package support

import "annals/queries/answer/matching"

// Answers returns the share of the words of the question, by their rarity, that a sentence has, and whether the sentence
// has a word of the kind that the question asks for, such as a number, or no certain kind is asked. The
// passages with the given indexes support the sentence.
func (s *Checker) Answers(sentence string, cited []int) (asked float64, kind bool) {
	c := s.claim(sentence)
	known := make(map[string]bool)
	for _, t := range c.Tokens {
		if term, ok := s.asks(t); ok {
			known[term.Stem] = true
		}
	}
	found, total := 0.0, 0.0
	for _, t := range s.asked.Terms {
		if t.Tells {
			continue
		}
		total += t.Rarity
		if known[t.Stem] {
			found += t.Rarity
		}
	}
	if total > 0 {
		asked = found / total
	}
	return asked, s.anywhere(&c, cited, func(p *place) bool { return s.kept(&c, p) })
}

// Agreement returns the share of the words of one text, by their rarity, that the other has, or the reverse if that is
// greater: it is 1 if one contains the other.
func Agreement(one, other string) float64 {
	share := func(text, in string) float64 {
		c := New("", nil).claim(matching.Cut(text, matching.MaxQuestion))
		return c.share(matching.Parse(&c.Question, matching.Passage{Text: in}).Credits)
	}
	return max(share(one, other), share(other, one))
}
