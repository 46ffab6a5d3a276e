package pdfium

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// textPDF writes a PDF with one page. Object 4 is the font Helvetica, F1; objects begin with
// number 6, which is also the page's XObject Im. page is added to the page's dictionary, and
// catalog to the document's.
func textPDF(t *testing.T, content, fonts, page, catalog string, objects ...string) string {
	return objectsPDF(t, append([]string{
		"<< /Type /Catalog /Pages 2 0 R " + catalog + " >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R " + page + " /Resources << /Font << /F1 4 0 R " + fonts + " >> /XObject << /Im 6 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		stream("", content),
	}, objects...)...)
}

// mappedFont returns a font, which has object number 6, and its map from bytes to text. All its
// characters are 500 wide.
func mappedFont(text map[byte]string) []string {
	var b strings.Builder
	b.WriteString("/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n1 begincodespacerange <00> <FF> endcodespacerange\n")
	for code, s := range text {
		fmt.Fprintf(&b, "1 beginbfchar <%02x> <", code)
		for _, u := range utf16.Encode([]rune(s)) {
			fmt.Fprintf(&b, "%04x", u)
		}
		b.WriteString("> endbfchar\n")
	}
	b.WriteString("endcmap end end")
	return []string{
		"<< /Type /Font /Subtype /TrueType /BaseFont /Times-Roman /FirstChar 0 /LastChar 255 /Widths [" + strings.Repeat("500 ", 256) + "] /ToUnicode 7 0 R >>",
		stream("", b.String()),
	}
}

// onlyPage reads a file with one page.
func onlyPage(t *testing.T, path string) Page {
	t.Helper()
	return onlyPageBy(t, readersOf(t, "serve", Config{Processes: 1}), path)
}

func onlyPageBy(t *testing.T, r *Readers, path string) Page {
	t.Helper()
	pages, err := pagesOf(t.Context(), r, path)
	if err != nil || len(pages) != 1 {
		t.Fatalf("Read = %d pages, %v", len(pages), err)
	}
	return pages[0]
}

func textsOf(p Page) (texts []string) {
	for _, l := range p.Lines {
		texts = append(texts, l.Text)
	}
	return texts
}

func TestWordBoxes(t *testing.T) {
	p := onlyPage(t, textPDF(t, "BT /F1 10 Tf 100 700 Td (left ) Tj 200 0 Td (right) Tj ET", "", "", ""))
	if len(p.Lines) != 1 || len(p.Lines[0].Words) != 2 {
		t.Fatalf("lines = %+v, want one with two words", p.Lines)
	}
	l := p.Lines[0]
	left, right := l.Words[0], l.Words[1]
	if left.Text+" "+right.Text != l.Text || left.X != 100 || left.Right < 112 || left.Right > 118 || right.X != 300 || right.Right != l.Right || left.Top < 78 || left.Bottom > 96 || left.Top > 86 || left.Bottom < 92 {
		t.Errorf("line %+v", l)
	}
}

// Positions are those of the page as displayed, which is the crop box.
func TestCropBox(t *testing.T) {
	p := onlyPage(t, textPDF(t, "BT /F1 10 Tf 150 700 Td (word) Tj ET", "", "/CropBox [100 50 500 750]", ""))
	if l := p.Lines[0]; p.Width != 400 || p.Height != 700 || l.X != 50 || l.Y != 50 || l.Words[0].X != 50 {
		t.Errorf("page of %v x %v with the line %+v", p.Width, p.Height, l)
	}
}

