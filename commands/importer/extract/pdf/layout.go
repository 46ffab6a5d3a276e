// Package pdf turns the pages of a PDF into sections. From the lines that package pdfium
// reads, with positions and fonts, it recognises headings, paragraphs, running heads and the
// title. It imports extract, extract/pdf/bidi, extract/pdf/grid,
// extract/pdf/pdfium and extract/pdf/vertical.
package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/importer/extract/pdf/vertical"
)

// A PDF has no headings, only letters with a font and a position. Headings and running heads
// are recognised by comparing pages, so the first pages are buffered, up to these limits.
const (
	studyPages = 60
	studyBytes = 2 << 20 // bytes of text
)

// layoutLine is a line of a page, and what it is: a heading, text, or a running head or foot.
type layoutLine struct {
	pdfium.Line
	level     int        // level of a heading; 0 for text
	continues bool       // continues the heading in the line before
	title     string     // title of a bookmark whose section begins before this line; the line itself is text
	running   bool       // the line is a running head or foot
	foot      bool       // the line is in a footnote
	furniture bool       // the line is a page number, or repeats a running head or foot
	rows      [][]string // the cells of a table; Text is empty then
}

type layoutPage struct {
	pdfium.Page
	lines      []layoutLine
	confidence float64 // mean confidence of its recognised lines; 0 if there are none
}

// Layout turns pages into sections. Call Add for each page in order, and then Close.
type Layout struct {
	doc   pdfium.Document
	w     *extract.Writer
	marks map[int][]pdfium.Bookmark // by page

	buffered      []layoutPage
	bufferedBytes int
	studied       bool
	fonts         fonts
	style         style
	furniture     furniture
	compounds     map[string]bool // words that contain a hyphen in the middle of a line
	flow          flow

	pages  int   // number of pages added
	unread []int // scanned pages that were not recognised
	scans  scans
	broken []int
	title  string
}

// NewLayout returns a Layout that writes the pages of doc to w.
func NewLayout(doc pdfium.Document, w *extract.Writer) *Layout {
	l := &Layout{doc: doc, w: w, marks: map[int][]pdfium.Bookmark{}, compounds: map[string]bool{}}
	l.furniture.init()
	for _, b := range doc.Outline {
		b.Title = extract.CleanTitle(spellOut(b.Title))
		if b.Page > 0 && b.Title != "" && utf8.RuneCountInString(b.Title) <= maxHeading { // longer ones repeat a paragraph
			l.marks[b.Page] = append(l.marks[b.Page], b)
			l.furniture.body[key(b.Title)] = true
		}
	}
	l.title = documentTitle(doc.Title)
	l.flow = flow{w: w, compounds: l.compounds}
	return l
}

// Pages returns the number of pages added so far.
func (l *Layout) Pages() int { return l.pages }

// Info describes the document, by the pages added so far.
func (l *Layout) Info() extract.Info {
	return extract.Info{
		Pages: l.doc.Pages, Title: l.title, Warnings: l.warnings(),
		OCRPages: l.scans.pages, Confidence: l.scans.confidence(), UnreadPages: len(l.unread),
	}
}

// Add adds the next page.
func (l *Layout) Add(p pdfium.Page) error {
	l.pages++
	dropOutside(&p)
	dropRepeated(&p)
	upright(&p)
	p.Lines = vertical.Join(p.Lines, p.Rules)
	page := layoutPage{Page: p, lines: make([]layoutLine, len(p.Lines))}
	letters := false
	for i, line := range p.Lines {
		line.Text = spellOut(line.Text)
		page.lines[i].Line = line
		letters = letters || strings.ContainsFunc(line.Text, isWord)
		l.bufferedBytes += len(line.Text)
	}
	switch {
	case p.Broken:
		l.broken = append(l.broken, p.Number)
	case p.Scanned:
		l.unread = append(l.unread, p.Number)
	}
	page.confidence = l.scans.add(p)
	l.addCompounds(page.lines)
	if l.studied {
		l.fonts.settle(page.lines)
		return l.flush(page)
	}
	l.buffered = append(l.buffered, page)
	if len(l.buffered) >= studyPages || l.bufferedBytes >= studyBytes {
		return l.flushBuffered()
	}
	return nil
}

// flushBuffered studies the buffered pages and writes them.
func (l *Layout) flushBuffered() error {
	l.studied = true
	l.fonts.study(l.buffered)
	for _, p := range l.buffered {
		l.fonts.settle(p.lines)
	}
	l.style.study(l.buffered, l.doc)
	l.flow.body, l.furniture.size = l.style.body, l.style.body
	for i := range l.buffered {
		l.furniture.add(&l.buffered[i])
	}
	if l.title == "" {
		l.title = largestText(l.buffered, l.style)
	}
	pages := l.buffered
	l.buffered = nil
	for i := range pages {
		if err := l.flush(pages[i]); err != nil {
			return err
		}
		pages[i] = layoutPage{}
	}
	l.furniture.pages = 0 // count later pages one by one
	return nil
}

// Close writes the pages that are still buffered.
func (l *Layout) Close() error {
	if !l.studied {
		return l.flushBuffered()
	}
	return nil
}

// flush marks the headings of a page and writes it.
func (l *Layout) flush(page layoutPage) error {
	l.furniture.mark(&page, l.doc.Pages)
	page.lines = arrange(page.lines, page.Rules)
	marks := l.marks[page.Number]
	if len(marks) > 0 {
		l.matchBookmarks(page.lines, marks)
	}
	l.style.headings(page.lines)
	return l.flow.page(page)
}

