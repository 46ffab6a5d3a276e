// Package lookalike tells names that people would take for one another: by
// characters that show nothing, and by letters that look like others, as Unicode
// Technical Standard #39 has it. It imports nothing of ours.
package lookalike

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:embed confusables.txt
var table string

// prototypes says, of characters that look like others, which these are.
var prototypes = sync.OnceValue(func() map[rune]string {
	all := make(map[rune]string, 7000)
	for line := range strings.Lines(table) {
		to, from, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		var prototype strings.Builder
		for code := range strings.FieldsSeq(to) {
			prototype.WriteRune(character(code))
		}
		for code := range strings.FieldsSeq(from) {
			all[character(code)] = prototype.String()
		}
	}
	return all
})

func character(code string) rune {
	n, err := strconv.ParseUint(code, 16, 32)
	if err != nil {
		panic("lookalike: the table of confusable characters holds " + strconv.Quote(code))
	}
	return rune(n)
}

// Skeleton returns a text that two names have in common if they look alike. It
// is not for people to read.
func Skeleton(name string) string {
	prototypes := prototypes()
	var b strings.Builder
	plain := true
	for _, r := range norm.NFD.String(name) {
		if ignorable(r) && r != brailleBlank {
			continue
		}
		if prototype, known := prototypes[r]; known {
			b.WriteString(prototype)
			plain = plain && ascii(prototype)
			continue
		}
		b.WriteRune(r)
		plain = plain && r < utf8.RuneSelf
	}
	if plain {
		return b.String()
	}
	return norm.NFD.String(b.String())
}

// Alike reports whether a name may be taken for another one. Two names that are
// both plain ASCII never are: report1 and reportl are common, and everybody
// knows to look twice at them.
func Alike(a, b string) bool {
	return a != b && !(ascii(a) && ascii(b)) && Skeleton(a) == Skeleton(b)
}

// Key returns under what a name is kept among others that it is to be compared
// with: Alike names have their keys among each other's Rivals.
func Key(name string) string {
	if ascii(name) {
		return plainKey + Skeleton(name)
	}
	return otherKey + Skeleton(name)
}

// Rivals returns the keys of names that look like one, and may be it.
func Rivals(name string) []string {
	skeleton := Skeleton(name)
	if ascii(name) {
		return []string{otherKey + skeleton}
	}
	return []string{plainKey + skeleton, otherKey + skeleton}
}

// What keys begin with, of names that are plain ASCII and of others.
const plainKey, otherKey = "a", "u"

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
