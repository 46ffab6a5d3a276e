package pdf

import (
	"cmp"
	"slices"
	"strings"

	"annals/commands/importer/extract/pdf/grid"
	"annals/commands/importer/extract/pdf/pdfium"
)

// ruled is a grid of rules with the text in its cells.
type ruled struct {
	*grid.Grid
	cells []ruledCell
}

type ruledCell struct {
	grid.Cell
	pieces []*piece
	lines  []row // of its pieces
}

// findGrids finds the tables with rules. Each becomes one piece of the result.
func findGrids(pieces []*piece, rules []pdfium.Rule, rightToLeft bool) []*piece {
	for _, found := range grid.Of(rules) {
		g := &ruled{Grid: found, cells: make([]ruledCell, len(found.Cells))}
		for i, c := range found.Cells {
			g.cells[i].Cell = c
		}
		pieces = g.take(pieces, rightToLeft)
	}
	return pieces
}

// cell returns the cell in which a word is, or nil.
func (g *ruled) cell(w pdfium.Word) *ruledCell {
	if i := g.At((w.X+w.Right)/2, (w.Top+w.Bottom)/2); i >= 0 {
		return &g.cells[i]
	}
	return nil
}

// take puts the pieces in the grid into its cells, and replaces them by one for the table. It returns the pieces
// unchanged if the grid is no table.
func (g *ruled) take(pieces []*piece, rightToLeft bool) []*piece {
	first, line, crossing, all := -1, 0, 0, 0
	out := make([]*piece, 0, len(pieces))
	for _, p := range pieces {
		parts := g.parts(p)
		if parts == nil {
			out = append(out, p)
			continue
		}
		if first < 0 {
			first, line = len(out), p.line
			out = append(out, nil)
		}
		for _, part := range parts {
			c := g.cell(part.Words[0])
			c.pieces = append(c.pieces, part)
			all++
			if left, right := g.X[c.Column], g.X[c.Column+c.Columns]; part.X < left-grid.Near || part.Right > right+grid.Near {
				crossing++
			}
		}
	}
	if first < 0 || crossing*10 > all || !g.isTable() {
		return pieces
	}
	t := &table{cells: g.rows(rightToLeft)}
	for _, c := range g.cells {
		for _, p := range c.pieces {
			if t.first.Text == "" {
				t.first = p.layoutLine
			}
		}
	}
	whole := &piece{layoutLine: t.first, line: line, table: t}
	whole.X, whole.Right, whole.Text, whole.Words = g.X[0], g.X[len(g.X)-1], "", whole.Words[:1]
	out[first] = whole
	return out
}

// parts divides a piece between the words that are in different cells. It returns nil if a word of the piece is outside of the
// grid, or if the piece has no usable position. Letters below each other must be in one cell.
func (g *ruled) parts(p *piece) []*piece {
	stacked := p.Direction == pdfium.Stacked && !p.furniture && len(p.Words) > 0
	if !p.placed() && !stacked || p.table != nil {
		return nil
	}
	var starts []int
	var last *ruledCell
	for i, w := range p.Words {
		c := g.cell(w)
		if c == nil {
			return nil
		}
		if c != last {
			starts = append(starts, i)
		}
		last = c
	}
	if len(starts) == 1 {
		return []*piece{p}
	}
	if stacked {
		return nil
	}
	return p.split(starts)
}

// isTable reports whether the grid is a table: it has two rows with several cells at least, most cells have text, few are merged, and
// no text in them has gaps as between columns. Otherwise it is the background of a chart, a form, or frames around text.
func (g *ruled) isTable() bool {
	filled, gaps, places := 0, 0, len(g.Region)*len(g.Region[0])
	rows := map[int]int{}
	columns := map[int]bool{}
	for i := range g.cells {
		c := &g.cells[i]
		if len(c.pieces) == 0 {
			continue
		}
		filled++
		rows[c.Row]++
		columns[c.Column] = true
		if c.lines = linesOf(c.pieces); slices.ContainsFunc(c.lines, hasGap) {
			gaps++
		}
		if slices.ContainsFunc(c.pieces, func(p *piece) bool { return hasLeader(p.Text) }) {
			return false
		}
	}
	wide := 0
	for _, n := range rows {
		if n > 1 {
			wide++
		}
	}
	return wide >= 2 && len(columns) >= 2 && filled >= 4 && gaps*5 < filled && filled*10 >= len(g.cells)*4 && len(g.cells)*2 >= places
}

