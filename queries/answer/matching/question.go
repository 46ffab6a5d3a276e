// Package matching parses a question into terms (question.go), classifies it by the kind of
// answer that it asks for (kind.go), cuts passages into units (passage.go, units.go), and
// measures what a unit shares with the question (measure.go), whether it defines what is
// asked (define.go), and whether it says the opposite (contradict.go).
//
// It imports events/prose, queries/answer/markdown, queries/answer/words and libraries.
package matching

import (
	"math"
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/words"
)

// Term is a word of the question to search for.
type Term struct {
	Word   string // in lower case
	Asked  string // as in the question
	Stem   string
	Rarity float64 // result of function rarity
	Weight float64 // rarity, reduced if many units have the term
	Name   bool    // a proper name
	Number bool
	Tells  bool   // it tells only which kind of answer is asked for, such as "long" after "how"
	Class  uint32 // see classCode
	Hash   uint32 // of the stem
}

// variant is a stem that matches a term.
type variant struct {
	stem   string
	term   int     // index of the term
	credit float64 // 1 for the term itself, less for a synonym
}

// Question is a parsed question.
type Question struct {
	Tokens      []words.Token
	Terms       []Term
	known       map[string]variant // cache of match, by word
	variants    [256][]variant     // by first byte of the stem
	Expected    Kind
	Focus       int                     // index of the noun after the question word ("which river"), or -1
	subjectOf   [2]int                  // range of tokens of what a definition is asked of; empty if none is asked
	Follows     int                     // index of the first term after the question word and its noun, or -1
	Denied      bool                    // it is negated, by "not", "never" and the like
	naming      bool                    // it asks what something is called
	Subject     bool                    // the question word is the subject: "who built", "which river flows"
	Preposition string                  // at its start or end: "in what", "named after"
	asksSo      bool                    // it ends with a question mark
	Foreign     bool                    // it is in a known language other than English
	function    func(*words.Token) bool // whether a word is a function word of that language
	Bare        bool                    // it has only function words, which are used as terms
	Asked       [2]uint32               // see asks
	Total       float64                 // sum of the terms' weights
}

// Plural reports whether several things may be asked for: not a certain kind of one, such as
// "which class".
func (q *Question) Plural() bool { return q.Focus < 0 || plural(q.Terms[q.Focus].Word) }

// Nth is a place in a list that a question asks for.
type Nth struct {
	N     int    // from 1, or -1 for the last
	Terms [2]int // the terms that name it: "third" and "step"
}

// Words for places in lists, and for what has a place.
var (
	ordinals = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "last": -1, "final": -1}
	listed   = words.Set("step item point stage rule task entry phase instruction")
)

// Nth returns the place in a list that the question asks for, and whether it asks for one.
func (q *Question) Nth() (Nth, bool) {
	for i := 1; i < len(q.Tokens); i++ {
		if n := ordinals[q.Tokens[i-1].Lower]; n != 0 && listed[q.Tokens[i].Lower] {
			return Nth{n, [2]int{q.Tokens[i-1].Term, q.Tokens[i].Term}}, true
		}
	}
	return Nth{}, false
}

// Empty reports whether the question has no word.
func (q *Question) Empty() bool { return len(q.Terms) == 0 }

// Understood reports whether it is known what the question asks for: it has a question word, or
// begins like a question of yes or no, or is no question but some words to search for.
func (q *Question) Understood() bool {
	return !q.Foreign && (q.questionWord() >= 0 || q.Expected != Anything || !q.asksSo)
}

// Dangles reports whether a word is a function word of the question's language, such as "sind", after which an
// answer must not end. It is not known of English words, which may be particles of verbs.
func (q *Question) Dangles(t *words.Token) bool { return q.Foreign && q.function(t) }

