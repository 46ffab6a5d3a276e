package docx

import (
	"slices"
	"strings"
)

// table is a table that is being read. The first row is the header. The first rows are buffered
// to find columns that are empty; these columns are not written.
type table struct {
	d     *document
	out   sink
	grid  int // declared number of columns, or 0
	rows  []*row
	size  int   // bytes of text in rows
	used  []int // indexes of the columns to write; set when the header is written
	begun bool  // the header was written
}

const (
	maxColumns    = 1_000 // columns of a table, of one cell's span, and of a chart
	bufferedRows  = 500
	bufferedBytes = 256 << 10 // bytes of text in buffered rows
)

// table reads the open w:tbl. A table with one column is a frame: its paragraphs are read like
// paragraphs outside of tables. A table inside another one becomes text of the cell that
// contains it.
func (d *document) table(x *xmlPart, out sink) error {
	t := &table{d: d, out: out}
	d.nesting++
	defer func() { d.nesting-- }()
	if err := x.children(func(e *element) error { return t.element(x, e) }); err != nil {
		return err
	}
	return t.flush()
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

// row is a row that is being read.
type row struct {
	cells   []tableCell // cells with text, by column
	next    int         // column of the next cell
	size    int
	breaks  int  // number of pages that begin in the row
	before  bool // the first page that begins in the row begins before the row's text
	deleted bool
}

type tableCell struct {
	column int
	text   string
}

// add adds a cell that spans a number of columns.
func (r *row) add(text string, columns int) {
	if strings.TrimSpace(text) != "" {
		r.cells = append(r.cells, tableCell{r.next, strings.ReplaceAll(text, "|", `\|`)})
		r.size += len(text)
	}
	r.next += min(max(columns, 0), maxColumns)
}

func (t *table) row(x *xmlPart) error {
	r := &row{}
	if err := x.children(func(e *element) error { return t.rowElement(x, e, r) }); err != nil {
		return err
	}
	if r.deleted {
		return nil
	}
	return t.add(r)
}

func (t *table) rowElement(x *xmlPart, e *element, r *row) error {
	switch e.name {
	case "w:trPr":
		return x.children(func(e *element) error {
			switch e.name {
			case "w:gridBefore":
				r.add("", atoi(e.attr("val"), 0))
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

// cell reads the open w:tc and adds it to the row. A cell that is merged with the cell above is
// empty.
func (t *table) cell(x *xmlPart, r *row) error {
	span, breaks, before := 1, 0, false
	contents := func(out sink) error {
		return x.children(func(e *element) error {
			if e.name != "w:tcPr" {
				return t.d.blockElement(x, e, out)
			}
			return x.children(func(e *element) error {
				if e.name == "w:gridSpan" {
					span = max(atoi(e.attr("val"), 1), 1)
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
	if err != nil {
		return err
	}
	if r.next == 0 {
		r.before = before
	}
	r.breaks = max(r.breaks, breaks)
	r.add(text, span)
	return tooLong(r.size)
}

// add adds a row, unless it is empty.
func (t *table) add(r *row) error {
	if len(r.cells) == 0 {
		return nil
	}
	if t.begun {
		return t.emit(r)
	}
	t.rows = append(t.rows, r)
	if t.size += r.size; t.size < bufferedBytes && len(t.rows) < bufferedRows {
		return nil
	}
	return t.flush()
}

// flush emits the buffered rows.
func (t *table) flush() error {
	for _, r := range t.rows {
		for _, c := range r.cells {
			t.used = append(t.used, c.column)
		}
	}
	slices.Sort(t.used)
	t.used = slices.Compact(t.used)
	rows := t.rows
	t.rows = nil
	for _, r := range rows {
		if err := t.emit(r); err != nil {
			return err
		}
	}
	return nil
}

// emit emits a row as a line of a Markdown table or, in a nested table, as a line of text.
func (t *table) emit(r *row) error {
	b := block{kind: tableRow, tight: t.begun}
	if t.d.nesting > 1 {
		texts := make([]string, len(r.cells))
		for i, c := range r.cells {
			texts[i] = c.text
		}
		b.text = strings.Join(texts, ", ") + ";"
	} else {
		b.text = t.line(r)
		if !t.begun {
			b.text += "\n|" + strings.Repeat(" --- |", len(t.used))
		}
	}
	t.begun = true
	for range r.breaks {
		at := len(b.text)
		if r.before {
			at, r.before = 0, false
		}
		b.breaks = append(b.breaks, at)
	}
	return t.out(b)
}

// line returns the cells of a row in the used columns. It leaves out empty cells at the end,
// except in the header, which determines the number of columns. A column that was empty in all
// buffered rows is not written; text in it joins the cell before.
func (t *table) line(r *row) string {
	var out strings.Builder
	written := 0 // columns
	begin := func() {
		if written > 0 {
			out.WriteString(" | ")
		}
		written++
	}
	out.WriteString("| ")
	for _, c := range r.cells {
		at, found := slices.BinarySearch(t.used, c.column)
		if !found {
			at = max(at-1, 0)
		}
		if at < written {
			out.WriteByte(' ')
		}
		for written <= at {
			begin()
		}
		out.WriteString(c.text)
	}
	for !t.begun && written < len(t.used) {
		begin()
	}
	out.WriteString(" |")
	return out.String()
}
