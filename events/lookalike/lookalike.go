// Package lookalike tells names that people would take for one another: by
// characters that show nothing, and by letters that look like others, as Unicode
// Technical Standard #39 has it. It imports nothing of ours.
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
// is not for people to read. White space of any kind and length is one blank in
// it: web pages and Markdown show no more.
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

// Spaced returns a name with one blank for each run of white space.
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

// Alike reports whether a name may be taken for another one. Two names that are
// both plain ASCII never are, but for their blanks: report1 and reportl are common,
// and everybody knows to look twice at them.
func Alike(a, b string) bool {
	switch {
	case a == b:
		return false
	case ascii(a) && ascii(b):
		return Spaced(a) == Spaced(b)
	}
	return Skeleton(a) == Skeleton(b)
}

// Key returns under what a name is kept among others that it is to be compared
// with: Alike names have their keys among each other's Rivals.
func Key(name string) string {
	if ascii(name) {
		return plainKey + Skeleton(name)
	}
	return otherKey + Skeleton(name)
}

// Rival says where names are kept that one may be taken for: under Key and, unless
// it is "", with the same Spaced.
type Rival struct{ Key, Spaced string }

// Rivals returns where names are kept that one may be taken for. The name itself
// may be among them.
func Rivals(name string) []Rival {
	skeleton := Skeleton(name)
	if ascii(name) {
		return []Rival{{otherKey + skeleton, ""}, {plainKey + skeleton, Spaced(name)}}
	}
	return []Rival{{plainKey + skeleton, ""}, {otherKey + skeleton, ""}}
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
