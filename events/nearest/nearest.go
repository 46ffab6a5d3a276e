// Package nearest finds the known name that is most similar to an unknown name, which is
// probably mistyped. Error messages suggest the known name.
package nearest

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	// maxName is the maximum number of characters that are compared or shown.
	maxName = 64
	// minPrefix is the length of a common prefix that makes names similar, such as
	// folder and folder_name.
	minPrefix = 3
)

var plain = strings.NewReplacer("_", "", "-", "", " ", "")

// Of returns the known name that is most similar to name; ok is false if no known name
// is similar. Case, hyphens and underscores are ignored.
func Of(name string, known []string) (best string, ok bool) {
	name = plain.Replace(strings.ToLower(Shortened(name)))
	lowest := 0
	for _, k := range known {
		other := plain.Replace(strings.ToLower(k))
		distance := levenshtein.ComputeDistance(name, other)
		long := max(utf8.RuneCountInString(name), utf8.RuneCountInString(other))
		if distance > allowed(long) && common(name, other) < minPrefix {
			continue
		}
		// At equal distance prefer the longer common prefix.
		if rank := 2*distance - common(name, other); !ok || rank < lowest {
			best, lowest, ok = k, rank, true
		}
	}
	return best, ok
}

// Hint returns a hint for an unknown name: the most similar known name, or all known
// names.
func Hint(name string, known []string) string {
	if best, ok := Of(name, known); ok {
		return "did you mean " + best + "?"
	}
	if len(known) == 0 {
		return "nothing is known here"
	}
	return "known: " + strings.Join(known, ", ")
}

// Shortened returns at most the first 64 characters of a name.
func Shortened(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxName {
			return name[:i] + "…"
		}
	}
	return name
}

// allowed returns the maximum edit distance between similar names of the given length. A
// transposition counts as two edits.
func allowed(long int) int {
	if long < 5 {
		return 1
	}
	return max(2, long/3)
}

// common returns the length of the common prefix in bytes.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
