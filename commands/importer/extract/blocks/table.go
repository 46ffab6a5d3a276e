package blocks

import (
	"slices"
	"strings"
)

// Table writes rows as a Markdown table. The first row is the header. The first rows are buffered
// to find columns that are empty; these columns are not written.
type Table struct {
	Out    Sink
	Nested bool // write each row as a line of text, because the table is in a cell of another one

	rows  []*Row
	size  int   // bytes of text in rows
	used  []int // indexes of the columns to write; set when the header is written
	begun bool  // the header was written
}

const (
	// MaxColumns is the maximum number of columns that one cell can span.
	MaxColumns    = 1_000
	bufferedRows  = 500
	bufferedBytes = 256 << 10 // bytes of text in buffered rows
)

// Row is a row of a table.
type Row struct {
	Next   int  // column of the next cell
	Size   int  // bytes of text in the cells
	Breaks int  // number of pages that begin in the row
	Before bool // the first page that begins in the row begins before the row's text

	cells []cell // cells with text, by column
}

type cell struct {
	column int
	text   string
}

// Add adds a cell that spans a number of columns.
func (r *Row) Add(text string, columns int) {
	if text = strings.TrimSpace(text); text != "" {
		if strings.Contains(text, "\n") {
			text = strings.ReplaceAll(text, "\n", " ")
		}
		if strings.Contains(text, "|") {
			text = strings.ReplaceAll(text, "|", `\|`)
		}
		r.cells = append(r.cells, cell{r.Next, text})
		r.Size += len(text)
	}
	r.Next += min(max(columns, 0), MaxColumns)
}

// Add adds a row, unless it is empty.
func (t *Table) Add(r *Row) error {
	if len(r.cells) == 0 {
		return nil
	}
	if t.begun {
		return t.emit(r)
	}
	t.rows = append(t.rows, r)
	if t.size += r.Size; t.size < bufferedBytes && len(t.rows) < bufferedRows {
		return nil
	}
	return t.Flush()
}

// Flush emits the buffered rows. Call it after the last row.
func (t *Table) Flush() error {
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
func (t *Table) emit(r *Row) error {
	b := Block{Kind: TableRow, Tight: t.begun}
	if t.Nested {
		texts := make([]string, len(r.cells))
		for i, c := range r.cells {
			texts[i] = c.text
		}
		b.Text = strings.Join(texts, ", ") + ";"
	} else {
		b.Text = t.line(r)
		if !t.begun {
			b.Text += "\n|" + strings.Repeat(" --- |", len(t.used))
		}
	}
	t.begun = true
	for range r.Breaks {
		at := len(b.Text)
		if r.Before {
			at, r.Before = 0, false
		}
		b.Breaks = append(b.Breaks, at)
	}
	return t.Out(b)
}

// line returns the cells of a row in the used columns. It leaves out empty cells at the end,
// except in the header, which determines the number of columns. A column that was empty in all
// buffered rows is not written; text in it joins the cell before.
func (t *Table) line(r *Row) string {
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

// Next returns an empty table with the same columns. Call it after Flush.
func (t *Table) Next() *Table { return &Table{Out: t.Out, Nested: t.Nested, used: t.used} }

// Single returns the text of the only cell that has any. ok is false if there are several, or none.
func (r *Row) Single() (text string, ok bool) {
	if len(r.cells) != 1 {
		return "", false
	}
	return r.cells[0].text, true
}
