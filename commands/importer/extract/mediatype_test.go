package extract_test

import (
	"testing"

	"annals/commands/importer/extract"
)

func TestNameFor(t *testing.T) {
	for _, test := range [][3]string{
		{"a.PDF", "text/plain", "a.PDF"},
		{"notes", "application/pdf", "notes.pdf"},
		{"v1.2 notes", extract.Word, "v1.2 notes.docx"},
		{"notes", "image/png", "notes"},
		{"notes", "", "notes"},
	} {
		if got := extract.NameFor(test[0], test[1]); got != test[2] {
			t.Errorf("NameFor(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
	for _, ext := range extract.Extensions() {
		mediaType, _ := extract.Supported(ext)
		if got, _ := extract.Supported(extract.NameFor("notes", mediaType)); got != mediaType {
			t.Errorf("NameFor of a %s file without extension has media type %s", ext, got)
		}
	}
}
