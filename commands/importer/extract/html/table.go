package html

import (
	"strconv"
	"strings"
)

const (
	maxCell     = 4 << 10   // bytes of a cell; a table with longer ones is there for its looks
	maxColumns  = 200       // columns of a table; the cells of one with more become paragraphs
	maxSpan     = 1_000     // rows that a cell spans
	maxBuffered = 256 << 10 // bytes of rows that are kept until the columns are known
	maxTables   = 30        // depth of tables
)

// table is an open table. A frame is a table that is there for its looks, as old pages have it:
// its cells are paragraphs. A table is a frame if it has one column, or a heading, a block of code,
// another table or a long text in a cell.
type table struct {
	frame bool
	begun bool // the first rows were written
	width int  // columns, once begun
	rows  [][]string
	size  int // bytes of rows
	row   []string
	inRow bool
	cell  bool
	cols  int    // columns of the open cell
	down  int    // rows of the open cell
	spans []span // by column, cells of rows above that reach into the open row
}

type span struct {
	rows int
	text string
}

func (c *converter) top() *table { return c.tables[len(c.tables)-1] }

// inCell reports whether a cell is open whose text is one line.
func (c *converter) inCell() bool { return len(c.tables) > 0 && c.top().cell && !c.top().frame }

func (c *converter) beginTable(a attributes) error {
	if err := c.layout(); err != nil { // the table around it
		return err
	}
	if err := c.block(); err != nil {
		return err
	}
	if len(c.tables) < maxTables {
		c.tables = append(c.tables, &table{frame: a.role == "presentation" || len(c.lists) > 0})
	}
	return nil
}

// layout makes the innermost table a frame, if there is one.
func (c *converter) layout() error {
	if len(c.tables) == 0 || c.top().frame {
		return nil
	}
	t := c.top()
	line, space := c.line, c.space
	open := t.cell
	if open {
		c.line = nil
	}
	t.cell = false
	c.emit(t, t.row)
	t.row, t.frame = nil, true
	if err := c.flushRows(t); err != nil {
		return err
	}
	if open {
		t.cell, c.line, c.space = true, line, space
	}
	return nil
}

func (c *converter) beginRow() error {
	if len(c.tables) == 0 { // a row of a table whose start is elsewhere
		c.tables = append(c.tables, new(table))
	}
	if err := c.endRow(); err != nil {
		return err
	}
	c.top().inRow = true
	return nil
}

func (c *converter) beginCell(a attributes) error {
	if len(c.tables) == 0 {
		return c.block()
	}
	if err := c.endCell(); err != nil {
		return err
	}
	t := c.top()
	if t.frame {
		if err := c.block(); err != nil {
			return err
		}
	} else {
		c.line, c.space = c.line[:0], false
	}
	t.inRow, t.cell = true, true
	t.cols, t.down = number(a.colspan, maxColumns), number(a.rowspan, maxSpan)
	t.fill()
	return nil
}

// number returns a positive number of at most limit, or 1.
func number(text string, limit int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 1
	}
	return min(max(n, 1), limit)
}

// fill adds the cells of rows above that reach into the row at its next columns.
func (t *table) fill() {
	for at := len(t.row); at < len(t.spans) && t.spans[at].rows > 0; at++ {
		t.spans[at].rows--
		t.row = append(t.row, t.spans[at].text)
	}
}

func (c *converter) endCell() error {
	if len(c.tables) == 0 || !c.top().cell {
		return nil
	}
	t := c.top()
	if t.frame {
		err := c.block()
		t.cell = false
		return err
	}
	text := strings.TrimSpace(string(c.line))
	if len(text) > maxCell || len(t.row) >= maxColumns && text != "" {
		if err := c.layout(); err != nil {
			return err
		}
		return c.endCell()
	}
	if c.code > 0 {
		text, c.code = strings.TrimSuffix(text, "`"), 0
	}
	c.line, c.space, t.cell = c.line[:0], false, false
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
	for i := range t.cols {
		at := len(t.row)
		if at >= maxColumns {
			break
		}
		if i > 0 {
			t.row = append(t.row, "")
		} else {
			t.row = append(t.row, text)
		}
		if t.down > 1 {
			for len(t.spans) <= at {
				t.spans = append(t.spans, span{})
			}
			t.spans[at] = span{t.down - 1, t.row[at]}
		}
	}
	return nil
}

func (c *converter) endRow() error {
	if len(c.tables) == 0 || !c.top().inRow {
		return nil
	}
	if err := c.endCell(); err != nil {
		return err
	}
	t := c.top()
	t.inRow = false
	if t.frame {
		return nil
	}
	t.fill()
	row := t.row
	t.row = nil
	for _, text := range row {
		t.size += len(text) + len(" | ")
	}
	if strings.TrimSpace(strings.Join(row, "")) != "" {
		t.rows = append(t.rows, row)
	}
	if t.size > maxBuffered {
		return c.flushRows(t)
	}
	return nil
}

func (c *converter) endTable() error {
	if len(c.tables) == 0 {
		return nil
	}
	if err := c.endRow(); err != nil {
		return err
	}
	t := c.top()
	if err := c.flushRows(t); err != nil {
		return err
	}
	c.tables = c.tables[:len(c.tables)-1]
	return nil
}

// flushRows writes the rows that are buffered.
func (c *converter) flushRows(t *table) error {
	if !t.begun {
		for _, row := range t.rows {
			for len(row) > 0 && row[len(row)-1] == "" {
				row = row[:len(row)-1]
			}
			t.width = max(t.width, len(row))
		}
		t.frame = t.frame || t.width == 1
	}
	rows := t.rows
	t.rows, t.size = nil, 0
	for _, row := range rows {
		c.emit(t, row)
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

// emit adds a row: as a line of a Markdown table or, in a frame, with each cell as a paragraph.
func (c *converter) emit(t *table, row []string) {
	if t.frame && !t.begun {
		for _, cell := range row {
			c.put(strings.ReplaceAll(cell, `\|`, "|"))
		}
		return
	}
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	if len(row) == 0 {
		return
	}
	line := "| " + strings.Join(row, " | ")
	if !t.begun {
		t.begun = true
		line += strings.Repeat(" | ", max(t.width-len(row), 0)) + " |\n|" + strings.Repeat(" --- |", t.width)
		c.put(line)
		return
	}
	c.text = append(c.text, ("\n" + strings.Repeat("> ", min(c.quotes, maxNesting)) + line + " |")...)
}
