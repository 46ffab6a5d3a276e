package extract

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// writePDF writes a PDF with one page for each text, whose lines stand one
// below the other, and returns its path.
func writePDF(t testing.TB, pages ...string) string {
	path := filepath.Join(t.TempDir(), "test.pdf")
	var contents []string
	for _, p := range pages {
		contents = append(contents, "BT /F1 10 Tf 72 700 Td ("+p+") Tj ET")
	}
	if err := os.WriteFile(path, pdfOf(contents...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pdfOf returns a PDF of pages with these contents, in which F1 is Helvetica
// and F2 is bold.
func pdfOf(contents ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range contents {
		kids += fmt.Sprintf("%d 0 R ", 5+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [ %s] /Count %d >>", kids, len(contents))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>")
	for i, c := range contents {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>", 6+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(c), c)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}
