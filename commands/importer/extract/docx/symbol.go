package docx

import "strings"

// symbol returns the character for a code of a font of symbols. Codes of such fonts may be moved to
// U+F000. It returns "" if the code stands for a picture that no text means.
func symbol(font string, code rune) string {
	if code >= 0xf000 && code <= 0xf0ff {
		code -= 0xf000
	}
	switch {
	case font == "Symbol":
		return fromSymbolFont(string(code))
	case strings.HasPrefix(font, "Wingdings") || font == "Webdings" || code < 0x100:
		return dingbats[code]
	case code >= 0xe000 && code < 0xf900: // other private characters
		return ""
	}
	return string(code)
}

// dingbats are the characters of the fonts Wingdings and Wingdings 2 that carry a meaning in texts.
var dingbats = map[rune]string{
	0x6f: "☐", 0xa8: "☐", 0x71: "☐", 0xa3: "☐",
	0xfe: "☒", 0x78: "☒", 0xfd: "☒", 0x52: "☒", 0x54: "☒",
	0xfc: "✓", 0x50: "✓", 0xfb: "✗", 0x4f: "✗",
	0xb7: "•", 0xa7: "•", 0x6c: "•", 0x9f: "•", 0xd8: "•", 0x76: "•",
	0xe0: "→", 0xe8: "→", 0xf0: "→", 0xdf: "←", 0xef: "←", 0xe1: "↑", 0xe2: "↓",
	0x4a: "☺", 0x4b: "😐", 0x4c: "☹", 0x28: "☎", 0x2a: "✉", 0xab: "★",
}

// symbolFont is the encoding of the font Symbol from the code 0x20; a space stands for codes without
// a character.
var symbolFont = []rune(" !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼ " +
	"                                " + " ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭ ")

// fromSymbolFont converts a text in the font Symbol.
func fromSymbolFont(text string) string {
	return strings.Map(func(r rune) rune {
		code := r
		if code >= 0xf000 && code <= 0xf0ff {
			code -= 0xf000
		}
		if i := int(code) - 0x20; i >= 0 && i < len(symbolFont) {
			if r = symbolFont[i]; r == ' ' && code != ' ' && code != 0xa0 {
				return -1
			}
		}
		return r
	}, text)
}
