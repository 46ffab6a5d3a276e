package answer

import (
	"slices"

	"annals/events/prose"
	"annals/queries/answer/matching"
	"annals/queries/answer/words"
)

// Patterns are combinations of a few words, or of their classes, with how the question asks:
// "how many" with a number before a noun, or "who" with a name before a participle. Each
// has a weight, which is added to the score of a span or unit. The weight is in the slot of
// the pattern's hash, so a few patterns share one.

// slots is the number of weights for patterns.
const slots = 1 << 13

// coded is a word as patterns see it.
type coded struct {
	word    uint32 // hash of the word if it is frequent, or else of its class and ending
	class   uint32 // see classCode
	matched uint32 // class, and whether it is a term of the question
}

// outside stands for the words before and after a unit.
var outside = coded{word: 3, class: 63, matched: 63}

func codeOf(t *words.Token) coded {
	c := coded{class: words.Code(t)}
	if t.Class != prose.Content || words.Measures[t.Lower] || words.Calendar[t.Lower] || words.Common[t.Lower] {
		c.word = words.Hash(t.Lower)
	} else {
		c.word = words.Hash(t.Lower[max(0, len(t.Lower)-3):]) + c.class
	}
	c.matched = c.class
	if t.Term >= 0 && t.Credit > 0.5 {
		c.matched += 64
	}
	return c
}

// slot returns the slot of a pattern: a kind, which is a number of its own for each call, and
// the codes that it combines. They are mixed as MurmurHash3 does.
func slot(kind uint32, codes ...uint32) uint16 {
	h := kind*0x9E3779B1 + 0x7F4A7C15
	for _, c := range codes {
		h ^= c
		h *= 0x85EBCA6B
		h ^= h >> 13
		h *= 0xC2B2AE35
		h ^= h >> 16
	}
	return uint16(h % slots)
}

// patterns has the slots of the patterns in a unit.
type patterns struct {
	codes        []coded
	from         int // index of the unit's first token
	asked        [2]uint32
	expected     uint32
	starts, ends [][]uint16 // for each place between words: the slots if a span starts there, or ends
}

// patterns finds the patterns in a unit.
func (f *finding) patterns(u *matching.Unit) *patterns {
	tokens := f.passages[u.Passage].Tokens[u.From:u.To]
	n := len(tokens)
	p := &patterns{codes: make([]coded, n), from: u.From, asked: f.question.Asked, expected: uint32(f.question.Expected)}
	for i := range tokens {
		p.codes[i] = codeOf(&tokens[i])
	}
	p.starts, p.ends = make([][]uint16, n+1), make([][]uint16, n+1)
	q := p.asked
	flat := make([]uint16, 0, 20*(n+1))
	for i := range n + 1 {
		b2, b, a, a2 := p.at(i-2), p.at(i-1), p.at(i), p.at(i+1) // the words before and after
		pause := uint32(1)
		if i > 0 && i < n && !tokens[i].Pause {
			pause = 0
		}
		k := len(flat)
		flat = append(flat,
			slot(1, b.word, a.word, pause), slot(2, a.word), slot(3, b.word, pause), slot(4, q[0], a.matched), slot(5, q[0], b.word, pause),
			slot(6, q[1], a.class), slot(7, p.expected, b.word), slot(8, b.matched, a.matched, a2.matched, pause), slot(9, b2.matched, b.matched, a.matched, pause), slot(22, q[1], b.matched))
		p.starts[i] = flat[k:len(flat):len(flat)]
		k = len(flat)
		flat = append(flat,
			slot(10, b.word, a.word, pause), slot(11, b.word), slot(12, a.word, pause), slot(13, q[0], b.matched), slot(14, q[0], a.word, pause),
			slot(15, q[1], b.class), slot(16, q[1], b.word), slot(17, p.expected, b.word), slot(18, b2.matched, b.matched, a.matched, pause), slot(19, b.matched, a.matched, a2.matched, pause))
		p.ends[i] = flat[k:len(flat):len(flat)]
	}
	return p
}

// at returns the code of word i of the unit.
func (p *patterns) at(i int) coded {
	if i >= 0 && i < len(p.codes) {
		return p.codes[i]
	}
	return outside
}

// between appends the slots of the patterns of both ends of a span to dst.
func (p *patterns) between(s matching.Span, dst []uint16) []uint16 {
	i, j := s.From-p.from, s.To-p.from
	before, first, last, after := p.at(i-1), p.at(i), p.at(j-1), p.at(j)
	n := uint32(min(j-i, 6))
	q := p.asked
	return append(dst, slot(30, q[0], n), slot(31, p.expected, first.class, last.class, min(n, 3)), slot(32, q[0], first.class, last.class),
		slot(33, before.word, after.word), slot(34, before.matched, after.matched, n), slot(35, q[0], before.word, after.matched), slot(36, q[1], n))
}

// scores returns the sum of the weights of the patterns of each span.
func (p *patterns) scores(n *network, spans []matching.Span) []float64 {
	starts, ends, all := make([]float64, len(p.starts)), make([]float64, len(p.ends)), make([]float64, len(spans))
	for i := range starts {
		starts[i], ends[i] = n.patterned(p.starts[i]), n.patterned(p.ends[i])
	}
	var own [8]uint16
	for i, s := range spans {
		all[i] = starts[s.From-p.from] + ends[s.To-p.from] + n.patterned(p.between(s, own[:0]))
	}
	return all
}

const maxPatternTerms, maxPatternWords = 16, 120 // of a unit

// unitPatterns appends the slots of the patterns of unit i to dst: where the terms of the
// question are, and which words the unit has besides.
func (f *finding) unitPatterns(i int, dst []uint16) []uint16 {
	q, u := &f.question, &f.units[i]
	p := &f.passages[u.Passage]
	for t := range q.Terms[:min(len(q.Terms), maxPatternTerms)] {
		where := uint32(0)
		switch {
		case u.Credits[t] >= 1:
			where = 4
		case u.Credits[t] > 0:
			where = 3
		case u.Context[t] > 0:
			where = 2
		case p.Credits[t] > 0:
			where = 1
		}
		term := &q.Terms[t]
		focus := uint32(0)
		if t == q.Focus {
			focus = 1
		}
		dst = append(dst, slot(40, term.Hash, where), slot(41, term.Class, where, focus), slot(46, term.Class, where, uint32(min(len(q.Terms), 8))))
	}
	seen := uint64(0)
	from := len(dst)
	for k := u.From; k < u.To; k++ {
		t := &p.Tokens[k]
		if t.Term >= 0 && !q.Bare {
			continue
		}
		c := words.Code(t)
		if seen&(1<<c) == 0 {
			seen |= 1 << c
			dst = append(dst, slot(42, q.Asked[0], c), slot(44, q.Asked[1], c), slot(45, uint32(q.Expected), c))
		}
		if t.Class != prose.Content || words.Common[t.Lower] || words.Measures[t.Lower] {
			s := slot(43, q.Asked[0], words.Hash(t.Lower))
			if len(dst)-from < maxPatternWords && !slices.Contains(dst[from:], s) {
				dst = append(dst, s)
			}
		}
	}
	return dst
}
