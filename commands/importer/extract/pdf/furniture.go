package pdf

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const (
	margin     = 0.12   // part of a page's height, at the top and at the bottom, where running heads and feet may be
	maxCounted = 20_000 // maximum number of different lines that are counted
)

// furniture finds running heads and feet: lines near the top or bottom of many pages that are at
// the same position and differ only in their numbers, or that are beside the page number. The
// first occurrence of each stays in the text, because it may be the only title of a chapter: not
// if it is beside a page number and its words are in the text. Page numbers are always dropped.
type furniture struct {
	count   map[position]int
	shown   map[string]bool // text of positions of which one line stays in the text
	numbers map[slot]int    // number of pages with this slot
	body    map[string]bool // keys of short lines between the margins, and of bookmarks
	pages   int             // number of buffered pages that were counted; 0 if each page is counted when it is marked
	total   int             // number of pages counted so far
}

// position identifies a line near the top or bottom of a page: its text, with # for each
// number, and its rounded height.
type position struct {
	text string
	y    int
}

// slot is a height where page numbers are, and the difference between these and the numbers of
// the pages in the file.
type slot struct{ y, offset int }

func (f *furniture) init() {
	f.count, f.shown, f.numbers, f.body = map[position]int{}, map[string]bool{}, map[slot]int{}, map[string]bool{}
}

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
func (f *furniture) add(lines []layoutLine, page int, height float32) {
	f.pages++
	f.total++
	for i := range lines {
		l := &lines[i]
		p, ok := positionOf(l, height)
		if !ok {
			if len(l.Text) < 100 && len(f.body) < maxCounted {
				f.body[key(l.Text)] = true
			}
			continue
		}
		if len(f.count) < maxCounted {
			f.count[p]++
		}
		for _, n := range pageNumbers(l.Text) {
			if s := (slot{p.y, n - page}); len(f.numbers) < maxCounted {
				f.numbers[s]++
			}
		}
	}
}

// pageNumbers returns the numbers with which a line begins or ends.
func pageNumbers(text string) []int {
	words := strings.Fields(text)
	if len(words) == 0 || len(text) > 150 {
		return nil
	}
	var out []int
	for i, word := range []string{words[0], words[len(words)-1]} {
		if i == 0 && len(words) > 1 && strings.HasSuffix(word, ".") {
			continue // the number of a section
		}
		word = strings.Trim(word, "-–—|[]().,·")
		n, err := strconv.Atoi(word)
		if err != nil {
			n = roman(strings.ToLower(word))
		}
		if n > 0 && n < 10_000 && (i == 0 || len(out) == 0 || out[0] != n) {
			out = append(out, n)
		}
	}
	return out
}

// roman returns the value of a Roman number below 400, or 0.
func roman(s string) int {
	values := map[byte]int{'i': 1, 'v': 5, 'x': 10, 'l': 50, 'c': 100}
	sum := 0
	for i := range len(s) {
		v := values[s[i]]
		if v == 0 || len(s) > 9 {
			return 0
		}
		if i+1 < len(s) && values[s[i+1]] > v {
			v = -v
		}
		sum += v
	}
	return sum
}

// seen returns the number of pages with a line at a position or at a neighbouring one.
// Neighbours count because heights are rounded.
func (f *furniture) seen(p position) int {
	return f.count[p] + f.count[position{p.text, p.y - 1}] + f.count[position{p.text, p.y + 1}]
}

// often reports whether what is on n pages repeats.
func (f *furniture) often(n int) bool { return n >= 3 && (n >= 5 || n*10 >= f.total*3) }

// numbered reports whether a line has the number of its page where other pages have theirs.
func (f *furniture) numbered(text string, y, page int) bool {
	for _, n := range pageNumbers(text) {
		seen := 0
		for d := -1; d <= 1; d++ {
			seen += f.numbers[slot{y + d, n - page}]
		}
		if f.often(seen) {
			return true
		}
	}
	return false
}

var (
	pageNumber = regexp.MustCompile(`^(?:(?:page|seite|p\.) ?)?[-–—|\[( ]*(?:#|[ivxlc]{1,9})(?: ?(?:/|of|von|de|sur) ?#)?[-–—|\]) ]*$`)
	numberOf   = regexp.MustCompile(`^(?:page|seite) ([0-9]+) (?:/|of|von|de|sur) ([0-9]+)$`)
	outerCount = regexp.MustCompile(`^(?:[0-9]+|[ivxlcIVXLC]+)\b|\b(?:[0-9]+|[ivxlcIVXLC]+)$`)
)

// mark sets the fields running and furniture of the lines of a page. pages is the number of
// pages of the document. If the page was not counted with the buffered ones, mark counts it first.
func (f *furniture) mark(lines []layoutLine, page, pages int, height float32) {
	if f.pages == 0 {
		f.add(lines, page, height)
		f.pages = 0
	}
	var numbered []float32 // baselines of lines with the page's number
	for i := range lines {
		if p, ok := positionOf(&lines[i], height); ok && f.numbered(lines[i].Text, p.y, page) {
			numbered = append(numbered, lines[i].Y)
		}
	}
	for i := range lines {
		l := &lines[i]
		p, ok := positionOf(l, height)
		if !ok {
			continue
		}
		if m := numberOf.FindStringSubmatch(strings.ToLower(l.Text)); m != nil && m[1] == strconv.Itoa(page) && m[2] == strconv.Itoa(pages) {
			l.running, l.furniture = true, true
			continue
		}
		beside := false // the line is beside the number of the page
		for _, y := range numbered {
			beside = beside || absf(y-l.Y) < 2
		}
		if !beside && !f.often(f.seen(p)) {
			continue
		}
		l.running = true
		words := key(outerCount.ReplaceAllString(l.Text, ""))
		l.furniture = pageNumber.MatchString(p.text) || f.shown[p.text] || !f.often(f.seen(p)) && words != "" && (f.shown[words] || f.body[words])
		if len(f.shown) < maxCounted {
			f.shown[p.text] = true
			if beside && words != "" {
				f.shown[words] = true
			}
		}
	}
}
