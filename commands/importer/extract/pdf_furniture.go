package extract

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

const (
	margin      = 0.12   // of a page's height, above and below, where running lines stand
	manyRunning = 20_000 // different lines that are counted
)

// furniture finds running heads and feet: lines that repeat at the same place
// near the edge of many pages, whatever numbers they hold. The first of each
// stays in the text, because it may be all that names a chapter; page numbers
// alone go.
type furniture struct {
	count map[place]int
	shown map[place]bool
	pages int // that count was learnt from beforehand, 0 afterwards
	total int
}

type place struct {
	text string
	y    int
}

func (f *furniture) init() { f.count, f.shown = map[place]int{}, map[place]bool{} }

// placeOf returns what is compared of a line, and whether it is near an edge.
func placeOf(l *pdfLine, height float32) (place, bool) {
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

// learn counts the running lines of a page.
func (f *furniture) learn(lines []pdfLine, height float32) {
	f.pages++
	f.total++
	for i := range lines {
		if p, ok := placeOf(&lines[i], height); ok && len(f.count) < manyRunning {
			f.count[p]++
		}
	}
}

// seen returns on how many pages a line stands, allowing for rounding.
func (f *furniture) seen(p place) int {
	return f.count[p] + f.count[place{p.text, p.y - 1}] + f.count[place{p.text, p.y + 1}]
}

var pageNumber = regexp.MustCompile(`^(?:page )?[-–—|\[( ]*(?:#|[ivxlc]{1,6})[-–—|\]) ]*$`)

// mark marks the running lines of a page.
func (f *furniture) mark(lines []pdfLine, height float32) {
	if f.pages == 0 {
		f.learn(lines, height)
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
