package ingest

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/lookalike"

	"golang.org/x/text/unicode/norm"
)

// maxFileName is the most bytes of a document's name.
const maxFileName = 255

// fileName returns a document's name for a client's name of a file: the last part of
// its path, with either separator, in NFC, without control characters, and of at most
// 255 bytes including its extension. wrong says why a document cannot have that name;
// the offending parts are then removed.
func fileName(given string) (name, wrong string) {
	name = plainName(given)
	if c, found := lookalike.Hidden(name); found {
		return plainName(lookalike.Clean(name)), fmt.Sprintf("the file's name holds %s, which nobody sees: leave it out", c)
	}
	return name, ""
}

func plainName(given string) string {
	name := strings.ToValidUTF8(given, "\uFFFD")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
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

// cut returns at most the first n bytes of a text, cut between characters.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// FileName returns the document name for a file of this name.
func FileName(given string) string {
	name, _ := fileName(given)
	return name
}
