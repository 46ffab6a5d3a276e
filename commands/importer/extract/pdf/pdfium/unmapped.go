package pdfium

import (
	"encoding/binary"
	"math"
	"regexp"
	"strings"
	"unicode"

	"annals/commands/importer/extract/pdf/truetype"

	"github.com/tetratelabs/wazero/api"
)

// Fonts should map their characters to Unicode. PDFium returns a character without such a map
// by its code in the font; this file finds out what it is.

const (
	maxProgram = 16 << 20 // bytes of a font program that is read
	maxFonts   = 200      // fonts of a document whose maps are kept
	fontName   = 128      // bytes of a font's name that are read
)

// texEncodings are the characters of TeX's classic fonts by code; a zero is a bracket that is
// higher than a line, or a piece of a sign. Their names are not in Adobe's list.
var texEncodings = []struct {
	fonts *regexp.Regexp
	runes []rune
}{
	{regexp.MustCompile(`^(?:CMSY|CMBSY|LMMathSymbols)\d`), []rune("−·×∗÷⋄±∓⊕⊖⊗⊘⊙◯∘•≍≡⊆⊇≤≥≼≽∼≈⊂⊃≪≫≺≻←→↑↓↔↗↘≃⇐⇒⇑⇓⇔↖↙∝′∞∈∋△▽\u0338\x00∀∃¬∅ℜℑ⊤⊥" +
		"ℵABCDEFGHIJKLMNOPQRSTUVWXYZ∪∩⊎∧∨⊢⊣⌊⌋⌈⌉{}⟨⟩|‖↕⇕\\≀√∐∇∫⊔⊓⊑⊒§†‡¶♣♦♥♠")},
	{regexp.MustCompile(`^(?:CMMI|CMMIB|LMMathItalic)\d`), []rune("ΓΔΘΛΞΠΣΥΦΨΩαβγδϵζηθικλμνξπρστυϕχψωεϑϖϱςφ↼↽⇀⇁\x00\x00▷◁0123456789.,</>⋆" +
		"∂ABCDEFGHIJKLMNOPQRSTUVWXYZ♭♮♯⌣⌢ℓabcdefghijklmnopqrstuvwxyzıȷ℘\x00\x00")},
	{regexp.MustCompile(`^(?:CMEX|LMMathExtension)\d`), []rune("()[]⌊⌋⌈⌉{}⟨⟩|‖/\\" + strings.Repeat("\x00", 54) + "⊔⊔∮∮⊙⊙⊕⊕⊗⊗∑∏∫⋃⋂⊎⋀⋁∑∏∫⋃⋂⊎⋀⋁∐∐ˆˆˆ˜˜˜" +
		strings.Repeat("\x00", 8) + "√√√√√" + strings.Repeat("\x00", 11))},
	{regexp.MustCompile(`^CM(?:R|BX|B|TI|BXTI|SL|BXSL|SS|SSI|SSBX|CSC|DUNH|FIB|U)\d`), []rune("ΓΔΘΛΞΠΣΥΦΨΩﬀﬁﬂﬃﬄıȷ`´ˇ˘¯˚¸ßæœøÆŒØ")},
}

// repair replaces the characters of the page that have no map to Unicode by what they show.
// Few fonts have such characters, so that the beginnings of words are looked at first.
func (t *textPage) repair() {
	before := ' '
	for i, r := range t.text {
		suspect := r < ' ' && r != '\r' && r != '\n' || r >= 0x7f || before == ' ' || before == '\n'
		if before = r; suspect && r != ' ' && t.isUnmapped(t.charIndexOf(i)) {
			t.repairAll()
			return
		}
	}
}

// isUnmapped reports whether a character of the page is one without a map to Unicode.
func (t *textPage) isUnmapped(c int) bool {
	return c >= 0 && int32(t.call(t.unmapped, t.handle, uint64(c))) == 1
}

func (t *textPage) repairAll() {
	text, chars := make([]rune, 0, len(t.text)), make([]int, 0, len(t.text))
	next := 0 // character of the page
	for i, r := range t.text {
		c := t.charIndexOf(i)
		for ; next < c; next++ { // PDFium leaves out what it takes for control characters
			if !t.isUnmapped(next) {
				continue
			}
			if r, ok := t.shown(next, int(t.call(t.getUnicode, t.handle, uint64(next)))); ok {
				text, chars = append(text, r), append(chars, next)
			}
		}
		next = max(next, c+1)
		if t.isUnmapped(c) {
			if found, ok := t.shown(c, int(r)); ok {
				r = found
			} else if r < ' ' {
				r = dropped
				if i > 0 && i+1 < len(t.text) && unicode.IsLetter(t.text[i-1]) && unicode.IsLetter(t.text[i+1]) {
					r = lost
				}
			}
		}
		text, chars = append(text, r), append(chars, c)
	}
	t.text, t.chars = text, chars
}

