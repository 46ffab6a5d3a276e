package charset

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
)

// languages are the letters beyond ASCII of languages, each with the encodings in which it is
// written. Statistics alone take short Czech, Polish or Hungarian texts for French.
var languages = []struct {
	letters   string
	encodings []*charmap.Charmap
}{
	{"éèàçêôûîïëùœæâ", western},       // French
	{"äöüß", western},                 // German
	{"áéíóúñüº¿¡", western},           // Spanish
	{"ãõáéíóúâêôçàªº", western},       // Portuguese
	{"àèéìòù", western},               // Italian
	{"åäöæøéü", western},              // Danish, Finnish, Norwegian, Swedish
	{"éëïèóöü", western},              // Dutch
	{"áéíóúýþæöð", western},           // Icelandic
	{"àèéíïòóúüç·", western},          // Catalan
	{"áčďéěíňóřšťúůýžľĺŕôä", central}, // Czech, Slovak
	{"ąćęłńóśźż", central},            // Polish
	{"áéíóöőúüű", central},            // Hungarian
	{"čćđšž", central},                // Croatian, Slovene
	{"ăâîşţ", central},                // Romanian
	{"çğıöşüâî", turkish},             // Turkish
	{"āčēģīķļņšūž", baltic},           // Latvian
	{"ąčęėįšųūž", baltic},             // Lithuanian
	{"äöõüšž", baltic},                // Estonian
	{"абвгдежзийклмнопрстуфхцчшщъыьэюяё", cyrillic}, // Russian, Bulgarian
}

var (
	western  = []*charmap.Charmap{charmap.Windows1252, charmap.ISO8859_15, charmap.Macintosh, charmap.CodePage850}
	central  = []*charmap.Charmap{charmap.Windows1250, charmap.ISO8859_2, charmap.CodePage852}
	turkish  = []*charmap.Charmap{charmap.Windows1254}
	baltic   = []*charmap.Charmap{charmap.Windows1257, charmap.ISO8859_13}
	cyrillic = []*charmap.Charmap{charmap.CodePage866, charmap.Windows1251}
)

// marksOfAll are characters that texts of every language have.
const marksOfAll = "–—’‘“”„‚«»…€§°©®\u00a0•·×±²³½£¥¢™¹¼¾†‡¶‰µ´"

// rarely is subtracted from the score of encodings that few texts have today: those of DOS and the
// first Macintosh. In them, the marks of windows-1252 are letters.
const rarely = 0.55

// byLetters returns the encoding in which most of the characters beyond ASCII are letters of one
// language.
func byLetters(sample []byte) encoding.Encoding {
	best := encoding.Encoding(charmap.Windows1252)
	most := 0.0
	for _, l := range languages {
		for _, enc := range l.encodings {
			score := fit(sample, enc, l.letters)
			if enc == charmap.Macintosh || enc == charmap.CodePage850 || enc == charmap.CodePage852 {
				score -= rarely
			}
			if score > most {
				best, most = enc, score
			}
		}
	}
	return best
}

