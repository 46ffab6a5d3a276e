package searchindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/projections/searchindex/language"
)

const (
	// shortestExcluded is the minimum length of a word that a hyphen excludes, in letters.
	// Shorter ones are options of commands: people search for "tar -x". It does not apply to
	// scripts without spaces, whose words often have one or two letters.
	shortestExcluded = 3
	// operatorTerms is the maximum number of terms of a search with operators.
	operatorTerms = 16
	// shortestBeginning is the minimum length of the beginning of a word in letters.
	shortestBeginning = 3
	// maxBeginnings is the maximum number of beginnings in a search, because many words may
	// begin with each of them.
	maxBeginnings = 4
)

// Syntax is the text of a search without its operators, and what the operators demand:
// "several words" in quotes have to occur in this order, and -word or -"several words"
// must not occur. beginning* finds words that begin so; it demands nothing.
type Syntax struct {
	Text              string
	Beginnings        []Beginning
	phrases, excluded []string
}

// Beginning is the beginning of a word, folded like a term. Stems are the terms of English
// words that begin so although their terms, which are shorter, do not: "organ" is that of
// organization, which begins with "organiz".
type Beginning struct {
	Text  string
	Stems []string
}

// ParseSyntax parses the operators of a search. A hyphen within a word, or before
// anything but a word or a phrase, and a quotation mark without another are ordinary text.
// So is everything in a question, which ends with a question mark, and in a text of more
// than operatorTerms terms: such texts quote titles and names, and passages without them
// are wanted, too.
func ParseSyntax(text string) Syntax {
	text = clip(text)
	if strings.HasSuffix(strings.TrimSpace(text), "?") || len(queryTerms(nil, text)) > operatorTerms {
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
		if end == start || len(queryTerms(nil, text[start:end])) == 0 {
			if unicode.IsSpace(before) && len(s.Beginnings) < maxBeginnings {
				s.Beginnings = append(s.Beginnings, beginning(text[i:])...)
			}
			r, n := utf8.DecodeRuneInString(text[i:])
			words.WriteString(text[i : i+n])
			i, before = i+n, r
			continue
		}
		if excluded {
			s.excluded = append(s.excluded, text[start:end])
		} else {
			s.phrases = append(s.phrases, phrase)
			words.WriteString(phrase)
		}
		i, before = end, '"'
	}
	s.Text = words.String()
	return s
}

// endings are some that stems of English words lack.
var endings = []string{"e", "ed", "ing", "s", "ation"}

// beginning returns the beginning of a word with an asterisk after it with which a text
// begins, or nothing.
func beginning(text string) []Beginning {
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		text = text[:end]
	}
	word, found := strings.CutSuffix(text, "*")
	if !found || len(word) > maxTerm || utf8.RuneCountInString(word) < shortestBeginning ||
		strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || syllabic(r) }) {
		return nil
	}
	word, plain := fold(word)
	b := Beginning{Text: strings.ToLower(word)}
	for _, ending := range endings {
		stem := englishTerm(b.Text+ending, plain)
		if plain && len(stem) >= shortestBeginning && len(stem) < len(b.Text) && strings.HasPrefix(b.Text, stem) && !IsStop(stem) && !slices.Contains(b.Stems, stem) {
			b.Stems = append(b.Stems, stem)
		}
	}
	return []Beginning{b}
}

// closingMarks has the quotation marks that begin a phrase, and those that may end it. A
// guillemet is closed by the opposite one alone: "Home » Search » Help" has no phrases.
var closingMarks = map[rune]string{'"': "\"“”", '“': "\"“”", '„': "\"“”", '«': "»", '»': "«", '「': "」", '『': "』"}

// operand returns the end of the phrase or excluded word that begins at offset start, and
// the phrase without its quotation marks. If there is none, end is start.
func operand(text string, start int, excluded bool, before rune) (end int, phrase string) {
	opening, n := utf8.DecodeRuneInString(text[start:])
	if closings := closingMarks[opening]; closings != "" {
		if !excluded && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
			return start, "" // a closing mark, or inches
		}
		rest := text[start+n:]
		if at := strings.IndexAny(rest, closings); at > 0 {
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
	word := text[start:end]
	first, _ := utf8.DecodeRuneInString(word)
	if !syllabic(first) && utf8.RuneCountInString(word) < shortestExcluded ||
		strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		return start, ""
	}
	return end, ""
}

// Plain reports whether the search has no operators.
func (s Syntax) Plain() bool { return len(s.phrases) == 0 && len(s.excluded) == 0 }

// Terms returns lists of terms of each of which a passage has to contain one, and terms
// that it must not contain: those of a word in all languages. An engine can filter by
// them; Matches also checks the order of words.
func (s Syntax) Terms() (required [][]string, excluded []string) {
	for _, phrase := range s.phrases {
		forms := termsInAll(phrase)
		for i, t := range forms[0] {
			if slices.ContainsFunc(required, func(r []string) bool { return r[0] == t }) {
				continue
			}
			var word []string
			for _, f := range forms {
				if !slices.Contains(word, f[i]) {
					word = append(word, f[i])
				}
			}
			required = append(required, word)
		}
	}
	for _, phrase := range s.excluded {
		if forms := termsInAll(phrase); len(forms[0]) == 1 {
			for _, f := range forms {
				excluded = append(excluded, f[0])
			}
		}
	}
	return required, excluded
}

// termsInAll returns the terms of a phrase in English and then in each other language.
func termsInAll(phrase string) [][]string {
	forms := [][]string{queryTerms(nil, phrase)}
	for _, l := range language.All {
		forms = append(forms, queryTerms(l, phrase))
	}
	return forms
}

// Matches reports whether a passage has what the operators demand.
func (s Syntax) Matches(c Candidate) bool {
	if s.Plain() {
		return true
	}
	l := languageOf(c.Title, c.Section, c.Text)
	var words, sequences [][]string
	for _, text := range append(strings.Split(c.Section, pathSeparator), c.Title, c.Text) {
		words, sequences = append(words, termsIn(l, text)), append(sequences, queryTerms(l, text))
	}
	occurs := func(phrase string) bool {
		terms := queryTerms(l, phrase)
		if len(terms) == 1 {
			return slices.ContainsFunc(words, func(text []string) bool { return slices.Contains(text, terms[0]) })
		}
		return slices.ContainsFunc(sequences, func(text []string) bool { return containsSequence(text, terms) })
	}
	return !slices.ContainsFunc(s.phrases, func(phrase string) bool { return !occurs(phrase) }) &&
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
