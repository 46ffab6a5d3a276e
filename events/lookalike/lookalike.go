// Package lookalike finds names that users could confuse because of hidden characters or
// characters that look alike. It follows Unicode Technical Standard #39. It imports no
// other package of this module.
package lookalike

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:embed confusables.txt
var table string

// prototypes maps each confusable character to the text that it looks like.
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
		panic("lookalike: the table of confusable characters has the invalid code " + strconv.Quote(code))
	}
	return rune(n)
}

// Skeleton returns a text that is equal for names that look alike. It is not meant for
// display. A run of white space counts as one space, as web pages and Markdown show it.
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
		return Spaced(b.String())
	}
	return Spaced(norm.NFD.String(b.String()))
}

// Spaced returns a name with one space for each run of white space.
func Spaced(name string) string {
	var b strings.Builder
	last := 'x'
	for _, r := range name {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if r != ' ' || last != ' ' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// Alike reports whether two different names can be confused. Two ASCII names are alike
// only if they differ in white space: names such as report1 and reportl are common, and
// users know that they are similar.
func Alike(a, b string) bool {
	switch {
	case a == b:
		return false
	case ascii(a) && ascii(b):
		return Spaced(a) == Spaced(b)
	}
	return Skeleton(a) == Skeleton(b)
}

// Key returns the key of a name in an index of names. If two names are Alike, the key of
// one is among the Rivals of the other.
func Key(name string) string {
	if ascii(name) {
		return plainKey + Skeleton(name)
	}
	return otherKey + Skeleton(name)
}

// Rival describes names in the index: all names with this Key and, unless the field
// Spaced is empty, for which the function Spaced returns this result.
type Rival struct{ Key, Spaced string }

// Rivals describes all names in the index that are Alike to a name. The description may
// also match the name itself.
func Rivals(name string) []Rival {
	skeleton := Skeleton(name)
	if ascii(name) {
		return []Rival{{otherKey + skeleton, ""}, {plainKey + skeleton, Spaced(name)}}
	}
	return []Rival{{plainKey + skeleton, ""}, {otherKey + skeleton, ""}}
}

// Prefixes of the keys of ASCII names and of other names.
const plainKey, otherKey = "a", "u"

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
