package pdf

import "slices"

// Limits of a table. A longer one becomes several.
const (
	maxRows    = 300
	maxColumns = 60
)

// table is a table of a page. Those without a grid of rules are recognised by the positions of their words alone: the
// words of several rows have wide gaps at the same places.
type table struct {
	columns []column
	spans   int         // number of pieces that span several columns
	lines   []tableLine // lines of print, from the top
	first   layoutLine  // the first line, for its position

	rightToLeft bool       // the first column is on the right
	cells       [][]string // the cells of a table with rules; the other fields but first are not set then
}

// column is the horizontal extent of a column.
type column struct{ x, right float32 }

// tableLine is a line of print of a table: its pieces by column.
type tableLine struct {
	row
	cells  [][]*piece
	header bool // above the first line with several cells
}

// findTables finds the tables of an area, sets the field table of their pieces, and returns the
// number of tables. It first looks for tables that have something else beside them. rightToLeft means that their
// first column is on the right.
func findTables(a area, rightToLeft bool) int {
	a = slices.DeleteFunc(slices.Clone(a), func(p *piece) bool { return p.table != nil })
	order := make(map[*piece]int, len(a))
	for i, p := range a {
		if order[p] = i; rightToLeft {
			order[p] = -i
		}
	}
	found := 0
	for _, part := range a.narrow() {
		found += part.tables(order)
	}
	rest := a
	if found > 0 {
		rest = slices.DeleteFunc(slices.Clone(a), func(p *piece) bool { return p.table != nil })
	}
	return found + rest.tables(order)
}

// narrow returns the parts of an area where consecutive lines of the file have several pieces
// each, and other pieces are to the left or right of these lines.
func (a area) narrow() (parts []area) {
	for i := 0; i < len(a); {
		var box column
		var top, bottom, size float32
		several, single, j := 0, 0, i
		for j < len(a) && single < 3 {
			end := j + 1
			for end < len(a) && a[end].line == a[j].line && a[end].Y == a[j].Y {
				end++
			}
			switch first, last := a[j], a[end-1]; {
			case end-j == 1:
				single++
			case several == 0:
				several, box, top, bottom, size = 1, column{first.X, last.Right}, first.Y, first.Y, first.Size
			case first.Y < bottom || first.Y > bottom+size*8 || min(last.Right, box.right) < max(first.X, box.x):
				single = 3 // somewhere else
				continue
			default:
				several, single, bottom = several+1, 0, first.Y
				box.x, box.right = min(box.x, first.X), max(box.right, last.Right)
			}
			j = end
		}
		i = max(j, i+1)
		if several < 4 {
			continue
		}
		if part := a.beside(box, top-size*4, bottom+size*2, size); part != nil && len(parts) < 20 {
			parts = append(parts, part)
		}
	}
	return parts
}

// beside returns the pieces between top and bottom that are in a box, which is widened by the
// pieces that reach beyond it. It returns nil if no others are beside it, or if most of these are
// in the same lines of print and so may be cells of the same table.
func (a area) beside(box column, top, bottom, size float32) (part area) {
	var near []*piece
	for _, p := range a {
		if p.Y >= top && p.Y <= bottom {
			near = append(near, p)
		}
	}
	for wider := true; wider; {
		wider = false
		for _, p := range near {
			if p.X < box.right+size && p.Right > box.x-size && (p.X < box.x || p.Right > box.right) {
				box.x, box.right, wider = min(box.x, p.X), max(box.right, p.Right), true
			}
		}
	}
	var lines []float32
	outside := 0
	for _, p := range near {
		if p.overlaps(box) {
			part = append(part, p)
			lines = append(lines, p.Y)
		} else {
			outside++
		}
	}
	slices.Sort(lines)
	same := 0
	for _, p := range near {
		if at, _ := slices.BinarySearch(lines, p.Y-size*0.1); !p.overlaps(box) && at < len(lines) && lines[at] < p.Y+size*0.1 {
			same++
		}
	}
	if outside == 0 || same*2 >= outside {
		return nil
	}
	return part
}

// tables finds the tables of an area whose rows extend over its whole width.
func (a area) tables(order map[*piece]int) (found int) {
	rows := rowsOf(a)
	for i, free := 0, 0; i < len(rows); {
		t := grow(rows[i:])
		if t == nil || !t.isTable(order) {
			i++
			continue
		}
		t.header(rows[free:i])
		i += len(t.lines) - t.headers()
		free = i
		found++
	}
	return found
}

