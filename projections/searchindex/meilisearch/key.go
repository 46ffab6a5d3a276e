package meilisearch

import (
	"encoding/hex"
	"strings"
)

// maxKey is the maximum length of an id in bytes.
const maxKey = 511

// key encodes an id or a tag in characters that Meilisearch allows in ids. Keys also
// differ in filters, which ignore case. Lower-case letters and digits are not changed,
// nor is "-" between two of them. A slash between two of them becomes "--", and any other
// byte becomes _xx. The keys of passages sort like their ids.
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

// parseKey is the inverse of key. ok is false for other strings.
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
