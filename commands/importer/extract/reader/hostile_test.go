//go:build !race

// Not with the race detector, which needs more memory than reader processes have.

package reader_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/reader"
	"annals/events/fault"
)

// hostile is a file that means harm.
type hostile struct {
	name    string
	content []byte
	want    string // part of the error; "" if the file is read, "*" if it depends on the machine
	text    string // part of the text or of the warnings, if the file is read
}

// Each hostile file is answered with a sentence that is true, within the limits, and nothing that it
// refers to is fetched. The Reader reads good files afterwards.
func TestHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	fetched := make(chan struct{}, 1)
	go func() {
		if c, err := listener.Accept(); err == nil {
			c.Close()
			fetched <- struct{}{}
		}
	}()
	limits := extract.Limits{Time: 2 * time.Minute}
	patient := extracttest.ProcessReader(t, limits)
	// Only files that may meet the limits have a short one: a busy machine needs seconds for others.
	impatient := extracttest.ProcessReader(t, extract.Limits{Time: limits.Time, PageTime: 3 * time.Second})
	for _, f := range hostileFiles(t, "http://"+listener.Addr().String()) {
		t.Run(f.name, func(t *testing.T) {
			r := patient
			if f.want == "*" {
				r = impatient
			}
			path := filepath.Join(t.TempDir(), "file")
			begun := time.Now()
			got, info, err := extracttest.ReadBy(t, reader.Isolated(r), path, f.name, f.content)
			took := time.Since(begun)
			t.Logf("%d bytes, %v: %d sections, %d pages, %q, %.300v", len(f.content), took.Round(time.Millisecond), len(got), info.Pages, info.Warnings, err)
			if err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("Read: %v of kind %v, want invalid", err, fault.KindOf(err))
			}
			if f.want != "*" && (f.want != "" && (err == nil || !strings.Contains(err.Error(), f.want)) || f.want == "" && err != nil) {
				t.Errorf("Read: %v, want %q", err, f.want)
			}
			texts := slices.Clone(info.Warnings)
			for _, s := range got {
				texts = append(texts, s.Title, s.Text)
			}
			all := strings.Join(texts, "\n")
			if err == nil && !strings.Contains(all, f.text) {
				t.Errorf("the text is %.300q, want %q", all, f.text)
			}
			if strings.Contains(all, "root:") {
				t.Error("the text has a file of this machine")
			}
			if took > limits.Time+30*time.Second {
				t.Errorf("Read took %v", took)
			}
			if _, _, err := extracttest.ReadBy(t, r, path, "good.md", []byte("# Good\n\nstill read\n")); err != nil {
				t.Errorf("the next file: %v", err)
			}
		})
	}
	select {
	case <-fetched:
		t.Error("a file made the reader connect")
	default:
	}
}

