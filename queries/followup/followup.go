// Package followup understands questions that refer to earlier ones of a conversation, by
// their words alone. It imports events/prose.
package followup

import (
	"regexp"
	"slices"
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

// reference is how a word refers to something said before.
type reference uint8

const (
	nothing reference = iota
	toIt              // stands for it
	toOwner           // stands for what has the thing after it
	toPlace           // stands for the place
	toSuch            // belongs to a noun for it: "this tower"
)

// backward are words that refer to something said before.
var backward = map[string]reference{
	"it": toIt, "they": toIt, "them": toIt, "theirs": toIt, "he": toIt, "him": toIt, "she": toIt, "hers": toIt, "former": toIt, "latter": toIt,
	"its": toOwner, "their": toOwner,
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
	refers         reference
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
	for i := range q.tokens {
		q.tokens[i].refers = q.reference(i)
	}
	return q
}

// reference returns how the word at i refers to something said before.
func (q *question) reference(i int) reference {
	final := i == len(q.tokens)-1 || q.tokens[i+1].class != prose.Content
	switch word := q.tokens[i].lower; word {
	case "that", "this", "these", "those", "one", "ones":
		switch {
		case i > 0 && q.tokens[i-1].class == prose.Determiner:
			return nothing // "which is the highest one"
		case i == len(q.tokens)-1 || q.tokens[i+1].class == prose.Auxiliary:
			return toIt
		case (word == "this" || word == "these") && !final:
			return toSuch
		}
		return nothing // "one day"
	case "there": // but "is there a hangar"
		if i == len(q.tokens)-1 {
			return toPlace
		}
		return nothing
	case "her", "his":
		if !final {
			return toOwner
		}
		return toIt
	default:
		return backward[word]
	}
}

// cut truncates text to at most maxQuestion bytes of valid UTF-8.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxQuestion)], " ")
}

// Question is a question that was understood by the ones before it.
type Question struct {
	// Text can be understood without the ones before it: "How long is the notice period in
	// Germany?".
	Text string
	// Own is what the question says itself. It is Text unless words of an earlier question were only
	// added to it: then they choose the documents, and Own is what these are asked.
	Own string
	// About is what documents must mention to answer the question: what it refers to, or asks
	// about instead of that. It is "" if it refers to nothing before it.
	About string
	// Subject has the words of Own that were taken from earlier questions, or stand instead of such: what is new is what
	// is asked of them.
	Subject string
	// Before is the question before, as it was understood.
	Before string
	// Whole reports that Own can also be understood alone, so that it may be asked of other
	// documents too.
	Whole bool
}

// Resolve understands a question by the ones before it, given oldest first: "And in Germany?" after
// "How long is the notice period in France?" is "How long is the notice period in Germany?", and
// "When was it built?" is asked of the subject of the question before. A question that refers to
// nothing before it is left as it is.
func Resolve(asked string, before []Turn) Question {
	last, subject := "", ""
	for _, t := range before {
		last, subject = resolve(cut(t.Question), last, subject).next(subject)
	}
	return resolve(asked, last, subject)
}

// next returns the text of the question and its subject, for the question after it. before is the
// subject of the one before.
func (q Question) next(before string) (text, subject string) {
	if q.About == before && before != "" {
		return q.Text, before
	}
	parsed := parse(q.Text)
	if subject = parsed.subject(q.Text); subject == "" {
		subject = before
	}
	return q.Text, subject
}

func resolve(asked, before, subject string) Question {
	alone := Question{Text: asked, Own: asked}
	text := cut(asked)
	q, last := parse(text), parse(before)
	if subject == "" || last.terms == 0 {
		return alone
	}
	start := q.start()
	begun := start > 0 // "And …", "What about …"
	following := func(text string) Question {
		text = cut(text)
		return Question{Text: text, Own: text, About: subject, Subject: subject, Before: before}
	}
	rest := ""
	if start < len(q.tokens) {
		rest = strings.TrimRight(text[q.tokens[start].start:], ending)
	}
	switch {
	case q.refersBack():
		if filled := q.filled(text, subject); filled != text {
			return following(filled)
		}
		return Question{Text: cut(strings.TrimRight(text, ending) + " " + subject + "?"), Own: text, About: subject}
	case q.terms == 0 && q.asks():
		return following(last.asking(before, rest))
	case q.terms == 0:
		return following(strings.TrimRight(text, ending) + " " + subject + "?")
	case begun && !q.hasVerb(start):
		replaced := cut(last.instead(before, rest, subject))
		parsed := parse(replaced)
		return Question{Text: replaced, Own: replaced, About: rest, Subject: parsed.subject(replaced) + " " + rest, Before: before}
	case begun && !q.hasNames():
		own := cut(rest + "?")
		return Question{Text: cut(rest + " of " + subject + "?"), Own: own, About: subject, Whole: q.terms > 1}
	}
	return alone
}

