// Package pdf turns the pages of a PDF into sections. Package pdfium reads the lines with
// their positions and fonts; this package finds headings, paragraphs, running heads and
// the title in them. It imports the port extract and extract/pdf/pdfium.
package pdf

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdf/pdfium"
)

// A PDF has no headings, only letters with a font and a position. To recognise headings
// and running heads, the layout compares pages, and so buffers the first ones.
const (
	studyPages = 60      // most pages that are buffered
	studyBytes = 2 << 20 // most bytes of text that are buffered
)

// layoutLine is a line of a page with its role in the layout.
type layoutLine struct {
	pdfium.Line
	level     int  // of a heading; 0 for text
	continues bool // it continues the heading of the line before
	title     string
	running   bool // a running head or foot, even the first of its kind
	furniture bool // a repeated running head or foot, or a page number
}

type layoutPage struct {
	pdfium.Page
	lines []layoutLine
}

// Layout turns pages of placed lines into sections. Add takes the pages in
// order, Close ends the last section.
type Layout struct {
	doc   pdfium.Document
	w     *extract.Writer
	marks map[int][]pdfium.Bookmark // by page

	held      []layoutPage
	heldBytes int
	studied   bool
	style     style
	furniture furniture
	compounds map[string]bool // words seen with their hyphen
	flow      flow

	pages    int // added
	textless []int
	broken   []int
	title    string
}

// NewLayout returns a Layout that writes the pages of doc to w.
func NewLayout(doc pdfium.Document, w *extract.Writer) *Layout {
	l := &Layout{doc: doc, w: w, marks: map[int][]pdfium.Bookmark{}, compounds: map[string]bool{}}
	l.furniture.init()
	for _, b := range doc.Outline {
		b.Title = extract.CleanTitle(spellOut(b.Title))
		if b.Page > 0 && b.Title != "" {
			l.marks[b.Page] = append(l.marks[b.Page], b)
		}
	}
	l.title = documentTitle(doc.Title)
	l.flow = flow{w: w, compounds: l.compounds}
	return l
}

// Pages returns how many pages were added.
func (l *Layout) Pages() int { return l.pages }

// Info describes the document after the pages added so far.
func (l *Layout) Info() extract.Info {
	return extract.Info{Pages: l.doc.Pages, Title: l.title, Warnings: l.warnings()}
}

// Add adds the next page.
func (l *Layout) Add(p pdfium.Page) error {
	l.pages++
	page := layoutPage{Page: p, lines: make([]layoutLine, len(p.Lines))}
	letters := false
	for i, line := range p.Lines {
		line.Text = spellOut(line.Text)
		page.lines[i].Line = line
		letters = letters || strings.ContainsFunc(line.Text, isWord)
		l.heldBytes += len(line.Text)
	}
	switch {
	case p.Broken:
		l.broken = append(l.broken, p.Number)
	case !letters && len(p.Notes) == 0 && !p.Blank:
		l.textless = append(l.textless, p.Number)
	}
	l.noteCompounds(page.lines)
	if l.studied {
		return l.flush(page)
	}
	l.held = append(l.held, page)
	if len(l.held) >= studyPages || l.heldBytes >= studyBytes {
		return l.release()
	}
	return nil
}

// release studies the buffered pages and passes them on.
func (l *Layout) release() error {
	l.studied = true
	l.style.study(l.held, l.doc)
	for i := range l.held {
		l.furniture.note(l.held[i].lines, l.held[i].Height)
	}
	if l.title == "" {
		l.title = largestText(l.held, l.style)
	}
	held := l.held
	l.held = nil
	for i := range held {
		if err := l.flush(held[i]); err != nil {
			return err
		}
		held[i] = layoutPage{}
	}
	l.furniture.pages = 0 // count later pages one by one
	return nil
}

// Close emits what is still buffered.
func (l *Layout) Close() error {
	if !l.studied {
		return l.release()
	}
	return nil
}

// flush finds the headings of a page and writes it.
func (l *Layout) flush(page layoutPage) error {
	l.furniture.mark(page.lines, page.Height)
	marks := l.marks[page.Number]
	if len(marks) > 0 {
		l.matchBookmarks(page.lines, marks)
	}
	l.style.headings(page.lines)
	return l.flow.page(page)
}

// noteCompounds records words that are written with a hyphen. They keep it at the end of a
// line, where other words are joined.
func (l *Layout) noteCompounds(lines []layoutLine) {
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

// spellOut spells out ligatures and makes every space a plain one.
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

// matchBookmarks marks the lines that a page's bookmarks point to as headings.
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

// findTitle returns the index and number of the lines that spell a title, with a number
// before it.
func findTitle(lines []layoutLine, from int, title string) (at, n int) {
	if len(title) < 2 {
		return 0, 0
	}
	for n = 1; n <= 5; n++ { // the fewest lines first: a number above them is not part of it
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

// isNumbering reports whether s may be the number of a title: "12",
// "iv", "a", "chapter3".
func isNumbering(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "chapter"), "section"), "appendix")
	return len(s) <= 6 && (len(s) <= 1 || strings.Trim(s, "0123456789") == "" || strings.Trim(s, "ivxlc") == "" ||
		strings.Trim(s[1:], "0123456789") == "")
}

// lineAt returns the first line at y or below it. If y is unknown it returns the first one
// that is not a running head.
func lineAt(lines []layoutLine, y float32) int {
	return max(0, slices.IndexFunc(lines, func(l layoutLine) bool {
		return !l.furniture && !l.Turned && (y < 0 || l.Y >= y)
	}))
}
