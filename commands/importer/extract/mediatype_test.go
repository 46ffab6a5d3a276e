package extract_test

import (
	"strings"
	"testing"

	"annals/commands/importer/extract"
)

func TestNameOf(t *testing.T) {
	for _, test := range [][3]string{
		{"notes.txt", extract.PlainText, "notes.txt"}, {"notes.TEXT", extract.PlainText, "notes.TEXT"},
		{"notes.md", extract.PlainText, "notes.md.txt"}, {"scan.pdf", extract.PNG, "scan.pdf.png"}, {"x.md", "x/unknown", "x.md"},
	} {
		if got := extract.NameOf(test[0], test[1]); got != test[2] {
			t.Errorf("NameOf(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
}

func TestNameFor(t *testing.T) {
	for _, test := range [][3]string{
		{"a.PDF", "text/plain", "a.PDF"},
		{"notes", "application/pdf", "notes.pdf"},
		{"v1.2 notes", extract.Word, "v1.2 notes.docx"},
		{"notes", "image/gif", "notes"},
		{"notes", "", "notes"},
	} {
		if got := extract.NameFor(test[0], test[1]); got != test[2] {
			t.Errorf("NameFor(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
	for _, f := range extract.AllFormats() {
		if got, _ := extract.AllFormats().Supports(extract.NameFor("notes", f.MediaType)); got != f.MediaType {
			t.Errorf("NameFor of a %s file without extension has media type %s", f.Extension, got)
		}
	}
}

func TestParseFormats(t *testing.T) {
	for _, test := range []struct {
		given []string
		want  string // in an error, if there is one
	}{
		{[]string{"standard"}, ".pdf, .docx, .md, .markdown, .txt, .text"},
		{[]string{"txt", " .PDF"}, ".pdf, .txt"},
		{[]string{".md", ".md"}, ".md"},
		{[]string{"all"}, extract.AllFormats().String()},
		{[]string{".exe"}, `files of type ".exe" cannot be read`},
		{[]string{""}, `files of type "" cannot be read`},
		{nil, "no type of files is given"},
	} {
		got, err := extract.ParseFormats(test.given)
		if err == nil && got.String() != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("ParseFormats(%q) = %s, %v, want %q", test.given, got, err, test.want)
		}
	}
}
