package matching

import (
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// Kind is the kind of answer that a question asks for.
type Kind uint8

// The kinds of answers. KindCount is their number.
const (
	Anything   Kind = iota // no certain kind
	Person                 // a person or a group
	Time                   // a date, an hour, an occasion
	Place                  // where something is or happened
	Number                 // a number, an amount or how often
	Reason                 // why
	Definition             // what something is or means
	Decision               // yes or no
	Manner                 // how to do something
	List                   // several things
	Phone                  // a number to call
	Address                // of mail, of the web or of post
	KindCount
)

// Kinds has, for each kind of answer, its name for the reasoning, and which part of a unit
// is an answer.
var Kinds = [KindCount]struct {
	Name  string
	Whole bool                                   // only the whole unit is an answer: part of a definition or of a reason does not stand by itself
	Lists bool                                   // the list, table or code that follows the unit is a part of the answer, and so is the list around it
	Fits  func(tokens []words.Token, i int) bool // whether tokens[i] may be part of an answer; nil if any word may
}{
	Anything:   {},
	Person:     {Name: "a person or a group", Fits: proper},
	Time:       {Name: "a time", Fits: timely},
	Place:      {Name: "a place", Fits: proper},
	Number:     {Name: "a number or an amount", Fits: func(ts []words.Token, i int) bool { return words.Number(&ts[i]) }},
	Reason:     {Name: "a reason", Whole: true},
	Definition: {Name: "a definition", Whole: true},
	Decision:   {Name: "a yes or no", Whole: true},
	Manner:     {Name: "a way to do something", Whole: true, Lists: true},
	List:       {Name: "a list", Lists: true},
	Phone:      {Name: "a phone number", Fits: func(ts []words.Token, i int) bool { return ts[i].Digit && len(ts[i].Lower) >= 2 }},
	Address: {Name: "an address", Fits: func(ts []words.Token, i int) bool {
		return strings.Contains(ts[i].Lower, "@") || ts[i].Digit || proper(ts, i)
	}},
}

// timely reports whether a token may be part of a date: "1931", "14", "24.01.2017", "May".
func timely(tokens []words.Token, i int) bool {
	t := &tokens[i]
	return words.Calendar[t.Lower] || t.Digit && len(t.Lower) >= 2 && (strings.Count(t.Lower, ".") != 1 && !strings.Contains(t.Lower, ","))
}

// proper reports whether a token may be part of a proper name.
func proper(tokens []words.Token, i int) bool {
	return tokens[i].Named
}

// NameTokens sets which words of the units may be part of proper names: those with a capital
// letter, but the first of a sentence only if it has one elsewhere too, or the next has one.
func NameTokens(units []Unit, passages []Parsed) {
	inside := map[string]bool{}
	for k := range units {
		u := &units[k]
		tokens := passages[u.Passage].Tokens[u.From:u.To]
		for i := range tokens {
			if t := &tokens[i]; t.Capital && t.Class == prose.Content {
				t.Named = true
				if i > 0 && u.Kind == markdown.Sentence {
					inside[t.Lower] = true
				}
			}
		}
	}
	for k := range units {
		u := &units[k]
		tokens := passages[u.Passage].Tokens[u.From:u.To]
		if t := &tokens[0]; t.Named && !inside[t.Lower] && (len(tokens) == 1 || !tokens[1].Named || tokens[1].Pause) {
			t.Named = u.Kind != markdown.Sentence && !words.Common[t.Lower]
		}
	}
}

// Words by which the expected kind of answer is recognized.
var (
	timeNouns   = words.Set("year years date day month decade century time era age season")
	placeNouns  = words.Set("country city place state town location region area continent county nation island street river mountain capital building province village")
	numberNouns = words.Set("period duration percentage percent number amount population size speed temperature distance height length rate cost price age ratio fraction proportion score total share")
	personNouns = words.Set("person man woman president leader king queen emperor author writer actor scientist artist architect philosopher engineer director minister character individual people physicist mathematician astronaut")
	vague       = words.Set("type types kind kinds sort sorts name names form forms term example examples")
	measured    = words.Set("many much long far old tall high deep large big wide fast often heavy soon late quickly")
	phoneNouns  = words.Set("phone telephone fax")
	sendNouns   = words.Set("email e-mail mail address website url homepage")
	happening   = words.Set("come comes happen happens occur occurs take place")
	dialled     = words.Set("call dial phone ring")
)

// kind classifies a question by its question word and the words after it.
func (q *Question) kind() Kind {
	if q.Foreign {
		return Anything
	}
	at := q.questionWord()
	if at < 0 && len(q.Tokens) > 0 && q.Tokens[0].Class == prose.Auxiliary {
		return Decision
	}
	word := func(i int) string {
		if i < 0 || i >= len(q.Tokens) {
			return ""
		}
		return q.Tokens[i].Lower
	}
	next := word(at + 1)
	switch word(at) {
	case "who", "whom", "whose":
		return Person
	case "when":
		return Time
	case "where":
		return Place
	case "why":
		return Reason
	case "how":
		switch subject := word(at + 2); {
		case measured[next]:
			return Number
		case next == "to" || subject == "i" || subject == "we" || subject == "you" || subject == "one" || (next == "can" || next == "should") && subject != "":
			return Manner
		}
		return Anything
	}
	for i := at + 1; i < len(q.Tokens); i++ {
		switch w := word(i); {
		case phoneNouns[w], w == "number" && len(q.Tokens) > 0 && q.dials():
			return Phone
		case sendNouns[w] && i-at <= 5:
			return Address
		}
	}
	if q.indefinite(at) {
		return Definition
	}
	if k := q.ofNoun(at + 1); k != Anything {
		return k
	}
	if at < 0 {
		return q.keywords()
	}
	if q.defines(at) {
		return Definition
	}
	if q.Focus >= 0 && plural(q.Terms[q.Focus].Word) {
		return List
	}
	return Anything
}

// keywords classifies a query without a question word. A few words alone, such as "notice
// period", ask what is said of it. With a question mark, they are a question in a language
// that is not known.
func (q *Question) keywords() Kind {
	if q.asksSo || len(q.Tokens) == 0 || len(q.Tokens) > 3 || slices.ContainsFunc(q.Tokens, func(t words.Token) bool { return t.Class != prose.Content }) {
		return Anything
	}
	q.subjectOf = [2]int{0, len(q.Tokens)}
	return Definition
}

// markKind marks the terms that tell only which kind of answer is asked for: "long" in "how
// long", "number" in "which number do I call", "come" in "when did it come out".
func (q *Question) markKind() {
	at := q.questionWord()
	for i := range q.Tokens {
		t := &q.Tokens[i]
		if t.Term < 0 || q.Bare || len(q.Terms) == 1 {
			continue
		}
		switch q.Expected {
		case Number:
			q.Terms[t.Term].Tells = at >= 0 && i == at+1 && measured[t.Lower]
		case Phone:
			q.Terms[t.Term].Tells = t.Lower == "number"
		case Time:
			q.Terms[t.Term].Tells = happening[t.Lower]
		}
	}
}

// dials reports whether the question has a word for phoning.
func (q *Question) dials() bool {
	for i := range q.Tokens {
		if dialled[q.Tokens[i].Lower] {
			return true
		}
	}
	return false
}

// plural guesses whether an English noun is in the plural.
func plural(word string) bool {
	return strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us")
}

// Words of questions about the meaning of something.
var (
	meanings = words.Set("mean means meant stand stands")
	maxNamed = 5 // words of the thing that is asked about
)

// means reports whether word i asks for a meaning: "mean", "stand", or "short" in "what is it short for".
func (q *Question) means(i int) bool {
	return meanings[q.Tokens[i].Lower] || q.Tokens[i].Lower == "short" && i+2 == len(q.Tokens) && q.Tokens[i+1].Lower == "for"
}

// defines reports whether the question, whose question word is at index at, asks what
// something is or means: "what is a crate", "what does RPK stand for", "what is meant by
// ownership in Rust". It sets q.subjectOf to the words for that thing.
func (q *Question) defines(at int) bool {
	i, n := at+1, len(q.Tokens)
	meaning := false
	for j := i; j < n; j++ {
		meaning = meaning || q.means(j) || q.Tokens[j].Lower == "do" && j == n-1 // "what does it do"
	}
	if i < n && q.Tokens[i].Class == prose.Auxiliary {
		i++
	} else if !meaning && q.Tokens[at].Lower != "what's" {
		return false
	}
	for i < n && (q.Tokens[i].Lower == "meant" || q.Tokens[i].Lower == "by") {
		i++
	}
	the := i < n && q.Tokens[i].Lower == "the"
	for i < n && q.Tokens[i].Class == prose.Determiner {
		i++
	}
	from := i
	for i < n && q.Tokens[i].Class == prose.Content && !q.means(i) && (i == from || !q.Tokens[i].Pause) {
		i++
	}
	if i == from || i-from > maxNamed {
		return false
	}
	if i < n && !meaning {
		switch next := &q.Tokens[i]; {
		case next.Lower == "of": // "what is the end of the story"
			return false
		case next.Class != prose.Preposition && !next.Pause: // "what is the dog eating"
			return false
		case i == n-1 && next.Lower != "for": // "what is the dog looking at"
			return false
		}
	}
	if the && !meaning && i-from > 3 {
		return false
	}
	q.subjectOf = [2]int{from, i}
	return true
}

// indefinite reports whether the question, whose question word is at index at, is no more than "what is a" with a
// noun phrase: of "What is a notice period?" a definition is asked, and no number.
func (q *Question) indefinite(at int) bool {
	if at < 0 || at+3 >= len(q.Tokens) || q.Tokens[at].Lower != "what" || q.Tokens[at+1].Class != prose.Auxiliary || q.Tokens[at+2].Lower != "a" && q.Tokens[at+2].Lower != "an" {
		return false
	}
	return q.defines(at) && q.subjectOf[1] == len(q.Tokens)
}

// verbs are nouns of ofNoun that are verbs after a noun in the plural: "which pointers share ownership".
var verbs = words.Set("share score cost rate number total age state place")

// ofNoun classifies "what" and "which" by the noun that follows.
func (q *Question) ofNoun(i int) Kind {
	for n := 0; i < len(q.Tokens) && n < 6; i, n = i+1, n+1 {
		t := q.Tokens[i]
		if t.Class == prose.Auxiliary && n == 0 {
			continue
		}
		if t.Class != prose.Content && t.Class != prose.Determiner && t.Lower != "of" && t.Lower != "many" {
			return Anything
		}
		if n > 0 && verbs[t.Lower] && plural(q.Tokens[i-1].Lower) && i+1 < len(q.Tokens) && q.Tokens[i+1].Class != prose.Auxiliary && q.Tokens[i-n].Class != prose.Auxiliary {
			return Anything
		}
		switch {
		case timeNouns[t.Lower]:
			return Time
		case numberNouns[t.Lower]:
			return Number
		case placeNouns[t.Lower]:
			return Place
		case personNouns[t.Lower]:
			return Person
		}
	}
	return Anything
}

// Words for a document or a part of it.
var writings = words.Set("paper post page document chapter section guide article tutorial series booklet appendix blog")

// Words of sentences that only announce something.
var (
	announcing = words.Set("we'll you'll we will you")
	announced  = words.Set("cover discuss see talk look explain describe show learn explore")
)

// Announces reports whether a sentence only says where something is told: "In chapter 16, we'll cover how …", "See
// section 4", "For more information, see …".
func Announces(tokens []words.Token) bool {
	for i := range tokens {
		w := tokens[i].Lower
		if i > 0 && announced[w] && (announcing[tokens[i-1].Lower] && strings.HasSuffix(tokens[i-1].Lower, "'ll") || i > 1 && tokens[i-1].Lower == "will" && announcing[tokens[i-2].Lower]) {
			return true
		}
	}
	if len(tokens) < 3 {
		return false
	}
	return tokens[0].Lower == "see" && (referring[tokens[1].Lower] || tokens[1].Lower == "also") || tokens[0].Lower == "for" && tokens[1].Lower == "more" && (tokens[2].Lower == "information" || tokens[2].Lower == "details")
}

// Introduces reports whether a sentence speaks of the document itself: "This post walked
// through …", "In this chapter, …".
func Introduces(tokens []words.Token) bool {
	for i := range tokens[:max(0, min(len(tokens)-1, 4))] {
		if tokens[i].Lower == "this" && writings[tokens[i+1].Lower] {
			return true
		}
	}
	return false
}
