package xlsx

import (
	"strconv"
	"strings"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
)

const (
	maxColumn = 16_384  // columns of a sheet, as in Excel
	maxRow    = 1 << 20 // bytes of text in a row
	// The header of a table is repeated after these bytes of rows or, if the header is long, after
	// eight times its length, so that a passage shows what its columns are.
	repeatAfter = 4 << 10
)

// area is a part of a sheet between empty rows: a table, perhaps with lines of a single cell before it.
type area struct {
	table  *blocks.Table
	out    blocks.Sink
	header *blocks.Row // the first row with several cells
	lines  int         // lines before the table
	size   int         // bytes of rows since the header
}

// sheet reads a sheet.
func (b *workbook) sheet(s sheet) error {
	if b.out.Page() == 0 {
		b.out.StartPages()
	} else {
		b.out.TurnPage()
	}
	if err := b.out.Write(blocks.Block{Level: 1, Text: s.name}); err != nil {
		return err
	}
	x, err := b.pkg.Part(s.part, zipxml.AnyPart)
	if x == nil || err != nil {
		return err
	}
	defer x.Close()
	a := &area{out: b.out.Write}
	row := 0
	drawing := ""
	err = x.Root(func(root *zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			switch e.Local {
			case "sheetData":
				return x.Children(func(e *zipxml.Element) error {
					number, err := strconv.Atoi(e.Attr("r"))
					if err != nil || number <= row {
						number = row + 1
					}
					r, err := b.row(x)
					if err == nil && (number > row+1 || r.Size == 0) {
						err = a.end()
					}
					if err == nil {
						err = a.add(r)
					}
					row = number
					return err
				})
			case "drawing":
				drawing = e.Relation("id")
				s.chart = root.Local == "chartsheet"
			}
			return x.Skip()
		})
	})
	if err == nil {
		err = a.end()
	}
	if err != nil || drawing == "" {
		return err
	}
	rels, err := ooxml.ReadRelations(b.pkg, s.part)
	if err != nil {
		return err
	}
	return b.drawing(rels[drawing].Target, s.chart)
}

// drawing emits the texts of a drawing on a sheet. The values of a chart stand on a sheet already,
// unless the chart is a sheet of its own.
func (b *workbook) drawing(part string, chart bool) error {
	rels, err := ooxml.ReadRelations(b.pkg, part)
	if err != nil {
		return err
	}
	return b.pkg.Each(part, zipxml.SmallPart, "wsDr", func(x *zipxml.Part, _ *zipxml.Element) error {
		r := ooxml.ShapeReader{Drawings: &b.drawings, Relations: rels, TitlesOnly: !chart}
		shapes, err := r.Read(x)
		for _, s := range shapes {
			for _, one := range s.Blocks {
				if err == nil {
					err = b.out.Write(one)
				}
			}
		}
		return err
	})
}

// add adds a row. A row of a single cell before the table is a line of text.
func (a *area) add(r *blocks.Row) error {
	if r.Size == 0 {
		return nil
	}
	if text, single := r.Single(); single && a.table == nil {
		a.lines++
		return a.out(blocks.Block{Text: blocks.Escape(text), Tight: a.lines > 1})
	}
	if a.table == nil {
		a.table, a.header, a.size = &blocks.Table{Out: a.out}, r, 0
		return a.table.Add(r)
	}
	if a.size += r.Size; a.size > max(repeatAfter, 8*a.header.Size) {
		if err := a.table.Flush(); err != nil {
			return err
		}
		a.table, a.size = a.table.Next(), r.Size
		if err := a.table.Add(a.header); err != nil {
			return err
		}
	}
	return a.table.Add(r)
}

// end ends the area.
func (a *area) end() error {
	table := a.table
	a.table, a.header, a.lines = nil, nil, 0
	if table == nil {
		return nil
	}
	return table.Flush()
}

// row reads the open row.
func (b *workbook) row(x *zipxml.Part) (*blocks.Row, error) {
	r := &blocks.Row{}
	column := 0
	return r, x.Children(func(e *zipxml.Element) error {
		if e.Local != "c" {
			return x.Skip()
		}
		if at := columnOf(e.Attr("r")); at > column {
			column = at
		} else {
			column++
		}
		text, err := b.cell(x, e)
		if text == "" || err != nil || column > maxColumn {
			return err
		}
		if r.Size+len(text) > maxRow {
			b.wide = true
			return nil
		}
		r.Next = column - 1
		r.Add(text, 1)
		return nil
	})
}

// columnOf returns the column in the name of a cell, such as 28 for AB7, or 0 if it has none.
func columnOf(cell string) int {
	n := 0
	for i := 0; i < len(cell) && i < 4 && cell[i] >= 'A' && cell[i] <= 'Z'; i++ {
		n = n*26 + int(cell[i]-'A') + 1
	}
	return n
}

// cell returns what the open cell displays.
func (b *workbook) cell(x *zipxml.Part, e *zipxml.Element) (string, error) {
	kind, style := e.Attr("t"), e.Attr("s")
	value, formula, stored := "", false, false
	err := x.Children(func(e *zipxml.Element) (err error) {
		switch e.Local {
		case "v":
			stored = true
			value, err = x.Text()
			return err
		case "is":
			stored = true
			value, err = richText(x)
			return err
		case "f":
			formula = true
		}
		return x.Skip()
	})
	// The result of a formula may be an empty text, but no empty number: some programs write that if
	// they do not calculate.
	if formula && (!stored || value == "" && kind != "str") && err == nil {
		b.unknown++
	}
	if value == "" || err != nil {
		return "", err
	}
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return "", nil
		}
		return b.format(style).text(unescape(b.texts.get(i))), nil
	case "str", "inlineStr":
		return b.format(style).text(unescape(value)), nil
	case "b":
		return map[bool]string{true: "TRUE", false: "FALSE"}[strings.TrimSpace(value) == "1"], nil
	case "e":
		return value, nil
	case "d":
		return strings.TrimSuffix(strings.Replace(value, "T", " ", 1), " 00:00:00"), nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return value, nil
	}
	f := b.format(style)
	if digits := strings.TrimSpace(value); f.isGeneral() && strings.Trim(digits, "0123456789") == "" {
		return strings.TrimLeft(digits[:len(digits)-1], "0") + digits[len(digits)-1:], nil // a float64 may not hold all of them
	}
	return f.number(n, b.since1904), nil
}

// unescape replaces escapes of characters, such as _x000D_; control characters become spaces.
func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	var out strings.Builder
	for {
		i := strings.Index(text, "_x")
		if i < 0 {
			break
		}
		out.WriteString(text[:i])
		text = text[i:]
		n := len("_x")
		if len(text) >= 7 && text[6] == '_' {
			if code, err := strconv.ParseUint(text[2:6], 16, 16); err == nil {
				n = 7
				char := " "
				if code >= ' ' && (code < 0xd800 || code > 0xdfff) {
					char = string(rune(code))
				}
				out.WriteString(char)
			}
		}
		if n == len("_x") {
			out.WriteString("_x")
		}
		text = text[n:]
	}
	return out.String() + text
}
