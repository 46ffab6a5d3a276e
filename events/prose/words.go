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

// functionWords are the English function words, by class. The frequent function words
// are the stop words of search. A change of the stop words changes the ranking.
var functionWords = map[Class]struct{ frequent, others string }{
	Determiner:    {"a an the this that these those any no its his her their your such all", "each every some our my another both"},
	Preposition:   {"of in on at by for from with to into between during about as than", "onto over under among against through above below after before since until upon within without near toward towards across around behind beside along per via like out off up down"},
	Conjunction:   {"and or but if", "nor so yet because while although though whereas unless whether"},
	Auxiliary:     {"is are was were be been being do does did has have had will would can could may should", "am done doing having might shall must isn't aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't hasn't haven't hadn't cannot"},
	Pronoun:       {"he she it they them you there", "him we us i me himself herself itself themselves one's hers theirs here"},
	Interrogative: {"who whom what which when where why how", "whose"},
	Particle:      {"not then", "also only just very too more most less much many own same other s t re ll ve d m 's ever even still rather quite"},
}

var classes, stopWords = func() (map[string]Class, []string) {
	all := make(map[string]Class)
	var frequent []string
	for class, words := range functionWords {
		frequent = append(frequent, strings.Fields(words.frequent)...)
		for w := range strings.FieldsSeq(words.frequent + " " + words.others) {
			all[w] = class
		}
	}
	slices.Sort(frequent)
	return all, frequent
}()

// ClassOf returns the class of a word in lower case.
func ClassOf(word string) Class { return classes[word] }

// StopWords returns the most frequent English function words, sorted.
func StopWords() []string { return slices.Clone(stopWords) }
