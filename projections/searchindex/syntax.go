package searchindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// shortestExcluded is the minimum length of a word that a hyphen excludes, in letters.
	// Shorter ones are options of commands: people search for "tar -x".
	shortestExcluded = 3
	// operatorTerms is the maximum number of terms of a search with operators.
	operatorTerms = 16
)

// Syntax is the text of a search without its operators, and what the operators demand:
// "several words" in quotes have to occur in this order, and -word or -"several words"
// must not occur.
type Syntax struct {
	Text              string
	phrases, excluded [][]string // as terms
}

// ParseSyntax parses the operators of a search. A hyphen within a word, or before
// anything but a word or a phrase, and a quotation mark without another are ordinary text.
// So is everything in a question, which ends with a question mark, and in a text of more
// than operatorTerms terms: such texts quote titles and names, and passages without them
// are wanted, too.
func ParseSyntax(text string) Syntax {
	text = clip(text)
	if strings.HasSuffix(strings.TrimSpace(text), "?") || len(queryTerms(text)) > operatorTerms {
		return Syntax{Text: text}
	}
	var s Syntax
	var words strings.Builder
	for i, before := 0, ' '; i < len(text); {
		excluded := text[i] == '-' && unicode.IsSpace(before)
		start := i
		if excluded {
			start++
		}
		end, phrase := operand(text, start, excluded, before)
		terms := queryTerms(text[start:end])
		if end == start || len(terms) == 0 {
			r, n := utf8.DecodeRuneInString(text[i:])
			words.WriteString(text[i : i+n])
			i, before = i+n, r
			continue
		}
		if excluded {
			s.excluded = append(s.excluded, terms)
		} else {
			s.phrases = append(s.phrases, terms)
			words.WriteString(phrase)
		}
		i, before = end, '"'
	}
	s.Text = words.String()
	return s
}

// operand returns the end of the phrase or excluded word that begins at offset start, and
// the phrase without its quotation marks. If there is none, end is start.
func operand(text string, start int, excluded bool, before rune) (end int, phrase string) {
	opening, n := utf8.DecodeRuneInString(text[start:])
	if opening == '"' || opening == '“' || opening == '„' {
		if !excluded && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
			return start, "" // a closing mark, or inches
		}
		rest := text[start+n:]
		if at := strings.IndexAny(rest, "\"“”"); at > 0 {
			_, closing := utf8.DecodeRuneInString(rest[at:])
			return start + n + at + closing, rest[:at]
		}
		return start, ""
	}
	if !excluded {
		return start, ""
	}
	end = len(text)
	if at := strings.IndexFunc(text[start:], unicode.IsSpace); at >= 0 {
		end = start + at
	}
	if word := text[start:end]; utf8.RuneCountInString(word) < shortestExcluded || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return start, ""
	}
	return end, ""
}

// Plain reports whether the search has no operators.
func (s Syntax) Plain() bool { return len(s.phrases) == 0 && len(s.excluded) == 0 }

// Terms returns the terms that a passage has to contain, and those that it must not. An
// engine can filter by them; Matches also checks the order of words.
func (s Syntax) Terms() (required, excluded []string) {
	for _, phrase := range s.phrases {
		for _, t := range phrase {
			if !slices.Contains(required, t) {
				required = append(required, t)
			}
		}
	}
	for _, phrase := range s.excluded {
		if len(phrase) == 1 {
			excluded = append(excluded, phrase[0])
		}
	}
	return required, excluded
}

// Matches reports whether a passage, given as its text and the titles above it, has what
// the operators demand.
func (s Syntax) Matches(texts ...string) bool {
	if s.Plain() {
		return true
	}
	var words, sequences [][]string
	for _, text := range texts {
		words, sequences = append(words, Terms(text)), append(sequences, queryTerms(text))
	}
	occurs := func(phrase []string) bool {
		if len(phrase) == 1 {
			return slices.ContainsFunc(words, func(text []string) bool { return slices.Contains(text, phrase[0]) })
		}
		return slices.ContainsFunc(sequences, func(text []string) bool { return containsSequence(text, phrase) })
	}
	return !slices.ContainsFunc(s.phrases, func(phrase []string) bool { return !occurs(phrase) }) &&
		!slices.ContainsFunc(s.excluded, occurs)
}

func containsSequence[T comparable](in, sequence []T) bool {
	for ; len(in) >= len(sequence); in = in[1:] {
		if slices.Equal(in[:len(sequence)], sequence) {
			return true
		}
	}
	return false
}
