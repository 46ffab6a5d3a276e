package http

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxFileName is the most bytes of a document's name.
const maxFileName = 255

// fileName makes a document's name of what a client calls a file: its last
// part, whichever way the client's paths are written, in NFC, without control
// characters and those that turn the direction of writing, and of at most 255
// bytes with its extension kept.
func fileName(given string) string {
	name := strings.ToValidUTF8(given, "\uFFFD")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(norm.NFC.String(name))
	if name == "" || name == "." || name == ".." {
		return "unnamed"
	}
	if len(name) <= maxFileName {
		return name
	}
	ext := path.Ext(name)
	if len(ext) > 16 {
		ext = ""
	}
	return cut(name, maxFileName-len(ext)) + ext
}

// cut returns the first bytes of a text, at most n, without half a character.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