// dropOutside drops the words outside of a page, which no viewer shows: stamps of printers, line numbers of drafts, and the
// other half of a sheet that was cut into two pages. A page that has no other words keeps them, since its size may be wrong.
func dropOutside(p *pdfium.Page) {
	outside := func(w pdfium.Word) bool {
		x, y := (w.X+w.Right)/2, (w.Top+w.Bottom)/2
		return x < 0 || x > p.Width || y < 0 || y > p.Height
	}
	if !slices.ContainsFunc(p.Lines, func(l pdfium.Line) bool { return slices.ContainsFunc(l.Words, outside) }) {
		return
	}
	lines := make([]pdfium.Line, 0, len(p.Lines))
	for _, l := range p.Lines {
		if slices.ContainsFunc(l.Words, outside) {
			l.Words = slices.DeleteFunc(slices.Clone(l.Words), outside)
			if len(l.Words) == 0 {
				continue
			}
			texts := make([]string, len(l.Words))
			for i, w := range l.Words {
				texts[i] = w.Text
			}
			l.Text = strings.Join(texts, " ")
			l.X, l.Right = extent(l.Words)
		}
		lines = append(lines, l)
	}
	if len(lines) > 0 && p.Width > 0 && p.Height > 0 {
		p.Lines = lines
	}
}

// dropRepeated drops lines that are drawn again at the same place, as for a shadow.
func dropRepeated(p *pdfium.Page) {
	type place struct{ x, y int }
	seen := make(map[place]string, len(p.Lines))
	p.Lines = slices.DeleteFunc(p.Lines, func(l pdfium.Line) bool {
		at := place{int(math.Round(float64(l.X))), int(math.Round(float64(l.Y)))}
		if len(l.Words) > 0 && seen[at] == l.Text {
			return true
		}
		seen[at] = l.Text
		return false
	})
}

// addCompounds records the words that contain a hyphen. If such a word is divided at its
// hyphen at the end of a line, the hyphen belongs to the word and stays.
func (l *Layout) addCompounds(lines []layoutLine) {
	for i := range lines {
		if len(l.compounds) > 20_000 || !strings.Contains(lines[i].Text, "-") {
			continue
		}
		for word := range strings.FieldsSeq(lines[i].Text) {
			word = strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }))
			if strings.Contains(word, "-") && len(word) < 64 {
				l.compounds[word] = true
			}
		}
	}
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"\u00a0", " ", "\u2028", " ", "\u2029", " ")

// spellOut replaces ligatures by letters, and every kind of space by a plain one.
func spellOut(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.TrimSpace(ligatures.Replace(s))
		}
	}
	return strings.TrimSpace(s)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// key returns the letters and digits of a title in lower case, for comparison.
func key(s string) string {
	var b strings.Builder
	for _, r := range s {
		if isWord(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// matchBookmarks sets the headings that the bookmarks of a page point to.
func (l *Layout) matchBookmarks(lines []layoutLine, marks []pdfium.Bookmark) {
	from := 0
	for _, mark := range marks {
		at, n := findTitle(lines, from, key(mark.Title))
		if n == 0 && from > 0 { // outlines are not always in reading order
			at, n = findTitle(lines, 0, key(mark.Title))
		}
		if n > 0 {
			lines[at].level = mark.Level
			for i := at + 1; i < at+n; i++ {
				lines[i].level, lines[i].continues = mark.Level, true
			}
			from = at + n
			continue
		}
		at = lineAt(lines, mark.Y)
		if at < len(lines) && lines[at].level == 0 {
			lines[at].title = mark.Title // the section begins before this line, which is text
			lines[at].level = mark.Level
		}
	}
}

// findTitle searches the lines, starting at from, for consecutive lines whose text is a title,
// possibly after a section number. It returns the index of the first of these lines and their
// number n; n is 0 if there are none.
func findTitle(lines []layoutLine, from int, title string) (at, n int) {
	if len(title) < 2 {
		return 0, 0
	}
	for n = 1; n <= 5; n++ { // prefer few lines: a number in the line above does not belong to the title
	start:
		for i := from; i+n <= len(lines); i++ {
			var joined string
			for _, l := range lines[i : i+n] {
				if l.furniture || l.level > 0 || len(joined) > len(title) {
					continue start
				}
				joined += key(l.Text)
			}
			if before, ok := strings.CutSuffix(joined, title); ok && isNumbering(before) {
				return i, n
			}
		}
	}
	return 0, 0
}

// isNumbering reports whether s may be the number of a title, such as "12", "iv", "a" or
// "chapter3".
func isNumbering(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "chapter"), "section"), "appendix")
	return len(s) <= 6 && (len(s) <= 1 || strings.Trim(s, "0123456789") == "" || strings.Trim(s, "ivxlc") == "" ||
		strings.Trim(s[1:], "0123456789") == "")
}

// lineAt returns the index of the first line at y or below it, or of the first line if y is
// unknown. It skips running heads.
func lineAt(lines []layoutLine, y float32) int {
	return max(0, slices.IndexFunc(lines, func(l layoutLine) bool {
		return !l.furniture && !l.Turned && (y < 0 || l.Y >= y)
	}))
}