// ParseQuestion parses a question.
func ParseQuestion(text string) Question {
	q := Question{Focus: -1, Follows: -1, known: map[string]variant{}}
	q.Tokens = words.Tokenize(text, 0, len(text), nil)
	seen := map[string]int{}
	q.function = words.Foreign(q.Tokens)
	q.Foreign = q.function != nil
	q.asksSo = strings.HasSuffix(strings.TrimSpace(text), "?")
	for i := range q.Tokens {
		t := &q.Tokens[i]
		q.Denied = q.Denied || words.Negative(t.Lower)
		if t.Class != prose.Content || q.Foreign && q.function(t) {
			continue
		}
		q.naming = q.naming || namingCues[t.Lower] || t.Lower == "name"
		s := words.Stem(t.Lower)
		if at, ok := seen[s]; ok {
			t.Term = at
			continue
		}
		if len(q.Terms) == MaxTerms {
			break
		}
		seen[s] = len(q.Terms)
		t.Term = len(q.Terms)
		q.Terms = append(q.Terms, Term{Word: t.Lower, Asked: text[t.Start:t.End], Stem: s, Name: t.Capital && i > 0, Number: t.Digit, Rarity: Rarity(t, i), Class: words.Code(t), Hash: words.Hash(s)})
	}
	if len(q.Terms) == 0 {
		q.Bare = true
		for i := range q.Tokens[:min(len(q.Tokens), MaxTerms)] {
			t := &q.Tokens[i]
			t.Term = len(q.Terms)
			q.Terms = append(q.Terms, Term{Word: t.Lower, Asked: text[t.Start:t.End], Stem: t.Lower, Rarity: 0.1, Hash: words.Hash(t.Lower)})
		}
	}
	if at := q.questionWord(); at >= 0 {
		q.findFocus(at)
		q.parse(at)
	}
	q.Expected = q.kind()
	q.markKind()
	q.Asked = q.asks()
	for i := range q.Terms {
		q.addVariants(i)
	}
	return q
}

