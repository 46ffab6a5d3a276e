package extract

import "strings"

// table is one that is being read. Rows are handed on as they end; the first
// one is the header.
type table struct {
	d       *docx
	out     sink
	columns int // told by the grid, or by the rows so far
	grid    int // columns of the grid; 0: none given
	rows    int
	above   map[int]string // short texts of cells that reach down, by column
}

const maxColumns = 1_000

// table reads the open w:tbl. A table of one column is a frame around
// paragraphs, and read as such. A table in a table becomes text of its cell.
func (d *docx) table(x *xmlPart, out sink) error {
	t := &table{d: d, out: out, above: map[int]string{}}
	d.nesting++
	defer func() { d.nesting-- }()
	return x.children(func(e *element) error { return t.element(x, e) })
}

func (t *table) element(x *xmlPart, e *element) error {
	switch e.name {
	case "w:tblGrid":
		return x.children(func(e *element) error {
			if e.name == "w:gridCol" && t.grid < maxColumns {
				t.grid++
			}
			return x.skip()
		})
	case "w:tr":
		return t.row(x)
	case "w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo":
		return x.children(func(e *element) error { return t.element(x, e) })
	}
	return x.skip()
}

// row is one that is being read.
type row struct {
	cells   []string
	size    int
	breaks  int  // pages that begin in it
	before  bool // the first of them begins before its text
	deleted bool
}

func (t *table) row(x *xmlPart) error {
	r := &row{}
	if err := x.children(func(e *element) error { return t.rowElement(x, e, r) }); err != nil {
		return err
	}
	if r.deleted || strings.TrimSpace(strings.Join(r.cells, "")) == "" {
		return nil
	}
	return t.emit(r)
}

func (t *table) rowElement(x *xmlPart, e *element, r *row) error {
	switch e.name {
	case "w:trPr":
		return x.children(func(e *element) error {
			switch e.name {
			case "w:gridBefore":
				t.pad(r, atoi(e.attr("val"), 0))
			case "w:del":
				r.deleted = true
			}
			return x.skip()
		})
	case "w:tc":
		return t.cell(x, r)
	case "w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo":
		return x.children(func(e *element) error { return t.rowElement(x, e, r) })
	}
	return x.skip()
}

func (t *table) pad(r *row, n int) {
	for range min(n, maxColumns-len(r.cells)) {
		r.cells = append(r.cells, "")
	}
}

// cell reads the open w:tc into its row.
func (t *table) cell(x *xmlPart, r *row) error {
	span, merged, continued := 1, false, false
	breaks, before := 0, false
	contents := func(out sink) error {
		return x.children(func(e *element) error {
			if e.name != "w:tcPr" {
				return t.d.blockElement(x, e, out)
			}
			return x.children(func(e *element) error {
				switch e.name {
				case "w:gridSpan":
					span = max(atoi(e.attr("val"), 1), 1)
				case "w:vMerge":
					merged, continued = true, e.attr("val") != "restart"
				}
				return x.skip()
			})
		})
	}
	if t.grid == 1 && t.d.nesting == 1 {
		return contents(t.out)
	}
	text, err := t.d.collect(func(out sink) error {
		return contents(func(b block) error {
			if len(b.breaks) > 0 && breaks == 0 {
				before = b.breaks[0] == 0
			}
			breaks += len(b.breaks)
			return out(b)
		})
	})
	if err != nil || len(r.cells) >= maxColumns {
		return err
	}
	if len(r.cells) == 0 {
		r.before = before
	}
	r.breaks = max(r.breaks, breaks)
	column := len(r.cells)
	switch {
	case continued && text == "":
		text = t.above[column]
	case merged && len(text) <= 60:
		t.above[column] = text
	default:
		delete(t.above, column)
	}
	r.cells = append(r.cells, strings.ReplaceAll(text, "|", `\|`))
	t.pad(r, span-1)
	r.size += len(text)
	return tooLong(r.size)
}

// emit hands on a row: a line of a Markdown table, or of text where the
// table is inside another.
func (t *table) emit(r *row) error {
	b := block{kind: tableRow, tight: t.rows > 0}
	if t.d.nesting > 1 {
		b.text = strings.Join(r.cells, ", ") + ";"
	} else {
		if t.rows == 0 {
			t.columns = max(t.grid, len(r.cells))
		}
		t.pad(r, t.columns-len(r.cells))
		b.text = "| " + strings.Join(r.cells, " | ") + " |"
		if t.rows == 0 {
			b.text += "\n|" + strings.Repeat(" --- |", len(r.cells))
		}
	}
	t.rows++
	for range r.breaks {
		at := len(b.text)
		if r.before {
			at, r.before = 0, false
		}
		b.breaks = append(b.breaks, at)
	}
	return t.out(b)
}
