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

// maxFileName is the maximum length of a document's name in bytes.
const maxFileName = 255

// fileName returns the document name for the file name that a client sent: the last part of
// its path, in NFC, without control characters, cut to 255 bytes including its extension. It
// removes invisible characters; if there are any, wrong is the error that names the first.
func fileName(given string) (name, wrong string) {
	name = plainName(given)
	if c, found := lookalike.Hidden(name); found {
		return plainName(lookalike.Clean(name)), fmt.Sprintf("the file's name contains %s, which is invisible: remove it", c)
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

// cut returns the beginning of a text: up to n bytes, without splitting a character.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// FileName returns the name under which a file with the given name is stored as a document.
func FileName(given string) string {
	name, _ := fileName(given)
	return name
}
