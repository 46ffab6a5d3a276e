package matching

import (
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// Words that join a thing to its definition.
var (
	copulas = words.Set("is are was were means mean refers denotes describes stands consists comprises represents")
	namedBy = words.Set("called termed named known dubbed")
	stands  = words.Set("abbreviation acronym initialism short")
	clauses = words.Set("which that")
)

// Definition estimates from 0 to 1 how likely a unit defines the subject of the question:
// "A crate is …", "RPK = …", "… in a process called angiogenesis", "positron emission
// tomography (PET)", or a row or item that begins with the subject.
func (q *Question) Definition(p *Parsed, u *Unit) float64 {
	if q.subjectOf[1] == q.subjectOf[0] {
		return 0
	}
	tokens := p.Tokens[u.From:u.To]
	best := 0.0
	for i := range tokens {
		if n := q.subjectAt(tokens, i); n > 0 {
			best = max(best, definitionAt(p.Text, tokens, i, i+n, u.Kind))
			if best < introduced && u.Kind == markdown.Sentence && emphasized(p.Source.Text, p.Text[tokens[i].Start:tokens[i+n-1].End]) {
				best = introduced
			}
		}
	}
	return best
}

// introduced is the estimate for a sentence in which the subject is emphasized, as it is where it is
// introduced.
const introduced = 0.7

// emphasized reports whether words are emphasized in Markdown.
func emphasized(text, words string) bool {
	return strings.Contains(text, "_"+words+"_") || strings.Contains(text, "*"+words+"*")
}

// definitionAt is definition for the occurrence of the subject in tokens[from:to].
func definitionAt(text string, tokens []words.Token, from, to int, kind markdown.Form) float64 {
	place := 0.4
	first := leading(tokens, from)
	if first {
		place = 1
	}
	if to == len(tokens) {
		switch {
		case from > 1 && (copulas[tokens[from-1].Lower] || tokens[from-1].Class == prose.Determiner && copulas[tokens[from-2].Lower]): // "the node that … is the sentinel node"
			return 0.9
		case named(tokens[max(0, from-5):from]):
			return 0.8
		}
		return 0
	}
	next := &tokens[to]
	gap := text[tokens[to-1].End:next.Start]
	if !strings.Contains(gap, "(") {
		gap = strings.Replace(gap, ")", "", 1) // "a constraint system (CCS) is"
	}
	beyond := tokens[to:]
	switch {
	case len(beyond) > 2 && clauses[next.Lower] && copulas[beyond[1].Lower] && (beyond[2].Class == prose.Determiner || stands[beyond[2].Lower]): // "…, which is an abbreviation for …"
		return 0.9
	case clauses[next.Lower] && from > 1 && tokens[from-1].Class == prose.Determiner && copulas[tokens[from-2].Lower]: // "Central to it is a base fee, which …"
		return 0.7
	case copulas[next.Lower] && strings.Trim(gap, " \n*_`\"”") == "":
		if to+1 < len(tokens) && !defining(tokens[to+1:]) {
			return 0.6 * place
		}
		return place
	case first && strings.ContainsAny(gap, "=:–—"):
		return 0.9
	case from > 0 && strings.HasSuffix(text[tokens[from-1].End:tokens[from].Start], "(") && initials(tokens, from):
		return 0.8
	case named(tokens[max(0, from-5):from]):
		return 0.8
	case to == from+1 && strings.Contains(gap, "(") && next.Capital: // "CCS (customizable …)"
		return 0.6 * place
	case first && from > 0 && tokens[from-1].Class == prose.Determiner && !next.Pause && !next.Capital && verb(next.Lower): // "A lease lets …"
		return 0.6
	case first && (next.Pause && next.Class == prose.Determiner || kind == markdown.Row || kind == markdown.Item): // "Cargo, the build system, …"
		return 0.6
	}
	return 0
}

// verb guesses whether a word after a noun is a verb in the third person.
func verb(word string) bool {
	return plural(word) && prose.ClassOf(word) == prose.Content && len(word) > 3
}

// named reports whether one of the words before a name introduces it: "called a secondary
// cancer or …".
func named(before []words.Token) bool {
	for i := range before {
		if namedBy[before[i].Lower] || before[i].Lower == "referred" && i+2 < len(before) && before[i+1].Lower == "to" && before[i+2].Lower == "as" {
			return true
		}
	}
	return false
}

// defining reports whether tokens begin like the predicate of a definition: "a …", "the …",
// "used to …".
func defining(tokens []words.Token) bool {
	for i := range tokens[:min(len(tokens), 2)] {
		t := &tokens[i]
		switch {
		case t.Class == prose.Determiner, t.Lower == "when", t.Lower == "one", t.Lower == "any", t.Lower == "for", t.Lower == "used":
			return true
		}
	}
	return len(tokens) > 0 && plural(tokens[min(len(tokens)-1, 1)].Lower)
}

// leading reports whether only function words are before tokens[i].
func leading(tokens []words.Token, i int) bool {
	for k := range tokens[:i] {
		if tokens[k].Class == prose.Content || k > 3 {
			return false
		}
	}
	return true
}

// subjectAt returns the number of tokens at index i that are the subject of the question,
// or 0.
func (q *Question) subjectAt(tokens []words.Token, i int) int {
	n := 0
	for k := q.subjectOf[0]; k < q.subjectOf[1]; k++ {
		if i+n >= len(tokens) || tokens[i+n].Term < 0 || tokens[i+n].Term != q.Tokens[k].Term || tokens[i+n].Credit < 1 {
			return 0
		}
		n++
	}
	return n
}

// initials reports whether the words before tokens[i] begin with its letters.
func initials(tokens []words.Token, i int) bool {
	word := tokens[i].Lower
	k := i - 1
	for c := len(word) - 1; c >= 0; c-- {
		for k >= 0 && tokens[k].Lower[0] != word[c] && tokens[k].Class != prose.Content {
			k--
		}
		if k < 0 || tokens[k].Lower[0] != word[c] {
			return false
		}
		k--
	}
	return len(word) > 1
}

// PointsBack reports whether a sentence names what the sentence before it says: "This is also called a shebang."
func PointsBack(tokens []words.Token) bool {
	if len(tokens) == 0 || !backward[tokens[0].Lower] {
		return false
	}
	return named(tokens[1:min(len(tokens), 12)])
}

// backward are words with which a sentence begins that is about the one before it.
var backward = words.Set("this these that those such it they")