// ending is what may end a question.
const ending = "?!. "

// start returns the index of the first token after "And", "But" or "What about".
func (q *question) start() (i int) {
	for i < len(q.tokens) && (q.tokens[i].lower == "and" || q.tokens[i].lower == "but" || q.tokens[i].lower == "or" || q.tokens[i].lower == "so") {
		i++
	}
	if i+1 < len(q.tokens) && (q.tokens[i].lower == "what" || q.tokens[i].lower == "how") && q.tokens[i+1].lower == "about" {
		i += 2
	}
	return i
}

// asks reports whether the question has a question word.
func (q *question) asks() bool {
	return slices.ContainsFunc(q.tokens, func(t token) bool { return t.class == prose.Interrogative })
}

// hasVerb reports whether there is a question word or an auxiliary from the token at start on, so that the question is a
// sentence of its own.
func (q *question) hasVerb(start int) bool {
	return slices.ContainsFunc(q.tokens[start:], func(t token) bool { return t.class == prose.Interrogative || t.class == prose.Auxiliary })
}

// refersBack reports whether the question has a word that refers to something before it.
func (q *question) refersBack() bool {
	return slices.ContainsFunc(q.tokens, func(t token) bool { return t.refers != nothing })
}

// filled returns the question's text with a subject in the place of the words that refer to it.
func (q *question) filled(text, subject string) string {
	var b strings.Builder
	end := 0
	for i := 0; i < len(q.tokens); i++ {
		t := &q.tokens[i]
		if t.refers == nothing || t.refers == toSuch {
			continue
		}
		b.WriteString(text[end:t.start])
		end = t.end
		switch t.refers {
		case toIt:
			b.WriteString(subject)
		case toPlace:
			b.WriteString("at " + subject)
		case toOwner: // "its height" is "the height of …"
			b.WriteString("the")
			for i+1 < len(q.tokens) && q.tokens[i+1].class == prose.Content && !q.tokens[i+1].pause {
				i++ // also past "former" in "its former height"
			}
			b.WriteString(text[end:q.tokens[i].end] + " of " + subject)
			end = q.tokens[i].end
		}
		subject = "it" // is said once
	}
	return b.String() + text[end:]
}