func TestCharactersOfLines(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	for name, c := range map[string]struct {
		content string
		font    map[byte]string
		want    string
	}{
		"accents over letters":     {"BT /F2 10 Tf 0 Tc 100 700 Td [(Erdz) 500 (on)] TJ ET", map[byte]string{'z': "˝"}, "Erdőn"},
		"dotless letter":           {"BT /F2 10 Tf 100 700 Td [(R) 0 (r) 500 (o) 0 (n)] TJ ET", map[byte]string{'r': "´", 'o': "ı"}, "Rín"},
		"accent behind its word":   {"BT /F2 10 Tf 100 700 Td (Oguc) Tj 5 0 Td (z) Tj ET", map[byte]string{'z': "˘"}, "Oğuc"},
		"accent behind its line":   {"BT /F2 10 Tf 100 700 Td (Oguc is) Tj 5 0 Td (z) Tj ET", map[byte]string{'z': "˘"}, "Oğuc is"},
		"accents beside letters":   {"BT /F2 10 Tf 100 700 Td (a^b~c) Tj ET", nil, "a^b~c"},
		"wide spacing":             {"BT /F1 10 Tf 100 700 Td (N O T I C E   O F   S A L E) Tj ET", nil, "NOTICE OF SALE"},
		"wide spacing of pieces":   {"BT /F1 10 Tf 100 700 Td [(A) -600 (n) -600 (n) -600 (a) -600 (l) -600 (s)] TJ ET", nil, "Annals"},
		"columns of letters":       {"BT /F1 10 Tf 100 700 Td (Q) Tj 40 0 Td (U) Tj 40 0 Td (O) Tj 40 0 Td (T) Tj 40 0 Td (E) Tj ET", nil, "Q U O T E"},
		"alphabet":                 {"BT /F1 10 Tf 100 700 Td (A B C D E F) Tj ET", nil, "A B C D E F"},
		"short words":              {"BT /F1 10 Tf 100 700 Td (if x is a b c) Tj ET", nil, "if x is a b c"},
		"ligature of lam and alef": {"BT /F2 10 Tf 100 700 Td (dcba) Tj ET", map[byte]string{'a': "ا", 'b': "لإ", 'c': "ن", 'd': "ت"}, "الإنت"},
		"words of both directions": {"BT /F2 10 Tf 100 700 Td (nm Go w) Tj ET", map[byte]string{'w': "و", 'm': "م", 'n': "ن"}, "و Go من"},
		"number in brackets":       {"BT /F2 10 Tf 100 700 Td (b \\(2024\\) a) Tj ET", map[byte]string{'a': "ا", 'b': "ب"}, "ا (2024) ب"},
		"Hebrew":                   {"BT /F2 10 Tf 100 700 Td (dcb a) Tj ET", map[byte]string{'a': "א", 'b': "ש", 'c': "ל", 'd': "ם"}, "א שלם"},
	} {
		font := map[byte]string{}
		for code := byte(' '); code < 0x7f; code++ {
			font[code] = string(rune(code))
		}
		for code, s := range c.font {
			font[code] = s
		}
		p := onlyPageBy(t, r, textPDF(t, c.content, "/F2 6 0 R", "", "", mappedFont(font)...))
		if got := textsOf(p); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		var words []string
		for _, w := range p.Lines[0].Words {
			words = append(words, w.Text)
			if w.Right <= w.X || w.Bottom <= w.Top {
				t.Errorf("%s: word %+v has no box", name, w)
			}
		}
		if strings.Join(words, " ") != c.want {
			t.Errorf("%s: words %q", name, words)
		}
	}
}

