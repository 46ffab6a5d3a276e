package extract

import (
	"cmp"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"annals/events/lookalike"

	"golang.org/x/text/unicode/norm"
)

// CleanTitle returns a title as a single line of at most MaxTitle bytes, without invisible
// characters.
func CleanTitle(title string) string {
	title = strings.Join(strings.Fields(lookalike.Clean(strings.Join(strings.Fields(norm.NFC.String(cleanText(title))), " "))), " ")
	if len(title) <= MaxTitle {
		return title
	}
	n := MaxTitle
	for !utf8.RuneStart(title[n]) {
		n--
	}
	return strings.TrimSpace(title[:n])
}

// TitleOfName makes a title from a file's name: it removes the folder and the extension. If
// the name has no spaces, it replaces underscores by spaces.
func TitleOfName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	base := name[strings.LastIndexByte(name, '/')+1:]
	title := strings.TrimSuffix(base, filepath.Ext(base))
	if !strings.Contains(title, " ") {
		title = strings.ReplaceAll(title, "_", " ")
	}
	return cmp.Or(CleanTitle(title), base)
}