// grow returns the longest run of rows, starting with the first one, whose pieces are in
// columns; nil if it is too short for a table.
func grow(rows []row) *table {
	if len(rows[0].pieces) < 2 || len(rows) < 2 {
		return nil
	}
	t := &table{}
	last := 0 // number of rows up to the last one with several pieces
	var steps []float32
	for i, r := range rows[:min(len(rows), maxRows)] {
		if i > 0 {
			step := r.y - rows[i-1].y
			size := r.pieces[0].Size
			if step > size*3.2 || len(steps) > 2 && step > 2.4*median(steps[max(0, len(steps)-9):]) && step > size*1.8 {
				break
			}
			steps = append(steps, step)
		}
		if i-last >= 3 && len(r.pieces) < 2 || !t.add(r) {
			break
		}
		if len(r.pieces) > 1 {
			last = i + 1
		}
	}
	// What follows the last row with several pieces may continue a cell of it.
	for last > 0 && last < len(t.lines) && t.continues(last) {
		last++
	}
	t.lines = t.lines[:last]
	for len(t.lines) > 2 && t.isWide(len(t.lines)-1) {
		t.lines = t.lines[:len(t.lines)-1]
	}
	if len(t.lines) < 2 {
		return nil
	}
	t.project()
	t.fill()
	return t
}

// isWide reports whether a line begins with text that is much wider than all other cells of the first
// column: it is the first line of the text below the table.
func (t *table) isWide(i int) bool {
	first := t.lines[i].pieces[0]
	if !first.isProse() || len(first.Words) < 6 || t.columnOf(first) > 0 {
		return false
	}
	widest := float32(0)
	for j, l := range t.lines {
		if p := l.pieces[0]; j != i && t.columnOf(p) == 0 {
			widest = max(widest, p.Right-p.X)
		}
	}
	return first.Right-first.X > widest*1.4
}

func median(values []float32) float32 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// add adds a row. It returns false if the row does not fit into the columns so far. A piece may
// span several columns only in few rows.
func (t *table) add(r row) bool {
	columns, spans := slices.Clone(t.columns), t.spans
	for _, p := range r.pieces {
		if hasLeader(p.Text) {
			return false // a table of contents
		}
		first := slices.IndexFunc(columns, p.overlaps)
		if first < 0 {
			at := slices.IndexFunc(columns, func(c column) bool { return p.Right <= c.x })
			if at < 0 {
				at = len(columns)
			}
			if len(columns) == maxColumns {
				return false
			}
			columns = slices.Insert(columns, at, column{p.X, p.Right})
			continue
		}
		if first+1 < len(columns) && p.overlaps(columns[first+1]) {
			if spans++; len(r.pieces) < 2 || spans > 1+len(t.lines)/6 {
				return false
			}
			continue
		}
		c := &columns[first]
		c.x, c.right = min(c.x, p.X), max(c.right, p.Right)
	}
	t.columns, t.spans = columns, spans
	t.lines = append(t.lines, tableLine{row: r})
	return true
}

func (p *piece) overlaps(c column) bool { return p.X < c.right && p.Right > c.x }

