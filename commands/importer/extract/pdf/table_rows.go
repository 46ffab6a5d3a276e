package pdf

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rows returns the text of the cells, by row.
func (t *table) rows() [][]string {
	var out [][]string
	last := -1
	for i, n := range t.rowNumbers() {
		if n != last {
			out = append(out, make([]string, len(t.columns)))
		}
		last = n
		for at, cell := range t.lines[i].cells {
			for _, p := range cell {
				out[len(out)-1][at] = joinCell(out[len(out)-1][at], p.Text)
			}
		}
	}
	for _, cells := range out {
		for i := range cells {
			cells[i] = strings.TrimSuffix(cells[i], softHyphen)
		}
	}
	return out
}

// rowNumbers returns the number of the row that each line of print belongs to. Numbers rise.
func (t *table) rowNumbers() []int {
	numbers := make([]int, len(t.lines))
	head := t.headLines()
	for i := head; i < len(t.lines); i++ {
		numbers[i] = i
	}
	t.group(numbers, head)
	return numbers
}

// headLines returns the number of lines of the header: lines that header has added, and lines with
// few numbers that are close together, above numbers.
func (t *table) headLines() int {
	n := t.headers()
	for i := n; i < min(len(t.lines), n+4); i++ {
		cells, numbers := 0, 0
		for _, cell := range t.lines[i].cells {
			if len(cell) > 0 {
				cells++
				if isNumber(cellText(cell)) {
					numbers++
				}
			}
		}
		if numbers*10 >= cells*4 {
			return i
		}
		if numbers*6 > cells || i > n && t.step(i) > t.lines[i].pieces[0].Size*1.4 {
			break
		}
	}
	return n
}

// step returns the distance of line i from the one above.
func (t *table) step(i int) float32 { return t.lines[i].y - t.lines[i-1].y }

// group gives the lines from first on the same number if they are of one row. In most tables the
// cells of the first column begin the rows. If the cells of the first column have several lines,
// the distances between these are smaller than between rows.
func (t *table) group(numbers []int, first int) {
	var keys []int // lines with a cell in the first column
	for i := first; i < len(t.lines); i++ {
		if len(t.lines[i].cells[0]) > 0 {
			keys = append(keys, i)
		}
	}
	if len(keys) == 0 {
		return
	}
	if t.centred(keys, first) {
		for i := first; i < len(t.lines); i++ {
			numbers[i] = keys[t.nearest(keys, i)]
		}
		return
	}
	if blocks := t.blocks(keys); blocks != nil {
		for i, key := range keys {
			numbers[key] = blocks[i]
		}
		for i := first; i < len(t.lines); i++ {
			key := t.nearest(keys, i)
			if d := absf(t.lines[i].y - t.lines[keys[key]].y); d < t.lines[i].pieces[0].Size*1.5 {
				numbers[i] = blocks[key]
			}
		}
		for i := first + 1; i < len(t.lines); i++ { // lines between those of a row belong to it
			numbers[i] = max(numbers[i], numbers[i-1])
		}
		return
	}
	var steps []float32
	for i := 1; i < len(keys); i++ {
		steps = append(steps, t.lines[keys[i]].y-t.lines[keys[i-1]].y)
	}
	step := float32(0)
	if len(steps) > 0 {
		step = median(steps)
	}
	keyed := len(t.lines[first].cells[0]) > 0 // the row has a cell in the first column
	for i := first + 1; i < len(t.lines); i++ {
		key := len(t.lines[i].cells[0]) > 0
		if keyed && key || !t.joins(i, step) || t.repeats(numbers, i) {
			keyed = key
			continue
		}
		numbers[i] = numbers[i-1]
		keyed = keyed || key
	}
}

// repeats reports whether line i has several cells, one of them a number in a column in which the
// row of the line before has a number already.
func (t *table) repeats(numbers []int, i int) bool {
	cells, again := 0, false
	for at, cell := range t.lines[i].cells {
		if len(cell) == 0 {
			continue
		}
		cells++
		for j := i - 1; j >= 0 && numbers[j] == numbers[i-1]; j-- {
			above := t.lines[j].cells[at]
			again = again || len(above) > 0 && isNumber(cellText(cell)) && isNumber(cellText(above))
		}
	}
	return cells > 1 && again
}

