package docx

import (
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
)

// table is a table that is being read.
type table struct {
	d    *document
	rows blocks.Table
	grid int // declared number of columns, or 0
}

// table reads the open w:tbl. A table with one column is a frame: its paragraphs are read like
// paragraphs outside of tables. A table inside another one becomes text of the cell that
// contains it. Notes follow the table.
func (d *document) table(x *zipxml.Part, out blocks.Sink) error {
	d.nesting++
	t := &table{d: d, rows: blocks.Table{Out: out, Nested: d.nesting > 1}}
	err := x.Children(func(e *zipxml.Element) error { return t.element(x, e) })
	if err == nil {
		err = t.rows.Flush()
	}
	if d.nesting--; d.nesting > 0 {
		return err
	}
	held := d.held
	d.held = nil
	for _, note := range held {
		if err == nil {
			err = out(note)
		}
	}
	return err
}

func (t *table) element(x *zipxml.Part, e *zipxml.Element) error {
	switch e.Name {
	case "w:tblGrid":
		return x.Children(func(e *zipxml.Element) error {
			if e.Name == "w:gridCol" && t.grid < blocks.MaxColumns {
				t.grid++
			}
			return x.Skip()
		})
	case "w:tr":
		return t.row(x)
	case "w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo":
		return x.Children(func(e *zipxml.Element) error { return t.element(x, e) })
	}
	return x.Skip()
}

// row is a row that is being read.
type row struct {
	blocks.Row
	deleted bool
}

func (t *table) row(x *zipxml.Part) error {
	r := &row{}
	if err := x.Children(func(e *zipxml.Element) error { return t.rowElement(x, e, r) }); err != nil {
		return err
	}
	if r.deleted {
		return nil
	}
	return t.rows.Add(&r.Row)
}

func (t *table) rowElement(x *zipxml.Part, e *zipxml.Element, r *row) error {
	switch e.Name {
	case "w:trPr":
		return x.Children(func(e *zipxml.Element) error {
			switch e.Name {
			case "w:gridBefore":
				r.Add("", atoi(e.Attr("val"), 0))
			case "w:del":
				r.deleted = true
			}
			return x.Skip()
		})
	case "w:tc":
		return t.cell(x, r)
	case "w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo":
		return x.Children(func(e *zipxml.Element) error { return t.rowElement(x, e, r) })
	}
	return x.Skip()
}

// cell reads the open w:tc and adds it to the row. A cell that is merged with the cell above is
// empty.
func (t *table) cell(x *zipxml.Part, r *row) error {
	span, breaks, before, deleted, covered := 1, 0, false, false, false
	contents := func(out blocks.Sink) error {
		err := x.Children(func(e *zipxml.Element) error {
			if e.Name != "w:tcPr" {
				return t.d.blockElement(x, e, out)
			}
			return x.Children(func(e *zipxml.Element) error {
				switch e.Name {
				case "w:gridSpan":
					span = max(atoi(e.Attr("val"), 1), 1)
				case "w:cellDel":
					deleted = true
				case "w:vMerge", "w:hMerge": // Word does not show what a covered cell contains
					covered = e.Attr("val") != "restart"
				}
				return x.Skip()
			})
		})
		if err != nil {
			return err
		}
		return t.d.flush(out)
	}
	if t.grid == 1 && t.d.nesting == 1 {
		return contents(t.rows.Out)
	}
	text, err := blocks.Line(tooLong, func(out blocks.Sink) error {
		return contents(func(b blocks.Block) error {
			if len(b.Breaks) > 0 && breaks == 0 {
				before = b.Breaks[0] == 0
			}
			breaks += len(b.Breaks)
			return out(b)
		})
	})
	if err != nil {
		return err
	}
	if r.Next == 0 {
		r.Before = before
	}
	r.Breaks = max(r.Breaks, breaks)
	if deleted {
		return nil
	}
	if covered {
		text = ""
	}
	r.Add(text, span)
	return tooLong(r.Size)
}
