package rtf

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// leftOut are destinations whose text is not part of what a document says, or stands elsewhere too.
var leftOut = map[string]bool{
	"colortbl": true, "listtable": true, "listoverridetable": true, "revtbl": true, "rsidtbl": true, "generator": true, "pict": true, "object": true, "header": true, "headerl": true,
	"headerr": true, "headerf": true, "footer": true, "footerl": true, "footerr": true, "footerf": true, "fldinst": true, "xmlnstbl": true, "themedata": true, "colorschememapping": true,
	"datastore": true, "latentstyles": true, "filetbl": true, "info": true, "template": true, "bkmkstart": true, "bkmkend": true, "xe": true, "tc": true, "tcn": true, "annotation": true,
	"atnid": true, "atnauthor": true, "atndate": true, "atnref": true, "nonshppict": true, "ftnsep": true, "ftnsepc": true, "aftnsep": true, "aftnsepc": true, "private": true, "sp": true,
	"userprops": true, "operator": true, "author": true, "company": true, "subject": true, "keywords": true, "comment": true, "doccomm": true, "pntxtb": true, "pntxta": true,
}

// characters are the words that stand for a character.
var characters = map[string]string{
	"tab": "\t", "line": "\n", "lbr": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
	"emspace": " ", "enspace": " ", "qmspace": " ", "~": " ", "_": "-", "softline": "\n", "column": "\n", "page": "\n", "softpage": "\n",
}

// control reads what follows a backslash.
func (d *document) control() error {
	c, err := d.in.ReadByte()
	if err != nil {
		return err
	}
	if c == '\'' {
		var hex [2]byte
		if _, err := io.ReadFull(d.in, hex[:]); err != nil {
			return io.EOF
		}
		if n, err := strconv.ParseUint(string(hex[:]), 16, 8); err == nil {
			d.byte(byte(n))
		}
		return nil
	}
	if c|0x20 < 'a' || c|0x20 > 'z' {
		return d.symbol(c)
	}
	word := []byte{c}
	number, digits := []byte(nil), false
	for {
		c, err := d.in.ReadByte()
		if err != nil {
			break
		}
		if !digits && (c|0x20 >= 'a' && c|0x20 <= 'z') && len(word) < 32 {
			word = append(word, c)
			continue
		}
		if (c >= '0' && c <= '9' || c == '-' && !digits) && len(number) < 10 {
			digits = true
			number = append(number, c)
			continue
		}
		if c != ' ' {
			_ = d.in.UnreadByte()
		}
		break
	}
	n, err := strconv.Atoi(string(number))
	if err != nil {
		n = 1
		digits = false
	}
	return d.word(string(word), n, digits)
}

// symbol handles a backslash before a character that is no letter.
func (d *document) symbol(c byte) error {
	switch c {
	case '{', '}', '\\':
		d.byte(c)
	case '*':
		d.starred = true
	case '~', '_':
		d.decode()
		d.write(characters[string(c)])
	case '\r', '\n':
		return d.word("par", 1, false)
	}
	return nil
}

// word handles a control word with its number, which is 1 if given is false.
func (d *document) word(word string, n int, given bool) error {
	if word == "u" && given {
		d.unicode(n)
		return nil
	}
	if word == "bin" && given { // bytes that are no text
		_, err := io.CopyN(io.Discard, d.in, int64(max(n, 0)))
		return err
	}
	d.pending = 0
	d.decode()
	starred := d.starred
	d.starred = false
	if text, ok := characters[word]; ok {
		d.write(text)
		return nil
	}
	if d.destination(word, starred) {
		return nil
	}
	switch word {
	case "ansicpg":
		if page := codePage(n); page != nil {
			d.page = page
		}
	case "mac":
		d.page = charmap.Macintosh
	case "pc":
		d.page = charmap.CodePage437
	case "pca":
		d.page = charmap.CodePage850
	case "f":
		if d.cur.place == fontTable {
			d.font = n
		} else {
			d.cur.page = d.fonts[n]
		}
	case "fcharset":
		if page := fontPage(n); d.cur.place == fontTable && page != nil && len(d.fonts) < maxFonts {
			d.fonts[d.font] = page
		}
	case "uc":
		d.cur.skip = min(max(n, 0), 16)
	case "v":
		d.cur.hidden = !given || n != 0
	case "deleted":
		d.cur.deleted = !given || n != 0
	case "plain":
		d.cur.hidden, d.cur.deleted = false, false
	case "s":
		if d.cur.place == styleSheet {
			d.font = n
		} else {
			d.level = d.styles[n]
		}
	case "outlinelevel":
		if d.cur.place == body && n >= 0 && n < 9 {
			d.outline = n + 1
		}
	}
	if d.cur.place != body || d.cur.hidden {
		return nil
	}
	return d.structure(word)
}

