package grid_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"annals/commands/importer/extract/pdf/grid"
	"annals/commands/importer/extract/pdf/pdfium"
)

func across(y, x, right float32) pdfium.Rule {
	return pdfium.Rule{X: x, Right: right, Top: y - 0.25, Bottom: y + 0.25}
}

func down(x, y, bottom float32) pdfium.Rule {
	return pdfium.Rule{X: x - 0.25, Right: x + 0.25, Top: y, Bottom: bottom}
}

// ruled returns the rules of a grid with two rows of 20 points and three columns of 100.
func ruled() (rules []pdfium.Rule) {
	for i := range 3 {
		rules = append(rules, across(100+20*float32(i), 50, 350))
	}
	for i := range 4 {
		rules = append(rules, down(50+100*float32(i), 100, 140))
	}
	return rules
}

func only(t *testing.T, rules []pdfium.Rule) *grid.Grid {
	t.Helper()
	all := grid.Of(rules)
	if len(all) != 1 {
		t.Fatalf("%d grids, want 1", len(all))
	}
	return all[0]
}

func TestCells(t *testing.T) {
	g := only(t, ruled())
	if want := [][]int{{0, 1, 2}, {3, 4, 5}}; !reflect.DeepEqual(g.Region, want) {
		t.Errorf("cells by place %v, want %v", g.Region, want)
	}
	for at, want := range map[[2]float32]int{{60, 110}: 0, {340, 110}: 2, {200, 130}: 4, {40, 110}: -1, {360, 110}: -1, {200, 90}: -1, {200, 150}: -1} {
		if got := g.At(at[0], at[1]); got != want {
			t.Errorf("cell at %v = %d, want %d", at, got, want)
		}
	}
}

// A file may draw the rules of each cell, in any order, and each rule in pieces.
func TestRulesInPieces(t *testing.T) {
	var rules []pdfium.Rule
	for row := range 2 {
		for column := range 3 {
			x, y := 50+100*float32(column), 100+20*float32(row)
			rules = append(rules, across(y, x, x+48), across(y, x+50, x+100), across(y+20.4, x, x+100), down(x, y, y+20), down(x+100.4, y, y+20))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	if got, want := only(t, rules), only(t, ruled()); !reflect.DeepEqual(got.Region, want.Region) || !reflect.DeepEqual(got.Cells, want.Cells) {
		t.Errorf("cells %v, want %v", got.Cells, want.Cells)
	}
}

// Places with no rule between them are one cell.
func TestMergedCells(t *testing.T) {
	rules := append(ruled()[:5], down(250, 120, 140), down(350, 100, 140)) // no rule between the last two cells of the first row
	g := only(t, rules)
	if want := [][]int{{0, 1, 1}, {2, 3, 4}}; !reflect.DeepEqual(g.Region, want) || g.Cells[1] != (grid.Cell{Row: 0, Column: 1, Rows: 1, Columns: 2}) {
		t.Errorf("cells by place %v, want %v; the second is %+v", g.Region, want, g.Cells[1])
	}
}

// The outer columns need no rules beside them if several rules begin or end there.
func TestOpenSides(t *testing.T) {
	rules := append(ruled()[:3], down(150, 100, 140), down(250, 100, 140))
	if g := only(t, rules); len(g.X) != 4 || len(g.Cells) != 6 {
		t.Errorf("%d cells, columns at %v, want 6 in 3 columns", len(g.Cells), g.X)
	}
}

func TestTwoGrids(t *testing.T) {
	rules := ruled()
	for _, r := range ruled() {
		r.Top, r.Bottom = r.Top+200, r.Bottom+200
		rules = append(rules, r)
	}
	if all := grid.Of(rules); len(all) != 2 || all[0].Y[0] > all[1].Y[0] {
		t.Errorf("%d grids, want 2 in the order of their rules", len(all))
	}
}

func TestWhatIsNoGrid(t *testing.T) {
	var columns, rows []pdfium.Rule
	for i := range grid.MaxColumns + 2 {
		columns = append(columns, down(50+10*float32(i), 100, 140))
	}
	for i := range grid.MaxRows + 2 {
		rows = append(rows, across(100+4*float32(i), 50, 350))
	}
	wide := []pdfium.Rule{across(100, 50, 1000), across(120, 50, 1000), across(140, 50, 1000)}
	for name, rules := range map[string][]pdfium.Rule{
		"nothing":          nil,
		"frame":            {across(100, 50, 350), across(140, 50, 350), down(50, 100, 140), down(350, 100, 140)},
		"only horizontal":  {across(100, 50, 350), across(120, 50, 350), across(140, 50, 350), across(160, 50, 350), across(180, 50, 350)},
		"cell with a bend": append(ruled()[:1], across(120, 50, 150), across(140, 50, 350), across(130, 50, 150), down(50, 100, 140), down(150, 120, 140), down(250, 100, 120), down(350, 100, 140)),
		"too many columns": append(wide, columns...),
		"too many rows":    append(rows, down(50, 100, 1308), down(200, 100, 1308), down(350, 100, 1308)),
	} {
		if all := grid.Of(rules); len(all) != 0 {
			t.Errorf("%s: %d grids, with %d cells", name, len(all), len(all[0].Cells))
		}
	}
}

// Whatever the rules are, each place belongs to the cell that says so, and cells cover their places only.
func FuzzOf(f *testing.F) {
	f.Add(uint64(1), 12)
	f.Add(uint64(2), 60)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		r := rand.New(rand.NewPCG(seed, 0))
		var rules []pdfium.Rule
		for range n & 127 {
			a, b, c := 20*float32(r.IntN(6)), 20*float32(r.IntN(6)), 20*float32(r.IntN(6))
			if r.IntN(2) == 0 {
				rules = append(rules, across(a, min(b, c), max(b, c)+20))
			} else {
				rules = append(rules, down(a, min(b, c), max(b, c)+20))
			}
		}
		for _, g := range grid.Of(rules) {
			want := make([][]int, len(g.Y)-1)
			for i := range want {
				want[i] = make([]int, len(g.X)-1)
			}
			for i, c := range g.Cells {
				for row := c.Row; row < c.Row+c.Rows; row++ {
					for column := c.Column; column < c.Column+c.Columns; column++ {
						want[row][column] += i + 1
					}
				}
			}
			for row := range want {
				for column := range want[row] {
					want[row][column]--
				}
			}
			if fmt.Sprint(g.Region) != fmt.Sprint(want) {
				t.Errorf("cells by place %v, want %v", g.Region, want)
			}
		}
	})
}
