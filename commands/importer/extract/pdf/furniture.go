package pdf

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"annals/commands/importer/extract/pdf/pdfium"
)

const (
	margin     = 0.12   // part of a page's height, at the top and at the bottom, where running heads and feet may be
	maxCounted = 20_000 // maximum number of different lines that are counted
	maxRunning = 1_000  // bytes of the longest running head or foot
)

// furniture finds running heads and feet: lines near the top or bottom of many pages that are at
// the same position and have the same text, apart from the number of the page, or that are beside
// that number. Lines with other different numbers are content, such as totals. The first occurrence
// of each stays in the text, because it may be the only title of a chapter: not if it is beside a
// page number and its words are in the text. Page numbers are always dropped.
type furniture struct {
	count   map[position]int
	shown   map[string]bool // texts of which one line stays in the text
	numbers map[slot]int    // number of pages with this slot
	most    map[int]int     // by height, the largest of the numbers of pages of its slots
	body    map[string]bool // keys of short lines between the margins, and of bookmarks
	size    float64         // font size of most letters
	pages   int             // number of buffered pages that were counted; 0 if each page is counted when it is marked
	total   int             // number of pages counted so far
}

// position identifies a line near the top or bottom of a page: its text in lower case and its
// rounded height. In the text of a line with a number that may be that of the page, this number is
// #, and offset is the difference between it and the number of the page in the file.
type position struct {
	text      string
	y, offset int
}

// slot is a height where page numbers are, and the difference between these and the numbers of
// the pages in the file.
type slot struct{ y, offset int }

func (f *furniture) init() {
	f.count, f.shown, f.numbers, f.most, f.body = map[position]int{}, map[string]bool{}, map[slot]int{}, map[int]int{}, map[string]bool{}
}

// place returns the baseline of a line and the height of its page if the page is turned so that the line is upright: heads
// and feet of a page whose table is turned may be turned, too, or not.
func (p *layoutPage) place(l *layoutLine) (y, height float32) {
	switch l.Direction {
	case pdfium.Upwards:
		return l.X, p.Width
	case pdfium.Leftwards:
		return p.Height - l.Y, p.Height
	case pdfium.Downwards:
		return p.Width - l.X, p.Width
	}
	return l.Y, p.Height
}

// position returns the position of a line. ok is false if the line is too long, or not near the top or
// bottom.
func (p *layoutPage) position(l *layoutLine) (at position, ok bool) {
	y, height := p.place(l)
	if height <= 0 || l.Direction == pdfium.Stacked || len(l.Text) > maxRunning || y > height*margin && y < height*(1-margin) {
		return position{}, false
	}
	return position{text: strings.ToLower(l.Text), y: int(math.Round(float64(y) / 4))}, true
}

// add counts the lines of a page that may be running heads or feet.
func (f *furniture) add(page *layoutPage) {
	f.pages++
	f.total++
	for i := range page.lines {
		l := &page.lines[i]
		p, ok := page.position(l)
		if !ok {
			if len(l.Text) < 100 && len(f.body) < maxCounted {
				f.body[key(l.Text)] = true
			}
			continue
		}
		if len(f.count) < maxCounted {
			f.count[p]++
		}
		for _, c := range f.counters(l) {
			if len(f.count) < maxCounted {
				f.count[position{c.text, p.y, c.number - page.Number}]++
			}
			if s := (slot{p.y, c.number - page.Number}); c.outer && len(f.numbers) < maxCounted {
				f.numbers[s]++
				f.most[p.y] = max(f.most[p.y], f.numbers[s])
			}
		}
	}
}

// counter is a number of a line that may be the number of its page.
type counter struct {
	number int
	text   string // the line in lower case, with # for the number
	words  string // key of the other words
	outer  bool   // the number is the beginning or the end of the line
	alone  bool   // the line has no other words
}

// pageWord matches words before the number of a page.
var pageWord = regexp.MustCompile(`^\P{L}*(?:page|pg|pp?|seite|s|p[aá]g|p[aá]gina|side|sida|strana|str|стр|страница|sheet|blatt|slide|folie)[.:]?$`)

// separator matches signs that stand between the number of a page and other words.
var separator = regexp.MustCompile(`^[-–—|•·/()\[\]~]+$`)

const (
	maxCounterWords = 40 // words of the longest line that may have the number of its page
	longPrint       = 8  // words of a line of small print that may have the number of its page in the middle
)

