package extract

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The media types of files that can be read.
const (
	PDF       = "application/pdf"
	Word      = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	Markdown  = "text/markdown"
	PlainText = "text/plain"
)

var mediaTypes = map[string]string{
	".pdf":      PDF,
	".docx":     Word,
	".md":       Markdown,
	".markdown": Markdown,
	".txt":      PlainText,
	".text":     PlainText,
}

// Supported returns the media type of files so named, without parameters,
// and whether they can be read. The extension decides, in any case.
func Supported(name string) (mediaType string, ok bool) {
	mediaType, ok = mediaTypes[Extension(name)]
	return mediaType, ok
}

// IsXML reports whether files so named hold their text as compressed XML.
func IsXML(name string) bool { return Extension(name) == ".docx" }

// NameFor returns a name under which a file of a media type can be read: the
// given one, with an extension of that type added if its own is unknown.
func NameFor(name, mediaType string) string {
	if _, ok := Supported(name); ok {
		return name
	}
	for _, ext := range Extensions() {
		if mediaTypes[ext] == mediaType {
			return name + ext
		}
	}
	return name
}

// Extension returns the extension of a name, with its dot, in lower case.
func Extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Extensions returns the extensions of all files that can be read, sorted,
// each with its dot.
func Extensions() []string {
	return slices.Sorted(maps.Keys(mediaTypes))
}