// hostileFiles returns files of every format. url is the address of a server that must not be asked.
func hostileFiles(t *testing.T, url string) []hostile {
	t.Helper()
	x := func(s string, n int) string { return strings.Repeat(s, n) }
	word := func(body string) []byte { return extracttest.DOCX(t, body, nil) }
	laughs := `<!DOCTYPE a [<!ENTITY a "ha">`
	for c := 'b'; c < 'z'; c++ {
		laughs += fmt.Sprintf(`<!ENTITY %c "%s">`, c, x(fmt.Sprintf("&%c;", c-1), 10))
	}
	laughs += "]>"
	passwd := `<!DOCTYPE a [<!ENTITY y SYSTEM "file:///etc/passwd">]>`
	dtd := "document type definition"

	return []hostile{
		// Archives.
		{"bomb.docx", bombOf(t, "word/document.xml", 2<<30, 0), "--max-inflation", ""},
		{"lying.docx", bombOf(t, "word/document.xml", 200<<20, 10), "cannot be read", ""},
		{"bomb.xlsx", bombOf(t, "xl/sharedStrings.xml", 1<<30, 0), "another kind of ZIP archive", ""},
		{"entries.docx", manyEntries(t, 100_000), "more than 20000 parts", ""},
		{"overlapping.docx", overlapping(t), "--max-inflation", ""},
		{"cut.docx", word(extracttest.P("x"))[:300], "not a ZIP archive", ""},
		{"paths.docx", extracttest.DOCX(t, extracttest.P("inside")+`<w:altChunk r:id="r1"/><w:sectPr><w:headerReference r:id="r2"/></w:sectPr>`, map[string]string{
			"../../../../tmp/annals-hostile": "x", "/etc/passwd": "root:", `..\..\windows\x`: "x",
			"word/_rels/document.xml.rels": extracttest.RelsHead + `<Relationship Id="r1" Type="` + extracttest.RelType + `aFChunk" Target="../../../../../etc/passwd"/>` +
				`<Relationship Id="r2" Type="` + extracttest.RelType + `header" Target="file:///etc/passwd" TargetMode="External"/></Relationships>`,
		}), "", "inside"},
		{"links.docx", extracttest.DOCX(t, extracttest.P("inside")+`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>INCLUDETEXT "`+url+`/a"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`+
			`<w:sectPr><w:headerReference r:id="r1"/></w:sectPr>`, map[string]string{
			"word/_rels/document.xml.rels": extracttest.RelsHead + `<Relationship Id="r1" Type="` + extracttest.RelType + `header" Target="` + url + `/h" TargetMode="External"/>` +
				`<Relationship Id="r2" Type="` + extracttest.RelType + `attachedTemplate" Target="` + url + `/t.dotm" TargetMode="External"/></Relationships>`,
		}), "", "inside"},
		{"macros.docx", extracttest.DOCX(t, extracttest.P("inside"), map[string]string{
			"word/vbaProject.bin": "\xd0\xcf\x11\xe0" + x("AutoOpen", 100),
			"[Content_Types].xml": `<Types><Override PartName="/word/document.xml" ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>`,
		}), "", "inside"},
		// XML.
		{"laughs.docx", extracttest.Archive(t, wordParts(laughs+`<w:document `+extracttest.WordNS+`><w:body>`+extracttest.P("&y;")+`</w:body></w:document>`)), dtd, ""},
		{"external.docx", extracttest.Archive(t, wordParts(passwd+`<w:document `+extracttest.WordNS+`><w:body>`+extracttest.P("&y;")+`</w:body></w:document>`)), dtd, ""},
		{"external.odt", extracttest.Archive(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": passwd + `<a>&y;</a>`}), dtd, ""},
		{"deep.docx", word(x("<w:sdt>", 200_000)), "--max-nesting", ""},
		{"tables.docx", word(x("<w:tbl><w:tr><w:tc>", 130) + extracttest.P("inside") + x("</w:tc></w:tr></w:tbl>", 130)), "", "inside"},
		{"columns.docx", word("<w:tbl><w:tr>" + x("<w:tc><w:p/></w:tc>", 1_000_000) + "</w:tr></w:tbl>" + extracttest.P("after")), "", "after"},
		{"attributes.docx", word("<w:p " + x("a='' ", 2_000_000) + "/>" + extracttest.P("after")), "*", "after"},
		{"token.docx", word("<!--" + x("a", 20<<20) + "-->"), "without an XML tag", ""},
		{"columns.xlsx", extracttest.Archive(t, map[string]string{
			"_rels/.rels":                extracttest.RelsHead + `<Relationship Id="r" Type="` + extracttest.RelType + `officeDocument" Target="xl/workbook.xml"/></Relationships>`,
			"xl/workbook.xml":            `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels": extracttest.RelsHead + `<Relationship Id="r" Type="` + extracttest.RelType + `worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
			"xl/worksheets/sheet1.xml": `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1048576000"><c r="ZZZZZZZ1048576000"><v>1</v></c><c r="A1"><v>77</v></c></row>` +
				x(`<row><c r="XFD1"><v>1</v></c></row>`, 20_000) + `</sheetData></worksheet>`,
		}), "", ""},
		// Markup and tables.
		{"deep.html", []byte(x("<div>", 500_000) + "inside" + x("</div>", 10)), "", "inside"},
		{"lists.html", []byte(x("<ul><li>", 200_000) + "inside"), "", "inside"},
		{"tables.html", []byte(x("<table><tr><td>", 100_000) + "inside"), "", ""},
		{"quotes.html", []byte(x("<blockquote>", 200_000) + "inside"), "", "inside"},
		{"columns.html", []byte("<table><tr>" + x("<td>a", 1_000_000) + "<td>last</table><p>after"), "", "last\n\nafter"},
		{"spans.html", []byte("<table>" + x("<tr><td colspan=1000 rowspan=65534>a", 5_000) + "</table><p>after"), "", "after"},
		{"attribute.html", []byte("<a title='" + x("x", 9<<20)), "more than 8 MiB", ""},
		{"links.html", []byte(`<base href="` + url + `"><link rel=stylesheet href="/c"><script src="/s"></script><img src="/i"><iframe src="/f"></iframe><object data="file:///etc/passwd"></object><p>inside`), "", "inside"},
		{"deep.md", []byte(x(x("> - ", 3_000)+"inside\n", 30)), "", "inside"},
		{"brackets.md", []byte(x("[", 500_000) + x("![](", 200_000) + "inside"), "", "inside"},
		{"emphasis.md", []byte(x("*a _b ", 300_000)), "", ""},
		{"quote.csv", []byte("a,b\n\"" + x("x,y\n", 2_000_000)), "", "Quotation marks in the table are not closed"},
		{"columns.csv", []byte(x("a,", 500_000) + "\n" + x("b,", 500_000) + "\n"), "", ""},
		{"line.csv", []byte(x("a", 20<<20)), "row 1 of the table is longer", ""},
		{"line.txt", []byte(x("a", 20<<20)), "", "aaa"},
		{"nulls.txt", make([]byte, 4<<20), "contains no text", ""},
		// Rich Text.
		{"deep.rtf", []byte(`{\rtf1 ` + x("{", 2_000_000)), "--max-nesting", ""},
		{"bin.rtf", []byte(`{\rtf1 before \bin99999999999999999999 ` + x("x", 1_000) + "}"), "", "before"},
		{"characters.rtf", []byte(`{\rtf1\uc99999999 ` + x(`\u-1`, 1_000_000) + x(`\u8364 `, 500_000) + "}"), "", ""},
		{"rows.rtf", []byte(`{\rtf1 ` + x(`\trowd`+x(`\cellx9`, 100)+x(`\intbl a\cell`, 100)+`\row`, 3_000) + "}"), "", ""},
		// Messages.
		{"parts.eml", nestedMail(3_000, false), "nested more than 20 deep", ""},
		{"messages.eml", nestedMail(200, true), "nested more than 20 deep", ""},
		{"many.eml", []byte("Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n" + x("--b\nContent-Type: text/plain\n\nx\n", 20_000) + "--b--\n"), "more than 5000 parts", ""},
		{"header.eml", []byte(x("X-A: "+x("y", 900)+"\n", 3_000) + "\ntext\n"), "header of the message is longer than 1024 KiB", ""},
		// Books.
		{"spine.epub", loopingBook(t), "", "inside"},
		// Images.
		{"size.png", sizedPNG(t, 65_535, 65_535), "the limit of a side", ""},
		{"memory.png", sizedPNG(t, 40_000, 30_000), "--extract-memory", ""},
		{"size.jpg", sizedJPEG(t, 65_535, 65_535), "the limit of a side", ""},
		{"memory.jpg", sizedJPEG(t, 30_000, 30_000), "--extract-memory", ""},
		{"cut.png", pngOf(t)[:60], "cut off", ""},
		{"pages.tiff", manyPages(120_000), "more than 100000 pages", ""},
		{"more-pages.tiff", manyPages(6_000), "--max-pages", ""},
		{"loop.tiff", []byte("II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00"), "cannot be decoded, because its width or height is missing: ", ""},
		{"cut.tiff", []byte("II*\x00\x08\x00\x00\x00\xff\xff"), "cannot be decoded", ""},
		// PDFs.
		{"tree.pdf", pdfOf("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>"), "", ""},
		{"arrays.pdf", pdfOf("", "<< /Type /Catalog /Pages 2 0 R /X "+x("[", 1_000_000)+" >>", "<< /Type /Pages /Kids [] /Count 0 >>"), "", ""},
		{"box.pdf", pagePDF("[0 0 1e9 1e9]", "BT /F1 12 Tf 10 10 Td (inside) Tj ET", ""), "", ""},
		{"form.pdf", pagePDF("[0 0 600 800]", "/X Do BT /F1 12 Tf 10 10 Td (inside) Tj ET", "/X 6 0 R", stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X 6 0 R >> >>", "/X Do /X Do")), "", "damaged"},
		{"doubling.pdf", doublingPDF(), "", ""},
		{"states.pdf", pagePDF("[0 0 600 800]", x("q 1 0 0 1 1 1 cm ", 500_000)+"BT /F1 12 Tf (inside) Tj ET", ""), "", ""},
		{"text.pdf", pagePDF("[0 0 600 800]", x("BT /F1 6 Tf 10 10 Td (a) Tj ET ", 1_000_000), ""), "*", ""},
		{"inflated.pdf", pagePDF("[0 0 600 800]", "/X Do BT /F1 12 Tf 10 10 Td (inside) Tj ET", "/X 6 0 R", inflated(t, 2<<30)), "*", ""},
		{"many.pdf", manyPagesPDF(10_000), "--max-pages", ""},
		{"picture.pdf", pagePDF("[0 0 600 800]", "q 600 0 0 800 0 0 cm /X Do Q", "/X 6 0 R", stream("/Type /XObject /Subtype /Image /Width 100000 /Height 100000 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /JPXDecode", jpxHead(100_000, 100_000))), "", ""},
		{"jbig2.pdf", pagePDF("[0 0 600 800]", "q 600 0 0 800 0 0 cm /X Do Q", "/X 6 0 R", stream("/Type /XObject /Subtype /Image /Width 65535 /Height 65535 /BitsPerComponent 1 /ColorSpace /DeviceGray /Filter /JBIG2Decode", jbig2Page(65_535, 65_535))), "", ""},
		{"tiles.pdf", pagePDF("[0 0 600 800]", "/Pattern cs /P scn 0 0 600 800 re f BT /F1 12 Tf 10 10 Td (inside) Tj ET", "", stream("/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1] /XStep 0.00001 /YStep 0.00001 /Resources << >>", "0 0 1 1 re f")), "", "inside"},
		{"glyphs.pdf", pagePDF("[0 0 600 800]", "BT /F3 12 Tf 10 10 Td (aaa) Tj /F1 12 Tf (inside) Tj ET", "", "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] /CharProcs << /a 7 0 R >> /Encoding << /Differences [97 /a] >> /FirstChar 97 /LastChar 97 /Widths [1] /Resources << /Font << /F3 6 0 R >> >> >>", stream("", "BT /F3 1 Tf (aaaa) Tj ET")), "", "inside"},
		{"actions.pdf", pdfOf("", "<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /Launch /F (/bin/sh) /Next << /S /URI /URI ("+url+"/u) /Next << /S /JavaScript /JS (app.launchURL\\(\""+url+"\"\\);while\\(1\\);) >> >> >> >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> /AA << /O << /S /SubmitForm /F ("+url+"/f) >> >> >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", stream("", "BT /F1 12 Tf 10 10 Td (inside) Tj ET")), "", "inside"},
		{"cut.pdf", []byte("%PDF-1.7\n1 0 obj\n<<"), "damaged", ""},
	}
}

func wordParts(document string) map[string]string {
	return map[string]string{
		"_rels/.rels":       extracttest.RelsHead + `<Relationship Id="r1" Type="` + extracttest.RelType + `officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml": document,
	}
}

// repeated returns a deflate stream of head, then about size bytes of a piece of some 1 MiB, and then
// tail. The compressed piece is copied, so this is fast.
func repeated(t *testing.T, head, piece, tail string, size int) (packed []byte, n int) {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string) {
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	write(head)
	packed = bytes.Clone(out.Bytes())
	out.Reset()
	w.Reset(&out)
	write(piece)
	times := size / len(piece)
	packed = append(packed, bytes.Repeat(out.Bytes(), times)...)
	out.Reset()
	w.Reset(&out)
	write(tail)
	packed = append(packed, out.Bytes()...)
	return append(packed, 1, 0, 0, 0xff, 0xff), len(head) + times*len(piece) + len(tail)
}

// bombOf returns an archive with a part of about size bytes of Word paragraphs. If declared is above
// 0, the archive declares this size.
func bombOf(t *testing.T, name string, size, declared int) []byte {
	t.Helper()
	piece := extracttest.P(strings.Repeat("x", 1<<20))
	if declared == 0 {
		piece = strings.Repeat(`<w:bookmarkStart/><w:bookmarkEnd/>`, 1<<15)
	}
	packed, n := repeated(t, `<w:document `+extracttest.WordNS+`><w:body>`, piece, `</w:body></w:document>`, size)
	if declared > 0 {
		n = declared
	}
	return rawArchive(t, map[string]string{"_rels/.rels": wordParts("")["_rels/.rels"]}, zip.FileHeader{Name: name, Method: zip.Deflate, UncompressedSize64: uint64(n), CompressedSize64: uint64(len(packed))}, packed)
}

func rawArchive(t *testing.T, parts map[string]string, h zip.FileHeader, packed []byte) []byte {
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
	w, err := archive.CreateRaw(&h)
	if err == nil {
		_, err = w.Write(packed)
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// manyEntries returns an archive with n empty files.
func manyEntries(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for i := range n {
		if _, err := archive.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// overlapping returns a Word document with 900 headers, all of which are the same bytes of the
// archive.
func overlapping(t *testing.T) []byte {
	t.Helper()
	piece := strings.Repeat(`<w:bookmarkStart/><w:bookmarkEnd/>`, 1<<15)
	packed, n := repeated(t, `<w:hdr `+extracttest.WordNS+`>`, piece, `</w:hdr>`, 3<<20)
	body, rels := "", extracttest.RelsHead
	for i := range 900 {
		body += fmt.Sprintf(`<w:p><w:pPr><w:sectPr><w:headerReference w:type="default" r:id="h%d"/></w:sectPr></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`, i)
		rels += fmt.Sprintf(`<Relationship Id="h%d" Type="%sheader" Target="header%03d.xml"/>`, i, extracttest.RelType, i)
	}
	parts := wordParts(`<w:document ` + extracttest.WordNS + `><w:body>` + body + `</w:body></w:document>`)
	parts["word/_rels/document.xml.rels"] = rels + `</Relationships>`
	file := rawArchive(t, parts, zip.FileHeader{Name: "word/header000.xml", Method: zip.Deflate, UncompressedSize64: uint64(n), CompressedSize64: uint64(len(packed)), CRC32: 0}, packed)
	// Repeat the directory's entry of the header under other names.
	at := bytes.LastIndex(file, []byte("word/header000.xml")) - 46
	end := bytes.LastIndex(file, []byte("PK\x05\x06"))
	entry := file[at : at+46+len("word/header000.xml")]
	var more []byte
	for i := 1; i < 900; i++ {
		copied := bytes.Clone(entry)
		copy(copied[46:], fmt.Sprintf("word/header%03d.xml", i))
		more = append(more, copied...)
	}
	tail := bytes.Clone(file[end:])
	count := binary.LittleEndian.Uint16(tail[8:]) + 899
	binary.LittleEndian.PutUint16(tail[8:], count)
	binary.LittleEndian.PutUint16(tail[10:], count)
	binary.LittleEndian.PutUint32(tail[12:], binary.LittleEndian.Uint32(tail[12:])+uint32(len(more)))
	return append(append(bytes.Clone(file[:end]), more...), tail...)
}

// nestedMail returns a message with parts, or messages, in each other.
func nestedMail(depth int, messages bool) []byte {
	var b strings.Builder
	b.WriteString("Subject: outer\n")
	for i := range depth {
		if messages {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\nContent-Type: message/rfc822\n\nSubject: inner\n", i, i)
		} else {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
		}
	}
	return []byte(b.String() + "Content-Type: text/plain\n\ninside\n")
}

// loopingBook returns a book whose spine repeats chapters that link to each other, and whose table
// of contents is a chapter.
func loopingBook(t *testing.T) []byte {
	t.Helper()
	return extracttest.Archive(t, map[string]string{
		"mimetype":               "application/epub+zip",
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>`,
		"p.opf": `<package><manifest><item id="a" href="a.xhtml" properties="nav" media-type="application/xhtml+xml"/><item id="d" href="d.xhtml" media-type="application/xhtml+xml"/><item id="b" href="p.opf" media-type="application/xhtml+xml"/><item id="c" href="../../../etc/passwd" media-type="application/xhtml+xml"/></manifest><spine>` +
			strings.Repeat(`<itemref idref="a"/><itemref idref="b"/><itemref idref="c"/><itemref idref="d"/>`, 20_000) + `</spine></package>`,
		"d.xhtml": `<html><body><p>inside</p></body></html>`,
		"a.xhtml": `<html><body><nav><ol><li><a href="a.xhtml">again</a></li></ol></nav><p>inside</p><iframe src="a.xhtml"/></body></html>`,
	})
}

func pngOf(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sizedPNG returns a small PNG file that declares a size.
func sizedPNG(t *testing.T, w, h uint32) []byte {
	t.Helper()
	file := pngOf(t)
	binary.BigEndian.PutUint32(file[16:], w)
	binary.BigEndian.PutUint32(file[20:], h)
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	return file
}

// sizedJPEG returns a small JPEG file that declares a size.
func sizedJPEG(t *testing.T, w, h uint16) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, 64, 64)), nil); err != nil {
		t.Fatal(err)
	}
	file := out.Bytes()
	at := bytes.Index(file, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(file[at+5:], h)
	binary.BigEndian.PutUint16(file[at+7:], w)
	return file
}

// manyPages returns a TIFF file with n pages without anything in them.
func manyPages(n int) []byte {
	out := []byte("II*\x00\x08\x00\x00\x00")
	for i := range n {
		next := uint32(len(out) + 6)
		if i == n-1 {
			next = 0
		}
		out = append(out, 0, 0)
		out = binary.LittleEndian.AppendUint32(out, next)
	}
	return out
}

// stream returns a PDF stream.
func stream(dictionary, content string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dictionary, len(content), content)
}