// fit returns how well a sample in an encoding fits a language: at most 1 for each character beyond
// ASCII, on average.
func fit(sample []byte, enc *charmap.Charmap, letters string) float64 {
	var values [256]float64 // of the bytes beyond ASCII
	var upper, lower [256]bool
	var marks [256]rune
	foreign := letters[0] >= 0xd0 // of another script than Latin
	for c := utf8.RuneSelf; c < 256; c++ {
		r := enc.DecodeByte(byte(c))
		switch {
		case r == utf8.RuneError || unicode.IsControl(r):
			values[c] = -3
		case strings.ContainsRune(letters, unicode.ToLower(r)):
			values[c] = 1
		case strings.ContainsRune(marksOfAll, r):
			values[c], marks[c] = 0.5, r
		default:
			values[c] = -1
		}
		upper[c], lower[c] = unicode.IsUpper(r), unicode.IsLower(r)
	}
	for c := range utf8.RuneSelf {
		upper[c], lower[c] = c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z'
	}
	sum, n := 0.0, 0
	for i, c := range sample {
		if c < utf8.RuneSelf {
			continue
		}
		n++
		value := values[c]
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = sample[i-1]
		}
		if i+1 < len(sample) {
			after = sample[i+1]
		}
		switch {
		case value == 1 && upper[c] && lower[before]: // a capital within a word
			value = -0.5
		case value == 1 && foreign && (isASCIILetter(before) || isASCIILetter(after)):
			value = -1
		case value == 1 && !letter(before) && !letter(after): // few words have one letter
			value = 0.25
		case value == 0.5 && inPlace(marks[c], before, after):
			value = 1
		case value == 0.5 && lower[before] && lower[after] && marks[c] != '—': // a sign within a word
			value = -1
		}
		sum += value
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// inPlace reports whether a mark stands where writers put it: quotation marks and apostrophes at words,
// and dots behind them.
func inPlace(mark rune, before, after byte) bool {
	switch mark {
	case '‘', '“', '„':
		return !letter(before) && letter(after)
	case '’', '”':
		return before > ' ' && (!letter(after) || mark == '’')
	case '…':
		return before > ' ' && !letter(after)
	}
	return false
}

// letter reports whether a byte is a letter of ASCII, or may be one of another encoding.
func letter(c byte) bool { return isASCIILetter(c) || c >= utf8.RuneSelf }

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// eastAsian returns the encoding of a Japanese or Korean text, or nil. Even a short text has enough
// syllables to be sure.
func eastAsian(sample []byte) encoding.Encoding {
	if isISO2022JP(sample) {
		return japanese.ISO2022JP
	}
	if isKanji(sample) {
		return japanese.ShiftJIS
	}
	for _, c := range []struct {
		enc       encoding.Encoding
		syllables []*unicode.RangeTable
		share     int // of the characters beyond ASCII, in percent
	}{
		{japanese.ShiftJIS, []*unicode.RangeTable{unicode.Hiragana, unicode.Katakana}, 25},
		{japanese.EUCJP, []*unicode.RangeTable{unicode.Hiragana, unicode.Katakana}, 25},
		{korean.EUCKR, []*unicode.RangeTable{unicode.Hangul}, 70}, // Japanese is valid in this encoding, too
	} {
		text, err := c.enc.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		text = bytes.TrimSuffix(text, []byte("\ufffd")) // the sample may end within a character
		all, found, bad := 0, 0, 0
		joined, before := 0, ' ' // a quotation mark of windows-1252 and the letter behind it look like one syllable
		for _, r := range string(text) {
			if r >= utf8.RuneSelf && before >= utf8.RuneSelf {
				joined++
			}
			before = r
			switch {
			case r == utf8.RuneError:
				bad++
			case r >= utf8.RuneSelf && (r < 0xff61 || r > 0xff9f): // half-width Katakana are single bytes, as Latin letters are
				all++
				if unicode.In(r, c.syllables...) {
					found++
				}
			case r >= 0xff61 && r <= 0xff9f:
				all++
			}
		}
		if all > 0 && joined*3 >= all && bad*100 <= all && found*100 >= all*c.share {
			return c.enc
		}
	}
	return nil
}

// isKanji reports whether the characters of b beyond ASCII are common Kanji in Shift JIS, such as those
// of tables with names, which have no syllables. Most must follow each other: one letter with an accent
// and the ASCII letter behind it look like one Kanji.
func isKanji(b []byte) bool {
	all, common, joined := 0, 0, 0
	last := -1 // where the last character ends
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c < utf8.RuneSelf {
			continue
		}
		if i+1 == len(b) { // the sample may end within a character
			break
		}
		if c == 0x80 || c >= 0xa0 && c < 0xe0 || b[i+1] < 0x40 || b[i+1] == 0x7f || b[i+1] > 0xfc {
			return false
		}
		all++
		if c <= 0x98 { // level 1 of the standard ends there
			common++
		}
		if i == last {
			joined++
		}
		i++
		last = i + 1
	}
	text, err := japanese.ShiftJIS.NewDecoder().Bytes(b)
	return err == nil && all > 1 && joined*2 >= all && common*4 >= all*3 && !bytes.ContainsRune(bytes.TrimSuffix(text, []byte("\ufffd")), utf8.RuneError)
}

// isISO2022JP reports whether b has the marks that switch to Japanese and back, which are ASCII.
func isISO2022JP(b []byte) bool {
	return (bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))) &&
		(bytes.Contains(b, []byte("\x1b(B")) || bytes.Contains(b, []byte("\x1b(J")))
}
