package pdf

import (
	"cmp"
	"slices"
	"strings"

	"annals/commands/importer/extract/pdf/bidi"
	"annals/commands/importer/extract/pdf/pdfium"
)

const (
	minColumn = 4 // lines of text that must be beside each other, to be columns
	maxDepth  = 8 // nesting of columns
)

// area is a part of a page without columns of text: a column, or what is above, below or
// between columns. Its pieces are in the order of the file.
type area []*piece

// arrange finds the columns and tables of a page. It returns the lines to write: a table is one
// line, and lines that PDFium joined over columns are divided and reordered. All other lines
// stay in the order of the file.
func arrange(lines []layoutLine, rules []pdfium.Rule) []layoutLine {
	rightToLeft := isRightToLeft(lines)
	pieces := cut(lines)
	whole := len(pieces) == len(lines)
	if len(rules) > 0 && len(pieces) <= maxPieces {
		all := len(pieces)
		pieces = findGrids(pieces, rules, rightToLeft)
		whole = whole && len(pieces) == all
	}
	var placed []*piece
	for _, p := range pieces {
		if p.placed() {
			placed = append(placed, p)
		}
	}
	if len(placed) > maxPieces {
		return lines
	}
	c := columns{rightToLeft: rightToLeft}
	c.divide(placed, 0)
	tables := 0
	for _, a := range c.areas {
		tables += findTables(a, c.rightToLeft)
	}
	if whole && tables == 0 { // nothing was divided
		return lines
	}
	if c.mixed { // lines of several columns follow each other
		pieces = c.inOrder(pieces)
	}
	return joined(lines, pieces, c.mixed, c.rightToLeft)
}

// joined returns the lines that the pieces make. Pieces of a line that still follow each other
// become this line again. moved means that pieces were reordered: then they only become a line
// again if they are in one area and in one line of print. rightToLeft means that tables have their first column on the right.
func joined(lines []layoutLine, pieces []*piece, moved, rightToLeft bool) []layoutLine {
	out := make([]layoutLine, 0, len(lines))
	var written []*table
	for i := 0; i < len(pieces); {
		p := pieces[i]
		if p.table != nil {
			if !slices.Contains(written, p.table) {
				written = append(written, p.table)
				p.table.rightToLeft = rightToLeft
				out = append(out, p.table.line())
			}
			i++
			continue
		}
		end := i + 1
		for end < len(pieces) && pieces[end].line == p.line && pieces[end].table == nil && (!moved || pieces[end].area == p.area && absf(pieces[end].Y-p.Y) < p.Size*0.5) {
			end++
		}
		whole := pieces[i:end]
		if len(whole) == 1 {
			out = append(out, p.layoutLine)
		} else {
			out = append(out, rejoin(whole, lines[p.line]))
		}
		i = end
	}
	return out
}

// rejoin joins consecutive pieces of a line.
func rejoin(pieces []*piece, l layoutLine) layoutLine {
	words := 0
	for _, p := range pieces {
		words += len(p.Words)
	}
	if words == len(l.Words) {
		return l
	}
	out := pieces[0].layoutLine
	for _, p := range pieces[1:] {
		out.Text += " " + p.Text
		out.X, out.Right = min(out.X, p.X), max(out.Right, p.Right)
		out.Words = append(out.Words[:len(out.Words):len(out.Words)], p.Words...)
	}
	return out
}

// columns divides a page into areas.
type columns struct {
	rightToLeft bool
	areas       []area
	mixed       bool // the order of the file mixes the lines of columns
}

// divide divides pieces at the longest gutter between columns of text, and what is above and
// below it likewise.
func (c *columns) divide(pieces []*piece, depth int) {
	if len(pieces) == 0 {
		return
	}
	g, ok := gutter{}, false
	if depth < maxDepth {
		g, ok = findGutter(pieces)
	}
	if !ok {
		for _, p := range pieces {
			p.area = len(c.areas)
		}
		c.areas = append(c.areas, pieces)
		return
	}
	var above, left, right, below []*piece
	for _, p := range pieces {
		switch {
		case p.Y <= g.top:
			above = append(above, p)
		case p.Y >= g.bottom:
			below = append(below, p)
		case p.X+p.Right < 2*g.x:
			left = append(left, p)
		default:
			right = append(right, p)
		}
	}
	c.mixed = c.mixed || g.mixed
	if c.rightToLeft {
		left, right = right, left
	}
	for _, part := range [][]*piece{above, left, right, below} {
		c.divide(part, depth+1)
	}
}

// inOrder returns the pieces of a page ordered by their areas. Pieces that belong to no area
// follow the piece that they follow in the file.
func (c *columns) inOrder(pieces []*piece) []*piece {
	at := 0
	for _, p := range pieces {
		if p.placed() {
			at = p.area
		} else {
			p.area = at
		}
	}
	for i, p := range pieces[:max(0, len(pieces)-1)] { // PDFium marks hyphens at the ends of its lines only
		text, cut := strings.CutSuffix(p.Text, "-")
		if cut && pieces[i+1].line == p.line && pieces[i+1].area != p.area && p.isProse() && !strings.HasSuffix(text, "-") {
			p.Text = text + softHyphen
		}
	}
	out := slices.Clone(pieces)
	slices.SortStableFunc(out, func(a, b *piece) int { return cmp.Compare(a.area, b.area) })
	return out
}

