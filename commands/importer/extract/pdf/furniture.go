package pdf

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

const (
	margin     = 0.12   // part of a page's height, at the top and at the bottom, where running heads and feet may be
	maxCounted = 20_000 // maximum number of different lines that are counted
)

// furniture finds running heads and feet: lines that are at the same position near the top or
// bottom of many pages, and differ only in their numbers. The first occurrence of each stays
// in the text, because it may be the only title of a chapter. Page numbers are always
// dropped.
type furniture struct {
	count map[position]int
	shown map[position]bool
	pages int // number of buffered pages that were counted; 0 if each page is counted when it is marked
	total int // number of pages counted so far
}

// position identifies a line near the top or bottom of a page: its text, with # for each
// number, and its rounded height.
type position struct {
	text string
	y    int
}

func (f *furniture) init() { f.count, f.shown = map[position]int{}, map[position]bool{} }

// positionOf returns the position of a line. ok is false if the line is not near the top or
// bottom.
func positionOf(l *layoutLine, height float32) (position, bool) {
	if height <= 0 || l.Turned || l.Y > height*margin && l.Y < height*(1-margin) {
		return position{}, false
	}
	var b strings.Builder
	digits := false
	for _, r := range l.Text {
		if unicode.IsDigit(r) {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(unicode.ToLower(r))
	}
	return position{b.String(), int(math.Round(float64(l.Y) / 4))}, true
}

// add counts the lines of a page that may be running heads or feet.
func (f *furniture) add(lines []layoutLine, height float32) {
	f.pages++
	f.total++
	for i := range lines {
		if p, ok := positionOf(&lines[i], height); ok && len(f.count) < maxCounted {
			f.count[p]++
		}
	}
}

// seen returns the number of pages with a line at a position or at a neighbouring one.
// Neighbours count because heights are rounded.
func (f *furniture) seen(p position) int {
	return f.count[p] + f.count[position{p.text, p.y - 1}] + f.count[position{p.text, p.y + 1}]
}

var pageNumber = regexp.MustCompile(`^(?:page )?[-–—|\[( ]*(?:#|[ivxlc]{1,6})[-–—|\]) ]*$`)

// mark sets the fields running and furniture of the lines of a page. If the page was not
// counted with the buffered ones, mark counts it first.
func (f *furniture) mark(lines []layoutLine, height float32) {
	if f.pages == 0 {
		f.add(lines, height)
		f.pages = 0
	}
	for i := range lines {
		p, ok := positionOf(&lines[i], height)
		if !ok {
			continue
		}
		if n := f.seen(p); n < 3 || n < 5 && n*10 < f.total*3 {
			continue
		}
		lines[i].running = true
		lines[i].furniture = f.shown[p] || pageNumber.MatchString(p.text)
		if len(f.shown) < maxCounted {
			f.shown[p] = true
		}
	}
}