// joins reports whether line i continues the row of the line before. step is the usual distance
// of rows.
func (t *table) joins(i int, step float32) bool {
	l, down := t.lines[i], t.step(i)
	size := l.pieces[0].Size
	return down < size*0.8 && step > size*1.2 || // cells that are centred in their row
		len(l.cells[0]) == 0 && (down < step*0.72 && down < size*1.5 || t.continues(i))
}

// nearest returns the index in keys of the line that is nearest to line i.
func (t *table) nearest(keys []int, i int) int {
	best := 0
	for k, key := range keys {
		if absf(t.lines[key].y-t.lines[i].y) < absf(t.lines[keys[best]].y-t.lines[i].y) {
			best = k
		}
	}
	return best
}

// centred reports whether the lines with a cell in the first column have no other cells but
// these of a row's name, centred beside the lines of the row.
func (t *table) centred(keys []int, first int) bool {
	others := len(t.lines) - first - len(keys)
	if len(keys) < 2 || others < 2*len(keys) {
		return false
	}
	used := make([]int, len(t.columns)) // lines that have cells in a column but none in the first
	for i := first; i < len(t.lines); i++ {
		if len(t.lines[i].cells[0]) == 0 {
			for at, cell := range t.lines[i].cells {
				used[at] += min(1, len(cell))
			}
		}
	}
	for _, key := range keys {
		for at, cell := range t.lines[key].cells {
			if len(cell) > 0 && used[at] > 0 {
				return false
			}
		}
	}
	return true
}

// blocks returns the number of the row for each key, if the cells of the first column have several
// lines; else nil.
func (t *table) blocks(keys []int) []int {
	var steps []float32
	for i := 1; i < len(keys); i++ {
		steps = append(steps, t.lines[keys[i]].y-t.lines[keys[i-1]].y)
	}
	sorted := slices.Clone(steps)
	slices.Sort(sorted)
	limit, jump := float32(0), float32(1.2)
	for i := 1; i < len(sorted); i++ {
		if r := sorted[i] / max(sorted[i-1], 1); r > jump && sorted[i-1] < t.lines[keys[0]].pieces[0].Size*1.5 {
			limit, jump = sorted[i-1], r
		}
	}
	if limit == 0 {
		return nil
	}
	out := make([]int, len(keys))
	out[0] = keys[0]
	joins, good := 0, 0
	for i := 1; i < len(keys); i++ {
		out[i] = keys[i]
		if steps[i-1] > limit {
			continue
		}
		out[i] = out[i-1]
		joins++
		if t.isContinuation(out[i], keys[i]) {
			good++
		}
	}
	if good < joins {
		return nil
	}
	return out
}

// isContinuation reports whether a line may belong to the row that begins at line first: no column
// has a number in both, and the text of the first column goes on.
func (t *table) isContinuation(first, line int) bool {
	others := false // the line has cells in a column that the row has a cell of already
	for at := range t.columns {
		cell := t.lines[line].cells[at]
		if len(cell) == 0 {
			continue
		}
		for _, l := range t.lines[first:line] {
			if len(l.cells[at]) == 0 {
				continue
			}
			if isNumber(cellText(cell)) {
				return false
			}
			others = others || at > 0
		}
	}
	text := cellText(t.lines[line].cells[0])
	if start, _ := utf8.DecodeRuneInString(text); !unicode.IsUpper(start) && !unicode.IsDigit(start) {
		return true
	}
	return !others
}

func joinCell(a, b string) string {
	if cut, ok := strings.CutSuffix(a, softHyphen); ok {
		return cut + b
	}
	if a == "" {
		return b
	}
	return a + between(a, b) + b
}

func cellText(cell []*piece) string {
	text := ""
	for _, p := range cell {
		text = joinCell(text, p.Text)
	}
	return text
}

// markdownTable formats rows as a table. The first row is the header.
func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, cells := range rows {
		for _, cell := range cells {
			b.WriteString("| ")
			if cell != "" {
				b.WriteString(strings.ReplaceAll(cell, "|", `\|`))
				b.WriteByte(' ')
			}
		}
		b.WriteString("|")
		if i == 0 {
			b.WriteString("\n" + strings.Repeat("| --- ", len(cells)) + "|")
		}
		if i+1 < len(rows) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
