package epub_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

// book returns a book with these chapters, and further files.
func book(t testing.TB, chapters []string, more map[string]string) []byte {
	t.Helper()
	var items, refs, contents strings.Builder
	files := map[string]string{
		"mimetype":               "application/epub+zip",
		"META-INF/container.xml": `<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
	}
	for i, c := range chapters {
		files[fmt.Sprintf("OEBPS/text/c %d.xhtml", i)] = `<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>` + c + `</body></html>`
		fmt.Fprintf(&items, `<item id="c%d" href="text/c%%20%d.xhtml" media-type="application/xhtml+xml"/>`, i, i)
		fmt.Fprintf(&contents, `<navPoint><navLabel><text>Title %d</text></navLabel><content src="text/c%%20%d.xhtml#a"/></navPoint>`, i, i)
	}
	for i := range chapters { // the last chapter is the first in the order of the book
		fmt.Fprintf(&refs, `<itemref idref="c%d"/>`, (i+len(chapters)-1)%len(chapters))
	}
	files["OEBPS/toc.ncx"] = `<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>` + contents.String() + `</navMap></ncx>`
	files["OEBPS/book.opf"] = `<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Book</dc:title><dc:creator>Ann</dc:creator></metadata><manifest>` +
		items.String() + `<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/><item id="style" href="a.css" media-type="text/css"/></manifest><spine toc="ncx">` + refs.String() + `<itemref idref="style"/><itemref idref="none"/></spine></package>`
	maps.Copy(files, more)
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
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

func TestChaptersAreReadInOrder(t *testing.T) {
	got, info, err := extracttest.Read(t, "a.epub", book(t, []string{"<h1>One</h1><p>first</p>", "<p>second</p><p>more</p>", "<p>preface</p>"}, nil))
	var all []string
	for _, s := range got {
		all = append(all, fmt.Sprintf("%d %s: %s", s.Level, s.Title, s.Text))
	}
	want := []string{"0 : - author: Ann", "1 Title 2: preface", "1 One: first", "1 Title 1: second\n\nmore"}
	if err != nil || !slices.Equal(all, want) || info.Title != "The Book" || info.MediaType != extract.EPUB || info.XML == 0 {
		t.Errorf("%q, %+v, %v, want %q", all, info, err, want)
	}
}

func TestBooksThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		more map[string]string
		want string
	}{
		"protected": {map[string]string{"META-INF/encryption.xml": `<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/text/c%200.xhtml"/></CipherData></EncryptedData></encryption>`}, "protected against copying"},
		"other":     {map[string]string{"META-INF/container.xml": `<x/>`}, "another kind of ZIP archive"},
		"broken":    {map[string]string{"OEBPS/book.opf": `<package><metadata>`}, "is damaged"},
	} {
		if _, _, err := extracttest.Read(t, "a.epub", book(t, []string{"<p>a</p>"}, c.more)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, _, err := extracttest.Read(t, "a.epub", book(t, []string{"<p>a</p>"}, map[string]string{"META-INF/encryption.xml": `<encryption><CipherReference URI="OEBPS/a.otf"/></encryption>`})); err != nil {
		t.Errorf("a book with encrypted fonts: %v", err)
	}
}

func TestHostileBooksAreReadInTime(t *testing.T) {
	bomb := strings.Repeat("<p>aaaaaaaaaaaaaaaa</p>", 100_000)
	for name, content := range map[string][]byte{
		"bomb":     book(t, []string{bomb, bomb, bomb, bomb}, nil),
		"large":    book(t, []string{strings.Repeat("x", 70<<20)}, nil),
		"deep":     book(t, []string{"a"}, map[string]string{"OEBPS/toc.ncx": "<ncx><navMap>" + strings.Repeat("<navPoint>", 100_000)}),
		"entities": book(t, []string{"a"}, map[string]string{"OEBPS/book.opf": `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><package><title>&a;</title></package>`}),
	} {
		begun := time.Now()
		var got []extract.Section
		var err error
		if peak := extracttest.PeakHeap(func() { got, _, err = extracttest.Read(t, "a.epub", content) }); peak > 150<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if took := time.Since(begun); took > time.Minute || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v after %s", name, err, took)
		}
		t.Logf("%s: %d parts, %v", name, len(got), err)
	}
}

func FuzzEPUB(f *testing.F) {
	f.Add([]byte("<h1>a</h1><p>b"), []byte("<package><item id='c0' href='text/c%200.xhtml' media-type='text/html'/><itemref idref='c0'/></package>"))
	f.Add([]byte("<pre>\xff\xfe"), []byte("<package><title>x</title><item properties='nav' href='../OEBPS/book.opf'/><a href='#'>y</a></package>"))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, chapter, main []byte) {
		got, info, err := extracttest.ReadBy(t, r, path, "a.epub", book(t, []string{string(chapter)}, map[string]string{"OEBPS/book.opf": string(main)}))
		extracttest.CheckSections(t, got, info, err)
	})
}
