package docx_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/commands/importer/extract/extracttest"
)

// BenchmarkDOCX reports the uncompressed bytes of the main part per second.
func BenchmarkDOCX(b *testing.B) {
	body := strings.Repeat(extracttest.P("A paragraph like many others in this long document, with some words to read.")+extracttest.Styled("Heading1", "A heading"), 5_000)
	path := filepath.Join(b.TempDir(), "a.docx")
	if err := os.WriteFile(path, extracttest.DOCX(b, body, nil), 0o600); err != nil {
		b.Fatal(err)
	}
	r := extracttest.LocalReader(b)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.docx", extracttest.Discard, nil); err != nil {
			b.Fatal(err)
		}
	}
}
