// Package nearest finds the name that was probably meant by one that nobody
// knows, so that whoever mistyped it learns what to write.
package nearest

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	// maxName is how many characters of a name are compared or shown; it may
	// be as long as a request.
	maxName = 64
	// sharedStart is how many first letters in common make names similar,
	// however they go on: folder and folder_name, tag and tags.
	sharedStart = 3
)

var plain = strings.NewReplacer("_", "", "-", "", " ", "")

// Of returns the one of some names that is most like name; ok is false if none
// is like it. Case, hyphens and underscores make no difference.
func Of(name string, known []string) (best string, ok bool) {
	name = plain.Replace(strings.ToLower(Shortened(name)))
	least := 0
	for _, k := range known {
		other := plain.Replace(strings.ToLower(k))
		distance := levenshtein.ComputeDistance(name, other)
		long := max(utf8.RuneCountInString(name), utf8.RuneCountInString(other))
		if distance > allowed(long) && common(name, other) < sharedStart {
			continue
		}
		// Of names that differ by as much, the one that begins alike for longer.
		if rank := 2*distance - common(name, other); !ok || rank < least {
			best, least, ok = k, rank, true
		}
	}
	return best, ok
}

// Hint says what was probably meant by an unknown name, or else what is known.
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

// allowed returns how many letters of a name may be wrong: two that changed
// places are two.
func allowed(long int) int {
	if long < 5 {
		return 1
	}
	return max(2, long/3)
}

// common returns how many first bytes two texts share.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