// asking returns the question's text with another question word: "When" instead of "Who".
func (q *question) asking(text, words string) string {
	for i := range q.tokens {
		if i > 0 && q.tokens[i].class == prose.Auxiliary || i > 0 && q.tokens[i-1].class == prose.Interrogative && q.subjectAsks() {
			return words + " " + text[q.tokens[i].start:]
		}
	}
	return words + " " + text
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

// instead returns the question's text with rest in the place of what it is like: of the last name, if rest is only
// names; of nothing, if rest is an addition such as "for suppliers"; and else of the subject.
func (q *question) instead(text, rest, subject string) string {
	r := parse(rest)
	added := r.tokens[0].class == prose.Preposition
	bare := !slices.ContainsFunc(r.tokens[min(1, len(r.tokens)-1):], func(t token) bool { return t.class == prose.Content && !t.capital && !t.digit })
	if first, last := q.lastName(); last >= 0 && (bare && (added || r.tokens[0].capital || r.tokens[0].digit)) {
		if added && q.tokens[first-1].class == prose.Preposition {
			first-- // "in Germany" takes the place of "in France"
		}
		return text[:q.tokens[first].start] + rest + text[q.tokens[last].end:]
	}
	if before, after, ok := strings.Cut(text, subject); ok && !added {
		return before + rest + after
	}
	return strings.TrimRight(text, ending) + " " + rest + "?"
}

// lastName returns the first and last token of the last name or number, or -1.
func (q *question) lastName() (first, last int) {
	first, last = -1, -1
	for i := range q.tokens {
		if t := &q.tokens[i]; i > 0 && t.class == prose.Content && (t.capital || t.digit) {
			if last < 0 || last != i-1 {
				first = i
			}
			last = i
		}
	}
	return first, last
}

// subject returns what the question is about, as it stands there: "the hangar at Cardington" of "When was
// the hangar at Cardington finished?". The grammar is guessed from the function words and the ends of words.
func (q *question) subject(text string) string {
	from, to := q.subjectRange()
	for from < to && q.tokens[from].class != prose.Content && q.tokens[from].class != prose.Determiner {
		from++
	}
	for from < to && q.tokens[to-1].class != prose.Content {
		to--
	}
	// Of "the height of the lighthouse", the lighthouse is what further questions are about.
	for i := from + 1; i+1 < to; i++ {
		owner := &q.tokens[i+1]
		if q.tokens[i].lower == "of" && (owner.capital || owner.class == prose.Determiner) && !q.tokens[i-1].capital {
			from = i + 1
			break
		}
	}
	if from >= to {
		return ""
	}
	return text[q.tokens[from].start:q.tokens[to-1].end]
}

// subjectRange returns the range of tokens that has the subject.
func (q *question) subjectRange() (from, to int) {
	n := len(q.tokens)
	asked := slices.IndexFunc(q.tokens, func(t token) bool { return t.class == prose.Interrogative })
	if q.subjectAsks() { // "Who finished the lighthouse?"
		return min(asked+2, n), n
	}
	aux := slices.IndexFunc(q.tokens[max(0, asked):], func(t token) bool { return t.class == prose.Auxiliary })
	if aux < 0 {
		return asked + 1, n
	}
	aux += max(0, asked)
	from = aux + 1
	for from < n && q.tokens[from].class == prose.Auxiliary {
		from++
	}
	switch {
	case from == n:
		return asked + 1, aux
	case q.tokens[from].class == prose.Content && participle(q.tokens[from].lower) && !q.tokens[from].capital: // "How many tunnels were built?"
		return asked + 1, aux
	case q.tokens[from].class == prose.Pronoun: // "How do I install the program?"
		return min(from+2, n), n
	}
	if be[q.tokens[aux].lower] { // the verb, if there is one, is a participle
		for i := from + 1; i < n; i++ {
			if t := &q.tokens[i]; t.class == prose.Content && !t.capital && participle(t.lower) && q.tokens[i-1].class == prose.Content {
				return from, i
			}
		}
		return from, n
	}
	for i := from + 1; i < n; i++ { // the verb is the last of several words
		ends := i+1 == n || q.tokens[i+1].class != prose.Content
		if t := &q.tokens[i]; t.class == prose.Auxiliary || ends && t.class == prose.Content && !t.capital && q.tokens[i-1].class == prose.Content {
			return from, i
		}
	}
	return from, n
}

// subjectAsks reports whether the question word is the subject and a verb follows: "Who finished …".
func (q *question) subjectAsks() bool {
	for i := range q.tokens {
		if q.tokens[i].class == prose.Interrogative {
			return (q.tokens[i].lower == "who" || q.tokens[i].lower == "what") && i+1 < len(q.tokens) && q.tokens[i+1].class == prose.Content &&
				(i+2 == len(q.tokens) || q.tokens[i+2].class != prose.Auxiliary && q.tokens[i+2].lower != "of")
		}
	}
	return false
}

var be = set("is are was were be been being isn't aren't wasn't weren't has have had")

// participles are those without a regular end.
var participles = set(`built found made written sold bought held kept left lost paid said sent set shown spent taken taught told won worn born begun broken chosen cut done drawn driven eaten fallen flown forgotten given
	gone grown hidden hit hurt known laid led lent lit meant met put read ridden run seen shot shut spoken stolen struck sung sunk thrown understood wound`)

// participle reports whether a word may be a participle.
func participle(word string) bool {
	return participles[word] || len(word) > 4 && strings.HasSuffix(word, "ed")
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
