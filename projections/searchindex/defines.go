package searchindex

import (
	"strings"

	"annals/projections/searchindex/language"
)

const (
	// definedTerms is the maximum number of words, without stop words, of a query that may
	// ask what something is. Longer queries name more than one thing.
	definedTerms = 3
	// definedHead is the maximum length in bytes of what is before a definition.
	definedHead = 80
)

// defines reports whether candidate i, which has the given text, defines what the query
// names: "What is a lease?", or just "lease". Other passages repeat the word more often,
// and the engine prefers them.
func (r *reranking) defines(i int, text string) bool {
	if r.named == 0 || r.named > definedTerms {
		return false
	}
	l := r.candidates[i].language
	for line := range strings.Lines(text) {
		for _, head := range definedBy(strings.TrimSpace(line)) {
			if r.isNamed(l, head) {
				return true
			}
		}
	}
	return false
}

// definedBy returns what a line of Markdown defines: the names in the first cell of a row,
// what is in bold at the beginning, or what is before a colon, a dash or "is a".
func definedBy(line string) []string {
	if row, ok := strings.CutPrefix(line, "|"); ok {
		first, rest, _ := strings.Cut(row, "|")
		if strings.Trim(rest, "| -:") == "" || len(first) > definedHead {
			return nil
		}
		return strings.Split(first, ",")
	}
	line = strings.TrimLeft(line, "-*+ ")
	line = line[:min(len(line), definedHead+8)]
	for _, separator := range []string{":** ", "** ", ": ", " – ", " — ", " is a ", " is an ", " is the ", " are ", " means "} {
		if head, rest, found := strings.Cut(line, separator); found && rest != "" && len(head) <= definedHead {
			return []string{head}
		}
	}
	return nil
}

// isNamed reports whether a text has the same words as the query, apart from stop words.
func (r *reranking) isNamed(l *language.Language, text string) bool {
	found := make(map[int32]bool, definedTerms)
	for _, t := range queryTerms(l, text) {
		n, known := r.vocabulary[t]
		switch {
		case stopTerms[t]:
		case !known || n >= r.wanted || len(found) > r.named:
			return false
		default:
			found[n] = true
		}
	}
	return len(found) == r.named
}