// linesOf sorts the pieces of cells into lines. An index or exponent is in the line of its letter.
func linesOf(pieces []*piece) (out []row) {
	for _, r := range rowsOf(pieces) {
		n := len(out) - 1
		if n < 0 || r.y-out[n].y > 0.6*max(r.pieces[0].Size, out[n].pieces[0].Size) {
			out = append(out, r)
			continue
		}
		out[n].pieces = append(out[n].pieces, r.pieces...)
		slices.SortStableFunc(out[n].pieces, func(a, b *piece) int { return cmp.Compare(a.X, b.X) })
	}
	return out
}

// hasGap reports whether a line of a cell has a gap as between columns, or many smaller ones.
func hasGap(r row) bool {
	if len(r.pieces) > 4 {
		return true
	}
	for i := 1; i < len(r.pieces); i++ {
		if r.pieces[i].X-r.pieces[i-1].Right > r.pieces[i].Size*1.5*wideGap {
			return true
		}
	}
	return false
}

// text returns the text of a cell, in the order of the file unless that goes up.
func (c *ruledCell) text(rightToLeft bool) (text string) {
	pieces := c.pieces
	for i := 1; i < len(pieces); i++ {
		if pieces[i].Y < pieces[i-1].Y-0.8*pieces[i].Size {
			pieces = nil
			for _, r := range c.lines {
				pieces = append(pieces, r.inOrder(rightToLeft)...)
			}
			break
		}
	}
	for _, p := range pieces {
		text = joinCell(text, p.Text)
	}
	return strings.TrimSuffix(text, softHyphen)
}

func (r row) inOrder(rightToLeft bool) []*piece {
	if !rightToLeft {
		return r.pieces
	}
	pieces := slices.Clone(r.pieces)
	slices.Reverse(pieces)
	return pieces
}

// split returns the baselines of the rows that a row of the grid contains; nil if it is one row. Tables may have rules only below their head,
// or between groups of rows: then the cells have the same number of lines, and numbers in several of these.
func (g *ruled) split(at int) (ys []float32) {
	var lines []row // of the cell with most
	var pieces []*piece
	filled, most, full, numbers := 0, 0, 0, false
	for _, c := range g.cells {
		if c.Row != at || c.Rows > 1 || len(c.pieces) == 0 {
			continue
		}
		filled++
		pieces = append(pieces, c.pieces...)
		switch n := len(c.lines); {
		case n > most:
			most, full, lines = n, 1, c.lines
		case n == most:
			full++
		}
		numbers = numbers || len(c.lines) > 1 && !slices.ContainsFunc(c.lines, func(r row) bool { return !isNumber(cellText(r.pieces)) })
	}
	if most < 2 || full < 2 || !(numbers && full*2 >= filled || full == filled && (filled > 2 || most > 2)) {
		return nil
	}
	for _, r := range lines {
		ys = append(ys, r.y)
	}
	for _, r := range linesOf(pieces) {
		if !slices.ContainsFunc(ys, func(y float32) bool { return absf(y-r.y) < r.pieces[0].Size*0.3 }) {
			return nil // a cell is centred beside the lines of the others
		}
	}
	return ys
}

// rows returns the texts of the cells. A merged cell is at its first place. Rows and columns with no text are left out: they are double rules.
func (g *ruled) rows(rightToLeft bool) (out [][]string) {
	columns := len(g.Region[0])
	used := make([]bool, columns)
	for at := range g.Region {
		lines := g.split(at)
		rows := make([][]string, max(1, len(lines)))
		for i := range rows {
			rows[i] = make([]string, columns)
		}
		for i := range g.cells {
			c := &g.cells[i]
			if c.Row != at || len(c.pieces) == 0 {
				continue
			}
			column := c.Column
			if rightToLeft { // the first place is the right one
				column += c.Columns - 1
			}
			used[column] = true
			if lines == nil || c.Rows > 1 {
				rows[0][column] = c.text(rightToLeft)
				continue
			}
			for _, r := range c.lines {
				line := 0
				for line+1 < len(lines) && absf(lines[line+1]-r.y) < absf(lines[line]-r.y) {
					line++
				}
				rows[line][column] = joinCell(rows[line][column], cellText(r.inOrder(rightToLeft)))
			}
		}
		out = append(out, rows...)
	}
	out = slices.DeleteFunc(out, func(cells []string) bool { return strings.Join(cells, "") == "" })
	for i, cells := range out {
		var kept []string
		for at, text := range cells {
			if used[at] {
				kept = append(kept, text)
			}
		}
		out[i] = kept
	}
	return out
}