// A character of the text that is not shown, and one that stands for an unknown letter in a
// word.
const (
	dropped = '\uffff'
	lost    = '\ufffd'
)

// font is what is known of a font whose characters have no map to Unicode.
type font struct {
	tex    []rune       // by code, if it is a font of TeX
	glyphs map[int]rune // by number of the glyph
	widths []float32    // of the glyphs
}

// shown returns what a character of the page shows that has a code but no map to Unicode.
func (t *textPage) shown(c, code int) (rune, bool) {
	f := t.fontOf(c)
	if f == nil || code < 0 {
		return 0, false
	}
	if code < len(f.tex) {
		if r := f.tex[code]; r != 0 {
			return r, true
		}
		return dropped, true
	}
	r, ok := f.glyphs[code]
	return r, ok && (r == ' ' || code < len(f.widths) && t.hasWidth(c, f.widths[code])) // spaces have no box
}

// fontOf returns the font of a character of the page, or nil.
func (t *textPage) fontOf(c int) *font {
	object := t.call(t.textObject, t.handle, uint64(c))
	if object == 0 {
		return nil
	}
	handle := t.call(t.objectFont, object)
	if handle == 0 {
		return nil
	}
	if f, ok := t.fonts[handle]; ok {
		return f
	}
	f := t.font(handle)
	if t.fonts == nil {
		t.fonts = map[uint64]*font{}
	}
	t.fonts[handle] = f
	return f
}

// font describes a font of the page.
func (t *textPage) font(handle uint64) *font {
	name := t.baseName(handle)
	for _, e := range texEncodings {
		if e.fonts.MatchString(name) {
			return &font{tex: e.runes}
		}
	}
	if int32(t.call(t.fontEmbedded, handle)) != 1 || !t.fills(t.fontData, handle, 0, 0, t.scratch) {
		return nil
	}
	b, _ := t.memory.Read(uint32(t.scratch), 4)
	if len(b) < 4 {
		return nil
	}
	size := binary.LittleEndian.Uint32(b)
	key := fontKey{name, size}
	if f, ok := t.knownFonts[key]; ok {
		return f
	}
	var f *font
	if size > 0 && size <= maxProgram {
		if buffer := t.malloc(int(size)); buffer != 0 {
			if t.fills(t.fontData, handle, buffer, uint64(size), t.scratch) {
				if program, ok := t.memory.Read(uint32(buffer), size); ok {
					if glyphs := truetype.Runes(program); len(glyphs) > 0 {
						f = &font{glyphs: glyphs, widths: truetype.Widths(program)}
					}
				}
			}
			t.free(buffer)
		}
	}
	if t.knownFonts == nil || len(t.knownFonts) >= maxFonts {
		t.document.knownFonts = map[fontKey]*font{}
	}
	t.document.knownFonts[key] = f
	return f
}

// fontKey identifies a font of a document: PDFium forgets fonts between pages.
type fontKey struct {
	name string
	size uint32
}

// baseName returns the name of a font, without the mark of a subset.
func (t *textPage) baseName(handle uint64) string {
	buffer := t.malloc(fontName)
	if buffer == 0 {
		return ""
	}
	defer t.free(buffer)
	n := t.call(t.fontBaseName, handle, buffer, fontName)
	if n < 1 || n > fontName {
		return ""
	}
	b, _ := t.memory.Read(uint32(buffer), uint32(n-1))
	if len(b) > 7 && b[6] == '+' {
		b = b[7:]
	}
	return string(b)
}

// hasWidth reports whether a character of the page is as wide as the glyph whose number is its
// code: then codes of the font are numbers of glyphs, as in most files.
func (t *textPage) hasWidth(c int, width float32) bool {
	index := uint64(c)
	size := float32(api.DecodeF64(t.call(t.fontSize, t.handle, index)))
	if !t.fills(t.charMatrix, t.handle, index, t.scratch) {
		return false
	}
	m := t.floats(4)
	want := width * size * float32(math.Hypot(float64(m[0]), float64(m[1])))
	var box Word
	t.box(&box, c, c)
	return closeTo(box.Right-box.X, want) || closeTo(box.Bottom-box.Top, want)
}

func closeTo(a, b float32) bool { return a-b < 0.02*b+0.01 && b-a < 0.02*b+0.01 }
