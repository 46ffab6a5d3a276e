// Package grid finds the cells that the horizontal and vertical rules of a page enclose. It imports extract/pdf/pdfium.
package grid

import (
	"cmp"
	"slices"

	"annals/commands/importer/extract/pdf/pdfium"
)

// Limits of a grid.
const (
	MaxRows    = 300
	MaxColumns = 60
)

// Near is the distance in points up to which rules are at the same place, or touch.
const Near = 3.5

// Grid is a rectangle that rules divide into cells. The place in a row and a column is between Y[row] and Y[row+1], and between X[column]
// and X[column+1].
type Grid struct {
	X, Y   []float32
	Region [][]int // the index of the cell of each place, by row and column
	Cells  []Cell
}

// Cell is a place, or places that no rule divides.
type Cell struct{ Row, Column, Rows, Columns int }

// Of returns the grids of rules that touch each other.
func Of(rules []pdfium.Rule) (out []*Grid) {
	rules = joinRules(rules)
	group := make([]int, len(rules)) // a rule of the same grid, or itself
	root := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	for i, a := range rules {
		group[i] = i
		for j, b := range rules[:i] {
			if a.X <= b.Right+Near && b.X <= a.Right+Near && a.Top <= b.Bottom+Near && b.Top <= a.Bottom+Near {
				group[root(j)] = root(i)
			}
		}
	}
	grids := map[int][]pdfium.Rule{}
	for i, r := range rules {
		grids[root(i)] = append(grids[root(i)], r)
	}
	for i := range rules { // in order
		if r := grids[i]; len(r) >= 5 {
			if g := newGrid(r); g != nil {
				out = append(out, g)
			}
		}
	}
	return out
}

// joinRules joins the rules that continue each other: files may draw those of each cell.
func joinRules(rules []pdfium.Rule) (out []pdfium.Rule) {
	for _, across := range []bool{true, false} {
		var same []pdfium.Rule
		for _, r := range rules {
			if r.Across() == across {
				same = append(same, r)
			}
		}
		place, along := func(r pdfium.Rule) float32 { return r.X }, func(r pdfium.Rule) float32 { return r.Top }
		if across {
			place, along = along, place
		}
		slices.SortFunc(same, func(a, b pdfium.Rule) int { return cmp.Compare(place(a), place(b)) })
		for from := 0; from < len(same); {
			to := from + 1
			for to < len(same) && place(same[to])-place(same[to-1]) < Near/2 && place(same[to])-place(same[from]) < Near {
				to++
			}
			part := same[from:to]
			slices.SortFunc(part, func(a, b pdfium.Rule) int { return cmp.Compare(along(a), along(b)) })
			for i, r := range part {
				if i > 0 {
					last := &out[len(out)-1]
					if across && r.X <= last.Right+Near || !across && r.Top <= last.Bottom+Near {
						last.X, last.Right, last.Top, last.Bottom = min(last.X, r.X), max(last.Right, r.Right), min(last.Top, r.Top), max(last.Bottom, r.Bottom)
						continue
					}
				}
				out = append(out, r)
			}
			from = to
		}
	}
	return out
}

// newGrid returns the grid of rules; nil if they do not divide a rectangle into rectangles.
func newGrid(rules []pdfium.Rule) *Grid {
	g := &Grid{}
	var left, right []float32 // ends of the horizontal rules
	for _, r := range rules {
		if r.Across() {
			g.Y = append(g.Y, (r.Top+r.Bottom)/2)
			left, right = append(left, r.X), append(right, r.Right)
		} else {
			g.X = append(g.X, (r.X+r.Right)/2)
		}
	}
	if len(left) < 3 {
		return nil
	}
	// The outer columns may have no rules beside them.
	if x := slices.Min(left); several(left, x) {
		g.X = append(g.X, x)
	}
	if x := slices.Max(right); several(right, x) {
		g.X = append(g.X, x)
	}
	g.X, g.Y = places(g.X), places(g.Y)
	if len(g.X) < 3 || len(g.Y) < 3 || len(g.X) > MaxColumns+1 || len(g.Y) > MaxRows+1 {
		return nil
	}
	if !g.divide(rules) {
		return nil
	}
	return g
}

// several reports whether three rules at least end at x.
func several(ends []float32, x float32) bool {
	n := 0
	for _, end := range ends {
		if max(end-x, x-end) < Near {
			n++
		}
	}
	return n > 2
}

// places returns the different ones of some positions.
func places(at []float32) []float32 {
	slices.Sort(at)
	return slices.CompactFunc(at, func(a, b float32) bool { return max(a-b, b-a) < Near })
}

// divide finds the cells: places with no rule between them are one.
func (g *Grid) divide(rules []pdfium.Rule) bool {
	rows, columns := len(g.Y)-1, len(g.X)-1
	// below and beside report whether a rule, or the edge of the grid, is below a place, or on its right.
	below, beside := make([][]bool, rows), make([][]bool, rows)
	for i := range rows {
		below[i], beside[i] = slices.Repeat([]bool{i == rows-1}, columns), make([]bool, columns)
		beside[i][columns-1] = true
	}
	for _, r := range rules {
		if r.Across() {
			row := g.row((r.Top+r.Bottom)/2+Near) - 1
			for c := range columns {
				if middle := (g.X[c] + g.X[c+1]) / 2; row >= 0 && row < rows && r.X < middle && r.Right > middle {
					below[row][c] = true
				}
			}
			continue
		}
		column := g.column((r.X+r.Right)/2+Near) - 1
		for i := range rows {
			if middle := (g.Y[i] + g.Y[i+1]) / 2; column >= 0 && column < columns && r.Top < middle && r.Bottom > middle {
				beside[i][column] = true
			}
		}
	}
	g.Region = make([][]int, rows)
	for i := range rows {
		g.Region[i] = slices.Repeat([]int{-1}, columns)
	}
	for i := range rows {
		for c := range columns {
			if g.Region[i][c] < 0 && !g.fill(i, c, below, beside) {
				return false
			}
		}
	}
	return true
}

// fill makes a cell of the places that no rule divides from a first one. It returns false if they are no rectangle.
func (g *Grid) fill(row, column int, below, beside [][]bool) bool {
	lastRow, lastColumn := row, column
	for !beside[row][lastColumn] {
		lastColumn++
	}
	for !below[lastRow][column] {
		lastRow++
	}
	for i := row; i <= lastRow; i++ {
		for c := column; c <= lastColumn; c++ {
			if g.Region[i][c] >= 0 || beside[i][c] != (c == lastColumn) || below[i][c] != (i == lastRow) {
				return false
			}
			g.Region[i][c] = len(g.Cells)
		}
	}
	g.Cells = append(g.Cells, Cell{Row: row, Column: column, Rows: lastRow - row + 1, Columns: lastColumn - column + 1})
	return true
}

// row returns the row at y; -1 above the grid, and the number of rows below it.
func (g *Grid) row(y float32) int { return at(g.Y, y) }

// column is like row.
func (g *Grid) column(x float32) int { return at(g.X, x) }

// at returns the index of the place at or before v; -1 if v is before all, and the last one if it is behind all.
func at(places []float32, v float32) int {
	i, found := slices.BinarySearch(places, v)
	if found {
		return i
	}
	return i - 1
}

// At returns the index of the cell at a point, or -1.
func (g *Grid) At(x, y float32) int {
	row, column := g.row(y), g.column(x)
	if row < 0 || column < 0 || row >= len(g.Region) || column >= len(g.Region[0]) {
		return -1
	}
	return g.Region[row][column]
}
