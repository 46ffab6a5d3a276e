package pdf

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marker matches the bullet or number of a list item, or the number of a line of code.
var marker = regexp.MustCompile(`^(?:[•‣◦▪▫■□●○∙·–—*►➢✓❖\x{f000}-\x{f0ff}-]|[0-9]{1,3}:|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\[[0-9A-Za-z+]{1,8}\]|[0-9]{1,2}(?:\.[0-9]{1,2})+\.?)$`)

// lineNumber matches the number of a line of code, with code.
var lineNumber = regexp.MustCompile(`^[0-9]{1,3}:(?: |$)`)

// size returns the median of the cells' font sizes.
func (t *table) size() float32 {
	var sizes []float32
	for _, l := range t.lines {
		for _, p := range l.pieces {
			sizes = append(sizes, p.Size)
		}
	}
	return median(sizes)
}

// isNumber reports whether a cell is a number, an amount, a date or an empty mark.
func isNumber(s string) bool {
	digits, letters := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits > letters || letters == 0 && strings.Trim(s, "–—-*") == ""
}

// isTable reports whether the rows are really a table. It is strict: words in a wrong table are
// worse to read than lines.
func (t *table) isTable(order map[*piece]int) bool {
	if t.isMarkers(0) || len(t.columns) < 2 || len(t.columns) == 2 && (t.counts(0) || t.counts(1)) {
		return false
	}
	var full, filled, sequence, pairs, tiny, codes, formula, numbers, squeezed, small, listing int
	size := t.size()
	for i, l := range t.lines {
		n := 0
		var last *piece
		for _, cell := range l.cells {
			if len(cell) == 0 {
				continue
			}
			n++
			if cell[0].Size < size*0.8 {
				small++ // an index or exponent
			}
			switch text := cellText(cell); {
			case n == 1 && lineNumber.MatchString(text):
				listing++
			case isNumber(text):
				numbers++
			case isFormula(text):
				formula++
			case utf8.RuneCountInString(text) <= 2:
				tiny++
				if strings.ToUpper(text) == text && unicode.IsLetter(rune(text[0])) {
					codes++
				}
			}
		}
		for _, p := range l.pieces {
			if last != nil {
				pairs++
				if d := order[p] - order[last]; d > 0 && d <= 5 {
					sequence++
				}
			}
			last = p
		}
		if i > 0 && l.y-t.lines[i-1].y < 0.75*l.pieces[0].Size {
			squeezed++
		}
		filled += n
		if n > 1 {
			full++
		}
	}
	k := len(t.columns)
	numeric := numbers*10 >= filled*4
	if k > 2 && formula == 0 && small == 0 && full*10 >= len(t.lines)*8 && codes*10 >= tiny*9 {
		tiny = 0 // codes such as A and Y, and no formula
	}
	switch {
	case full < 3,
		k == 2 && full < 4 && !numeric,
		filled*10 < full*k*5,
		formula*4 > filled, small*6 > filled, listing*2 > len(t.lines),
		(tiny+formula)*10 > filled*4,
		squeezed*4 > len(t.lines) && (numbers*10 < filled*6 || formula > 0),
		!numeric && sequence*10 < pairs*6, // columns of text
		!t.aligned(numeric):
		return false
	}
	return !t.isProse()
}

// isFormula reports whether a cell looks like a part of a formula.
func isFormula(s string) bool {
	if strings.HasSuffix(s, "=") || strings.Trim(s, ". ") == "" {
		return true
	}
	for _, r := range s {
		switch {
		case strings.ContainsRune("+<>=±×÷−≤≥≈|~^∗", r):
		case unicode.Is(unicode.Sm, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Greek, r):
			return true
		}
	}
	return false
}

// counts reports whether a column has rising whole numbers: numbers of lines of code, or of pages
// in a table of contents.
func (t *table) counts(at int) bool {
	last, n, lines := -1, 0, 0
	for _, l := range t.lines {
		if len(l.cells[at]) == 0 {
			continue
		}
		lines++
		if v, err := strconv.Atoi(cellText(l.cells[at])); err == nil && v >= last && v < 10_000 {
			last = v
			n++
		}
	}
	return n*10 >= lines*8
}

// isMarkers reports whether a column consists of the bullets or numbers of list items.
func (t *table) isMarkers(at int) bool {
	n, markers := 0, 0
	for _, l := range t.lines {
		if len(l.cells[at]) > 0 {
			n++
			if marker.MatchString(cellText(l.cells[at])) {
				markers++
			}
		}
	}
	return markers*10 >= n*7
}

// merge joins a column to the next one.
func (t *table) merge(at int) {
	t.columns[at].right = t.columns[at+1].right
	t.columns = slices.Delete(t.columns, at+1, at+2)
	for i := range t.lines {
		l := &t.lines[i]
		l.cells[at] = append(l.cells[at], l.cells[at+1]...)
		l.cells = slices.Delete(l.cells, at+1, at+2)
	}
}

// aligned reports whether the cells of most columns have their left or right edges at the same
// place. Numbers may also be centred.
func (t *table) aligned(numeric bool) bool {
	good := 0
	for at := range t.columns {
		var edges [3][]float32
		var size float32
		for _, l := range t.lines {
			if cell := l.cells[at]; len(cell) > 0 {
				x, right := cell[0].X, cell[len(cell)-1].Right
				size = max(size, cell[0].Size)
				edges[0], edges[1], edges[2] = append(edges[0], x), append(edges[1], right), append(edges[2], (x+right)/2)
			}
		}
		for i, e := range edges {
			if len(e) == 0 || i == 2 && !numeric {
				continue
			}
			middle, near := median(e), 0
			for _, x := range e {
				if absf(x-middle) < size*0.5 {
					near++
				}
			}
			if near*10 >= len(e)*6 {
				good++
				break
			}
		}
	}
	return good*10 >= len(t.columns)*7
}

// isProse reports whether two or more columns consist of running text.
func (t *table) isProse() bool {
	prose := 0
	for at := range t.columns {
		n, long := 0, 0
		for _, l := range t.lines {
			if cell := l.cells[at]; len(cell) > 0 {
				n++
				if cell[0].isProse() && len(cell[0].Words) > 4 {
					long++
				}
			}
		}
		if long*2 > n {
			prose++
		}
	}
	return prose > 1
}