// project sets the columns: where the pieces of most lines are. What only few lines cover, such
// as the heading of several columns, divides no column and joins none.
func (t *table) project() {
	var edges []float32
	var pieces []*piece
	several := 0
	for _, l := range t.lines {
		if len(l.pieces) > 1 {
			several++
			pieces = append(pieces, l.pieces...)
		}
	}
	few := several / 8
	if several >= 4 {
		few = max(few, 1)
	}
	for _, p := range pieces {
		edges = append(edges, p.X, p.Right)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	cover := make([]int, len(edges))
	for _, p := range pieces {
		from, _ := slices.BinarySearch(edges, p.X)
		to, _ := slices.BinarySearch(edges, p.Right)
		for i := from; i < to; i++ {
			cover[i]++
		}
	}
	t.columns = t.columns[:0]
	for i, n := range cover {
		switch last := len(t.columns) - 1; {
		case n <= few:
		case last >= 0 && t.columns[last].right == edges[i]:
			t.columns[last].right = edges[i+1]
		default:
			t.columns = append(t.columns, column{edges[i], edges[i+1]})
		}
	}
	for _, p := range pieces { // cells of columns that few lines have
		if slices.ContainsFunc(t.columns, p.overlaps) {
			continue
		}
		at := slices.IndexFunc(t.columns, func(c column) bool { return p.Right <= c.x })
		if at < 0 {
			at = len(t.columns)
		}
		t.columns = slices.Insert(t.columns, at, column{p.X, p.Right})
	}
}

// fill sorts the pieces of all lines into cells.
func (t *table) fill() {
	for i := range t.lines {
		t.lines[i].fill(t)
	}
	for at := 0; at+1 < len(t.columns); {
		if t.alternate(at) {
			t.merge(at)
		} else {
			at++
		}
	}
}

func (l *tableLine) fill(t *table) {
	l.cells = make([][]*piece, len(t.columns))
	for _, p := range l.pieces {
		for _, part := range t.divide(p) {
			at := t.columnOf(part)
			l.cells[at] = append(l.cells[at], part)
		}
	}
}

// divide divides a piece that spans several columns between two words, if there is a space
// between the columns.
func (t *table) divide(p *piece) []*piece {
	starts := []int{0}
	for at := 0; at+1 < len(t.columns); at++ {
		left, right := t.columns[at], t.columns[at+1]
		if !p.overlaps(left) || !p.overlaps(right) {
			continue
		}
		best, widest := 0, p.Size*0.3
		for i := 1; i < len(p.Words); i++ {
			a, b := p.Words[i-1].Right, p.Words[i].X
			if b > left.right && a < right.x && b-a > widest {
				best, widest = i, b-a
			}
		}
		if best > starts[len(starts)-1] {
			starts = append(starts, best)
		}
	}
	if len(starts) > 1 {
		if parts := p.split(starts); parts != nil {
			return parts
		}
	}
	return []*piece{p}
}

// alternate reports whether no line has cells in both the column at and the next one, and one of
// the two is almost empty: the head of a column is beside its cells, not above them.
func (t *table) alternate(at int) bool {
	var n [2]int
	for _, l := range t.lines {
		a, b := len(l.cells[at]) > 0, len(l.cells[at+1]) > 0
		if a && b {
			return false
		}
		if a {
			n[0]++
		}
		if b {
			n[1]++
		}
	}
	return min(n[0], n[1]) <= 2
}

// columnOf returns the first column that a piece overlaps, or the nearest one.
func (t *table) columnOf(p *piece) int {
	best, nearest := 0, float32(1e9)
	for i, c := range t.columns {
		distance := max(c.x-p.Right, p.X-c.right)
		if distance < 0 {
			return i
		}
		if distance < nearest {
			best, nearest = i, distance
		}
	}
	return best
}

// continues reports whether line i has nothing but another line of a cell of the line before.
func (t *table) continues(i int) bool {
	l, before := t.lines[i], t.lines[i-1]
	if len(l.pieces) != 1 {
		return false
	}
	p := l.pieces[0]
	at := t.columnOf(p)
	return at > 0 && p.Y-before.y < p.Size*1.4 && slices.ContainsFunc(before.pieces, func(b *piece) bool { return t.columnOf(b) == at && !isNumber(b.Text) })
}

// headers returns the number of lines above the first row that belong to the header.
func (t *table) headers() int {
	n := 0
	for n < len(t.lines) && t.lines[n].header {
		n++
	}
	return n
}

// header adds the rows directly above the table whose pieces are each above one column: lines of
// the header that grow has not begun with. Then it marks all pieces as cells.
func (t *table) header(above []row) {
	y, size := t.lines[0].y, t.lines[0].pieces[0].Size
	for n := 0; n < 3 && len(above) > 0; n++ {
		r := above[len(above)-1]
		if y-r.y > size*1.7 || !t.fits(r) {
			break
		}
		l := tableLine{row: r, header: true}
		l.fill(t)
		t.lines = slices.Insert(t.lines, 0, l)
		y, above = r.y, above[:len(above)-1]
	}
	for _, l := range t.lines {
		for _, p := range l.pieces {
			p.table = t
		}
	}
	t.first = t.lines[0].pieces[0].layoutLine
}

// fits reports whether each piece of a row is above a single column. A row with a single piece
// fits only if it is not at the left, where titles are.
func (t *table) fits(r row) bool {
	if len(r.pieces) == 1 && t.columnOf(r.pieces[0]) == 0 {
		return false
	}
	for _, p := range r.pieces {
		if p.isProse() || isNumber(p.Text) {
			return false
		}
		for at, c := range t.columns {
			if p.overlaps(c) && at != t.columnOf(p) {
				return false
			}
		}
		if p.X > t.columns[len(t.columns)-1].right || p.Right < t.columns[0].x {
			return false
		}
	}
	return true
}

// line returns the table as a line of the page.
func (t *table) line() layoutLine {
	l := t.first
	l.Text, l.Words, l.level = "", nil, 0
	if l.rows = t.cells; l.rows == nil {
		l.rows = t.rows()
	}
	if t.rightToLeft {
		for _, cells := range l.rows {
			slices.Reverse(cells)
		}
	}
	return l
}
