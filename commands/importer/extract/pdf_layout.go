package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdfium"
)

// A PDF says how its letters look and where they stand, not what they are.
// What is a heading or a running head shows only beside other pages, so the
// layout holds back the first pages until it has seen enough of them.
const (
	studyPages = 60      // held back at most
	studyBytes = 2 << 20 // of text held back at most
)

// pdfLine is a line of a page and what the layout takes it for.
type pdfLine struct {
	pdfium.Line
	level     int  // of a heading; 0 for text
	continues bool // the heading of the line before
	title     string
	running   bool // a running head or foot, be it the first
	furniture bool // one that was seen before, or a page number
}

type pdfPage struct {
	pdfium.Page
	lines []pdfLine
}

// pdfLayout turns pages of placed lines into sections.
type pdfLayout struct {
	doc   pdfium.Document
	w     *sectionWriter
	marks map[int][]pdfium.Bookmark // by page

	held      []pdfPage
	heldBytes int
	studied   bool
	style     pdfStyle
	furniture furniture
	compounds map[string]bool // words seen with their hyphen
	flow      pdfFlow

	pages    int // added
	textless []int
	broken   []int
	title    string
}

func newPDFLayout(doc pdfium.Document, w *sectionWriter) *pdfLayout {
	l := &pdfLayout{doc: doc, w: w, marks: map[int][]pdfium.Bookmark{}, compounds: map[string]bool{}}
	l.furniture.init()
	for _, b := range doc.Outline {
		b.Title = cleanTitle(plainText(b.Title))
		if b.Page > 0 && b.Title != "" {
			l.marks[b.Page] = append(l.marks[b.Page], b)
		}
	}
	l.title = documentTitle(doc.Title)
	l.flow = pdfFlow{w: w, compounds: l.compounds}
	return l
}

// add takes the next page.
func (l *pdfLayout) add(p pdfium.Page) error {
	l.pages++
	page := pdfPage{Page: p, lines: make([]pdfLine, len(p.Lines))}
	letters := false
	for i, line := range p.Lines {
		line.Text = plainText(line.Text)
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

// release studies the pages held back and passes them on.
func (l *pdfLayout) release() error {
	l.studied = true
	l.style.study(l.held, l.doc)
	for i := range l.held {
		l.furniture.learn(l.held[i].lines, l.held[i].Height)
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
		held[i] = pdfPage{}
	}
	l.furniture.pages = 0 // from here on pages are learnt one by one
	return nil
}

// close passes on what is still held back.
func (l *pdfLayout) close() error {
	if !l.studied {
		return l.release()
	}
	return nil
}

// flush finds the headings of a page and writes it.
func (l *pdfLayout) flush(page pdfPage) error {
	l.furniture.mark(page.lines, page.Height)
	marks := l.marks[page.Number]
	if len(marks) > 0 {
		l.matchBookmarks(page.lines, marks)
	}
	l.style.headings(page.lines)
	return l.flow.page(page)
}

// noteCompounds remembers words that are written with a hyphen, so that one at
// the end of a line can be told from a hyphen that only divides a word.
func (l *pdfLayout) noteCompounds(lines []pdfLine) {
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

// plainText spells out ligatures and makes every space a plain one.
func plainText(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.TrimSpace(ligatures.Replace(s))
		}
	}
	return strings.TrimSpace(s)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// key reduces text to what two writings of the same title have in common.
func key(s string) string {
	var b strings.Builder
	for _, r := range s {
		if isWord(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// matchBookmarks makes headings of the lines that a page's bookmarks lead to.
func (l *pdfLayout) matchBookmarks(lines []pdfLine, marks []pdfium.Bookmark) {
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
			lines[at].title = mark.Title // begins before this line, which stays text
			lines[at].level = mark.Level
		}
	}
}

// findTitle returns where the lines that spell a title begin, and how many
// they are. A number before the title is taken for a part of it.
func findTitle(lines []pdfLine, from int, title string) (at, n int) {
	if len(title) < 2 {
		return 0, 0
	}
	for n = 1; n <= 5; n++ { // the fewest lines first, so that no number above joins in
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

// isNumbering reports whether s can be what stands before a title: "12",
// "iv", "a", "chapter3".
func isNumbering(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "chapter"), "section"), "appendix")
	return len(s) <= 6 && (len(s) <= 1 || strings.Trim(s, "0123456789") == "" || strings.Trim(s, "ivxlc") == "" ||
		strings.Trim(s[1:], "0123456789") == "")
}

// lineAt returns the first line that stands at y or below it; without y the
// first that is no running head.
func lineAt(lines []pdfLine, y float32) int {
	return max(0, slices.IndexFunc(lines, func(l pdfLine) bool {
		return !l.furniture && !l.Turned && (y < 0 || l.Y >= y)
	}))
}