// PDFium misses narrow spaces between words, but letters with spacing stay one word.
func TestNarrowSpaces(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	for name, c := range map[string]struct{ content, want string }{
		"narrow spaces": {"[(Samuel) -160 (sought) -170 (admission) -115 (to) -180 (the) -165 (room) -170 (of) -115 (his) -160 (wife,) -175 (who)] TJ", "Samuel sought admission to the room of his wife, who"},
		"spacing":       {"[(Sam) -60 (uel) -160 (sought) -160 (admis) -60 (sion) -160 (to) -160 (the) -60 (ir) -160 (ro) -60 (om)] TJ", "Samuel sought admission to their room"},
		"uneven":        {"[(S) -50 (am) -115 (u) -80 (el) -170 (s) -60 (ou) -115 (ght) -170 (ad) -20 (m) -80 (is) -115 (sion) -170 (t) -60 (o) -170 (o) -50 (th) -60 (er) -115 (s)] TJ", "Samuel sought admission to others"},
		"formula":       {"[(where) -160 (the) -160 (sum) -160 (is) -160 (f) -120 (\\() -120 (x) -120 (\\)) -160 (or) -160 (more)] TJ", "where the sum is f(x) or more"},
		"wide spaces":   {"[(where) -290 (the) -280 (sum) -280 (is) -280 (un) -115 (known) -280 (now)] TJ", "where the sum is unknown now"},
	} {
		p := onlyPageBy(t, r, textPDF(t, "BT /F1 12 Tf 50 700 Td "+c.content+" ET", "", "", ""))
		if got := textsOf(p); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A character beyond the first 65,536 of Unicode is two characters of PDFium's page.
func TestBoxesBehindRareCharacters(t *testing.T) {
	p := onlyPage(t, textPDF(t, "BT /F2 10 Tf 100 700 Td (aaaa word) Tj ET", "/F2 6 0 R", "", "",
		mappedFont(map[byte]string{'a': "\U0001D461", ' ': " ", 'w': "w", 'o': "o", 'r': "r", 'd': "d"})...))
	l := p.Lines[0]
	if l.Text != "𝑡𝑡𝑡𝑡 word" || l.Words[1].X != 125 || l.Words[1].Right != 145 {
		t.Errorf("line %+v", l)
	}
}

func TestDirections(t *testing.T) {
	turned := func(matrix string, step string, lines ...string) string {
		return "BT /F1 12 Tf " + matrix + " Tm (" + strings.Join(lines, ") Tj "+step+" Td (") + ") Tj ET "
	}
	body := turned("1 0 0 1 100 700", "0 -14", "first line of the text", "second line of the text")
	p := onlyPage(t, textPDF(t, turned("0 -1 1 0 550 500", "0 -14", "right margin", "goes on")+turned("0 1 -1 0 50 300", "0 -14", "left margin", "continues")+body, "", "", ""))
	if got, want := textsOf(p), []string{"first line of the text", "second line of the text", "left margin", "continues", "right margin", "goes on"}; !slices.Equal(got, want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
	if got := p.Lines[2].Direction; got != Upwards {
		t.Errorf("direction of the left margin = %v", got)
	}
	if got := p.Lines[4].Direction; got != Downwards {
		t.Errorf("direction of the right margin = %v", got)
	}
}

// Vertical columns of Japanese and similar text are read from the right.
func TestVerticalWriting(t *testing.T) {
	encode := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, "%04x", r)
		}
		return "<" + b.String() + ">"
	}
	first, second := "縦書きの文章です。次の行に", "続きます。"
	p := onlyPage(t, textPDF(t, "BT /J 12 Tf 500 700 Td "+encode(first)+" Tj ET BT /J 12 Tf 480 700 Td "+encode(second)+" Tj ET", "/J 6 0 R", "", "",
		"<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /UniJIS-UCS2-V /DescendantFonts [7 0 R] >>",
		"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /DW 1000 /FontDescriptor 8 0 R >>",
		"<< /Type /FontDescriptor /FontName /HeiseiMin-W3 /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 900 /Descent -200 /CapHeight 700 /StemV 80 >>"))
	if got, want := textsOf(p), []string{first, second}; !slices.Equal(got, want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
	if d := p.Lines[0].Direction; d != Stacked || !p.Lines[0].Turned {
		t.Errorf("direction = %v", d)
	}
}

// Each line is read by the direction of its paragraph, also one with more words in the other direction.
func TestBothDirections(t *testing.T) {
	font := map[byte]string{}
	for code := byte(' '); code < 0x7f; code++ {
		font[code] = string(rune(code))
	}
	for i, r := range "אבגד" {
		font["wxyz"[i/2]] = string(r)
	}
	p := onlyPage(t, textPDF(t, "BT /F2 10 Tf 100 700 Td (.zyx .Acme Ltd zyx) Tj 0 -14 Td (Acme Trading No. 15/B zyx) Tj 0 -14 Td (zyxw xwz yzwx wxyz xxyz zywx yyzx) Tj ET", "/F2 6 0 R", "", "", mappedFont(font)...))
	reversed := strings.NewReplacer("w", "א", "x", "ב", "y", "ג", "z", "ד")
	want := []string{reversed.Replace("xyz") + " Acme Ltd. " + reversed.Replace("xyz."), reversed.Replace("xyz") + " Acme Trading No. 15/B"}
	if got := textsOf(p); !slices.Equal(got[:2], want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
}
