package zipxml_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

func open(ctx context.Context, t testing.TB, parts map[string]string) (*zipxml.Package, error) {
	content := extracttest.Archive(t, parts)
	return zipxml.Open(ctx, extract.File{ReaderAt: bytes.NewReader(content), Size: int64(len(content))}, "Excel workbook")
}

func TestNamesArePartsOfTheArchiveOnly(t *testing.T) {
	for _, c := range [][3]string{{"word", "media/A.png", "word/media/a.png"}, {"word", "/Root.xml", "root.xml"}, {"a/b", `..\c.xml`, "a/c.xml"}, {"a", "../../../etc/passwd", "etc/passwd"}, {"", "C:\\x", "c:/x"}} {
		if got := zipxml.Name(c[0], c[1]); got != c[2] {
			t.Errorf("Name(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
	p, err := open(t.Context(), t, map[string]string{"../../etc/passwd": "in the archive"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Read("etc/passwd", 100)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); string(text) != "in the archive" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if r, err := p.Read("etc/hosts", 100); r != nil || err != nil {
		t.Errorf("a part that does not exist: %v, %v", r, err)
	}
}

func TestLimits(t *testing.T) {
	many := map[string]string{}
	for i := range 20_001 {
		many[fmt.Sprint(i)] = ""
	}
	if _, err := open(t.Context(), t, many); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than 20000 parts") {
		t.Errorf("many parts: %v", err)
	}
	p, err := open(t.Context(), t, map[string]string{"a.xml": strings.Repeat("<a/>", 1000), "bomb.xml": strings.Repeat(" ", 33<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Each("a.xml", 100, "b", nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "its part a.xml has more than") {
		t.Errorf("a long part: %v", err)
	}
	var all error
	for i := range 8 { // repeated reads count in the end
		if all != nil {
			t.Fatalf("read %d: %v", i, all)
		}
		r, err := p.Read("bomb.xml", zipxml.AnyPart)
		if err != nil {
			t.Fatal(err)
		}
		_, all = io.Copy(io.Discard, r)
		r.Close()
	}
	if !fault.Is(all, fault.Invalid) || !strings.Contains(all.Error(), "the Excel workbook is too large: it has more than 64 MiB uncompressed") {
		t.Errorf("a long package: %v", all)
	}
	if xml := p.XML(); xml > 34<<20 {
		t.Errorf("repeated reads count as %d bytes of XML", xml)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err = open(ctx, t, map[string]string{"a.xml": strings.Repeat("<a/>", 1000)})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.Each("a.xml", zipxml.SmallPart, "b", nil); err != context.Canceled {
		t.Errorf("after the context ended: %v", err)
	}
}

func TestEncodings(t *testing.T) {
	text := `<a xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main">é<b>inner</b>€</a>`
	wide := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune(`<?xml version="1.0" encoding="UTF-16"?>` + text)) {
		wide = binary.LittleEndian.AppendUint16(wide, c)
	}
	for name, content := range map[string]string{"UTF-8": text, "byte order mark": "\ufeff" + text, "UTF-16": string(wide), "windows-1252": `<?xml version="1.0" encoding="windows-1252"?><a>` + "\xe9<b>inner</b>\x80</a>"} {
		p, err := open(t.Context(), t, map[string]string{"a.xml": content})
		if err != nil {
			t.Fatal(err)
		}
		got, prefix := "", ""
		err = p.Each("a.xml", zipxml.SmallPart, "a", func(x *zipxml.Part, e *zipxml.Element) (err error) {
			prefix = e.Name
			got, err = x.Text()
			return err
		})
		if got != "é€" || err != nil || name != "windows-1252" && prefix != "x:a" {
			t.Errorf("%s: %q in %q, %v", name, got, prefix, err)
		}
	}
}
