package pdf

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

const (
	margin      = 0.12   // share of a page's height, above and below, that may have running lines
	manyRunning = 20_000 // different lines that are counted
)

// furniture finds running heads and feet: lines that repeat at the same position
// near the edge of many pages, even if numbers in them differ. The first of each stays in
// the text, because it may be the only name of a chapter. Page numbers are dropped.
type furniture struct {
	count map[place]int
	shown map[place]bool
	pages int // number of buffered pages; 0 once pages are counted one by one
	total int
}

type place struct {
	text string
	y    int
}

func (f *furniture) init() { f.count, f.shown = map[place]int{}, map[place]bool{} }

// placeOf returns the position of a line and its text with # for numbers, which are
// compared, and whether the line is near an edge.
func placeOf(l *layoutLine, height float32) (place, bool) {
	if height <= 0 || l.Turned || l.Y > height*margin && l.Y < height*(1-margin) {
		return place{}, false
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
	return place{b.String(), int(math.Round(float64(l.Y) / 4))}, true
}

// note counts the lines of a page that may be running heads or feet.
func (f *furniture) note(lines []layoutLine, height float32) {
	f.pages++
	f.total++
	for i := range lines {
		if p, ok := placeOf(&lines[i], height); ok && len(f.count) < manyRunning {
			f.count[p]++
		}
	}
}

// seen returns the number of pages with a line, allowing for rounded positions.
func (f *furniture) seen(p place) int {
	return f.count[p] + f.count[place{p.text, p.y - 1}] + f.count[place{p.text, p.y + 1}]
}

var pageNumber = regexp.MustCompile(`^(?:page )?[-–—|\[( ]*(?:#|[ivxlc]{1,6})[-–—|\]) ]*$`)

// mark marks the running lines of a page.
func (f *furniture) mark(lines []layoutLine, height float32) {
	if f.pages == 0 {
		f.note(lines, height)
		f.pages = 0
	}
	for i := range lines {
		p, ok := placeOf(&lines[i], height)
		if !ok {
			continue
		}
		if n := f.seen(p); n < 3 || n < 5 && n*10 < f.total*3 {
			continue
		}
		lines[i].running = true
		lines[i].furniture = f.shown[p] || pageNumber.MatchString(p.text)
		if len(f.shown) < manyRunning {
			f.shown[p] = true
		}
	}
}
