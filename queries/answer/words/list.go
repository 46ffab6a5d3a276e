package words

import "strings"

// List quotes and joins words, at most eight.
func List(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, w := range words[:min(len(words), 8)] {
		quoted = append(quoted, "“"+w+"”")
	}
	if len(words) > 8 {
		return strings.Join(quoted, ", ") + " and more"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}

// Verb chooses the form of a verb whose subject is a list of words.
func Verb(words []string, one, many string) string {
	if len(words) == 1 {
		return one
	}
	return many
}
