package meilisearch

import (
	"encoding/hex"
	"strings"
)

// maxKey is how long an id may be at most.
const maxKey = 511

// key writes an id, or a tag, with the characters that Meilisearch takes for
// ids and keeps apart in filters, where letters in upper case are like those in
// lower case: small letters and digits stand for themselves, "-" between two of
// them too, "--" is a slash between two, and _xx any other byte. What the keys
// of passages are compared by is the order of their ids.
func key(id string) string {
	plain := true
	for i := range len(id) {
		plain = plain && keyByte(id[i])
	}
	switch {
	case id == "":
		return "_"
	case plain:
		return id
	}
	var b strings.Builder
	for i := range len(id) {
		inside := i > 0 && i+1 < len(id) && keyByte(id[i-1]) && keyByte(id[i+1])
		switch c := id[i]; {
		case keyByte(c), c == '-' && inside:
			b.WriteByte(c)
		case c == '/' && inside:
			b.WriteString("--")
		default:
			b.WriteByte('_')
			b.WriteString(hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}

func keyByte(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' }

func keys(ids []string) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = key(id)
	}
	return all
}

// parseKey is the inverse of key; ok is false for what is no key.
func parseKey(text string) (id string, ok bool) {
	if text == "_" {
		return "", true
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "--"):
			b.WriteByte('/')
			rest = rest[2:]
		case rest[0] == '_':
			if len(rest) < 3 {
				return "", false
			}
			c, err := hex.DecodeString(rest[1:3])
			if err != nil {
				return "", false
			}
			b.Write(c)
			rest = rest[3:]
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return b.String(), true
}
