// Package rtf reads Rich Text: paragraphs, headings by their styles, lists, tables and notes. It
// imports extract, extract/blocks and events/fault.
package rtf

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/events/fault"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

const (
	maxParagraph = 1 << 20 // bytes of a paragraph, or of a cell; a longer one is divided
	maxRow       = 4 << 20 // bytes of a row of a table
	maxCells     = 10_000  // cells of a row
	maxFonts     = 10_000  // fonts, and also styles
)

// Read reads a Rich Text document. Hidden and deleted text, pictures, headers and footers are left
// out.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), 64<<10)
	if head, _ := in.Peek(5); string(head) != `{\rtf` {
		return extract.Info{}, fault.Errorf(fault.Invalid, "the file is not a Rich Text document: save it again, and upload the new file")
	}
	out := blocks.NewWriter(w)
	d := document{ctx: ctx, in: in, nesting: f.Limits.OrDefault().Nesting, out: out, page: charmap.Windows1252, fonts: map[int]encoding.Encoding{}, styles: map[int]int{}, cur: group{skip: 1}}
	d.table = blocks.Table{Out: out.Write}
	if err := d.read(); err != nil {
		return extract.Info{}, err
	}
	return extract.Info{Title: cmp.Or(strings.TrimSpace(d.title.String()), out.Title())}, nil
}

// place is where text goes.
type place uint8

const (
	body place = iota
	nowhere
	fontTable
	styleSheet
	titleField
	mark // the bullet or number of a list item
)

// group holds what ends with a group.
type group struct {
	place   place
	page    encoding.Encoding // code page of the font; nil means that of the document
	skip    int               // bytes that follow a Unicode character for older programs
	hidden  bool
	deleted bool
	note    bool
}

type document struct {
	ctx     context.Context
	in      *bufio.Reader
	nesting int // limit of groups
	out     *blocks.Writer
	title   strings.Builder

	page   encoding.Encoding         // code page of the document
	fonts  map[int]encoding.Encoding // by number
	styles map[int]int               // levels of headings, by number of the style

	groups  []group
	cur     group
	starred bool   // the next word names a destination that may be left out
	pending int    // bytes that are still to be skipped after a Unicode character
	high    rune   // the first half of a surrogate pair
	bytes   []byte // text in the code page that is not decoded yet

	text    []byte // of the open paragraph
	item    []byte // its bullet or number
	level   int    // of the heading, from the style
	outline int    // of the heading, from the paragraph
	inTable bool
	row     blocks.Row
	table   blocks.Table
	font    int    // number of the font, or of the style, that is being defined
	name    []byte // of that style
}

// read reads the document up to its end, or to the end of what is there of it.
func (d *document) read() error {
	for n := 0; ; n++ {
		if n&4095 == 0 && d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		c, err := d.in.ReadByte()
		if err != nil {
			if err != io.EOF {
				return err
			}
			break
		}
		switch c {
		case '{':
			d.decode()
			if len(d.groups) >= d.nesting {
				return fault.Errorf(fault.Invalid, "the Rich Text document has groups nested more than %d deep (--max-nesting): save it again, and upload the new file", d.nesting)
			}
			d.groups = append(d.groups, d.cur)
			d.pending, d.starred = 0, false
		case '}':
			d.decode()
			d.pending, d.starred = 0, false
			d.endGroup()
			if n := len(d.groups); n > 0 {
				d.cur, d.groups = d.groups[n-1], d.groups[:n-1]
			}
		case '\\':
			err = d.control()
		case '\r', '\n', 0:
		default:
			d.byte(c)
		}
		if err != nil {
			if err == io.EOF {
				break
			}
			return err
		}
		if len(d.bytes)+len(d.text) > maxParagraph {
			if err := d.paragraph(); err != nil {
				return err
			}
		}
	}
	if err := d.endRow(); err != nil {
		return err
	}
	d.inTable = false // what a cell without an end contains is a paragraph
	if err := d.paragraph(); err != nil {
		return err
	}
	if err := d.table.Flush(); err != nil {
		return err
	}
	return d.out.Close()
}

// endGroup ends what the open group defines.
func (d *document) endGroup() {
	if d.cur.note && len(d.groups) > 0 && !d.groups[len(d.groups)-1].note {
		d.text = append(bytes.TrimRight(d.text, " "), ')')
	}
	if d.cur.place == styleSheet {
		d.defineStyle()
	}
}

// byte adds a byte of text in the code page.
func (d *document) byte(c byte) {
	if d.pending > 0 {
		d.pending--
		return
	}
	d.bytes = append(d.bytes, c)
	if d.cur.place != body && len(d.bytes) > 4<<10 {
		d.decode()
	}
}

// decode adds the bytes that were collected as text.
func (d *document) decode() {
	if len(d.bytes) == 0 {
		return
	}
	page := d.cur.page
	if page == nil {
		page = d.page
	}
	text, err := page.NewDecoder().Bytes(d.bytes)
	if err != nil {
		text = d.bytes
	}
	d.bytes = d.bytes[:0]
	d.write(string(text))
}

// write adds text where it belongs.
func (d *document) write(text string) {
	d.high = 0
	if d.cur.hidden || d.cur.deleted {
		return
	}
	switch d.cur.place {
	case body:
		d.text = append(d.text, text...)
	case mark:
		if len(d.item) < 100 {
			d.item = append(d.item, text...)
		}
	case titleField:
		if d.title.Len() < extract.MaxTitle {
			d.title.WriteString(text)
		}
	case styleSheet:
		if len(d.name) < 100 {
			d.name = append(d.name, text...)
		}
	}
}

// paragraph ends the open paragraph.
func (d *document) paragraph() error {
	d.decode()
	if d.inTable { // the paragraphs of a cell are one text
		d.text, d.item = append(d.text, ' '), d.item[:0]
		if len(d.text) > maxParagraph {
			return d.cell()
		}
		return nil
	}
	text := blocks.TrimLines(strings.ReplaceAll(string(d.text), "\t", " "))
	item := strings.TrimSpace(string(d.item))
	level := d.level
	if d.outline > 0 {
		level = d.outline
	}
	d.text, d.item = d.text[:0], d.item[:0]
	if text == "" {
		return nil
	}
	if err := d.table.Flush(); err != nil {
		return err
	}
	d.table = blocks.Table{Out: d.out.Write}
	switch {
	case level > 0:
		return d.out.Write(blocks.Block{Level: level, Text: strings.ReplaceAll(text, "\n", " ")})
	case item != "":
		if strings.Trim(item, "0123456789") != "." || len(item) > 5 {
			item = "-"
		}
		return d.out.Write(blocks.Block{Kind: blocks.ListItem, Text: item + " " + text})
	}
	return d.out.Write(blocks.Block{Text: blocks.Escape(text)})
}

// cell ends the open cell of a table.
func (d *document) cell() error {
	d.decode()
	d.row.Add(strings.Join(strings.Fields(string(d.text)), " "), 1)
	d.text, d.item = d.text[:0], d.item[:0]
	if d.row.Size > maxRow || d.row.Next > maxCells {
		return fault.Errorf(fault.Invalid, "the Rich Text document has a table row of more than %d cells or %d MiB: divide it, and upload the file again", maxCells, maxRow>>20)
	}
	return nil
}

// endRow ends the open row of a table.
func (d *document) endRow() error {
	if d.row.Next == 0 {
		return nil
	}
	row := d.row
	d.row = blocks.Row{}
	return d.table.Add(&row)
}