// Rarity estimates how informative a match of a word is: low for a common word, higher
// for a number or a name. at is the index of the word in the question.
func Rarity(t *words.Token, at int) float64 {
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
func (q *Question) addVariants(i int) {
	t := &q.Terms[i]
	add := func(stem string, credit float64) {
		if stem != "" {
			q.variants[stem[0]] = append(q.variants[stem[0]], variant{stem, i, credit})
		}
	}
	add(t.Stem, 1)
	for _, s := range words.Synonyms[t.Word] {
		if s := words.Stem(s); s != t.Stem {
			add(s, 0.6)
		}
	}
}

// AddSynonym lets a stem match a term, like a synonym of it.
func (q *Question) AddSynonym(term int, stem string) {
	q.variants[stem[0]] = append(q.variants[stem[0]], variant{stem, term, 0.6})
}

// Respell lets terms that no passage has match words that differ from them in one letter, as
// misspelt words do. It reports whether there are any: then the passages are to be parsed again.
func (q *Question) Respell(passages []Parsed) bool {
	const long = 6 // letters; shorter words are too often like others
	found := false
	for i := range q.Terms {
		t := &q.Terms[i]
		if len(t.Word) < long || t.Number || slices.ContainsFunc(passages, func(p Parsed) bool { return p.Credits[i] > 0 }) {
			continue
		}
		seen := map[string]bool{}
		for p := range passages {
			for k := range passages[p].Tokens {
				w := &passages[p].Tokens[k]
				if w.Term < 0 && !seen[w.Lower] && w.Class == prose.Content && w.Lower[0] == t.Word[0] && words.Misspelt(t.Word, w.Lower) {
					q.AddSynonym(i, words.Stem(w.Lower))
					found, seen[w.Lower] = true, true
				}
			}
		}
	}
	if found {
		clear(q.known)
	}
	return found
}

// Match sets t.term, the term that a passage's token t matches, and t.credit.
func (q *Question) Match(t *words.Token) {
	if t.Lower == "" || t.Class != prose.Content && !q.Bare {
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
func (q *Question) questionWord() int {
	first := -1
	for i := range q.Tokens {
		t := &q.Tokens[i]
		if t.Class != prose.Interrogative {
			continue
		}
		if t.Lower != "when" && t.Lower != "where" || i+1 < len(q.Tokens) && q.Tokens[i+1].Class == prose.Auxiliary {
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
func (q *Question) findFocus(at int) {
	switch q.Tokens[at].Lower {
	case "what", "which", "how", "whose":
	default:
		return
	}
	before := -1
	for i := at + 1; i < min(at+6, len(q.Tokens)); i++ {
		t := &q.Tokens[i]
		switch {
		case t.Class == prose.Content && vague[t.Lower]:
		case t.Class == prose.Content:
			before, q.Focus = q.Focus, t.Term
			continue
		case q.Focus < 0 && (t.Lower == "of" || t.Lower == "many" || t.Lower == "much" || t.Class == prose.Determiner):
			continue
		case t.Class == prose.Auxiliary || t.Lower == "of":
			return
		}
		if q.Focus >= 0 {
			break
		}
		if t.Class != prose.Content {
			return
		}
	}
	if before >= 0 {
		q.Focus = before
	}
}

// parse sets preposition and subject. at is the index of the question word.
func (q *Question) parse(at int) {
	n := len(q.Tokens)
	for _, i := range [3]int{0, n - 1, max(0, at-1)} {
		if t := &q.Tokens[i]; t.Class == prose.Preposition {
			q.Preposition = t.Lower
		}
	}
	for i := at + 1; i < n && q.Follows < 0; i++ {
		if t := q.Tokens[i].Term; t >= 0 && t != q.Focus {
			q.Follows = t
		}
	}
	q.Subject = true
	for i := at + 1; i < min(at+5, n); i++ {
		if q.Tokens[i].Class == prose.Auxiliary {
			q.Subject = false
		}
	}
}

// Weigh sets the weights of the terms. A term that many units contain gets a low weight,
// because it does not distinguish these units.
func (q *Question) Weigh(units []Unit, passages []Parsed) {
	n := float64(len(units))
	counts := make([]float64, len(q.Terms))
	for i := range units {
		for t, c := range units[i].Credits {
			if c > 0.5 {
				counts[t]++
			}
		}
	}
	q.Total = 0
	for i := range q.Terms {
		t := &q.Terms[i]
		t.Weight = t.Rarity * (0.25 + 0.75*math.Log(1+n/(counts[i]+1))/math.Log(2+n))
		if vague[t.Word] || t.Tells {
			t.Weight *= 0.3
		}
		q.Total += t.Weight
	}
}

// Last returns the last term of the question, or -1.
func (q *Question) Last() int {
	for i := len(q.Tokens) - 1; i >= 0; i-- {
		if q.Tokens[i].Term >= 0 {
			return q.Tokens[i].Term
		}
	}
	return -1
}

// asks returns codes for how the question asks: its question word with the next word if that
// is a function word, and both with the first noun after them.
func (q *Question) asks() [2]uint32 {
	at := q.questionWord()
	if at < 0 {
		return [2]uint32{1, 1}
	}
	lead := q.Tokens[at].Lower
	if at+1 < len(q.Tokens) {
		if n := &q.Tokens[at+1]; n.Class != prose.Content || measured[n.Lower] {
			lead += " " + n.Lower
		}
	}
	noun := ""
	for i := at + 1; i < len(q.Tokens); i++ {
		if t := &q.Tokens[i]; t.Class == prose.Content && !measured[t.Lower] && !vague[t.Lower] {
			noun = words.Stem(t.Lower)
			break
		}
	}
	return [2]uint32{words.Hash(lead), words.Hash(lead + " " + noun)}
}

// subjectWeight is the factor of the weight of words that are not new in a question.
const subjectWeight = 0.1

// WeighLess reduces the weights of those terms that another question has. It reports whether any of the other terms
// tells what is asked, and not only how much.
func (q *Question) WeighLess(other *Question) (telling bool) {
	q.Total = 0
	for i := range q.Terms {
		t := &q.Terms[i]
		if slices.ContainsFunc(other.Terms, func(o Term) bool { return o.Stem == t.Stem }) {
			t.Weight *= subjectWeight
		} else if t.Rarity > 0.4 && !q.Bare {
			telling = true
		}
		q.Total += t.Weight
	}
	return telling
}
