package answer

import (
	"math"
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/words"
)

// term is a word of the question to search for.
type term struct {
	word   string // in lower case
	asked  string // as in the question
	stem   string
	rarity float64 // result of function rarity
	weight float64 // rarity, reduced if many units have the term
	name   bool    // a proper name
	number bool
	tells  bool   // it tells only which kind of answer is asked for, such as "long" after "how"
	class  uint32 // see classCode
	hash   uint32 // of the stem
}

// variant is a stem that matches a term.
type variant struct {
	stem   string
	term   int     // index of the term
	credit float64 // 1 for the term itself, less for a synonym
}

// question is a parsed question.
type question struct {
	tokens      []words.Token
	terms       []term
	known       map[string]variant // cache of match, by word
	variants    [256][]variant     // by first byte of the stem
	expected    answerKind
	focus       int       // index of the noun after the question word ("which river"), or -1
	subjectOf   [2]int    // range of tokens of what a definition is asked of; empty if none is asked
	follows     int       // index of the first term after the question word and its noun, or -1
	denied      bool      // it is negated, by "not", "never" and the like
	naming      bool      // it asks what something is called
	subject     bool      // the question word is the subject: "who built", "which river flows"
	preposition string    // at its start or end: "in what", "named after"
	asksSo      bool      // it ends with a question mark
	foreign     bool      // it is in a known language other than English
	bare        bool      // it has only function words, which are used as terms
	asked       [2]uint32 // see asks
	total       float64   // sum of the terms' weights
}

func (q *question) empty() bool { return len(q.terms) == 0 }

// parseQuestion parses a question.
func parseQuestion(text string) question {
	q := question{focus: -1, follows: -1, known: map[string]variant{}}
	q.tokens = words.Tokenize(text, 0, len(text), nil)
	seen := map[string]int{}
	function := words.Foreign(q.tokens)
	q.foreign = function != nil
	q.asksSo = strings.HasSuffix(strings.TrimSpace(text), "?")
	for i := range q.tokens {
		t := &q.tokens[i]
		q.denied = q.denied || words.Negative(t.Lower)
		if t.Class != prose.Content || q.foreign && function(t) {
			continue
		}
		q.naming = q.naming || namingCues[t.Lower] || t.Lower == "name"
		s := words.Stem(t.Lower)
		if at, ok := seen[s]; ok {
			t.Term = at
			continue
		}
		if len(q.terms) == maxTerms {
			break
		}
		seen[s] = len(q.terms)
		t.Term = len(q.terms)
		q.terms = append(q.terms, term{word: t.Lower, asked: text[t.Start:t.End], stem: s, name: t.Capital && i > 0, number: t.Digit, rarity: rarity(t, i), class: words.Code(t), hash: words.Hash(s)})
	}
	if len(q.terms) == 0 {
		q.bare = true
		for i := range q.tokens[:min(len(q.tokens), maxTerms)] {
			t := &q.tokens[i]
			t.Term = len(q.terms)
			q.terms = append(q.terms, term{word: t.Lower, asked: text[t.Start:t.End], stem: t.Lower, rarity: 0.1, hash: words.Hash(t.Lower)})
		}
	}
	if at := q.questionWord(); at >= 0 {
		q.findFocus(at)
		q.parse(at)
	}
	q.expected = q.kind()
	q.markKind()
	q.asked = q.asks()
	for i := range q.terms {
		q.addVariants(i)
	}
	return q
}

// rarity estimates how informative a match of a word is: low for a common word, higher
// for a number or a name. at is the index of the word in the question.
func rarity(t *words.Token, at int) float64 {
	switch {
	case words.Common[t.Lower]:
		return 0.4
	case t.Digit:
		return 1.3
	case t.Capital && at > 0:
		return 1.2
	}
	return 0.7 + 0.05*math.Min(float64(len(t.Lower)), 8)
}

// addVariants adds the stems of a term and of its synonyms.
func (q *question) addVariants(i int) {
	t := &q.terms[i]
	add := func(stem string, credit float64) {
		if stem != "" {
			q.variants[stem[0]] = append(q.variants[stem[0]], variant{stem, i, credit})
		}
	}
	add(t.stem, 1)
	for _, s := range words.Synonyms[t.word] {
		if s := words.Stem(s); s != t.stem {
			add(s, 0.6)
		}
	}
}

