package extract

import "testing"

func TestNameFor(t *testing.T) {
	for _, test := range [][3]string{
		{"a.PDF", "text/plain", "a.PDF"},
		{"notes", "application/pdf", "notes.pdf"},
		{"v1.2 notes", mediaTypes[".docx"], "v1.2 notes.docx"},
		{"notes", "image/png", "notes"},
		{"notes", "", "notes"},
	} {
		if got := NameFor(test[0], test[1]); got != test[2] {
			t.Errorf("NameFor(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
	for ext, mediaType := range mediaTypes {
		if got, _ := Supported(NameFor("notes", mediaType)); got != mediaType {
			t.Errorf("a %s without its extension is read as %s", ext, got)
		}
	}
}
