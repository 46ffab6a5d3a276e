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

// Supported returns the media type of a file by the extension of its name, ignoring case.
// ok is false if such files cannot be read.
func Supported(name string) (mediaType string, ok bool) {
	mediaType, ok = mediaTypes[Extension(name)]
	return mediaType, ok
}

// IsXML reports whether a file with this name contains its text as compressed XML.
func IsXML(name string) bool { return Extension(name) == ".docx" }

// NameFor returns name. If its extension is not supported, NameFor appends an extension of
// the media type.
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

// Extension returns the extension of a name in lower case, with the dot.
func Extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Extensions returns the sorted extensions of all files that can be read, with the dot.
func Extensions() []string {
	return slices.Sorted(maps.Keys(mediaTypes))
}
