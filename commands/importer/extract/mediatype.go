package extract

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The media types of files that can be read.
const (
	PDF          = "application/pdf"
	Word         = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	PowerPoint   = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	Excel        = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	OpenDocument = "application/vnd.oasis.opendocument.text"
	Markdown     = "text/markdown"
	PlainText    = "text/plain"
	HTML         = "text/html"
	CSV          = "text/csv"
	TSV          = "text/tab-separated-values"
	Mail         = "message/rfc822"
	EPUB         = "application/epub+zip"
	RTF          = "application/rtf"
	PNG          = "image/png"
	JPEG         = "image/jpeg"
	TIFF         = "image/tiff"
	WebP         = "image/webp"
	BMP          = "image/bmp"
)

// Format describes the files whose names have one extension.
type Format struct {
	Extension  string // in lower case, with the dot
	MediaType  string
	Pages      bool // the files have pages, slides or sheets
	Standard   bool // a server reads these files if it is not configured otherwise
	Compressed bool // the text is compressed XML, so that it may be longer than the file
}

// all lists every format that can be read. If several extensions have the same media type,
// NameFor uses the first.
var all = Formats{
	{Extension: ".pdf", MediaType: PDF, Pages: true, Standard: true},
	{Extension: ".docx", MediaType: Word, Pages: true, Standard: true, Compressed: true},
	{Extension: ".md", MediaType: Markdown, Standard: true},
	{Extension: ".markdown", MediaType: Markdown, Standard: true},
	{Extension: ".txt", MediaType: PlainText, Standard: true},
	{Extension: ".text", MediaType: PlainText, Standard: true},
	{Extension: ".html", MediaType: HTML},
	{Extension: ".htm", MediaType: HTML},
	{Extension: ".pptx", MediaType: PowerPoint, Pages: true, Compressed: true},
	{Extension: ".xlsx", MediaType: Excel, Pages: true, Compressed: true},
	{Extension: ".odt", MediaType: OpenDocument, Pages: true, Compressed: true},
	{Extension: ".csv", MediaType: CSV},
	{Extension: ".tsv", MediaType: TSV},
	{Extension: ".eml", MediaType: Mail},
	{Extension: ".epub", MediaType: EPUB, Compressed: true},
	{Extension: ".rtf", MediaType: RTF},
	{Extension: ".png", MediaType: PNG, Pages: true},
	{Extension: ".jpg", MediaType: JPEG, Pages: true},
	{Extension: ".jpeg", MediaType: JPEG, Pages: true},
	{Extension: ".tif", MediaType: TIFF, Pages: true},
	{Extension: ".tiff", MediaType: TIFF, Pages: true},
	{Extension: ".webp", MediaType: WebP, Pages: true},
	{Extension: ".bmp", MediaType: BMP, Pages: true},
}

// Formats are formats that a server reads.
type Formats []Format

// AllFormats returns every format that can be read.
func AllFormats() Formats { return slices.Clone(all) }

// StandardFormats returns the formats that a server reads if it is not configured otherwise.
func StandardFormats() Formats {
	return slices.DeleteFunc(AllFormats(), func(f Format) bool { return !f.Standard })
}

// ParseFormats returns the formats with the given extensions, with or without the dot. The
// words "standard" and "all" stand for StandardFormats and AllFormats.
func ParseFormats(extensions []string) (Formats, error) {
	var chosen Formats
	for _, name := range extensions {
		var found Formats
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "all":
			found = all
		case "standard":
			found = StandardFormats()
		default:
			if f, ok := all.format("." + strings.TrimPrefix(name, ".")); ok {
				found = Formats{f}
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("files of type %q cannot be read: the types are %s, or standard, or all", name, all)
		}
		chosen = append(chosen, found...)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no type of files is given: the types are %s, or standard, or all", all)
	}
	return slices.DeleteFunc(AllFormats(), func(f Format) bool { return !slices.Contains(chosen, f) }), nil
}

// String returns the extensions of the formats, such as ".md, .txt".
func (f Formats) String() string {
	names := make([]string, len(f))
	for i, one := range f {
		names[i] = one.Extension
	}
	return strings.Join(names, ", ")
}

// Supports returns the media type of a file by the extension of its name, ignoring case. ok is
// false if the formats do not include such files.
func (f Formats) Supports(name string) (mediaType string, ok bool) {
	found, ok := f.format(Extension(name))
	return found.MediaType, ok
}

func (f Formats) format(extension string) (found Format, ok bool) {
	i := slices.IndexFunc(f, func(one Format) bool { return one.Extension == extension })
	if i < 0 {
		return Format{}, false
	}
	return f[i], true
}

// IsCompressed reports whether a file with this name contains its text as compressed XML.
func IsCompressed(name string) bool {
	f, _ := all.format(Extension(name))
	return f.Compressed
}

// NameFor returns name if its extension is that of a standard format, or of the media type.
// Otherwise it appends an extension of the media type: a document that was renamed from
// notes.txt to notes.csv is still plain text.
func NameFor(name, mediaType string) string {
	if f, ok := all.format(Extension(name)); ok && f.Standard {
		return name
	}
	return NameOf(name, mediaType)
}

// NameOf returns name if its extension is that of the media type. Otherwise it appends an
// extension of the media type.
func NameOf(name, mediaType string) string {
	if f, ok := all.format(Extension(name)); ok && f.MediaType == mediaType {
		return name
	}
	for _, f := range all {
		if f.MediaType == mediaType {
			return name + f.Extension
		}
	}
	return name
}

// Extension returns the extension of a name in lower case, with the dot.
func Extension(name string) string { return strings.ToLower(filepath.Ext(name)) }
