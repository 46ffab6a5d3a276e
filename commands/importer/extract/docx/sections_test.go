package docx_test

import (
	"strings"
	"testing"

	"annals/commands/importer/extract/extracttest"
)

// Each section becomes a passage in the search index. A small file must not become many
// sections, even if it contains many headings when uncompressed.
func TestSectionsBoundedByFileSize(t *testing.T) {
	heading := `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>h</w:t></w:r></w:p>`
	small := extracttest.DOCX(t, strings.Repeat(heading, 60_000), nil)
	got, info, err := extracttest.Read(t, "a.docx", small)
	if err != nil {
		t.Fatal(err)
	}
	if most := max(500, len(small)/32); info.Sections > most || info.Sections < 100 {
		t.Errorf("a Word document of %d bytes has %d sections, want at most %d", len(small), info.Sections, most)
	}
	if !strings.Contains(strings.Join(info.Warnings, " "), "too many headings for its size") {
		t.Errorf("warnings = %q, want one about headings", info.Warnings)
	}
	text := ""
	for _, s := range got {
		text += s.Text
	}
	if !strings.Contains(text, "# h\n") {
		t.Error("headings that start no section are missing from the text")
	}

	large := strings.Repeat("# A heading\n\n"+strings.Repeat("A short sentence stands here. ", 4)+"\n\n", 2000)
	if _, info, err := extracttest.Read(t, "a.md", []byte(large)); err != nil || info.Sections != 2000 {
		t.Errorf("a file of 2000 short sections has %d sections (%v)", info.Sections, err)
	}
}