// structure handles the words that end paragraphs, cells and rows.
func (d *document) structure(word string) error {
	switch word {
	case "par", "sect":
		if d.cur.note {
			d.text = append(d.text, ' ')
			return nil
		}
		return d.paragraph()
	case "pard":
		d.level, d.outline = 0, 0
		d.inTable = false
	case "intbl":
		d.inTable = true
	case "cell", "nestcell":
		return d.cell()
	case "row", "nestrow":
		return d.endRow()
	}
	return nil
}

// destination handles words that say where the text of the group goes.
func (d *document) destination(word string, starred bool) bool {
	switch {
	case d.cur.place == nowhere && word != "title":
		return true
	case word == "fonttbl":
		d.cur.place = fontTable
	case word == "stylesheet":
		d.cur.place = styleSheet
	case word == "title":
		d.cur.place = titleField
	case word == "listtext", word == "pntext":
		d.cur.place = mark
	case word == "footnote" && d.cur.place == body:
		if !d.cur.note {
			d.text = append(d.text, " ("...)
		}
		d.cur.note = true
	case leftOut[word]:
		d.cur.place = nowhere
	case starred && word != "shpinst" && word != "shptxt" && word != "ud" && word != "cs":
		if d.cur.place == body {
			d.cur.place = nowhere
		}
	default:
		return false
	}
	return true
}

// unicode adds a character by its number, of which older files have the negative complement.
func (d *document) unicode(n int) {
	d.decode()
	if n < 0 {
		n += 1 << 16
	}
	skip := d.cur.skip
	high := d.high
	switch r := rune(n); {
	case r >= 0xd800 && r < 0xdc00:
		d.high = r
	case r >= 0xdc00 && r < 0xe000:
		d.write(string(utf16.DecodeRune(high, r)))
	case r > 0 && r <= 0x10ffff:
		d.write(string(r))
	}
	d.pending = skip
}

// defineStyle ends the definition of a style, which has the name of the style as its text.
func (d *document) defineStyle() {
	name := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(string(d.name)), ";"))
	d.name = d.name[:0]
	if level, ok := strings.CutPrefix(name, "heading "); ok && len(d.styles) < maxFonts {
		if n, err := strconv.Atoi(level); err == nil && n > 0 && n < 10 {
			d.styles[d.font] = n
		}
	} else if name == "title" && len(d.styles) < maxFonts {
		d.styles[d.font] = 1
	}
	d.font = 0
}

// codePage returns the encoding of a code page of Windows, or nil.
func codePage(n int) encoding.Encoding {
	switch n {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 10000:
		return charmap.Macintosh
	case 65001:
		return unicode.UTF8
	}
	name := map[int]string{874: "windows-874", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5"}[n]
	if name == "" && n >= 1250 && n <= 1258 {
		name = "windows-" + strconv.Itoa(n)
	}
	if enc, err := htmlindex.Get(name); err == nil {
		return enc
	}
	return nil
}

// fontPage returns the encoding of the character set of a font, or nil for that of the document.
func fontPage(set int) encoding.Encoding {
	page, ok := map[int]int{0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 255: 437}[set]
	if !ok {
		return nil
	}
	return codePage(page)
}