// gutter is the space between two columns: the line at x, between top and bottom, crosses no
// piece.
type gutter struct {
	x, top, bottom float32
	mixed          bool
}

// findGutter returns the gutter with most lines of text on both sides.
func findGutter(pieces []*piece) (best gutter, ok bool) {
	gaps := gapsOf(pieces)
	if len(gaps) < minColumn {
		return best, false
	}
	x, n := commonX(gaps)
	if n < minColumn {
		return best, false
	}
	var cross []float32 // baselines of the pieces that cross x
	for _, p := range pieces {
		if p.X < x-1 && p.Right > x+1 {
			cross = append(cross, p.Y)
		}
	}
	slices.Sort(cross)
	top := float32(-1e9)
	most := 0
	for i := 0; i <= len(cross); i++ {
		bottom := float32(1e9)
		if i < len(cross) {
			bottom = cross[i]
		}
		n := 0
		for _, g := range gaps {
			if g.left.Y > top && g.left.Y < bottom && g.left.Right < x && x < g.right.X {
				n++
			}
		}
		if n > most {
			most, best = n, gutter{x: x, top: top, bottom: bottom}
		}
		top = bottom
	}
	if most < minColumn {
		return best, false
	}
	return best, best.check(pieces)
}

// gap is the space between two pieces of text that are beside each other.
type gap struct{ left, right *piece }

func gapsOf(pieces []*piece) []gap {
	var prose []*piece
	for _, p := range pieces {
		if p.isProse() {
			prose = append(prose, p)
		}
	}
	slices.SortStableFunc(prose, func(a, b *piece) int { return cmp.Compare(a.Y, b.Y) })
	var gaps []gap
	for i, a := range prose {
		var nearest *piece
		for j := i - 1; j >= 0 && a.Y-prose[j].Y < a.Size*0.6; j-- {
			nearest = nearer(a, prose[j], nearest)
		}
		for j := i + 1; j < len(prose) && prose[j].Y-a.Y < a.Size*0.6; j++ {
			nearest = nearer(a, prose[j], nearest)
		}
		if nearest != nil && nearest.X-a.Right > a.Size*0.8 {
			gaps = append(gaps, gap{a, nearest})
		}
	}
	return gaps
}

// nearer returns which of b and nearest is nearer to a, on its right. Either may be to its left,
// or nil.
func nearer(a, b, nearest *piece) *piece {
	if b.X < a.Right || nearest != nil && nearest.X <= b.X {
		return nearest
	}
	return b
}

// commonX returns the x that lies in most gaps, and their number.
func commonX(gaps []gap) (x float32, most int) {
	type edge struct {
		x     float32
		delta int
	}
	var edges []edge
	for _, g := range gaps {
		edges = append(edges, edge{g.left.Right, 1}, edge{g.right.X, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.x, b.x), b.delta-a.delta) })
	n := 0
	for i, e := range edges {
		n += e.delta
		if n > most {
			most = n
			x = (e.x + edges[i+1].x) / 2
		}
	}
	return x, most
}

// check reports whether the pieces beside a gutter are columns and not cells of a table. It sets
// mixed if the file has them line by line.
func (g *gutter) check(pieces []*piece) bool {
	var sides [2][]*piece
	runs, last := 0, -1
	n := 0
	for _, p := range pieces {
		if p.Y <= g.top || p.Y >= g.bottom {
			continue
		}
		side := 0
		if p.X > g.x {
			side = 1
		}
		if side != last {
			runs++
		}
		last = side
		n++
		if p.isProse() {
			sides[side] = append(sides[side], p)
		}
	}
	if runs <= 3 || n >= runs*6 { // the file has one column after the other
		return true
	}
	// The file changes between the two sides. They are columns only if it does so with almost every
	// line, and if both are filled with text in even lines, of which formulas may disturb some.
	// Otherwise they are cells.
	g.mixed = runs*2 > n && (even(sides[0], 0.6) && even(sides[1], 0.4) || even(sides[0], 0.4) && even(sides[1], 0.6))
	return g.mixed
}

// even reports whether a share of the lines fills its column, and has the same distance.
func even(lines []*piece, share float32) bool {
	if len(lines) < minColumn+2 {
		return false
	}
	sorted := slices.Clone(lines)
	slices.SortStableFunc(sorted, func(a, b *piece) int { return cmp.Compare(a.Y, b.Y) })
	left, right := sorted[0].X, sorted[0].Right
	var steps []float32
	for i, p := range sorted {
		left, right = min(left, p.X), max(right, p.Right)
		if i > 0 {
			steps = append(steps, p.Y-sorted[i-1].Y)
		}
	}
	full, same := 0, 0
	for _, p := range sorted {
		if p.Right-p.X > 0.8*(right-left) {
			full++
		}
	}
	slices.Sort(steps)
	step := steps[len(steps)/2]
	for _, s := range steps {
		if absf(s-step) < step*0.15 {
			same++
		}
	}
	return float32(full) >= share*float32(len(sorted)) && float32(same) >= share*float32(len(steps)) && step < sorted[0].Size*2
}

// isRightToLeft reports whether most letters of a page are of a script that is written from
// right to left.
func isRightToLeft(lines []layoutLine) bool {
	n := 0
	for i := range lines {
		for _, r := range lines[i].Text {
			n += bidi.Leftwards(r)
		}
	}
	return n > 0
}