// match sets t.term, the term that a passage's token t matches, and t.credit.
func (q *question) match(t *words.Token) {
	if t.Lower == "" || t.Class != prose.Content && !q.bare {
		return
	}
	word := t.Lower
	if base, ok := words.Base[word]; ok {
		word = base
	}
	vs := q.variants[word[0]]
	if !slices.ContainsFunc(vs, func(v variant) bool {
		return len(word) < 2 || len(v.stem) < 2 || word[1] == v.stem[1]
	}) {
		return // stemming keeps the first two letters of a word, so no variant can match
	}
	m, known := q.known[t.Lower]
	if !known {
		m = nearest(vs, words.Stem(t.Lower))
		q.known[t.Lower] = m
	}
	t.Term, t.Credit = m.term, m.credit
}

// nearest returns the variant that is most similar to a stem, with its credit multiplied
// by the similarity. If no variant is similar, the result has term -1.
func nearest(vs []variant, stem string) variant {
	best := variant{term: -1}
	for _, v := range vs {
		c := words.Similarity(stem, v.stem)
		if c < 1 && v.credit < 1 { // a word similar to a synonym is too far from the question
			continue
		}
		if c *= v.credit; c > best.credit {
			best = variant{term: v.term, credit: c}
		}
	}
	return best
}

// questionWord returns the index of the question word, or -1. A "when" or "where"
// without an auxiliary after it may begin a subordinate clause, so it is chosen only if
// there is no other question word.
func (q *question) questionWord() int {
	first := -1
	for i := range q.tokens {
		t := &q.tokens[i]
		if t.Class != prose.Interrogative {
			continue
		}
		if t.Lower != "when" && t.Lower != "where" || i+1 < len(q.tokens) && q.tokens[i+1].Class == prose.Auxiliary {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// findFocus sets the focus to the noun after the question word at index at, skipping
// "type of". If a run of content words is not followed by an auxiliary or "of", the last
// word of the run is assumed to be the verb ("which river flows there").
func (q *question) findFocus(at int) {
	switch q.tokens[at].Lower {
	case "what", "which", "how", "whose":
	default:
		return
	}
	before := -1
	for i := at + 1; i < min(at+6, len(q.tokens)); i++ {
		t := &q.tokens[i]
		switch {
		case t.Class == prose.Content && vague[t.Lower]:
		case t.Class == prose.Content:
			before, q.focus = q.focus, t.Term
			continue
		case q.focus < 0 && (t.Lower == "of" || t.Lower == "many" || t.Lower == "much" || t.Class == prose.Determiner):
			continue
		case t.Class == prose.Auxiliary || t.Lower == "of":
			return
		}
		if q.focus >= 0 {
			break
		}
		if t.Class != prose.Content {
			return
		}
	}
	if before >= 0 {
		q.focus = before
	}
}

// parse sets preposition and subject. at is the index of the question word.
func (q *question) parse(at int) {
	n := len(q.tokens)
	for _, i := range [3]int{0, n - 1, max(0, at-1)} {
		if t := &q.tokens[i]; t.Class == prose.Preposition {
			q.preposition = t.Lower
		}
	}
	for i := at + 1; i < n && q.follows < 0; i++ {
		if t := q.tokens[i].Term; t >= 0 && t != q.focus {
			q.follows = t
		}
	}
	q.subject = true
	for i := at + 1; i < min(at+5, n); i++ {
		if q.tokens[i].Class == prose.Auxiliary {
			q.subject = false
		}
	}
}

// weigh sets the weights of the terms. A term that many units contain gets a low weight,
// because it does not distinguish these units.
func (q *question) weigh(units []unit, passages []passage) {
	n := float64(len(units))
	counts := make([]float64, len(q.terms))
	for i := range units {
		for t, c := range units[i].credits {
			if c > 0.5 {
				counts[t]++
			}
		}
	}
	q.total = 0
	for i := range q.terms {
		t := &q.terms[i]
		t.weight = t.rarity * (0.25 + 0.75*math.Log(1+n/(counts[i]+1))/math.Log(2+n))
		if vague[t.word] || t.tells {
			t.weight *= 0.3
		}
		q.total += t.weight
	}
}