// pdfOf returns a PDF file with these objects, from 1. The first is its catalogue.
func pdfOf(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, trailer, start)
	return b.Bytes()
}

// pagePDF returns a PDF of one page. Object 6 and those after it are more; it is the pattern P and
// the font F3, too.
func pagePDF(box, content, xobjects string, more ...string) []byte {
	return pdfOf("", append([]string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox " + box + " /Contents 5 0 R /Resources << /Font << /F1 4 0 R /F3 6 0 R >> /XObject << " + xobjects + " >> /Pattern << /P 6 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", stream("", content),
	}, more...)...)
}

// doublingPDF returns a PDF whose page draws a form twice, which draws another twice, and so on.
func doublingPDF() []byte {
	var forms []string
	for i := range 40 {
		forms = append(forms, stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F1 4 0 R >> /XObject << /X %d 0 R >> >>", 7+i), "/X Do /X Do BT /F1 12 Tf 10 10 Td (a) Tj ET"))
	}
	return pagePDF("[0 0 600 800]", "/X Do /X Do BT /F1 12 Tf 10 10 Td (inside) Tj ET", "/X 6 0 R", forms...)
}

// inflated returns a form of about size bytes of operators.
func inflated(t *testing.T, size int) string {
	t.Helper()
	packed, _ := repeated(t, "", strings.Repeat("0 0 m ", 1<<18), "", size)
	return stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Filter /FlateDecode", "\x78\x9c"+string(packed)+"\x00\x00\x00\x00")
}

// manyPagesPDF returns a PDF with n pages, all of which are one object.
func manyPagesPDF(n int) []byte {
	return pdfOf("", "<< /Type /Catalog /Pages 2 0 R >>", fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Repeat("3 0 R ", n), n),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R >>", stream("", "0 0 600 800 re f"))
}

// jpxHead returns the beginning of a JPEG 2000 code stream of this size.
func jpxHead(w, h uint32) string {
	out := []byte{0xff, 0x4f, 0xff, 0x51, 0, 47, 0, 0}
	for _, v := range []uint32{w, h, 0, 0, w, h, 0, 0} {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	out = append(out, 0, 3, 7, 1, 1, 7, 1, 1, 7, 1, 1)
	out = append(out, 0xff, 0x52, 0, 12, 0, 0, 0, 1, 1, 5, 4, 4, 0, 0)
	out = append(out, 0xff, 0x5c, 0, 19, 0x40)
	out = append(out, bytes.Repeat([]byte{0x48}, 16)...)
	return string(append(out, 0xff, 0x90, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x93, 0, 0, 0xff, 0xd9))
}

// jbig2Page returns a JBIG2 stream with the segment of a page of this size.
func jbig2Page(w, h uint32) string {
	out := []byte{0, 0, 0, 0, 48, 0, 1, 0, 0, 0, 19}
	out = binary.BigEndian.AppendUint32(out, w)
	out = binary.BigEndian.AppendUint32(out, h)
	return string(append(out, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0))
}
