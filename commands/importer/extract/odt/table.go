package odt

import (
	"strconv"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
)

// table reads the open table:table. A table with one column is a frame, whose paragraphs are read like
// those outside of tables. A table inside another one becomes text of the cell that contains it. Notes
// follow the table.
func (d *document) table(x *zipxml.Part, e *zipxml.Element, out blocks.Sink) error {
	open := d.open
	d.open = nil // lists in cells are not part of the list around the table
	d.tables++
	t := &table{d: d, rows: blocks.Table{Out: out, Nested: d.tables > 1}}
	err := x.Children(func(e *zipxml.Element) error { return t.element(x, e) })
	if err == nil {
		err = t.rows.Flush()
	}
	d.open = open
	if d.tables--; d.tables > 0 {
		return err
	}
	held := d.held
	d.held, d.heldBytes = nil, 0
	for _, note := range held {
		if err == nil {
			err = out(note)
		}
	}
	return err
}

// table is a table that is being read.
type table struct {
	d      *document
	rows   blocks.Table
	grid   int // number of columns
	breaks int // page breaks before the next row

	// Some programs leave the elements for covered cells out.
	covered int         // columns of the last cell for which none has come yet
	below   map[int]int // by column, how many of the next rows a cell above covers
}

func (t *table) element(x *zipxml.Part, e *zipxml.Element) error {
	switch e.Name {
	case "table:table-columns", "table:table-header-columns", "table:table-column-group", "table:table-header-rows", "table:table-rows", "table:table-row-group":
		return x.Children(func(e *zipxml.Element) error { return t.element(x, e) })
	case "table:table-column":
		t.grid += repeated(e, "number-columns-repeated")
	case "text:soft-page-break":
		t.breaks++
	case "table:table-row":
		r := &blocks.Row{Breaks: t.breaks, Before: t.breaks > 0}
		t.breaks, t.covered = 0, 0
		if err := x.Children(func(e *zipxml.Element) error { return t.cell(x, e, r) }); err != nil {
			return err
		}
		return t.rows.Add(r)
	}
	return x.Skip()
}

// skipCovered moves to the column of the next cell, behind those that others cover.
func (t *table) skipCovered(r *blocks.Row) {
	r.Add("", t.covered)
	t.covered = 0
	for t.below[r.Next] > 0 {
		t.below[r.Next]--
		r.Add("", 1)
	}
}

// repeated returns how often an element counts, but at most as often as a table has columns.
func repeated(e *zipxml.Element, attr string) int {
	n, err := strconv.Atoi(e.Attr(attr))
	if err != nil {
		return 1
	}
	return min(max(n, 1), blocks.MaxColumns)
}

// cell reads a child of the open row.
func (t *table) cell(x *zipxml.Part, e *zipxml.Element, r *blocks.Row) error {
	switch e.Name {
	case "table:covered-table-cell":
		for range repeated(e, "number-columns-repeated") {
			if t.covered > 0 {
				t.covered--
			} else if t.below[r.Next] > 0 {
				t.below[r.Next]--
			}
			r.Add("", 1)
		}
		return x.Skip()
	case "table:table-cell":
		if t.grid == 1 && t.d.tables == 1 {
			return t.d.blocks(x, t.rows.Out)
		}
		t.skipCovered(r)
		columns, rows := repeated(e, "number-columns-spanned"), repeated(e, "number-rows-spanned")
		if rows > 1 && len(t.below) < blocks.MaxColumns {
			if t.below == nil {
				t.below = map[int]int{}
			}
			for i := range columns {
				t.below[r.Next+i] = rows - 1
			}
		}
		text, err := blocks.Line(tooLong, func(out blocks.Sink) error {
			return t.d.blocks(x, func(b blocks.Block) error {
				r.Breaks = min(r.Breaks+len(b.Breaks), 10_000)
				return out(b)
			})
		})
		if err != nil {
			return err
		}
		r.Add(text, repeated(e, "number-columns-repeated"))
		t.covered = columns - 1
		return tooLong(r.Size)
	}
	return x.Skip()
}
