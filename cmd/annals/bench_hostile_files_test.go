package main

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// costlyKinds is the number of kinds of files that costlyFile creates.
const costlyKinds = 18

// costlyFile returns a small file that is expensive to import. kind is 0 to
// costlyKinds-1. Each file has unique bytes, because the server does not import the
// same bytes a second time.
func costlyFile(kind int, random *rand.Rand) upload {
	salt := fmt.Sprint(random.Uint64())
	markdown := func(head, text string) upload {
		return upload{fmt.Sprintf("c%d-%s.md", kind, salt), []byte(head + "# " + salt + "\n\n" + text)}
	}
	word := func(body string) upload {
		return upload{fmt.Sprintf("c%d-%s.docx", kind, salt), wordOf(`<w:p><w:r><w:t>` + salt + `</w:t></w:r></w:p>` + body)}
	}
	switch kind {
	case 0: // front matter with one very long dotted key
		var keys strings.Builder
		for i := range 15_000 {
			fmt.Fprintf(&keys, "a%d.", i%7)
		}
		return markdown("+++\n"+keys.String()+"z = 1\n+++\n", "text")
	case 1: // front matter with many keys
		var keys strings.Builder
		for i := range 4000 {
			fmt.Fprintf(&keys, "a%d.b.c = 1\n", i)
		}
		return markdown("+++\n"+keys.String()+"+++\n", "text")
	case 2: // references that expand exponentially
		yaml := "---\na: &a [x,x,x,x,x,x,x,x,x]\n"
		for c := 'b'; c < 'k'; c++ {
			p := string(c - 1)
			yaml += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+p+",", 9), ","))
		}
		return markdown(yaml+"---\n", "text")
	case 3:
		return markdown("---\na: "+strings.Repeat("[", 20_000)+"\n---\n", "text")
	case 4:
		return markdown("", strings.Repeat(strings.Repeat("> ", 2000)+"deep\n\n", 20))
	case 5:
		var list strings.Builder
		for depth := range 500 {
			list.WriteString(strings.Repeat("  ", depth) + "- item\n")
		}
		return markdown("", list.String())
	case 6:
		return markdown("", strings.Repeat("[a](", 30_000)+strings.Repeat("![[", 20_000))
	case 7:
		return markdown("", strings.Repeat("*a_ **b ", 20_000)+strings.Repeat("`", 20_001))
	case 8: // a wide table with short rows
		return markdown("", strings.Repeat("|a", 3000)+"|\n"+strings.Repeat("|-", 3000)+"|\n"+strings.Repeat("|b|\n", 10_000))
	case 9:
		return upload{fmt.Sprintf("c%d-%s.txt", kind, salt), []byte(salt + "\n\n" + strings.Repeat("1. HEADING\n\nx\n\n", 20_000))}
	case 10:
		return word(`<w:tbl>` + strings.Repeat(`<w:tr><w:tc><w:tcPr><w:gridSpan w:val="1000"/></w:tcPr><w:p/></w:tc></w:tr>`, 20_000) + `</w:tbl>`)
	case 11:
		return word(strings.Repeat(`<w:tbl><w:tr><w:tc>`, 200) + `<w:p/>` + strings.Repeat(`</w:tc></w:tr></w:tbl>`, 200))
	case 12:
		return word(strings.Repeat(`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>h</w:t></w:r></w:p>`, 60_000))
	case 13:
		return word(strings.Repeat(`<w:p><w:bookmarkStart w:id="1" w:name="b"/><w:hyperlink w:anchor="b"><w:r><w:t xml:space="preserve">`+strings.Repeat(" ", 500)+`</w:t></w:r></w:hyperlink></w:p>`, 30_000))
	case 14: // a paragraph of one repeated letter, which compresses well
		return word(`<w:p><w:r><w:t>` + strings.Repeat("A", 40<<20) + `</w:t></w:r></w:p>`)
	case 15:
		var operators bytes.Buffer
		operators.WriteString("BT /F1 6 Tf ")
		for range 20_000 {
			fmt.Fprintf(&operators, "1 0 0 1 %d %d Tm (%s) Tj ", random.IntN(600), random.IntN(780), zipfWord(random))
		}
		operators.WriteString("ET")
		return upload{fmt.Sprintf("c%d-%s.pdf", kind, salt), writePDF(operators.Bytes(), 3000)}
	case 16: // one page with very much text
		return upload{fmt.Sprintf("c%d-%s.pdf", kind, salt), writePDF(bytes.Repeat([]byte("BT /F1 6 Tf 10 10 Td (a) Tj ET "), 1_000_000), 1)}
	default: // pages with nested graphics states
		return upload{fmt.Sprintf("c%d-%s.pdf", kind, salt), writePDF(append(bytes.Repeat([]byte("q 1 0 0 1 1 1 cm "), 500_000), "BT /F1 6 Tf (a) Tj ET"...), 5)}
	}
}

// saltBytes is the length of the random text at the end of a costly file, which makes
// the file unique.
const saltBytes = 22

// resalt returns a copy of a costly file with another random text at its end. To create
// each file from scratch would take CPU time from the server on the same machine.
func resalt(f upload, random *rand.Rand) upload {
	salt := fmt.Sprintf("%% %020d", random.Uint64())
	kept, kind := f.content, filepath.Ext(f.name)
	if kind == ".docx" { // the archive ends with a comment
		kept = kept[:len(kept)-saltBytes]
	}
	return upload{strings.TrimSuffix(f.name, kind) + salt[2:] + kind, append(kept[:len(kept):len(kept)], salt...)}
}

// wordOf returns a Word document with the given XML body.
func wordOf(body string) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" ` +
			`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` + body + `</w:body></w:document>`,
	} {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			panic(err) // writing to a buffer cannot fail
		}
	}
	if err := archive.SetComment(strings.Repeat("-", saltBytes)); err != nil {
		panic(err)
	}
	if err := archive.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// pdfLines returns the PDF operators that draw lines of text on a page.
func pdfLines(lines []string) []byte {
	var out bytes.Buffer
	out.WriteString("BT /F1 11 Tf 14 TL 60 780 Td ")
	for _, line := range lines {
		fmt.Fprintf(&out, "(%s) Tj T* ", line)
	}
	out.WriteString("ET")
	return out.Bytes()
}

// writePDF returns a PDF with the given number of pages, all with the same content.
func writePDF(content []byte, pages int) []byte {
	var out, packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(content) // writing to a buffer cannot fail
	_ = z.Close()
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	out.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 5+i)
	}
	object("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), pages)
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	object("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", packed.Len(), packed.String())
	for range pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>")
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return out.Bytes()
}
