package pdfium

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	imagefont "golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Characters without a map to Unicode are found in the font's own map.
func TestUnmappedCharacters(t *testing.T) {
	f, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	var buf sfnt.Buffer
	const text = "Dvořák Čapek Černý Němec žluťoučký"
	glyph := func(r rune) sfnt.GlyphIndex {
		g, err := f.GlyphIndex(&buf, r)
		if err != nil || g == 0 {
			t.Fatalf("the font has no glyph for %q: %v", r, err)
		}
		return g
	}
	codes, widths, some := "", "", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
	for _, r := range text {
		g := glyph(r)
		width, err := f.GlyphAdvance(&buf, g, fixed.I(1000), imagefont.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		codes += fmt.Sprintf("%04x", g)
		widths += fmt.Sprintf("%d [%d] ", g, width.Round())
		if r < 0x80 {
			some += fmt.Sprintf("1 beginbfchar <%04x> <%04x> endbfchar\n", g, r)
		}
	}
	for name, c := range map[string]struct{ unicode, widths, want string }{
		"no map":           {"", widths, text},
		"a map of some":    {"/ToUnicode 10 0 R", widths, text},
		"codes of its own": {"", "", ""}, // as the widths show; nobody knows the text
	} {
		p := onlyPage(t, textPDF(t, "BT /J 12 Tf 50 700 Td <"+codes+"> Tj ET", "/J 6 0 R", "", "",
			"<< /Type /Font /Subtype /Type0 /BaseFont /GoRegular /Encoding /Identity-H /DescendantFonts [7 0 R] "+c.unicode+" >>",
			"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /GoRegular /CIDToGIDMap /Identity /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 77 /W ["+c.widths+"] /FontDescriptor 8 0 R >>",
			"<< /Type /FontDescriptor /FontName /GoRegular /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 /FontFile2 9 0 R >>",
			stream(fmt.Sprintf("/Length1 %d", len(goregular.TTF)), string(goregular.TTF)),
			stream("", some+"endcmap end end")))
		got := textsOf(p)
		if c.want != "" && !slices.Equal(got, []string{c.want}) || c.want == "" && strings.Contains(strings.Join(got, ""), "Dvo") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Signs of TeX have names that are not in Adobe's list.
func TestTeXFonts(t *testing.T) {
	encoding := func(name string, first int, names string) string {
		return fmt.Sprintf("<< /Type /Font /Subtype /Type1 /BaseFont /%s /FirstChar 0 /LastChar 127 /Widths [%s] /Encoding << /Type /Encoding /Differences [%d %s] >> >>", name, strings.Repeat("500 ", 128), first, names)
	}
	p := onlyPage(t, textPDF(t, "BT /S 10 Tf 100 700 Td (kk) Tj ET BT /S 10 Tf 100 650 Td (hi) Tj ET BT /S 10 Tf 100 620 Td (62) Tj ET BT /X 10 Tf 100 600 Td (XX) Tj ET", "/S 6 0 R /X 7 0 R", "", "",
		encoding("ABCDEF+CMSY10", 50, "/element 54 /negationslash 104 /angbracketleft /angbracketright /bar /bardbl"), encoding("ABCDEF+CMEX10", 88, "/summationdisplay")))
	if got, want := textsOf(p), []string{"‖‖", "⟨⟩", "∉", "∑∑"}; !slices.Equal(got, want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
}
