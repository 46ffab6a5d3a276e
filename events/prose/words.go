package prose

import (
	"slices"
	"strings"
)

// Class is the grammatical class of an English word, according to short lists.
type Class uint8

// The classes. Words in none of the lists are Content.
const (
	Content Class = iota
	Determiner
	Preposition
	Conjunction
	Auxiliary
	Pronoun
	Interrogative
	Particle // other function words
)

// functionWords are the English function words, by class. They are the stop words of
// search, so a change of them changes the ranking.
var functionWords = map[Class]string{
	Determiner:    "a an the this that these those any no its his her their your such all each every some our my another both",
	Preposition:   "of in on at by for from with to into between during about as than onto over under among against through above below after before since until upon within without near toward towards across around behind beside along per via like out off up down",
	Conjunction:   "and or but if nor so yet because while although though whereas unless whether",
	Auxiliary:     "is are was were be been being do does did has have had will would can could may should am done doing having might shall must isn't aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't hasn't haven't hadn't cannot",
	Pronoun:       "he she it they them you there him we us i me himself herself itself themselves one's hers theirs here",
	Interrogative: "who whom what which when where why how whose",
	Particle:      "not then also only just very too more most less much many own same other ever even still rather quite",
}

// clitics are the ends of words such as don't and it's, if a text has them by themselves.
// They are not stop words, because a letter may also be a name: vitamin D, T cells.
const clitics = "s t re ll ve d m 's"

var classes = func() map[string]Class {
	all := make(map[string]Class)
	for class, words := range functionWords {
		for w := range strings.FieldsSeq(words) {
			all[w] = class
		}
	}
	for w := range strings.FieldsSeq(clitics) {
		all[w] = Particle
	}
	return all
}()

// ClassOf returns the class of a word in lower case.
func ClassOf(word string) Class { return classes[word] }

// StopWords returns the English function words except clitics, sorted.
func StopWords() (words []string) {
	for _, list := range functionWords {
		words = append(words, strings.Fields(list)...)
	}
	slices.Sort(words)
	return words
}