// counters returns the numbers of a line that may be the number of its page: they are alone, after
// a word such as "page", or apart from the other words at the beginning or end. Elsewhere, as in
// "Exhibit 3", they belong to the text; only the small print of printers has a page number in the middle.
func (f *furniture) counters(l *layoutLine) (out []counter) {
	words := strings.Fields(strings.ToLower(l.Text))
	if len(words) > maxCounterWords {
		return nil
	}
	for i, word := range words {
		n := pageNumber(word)
		if n == 0 {
			continue
		}
		from, to := i, i+1
		named := i > 0 && pageWord.MatchString(words[i-1])
		if named {
			from--
		}
		if to+1 < len(words) && strings.Contains(" / of von de sur av ", " "+words[to]+" ") && pageNumber(words[to+1]) >= n {
			named, to = true, to+2
		}
		c := counter{number: n, text: strings.Join(words[:i], " ") + " # " + strings.Join(words[i+1:], " ")}
		if _, of, ok := strings.Cut(word, "/"); ok {
			c.text += " / " + of
		}
		separated := false
		for ; from > 0 && separator.MatchString(words[from-1]); from-- {
			separated = true
		}
		for ; to < len(words) && separator.MatchString(words[to]); to++ {
			separated = true
		}
		c.alone = from == 0 && to == len(words)
		c.words = key(strings.Join(words[:from], "") + strings.Join(words[to:], ""))
		switch {
		case c.alone:
			c.outer = true
		case from == 0: // not the number of a section or of a footnote
			c.outer = (named || separated || isApart(l, len(words), to)) && !strings.HasSuffix(word, ".") && !mayEndParagraph(l.Text)
		case to == len(words):
			c.outer = named || separated || isApart(l, len(words), from)
		}
		if c.outer || len(words) >= longPrint && float64(l.Size) < f.size*0.8 && from > 0 && to < len(words) {
			out = append(out, c)
		}
	}
	return out
}

// isApart reports whether word i of the n words of a line is farther from the word before it than words of a text are.
func isApart(l *layoutLine, n, i int) bool {
	return len(l.Words) == n && l.Words[i].X-l.Words[i-1].Right > l.Size
}

// pageNumber returns the number in a word such as "12", "-12-", "xii" or "12/30", or 0.
func pageNumber(word string) int {
	word, _, _ = strings.Cut(word, "/")
	word = strings.Trim(word, "-–—|[]().,·第页頁")
	n, err := strconv.Atoi(word)
	if err != nil {
		n = roman(word)
	}
	if n < 0 || n >= 100_000 {
		return 0
	}
	return n
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
func (f *furniture) seen(p position) (n int) {
	for d := -1; d <= 1; d++ {
		n += f.count[position{p.text, p.y + d, p.offset}]
	}
	return n
}

// often reports whether what is on n pages repeats.
func (f *furniture) often(n int) bool { return n >= 3 && (n >= 5 || n*10 >= f.total*3) }

// isNumber reports whether c is the number of its page: it is where other pages have theirs.
func (f *furniture) isNumber(c counter, y, page int) bool {
	same, most := 0, 0
	for d := -1; d <= 1; d++ {
		same += f.numbers[slot{y + d, c.number - page}]
		most = max(most, f.most[y+d])
	}
	return c.outer && f.often(same) || c.alone && f.often(most) // numbers may begin anew
}

var numberOf = regexp.MustCompile(`^(?:page|seite) ([0-9]+) (?:/|of|von|de|sur) ([0-9]+)$`)

// mark sets the fields running and furniture of the lines of a page. pages is the number of
// pages of the document. If the page was not counted with the buffered ones, mark counts it first.
func (f *furniture) mark(page *layoutPage, pages int) {
	if f.pages == 0 {
		f.add(page)
		f.pages = 0
	}
	lines := page.lines
	var numbered []float32 // baselines of lines with the page's number
	for i := range lines {
		p, ok := page.position(&lines[i])
		if !ok {
			continue
		}
		for _, c := range f.counters(&lines[i]) {
			if f.isNumber(c, p.y, page.Number) {
				y, _ := page.place(&lines[i])
				numbered = append(numbered, y)
			}
		}
	}
	for i := range lines {
		l := &lines[i]
		p, ok := page.position(l)
		if !ok {
			continue
		}
		if m := numberOf.FindStringSubmatch(p.text); m != nil && m[1] == strconv.Itoa(page.Number) && m[2] == strconv.Itoa(pages) {
			l.running, l.furniture = true, true
			continue
		}
		text, words, alone := p.text, key(p.text), false
		often := f.often(f.seen(p))
		for _, c := range f.counters(l) {
			repeats := f.often(f.seen(position{c.text, p.y, c.number - page.Number}))
			if !often && repeats || f.isNumber(c, p.y, page.Number) {
				text, words, alone, often = c.text, c.words, c.alone, often || repeats
			}
		}
		at, _ := page.place(l)
		beside := slices.ContainsFunc(numbered, func(y float32) bool { return absf(y-at) < 2 })
		if !beside && !often {
			l.running = page.isFoot(i)
			continue
		}
		l.running = true
		l.furniture = alone || f.shown[text] || !often && words != "" && (f.shown[words] || f.body[words])
		if len(f.shown) < maxCounted {
			f.shown[text] = true
			if beside && words != "" {
				f.shown[words] = true
			}
		}
	}
}

// isFoot reports whether line i is a foot although it does not repeat: it is the lowest one, and the file has it before the text above it.
func (p *layoutPage) isFoot(i int) bool {
	l := &p.lines[i]
	if l.Turned || l.Y < p.Height*(1-margin) || i+1 == len(p.lines) || p.lines[i+1].Y > l.Y-2*l.Size {
		return false
	}
	return !slices.ContainsFunc(p.lines[:i], func(o layoutLine) bool { return !o.running }) &&
		!slices.ContainsFunc(p.lines[i:], func(o layoutLine) bool { return !o.Turned && o.Y > l.Y+l.Size/2 })
}
