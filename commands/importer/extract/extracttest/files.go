package extracttest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Namespaces and relationships of Word documents.
const (
	WordNS   = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"`
	StrictNS = `xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"`
	RelsHead = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	RelType  = `http://schemas.openxmlformats.org/officeDocument/2006/relationships/`
)

// DOCX returns a Word document with this body and additional parts.
func DOCX(t testing.TB, body string, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"_rels/.rels":       RelsHead + `<Relationship Id="r1" Type="` + RelType + `officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml": `<?xml version="1.0"?><w:document ` + WordNS + `><w:body>` + body + `</w:body></w:document>`,
	}
	for name, text := range parts {
		all[name] = text
	}
	return Archive(t, all)
}

// Archive returns a ZIP archive with these parts.
func Archive(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, text := range parts {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// P returns a paragraph of a Word document.
func P(text string) string {
	return `<w:p><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

// Styled returns a paragraph with a style.
func Styled(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

// PDF returns a PDF file with one page for each of the content streams. Font F1 is
// Helvetica, F2 is bold.
func PDF(contents ...string) []byte {
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

// LargeFile creates a file of about size bytes, with the lines that the function line
// returns. It returns the path of the file.
func LargeFile(t testing.TB, name string, size int, line func(i int) string) string {
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i, n := 0, 0; n < size; i++ {
		k, err := w.WriteString(line(i))
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
