// Package followup understands questions that refer to earlier ones of a conversation, by
// their words alone. It imports events/prose.
package followup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/prose"
)

// Turn is a question that was asked before, and the answer that was given.
type Turn struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// backward are words that refer to something said before.
var backward = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq("it its they them their theirs he him his she her hers this these those former latter") {
		backward[word] = true
	}
}

const maxQuestion = 2000 // bytes; the rest is ignored

// question is a question with its words.
type question struct {
	tokens []token
	terms  int // number of content words
}

type token struct {
	start, end     int // bytes of the text
	lower          string
	class          prose.Class
	capital, digit bool
	pause          bool // there is punctuation before it
}

var word = regexp.MustCompile(`[\pL\pN\pM]+(?:['’.,-][\pL\pN\pM]+)*`)

func parse(text string) (q question) {
	last := 0
	for _, at := range word.FindAllStringIndex(text, -1) {
		first, _ := utf8.DecodeRuneInString(text[at[0]:])
		t := token{start: at[0], end: at[1], lower: strings.ToLower(text[at[0]:at[1]]), capital: unicode.IsUpper(first), digit: unicode.IsDigit(first)}
		t.class = prose.ClassOf(t.lower)
		t.pause = strings.TrimSpace(text[last:at[0]]) != ""
		if last = at[1]; t.class == prose.Content {
			q.terms++
		}
		q.tokens = append(q.tokens, t)
	}
	return q
}

// cut truncates text to at most maxQuestion bytes of valid UTF-8.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxQuestion)], " ")
}

// span is a range of tokens.
type span struct{ from, to int }

// Resolve returns a question that can be understood without the ones before it, given
// oldest first: "And in Germany?" after "How long is the notice period in France?" becomes
// "How long is the notice period in Germany?", and "When was it built?" gets the names or nouns of the
// question before. A question that refers to nothing before it is returned as it is.
func Resolve(asked string, before []Turn) string {
	resolved := ""
	for _, t := range before {
		resolved = resolve(cut(t.Question), resolved)
	}
	return resolve(asked, resolved)
}

func resolve(asked, before string) string {
	q, last := parse(cut(asked)), parse(before)
	if last.terms == 0 {
		return asked
	}
	rest, elliptic := q.ellipsis(asked)
	switch {
	case elliptic && rest != "":
		return cut(last.instead(before, rest, q.hasNames()))
	case elliptic || q.refersBack() || q.terms == 0:
		return cut(strings.TrimRight(asked, "?!. ") + " " + last.topic(before) + "?")
	}
	return asked
}

// ellipsis returns what a question without a verb of its own asks about: "in Germany" for "And in Germany?".
func (q *question) ellipsis(text string) (rest string, ok bool) {
	i := 0
	for i < len(q.tokens) && (q.tokens[i].lower == "and" || q.tokens[i].lower == "but" || q.tokens[i].lower == "or" || q.tokens[i].lower == "so") {
		i++
	}
	if i+1 < len(q.tokens) && (q.tokens[i].lower == "what" || q.tokens[i].lower == "how") && q.tokens[i+1].lower == "about" {
		i += 2
	}
	if i == 0 {
		return "", false
	}
	for _, t := range q.tokens[i:] {
		if t.class == prose.Interrogative || t.class == prose.Auxiliary || backward[t.lower] {
			return "", q.refersBack() || q.terms < 2
		}
	}
	if i == len(q.tokens) {
		return "", true
	}
	return strings.TrimRight(text[q.tokens[i].start:], "?!. "), true
}

// refersBack reports whether the question has a word that refers to something before it.
func (q *question) refersBack() bool {
	for i := range q.tokens {
		t := &q.tokens[i]
		final := i == len(q.tokens)-1 || q.tokens[i+1].class == prose.Auxiliary
		if backward[t.lower] || final && (t.lower == "that" || t.lower == "there" || t.lower == "one" || t.lower == "ones") {
			return true
		}
	}
	return false
}

// hasNames reports whether the question has a name or a number.
func (q *question) hasNames() bool {
	for i := range q.tokens {
		if t := &q.tokens[i]; t.class == prose.Content && (t.capital && i > 0 || t.digit) {
			return true
		}
	}
	return false
}

// runs returns the ranges of consecutive content words.
func (q *question) runs() (all []span) {
	for i := range q.tokens {
		t := &q.tokens[i]
		switch {
		case t.class != prose.Content:
		case len(all) > 0 && all[len(all)-1].to == i && !t.pause:
			all[len(all)-1].to++
		default:
			all = append(all, span{i, i + 1})
		}
	}
	return all
}

// instead returns the question's text with rest in the place of its last name, if there is one and rest is one too, and
// otherwise with rest at its end.
func (q *question) instead(text, rest string, name bool) string {
	first, last := -1, -1
	for i := range q.tokens {
		if t := &q.tokens[i]; i > 0 && t.class == prose.Content && (t.capital || t.digit) {
			if last < 0 || last != i-1 {
				first = i
			}
			last = i
		}
	}
	if last < 0 || !name {
		return strings.TrimRight(text, "?!. ") + " " + rest + "?"
	}
	if _, words, ok := strings.Cut(rest, " "); ok && prose.ClassOf(strings.ToLower(rest[:len(rest)-len(words)-1])) == prose.Preposition && q.tokens[first-1].class == prose.Preposition {
		first-- // "in Germany" takes the place of "in France"
	}
	return text[:q.tokens[first].start] + rest + text[q.tokens[last].end:]
}

// topic returns what the question is about: its names with the nouns after them, or its longest run of
// content words.
func (q *question) topic(text string) string {
	var named []string
	longest := span{}
	for _, r := range q.runs() {
		for i := max(r.from, 1); i < r.to; i++ {
			if q.tokens[i].capital {
				named = append(named, text[q.tokens[i].start:q.tokens[r.to-1].end])
				break
			}
		}
		if r.to-r.from >= longest.to-longest.from {
			longest = r
		}
	}
	if named != nil {
		return strings.Join(named, " ")
	}
	return text[q.tokens[longest.from].start:q.tokens[longest.to-1].end]
}
