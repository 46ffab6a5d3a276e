package pdf

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdf/bidi"
	"annals/commands/importer/extract/pdf/pdfium"
)

// maxPieces is the maximum number of pieces of a page whose columns and tables are looked for.
// The time for it grows faster than the number of pieces, and no readable page has more.
const maxPieces = 5_000

// wideGap is the distance of two words, in font sizes, from which on they may belong to
// different columns or cells. Justified text has gaps of up to about 0.9.
const wideGap = 1.0

// piece is a line of text, or a part of one that a wide gap separates from the rest: PDFium
// joins cells of a table, and columns of text, if they have the same baseline.
type piece struct {
	layoutLine
	line  int    // index of the line that it is a part of
	table *table // the table whose cell it is, or nil
	area  int    // number of its area
}

// cut divides the lines of a page at their wide gaps. placed is false for a piece whose words
// have no usable positions, or that is turned.
func cut(lines []layoutLine) []*piece {
	var out []*piece
	for i := range lines {
		out = append(out, cutLine(&lines[i], i)...)
	}
	return out
}

// placed reports whether a piece has a usable position.
func (p *piece) placed() bool {
	return !p.Turned && !p.furniture && len(p.Words) > 0 && p.Right > p.X && p.Size > 0
}

func cutLine(l *layoutLine, index int) []*piece {
	whole := &piece{layoutLine: *l, line: index}
	if l.Turned || l.furniture || l.Size <= 0 {
		return []*piece{whole}
	}
	var starts []int // indexes of the words that begin a piece
	for i, w := range l.Words {
		if w.Right <= w.X || w.Bottom <= w.Top {
			return []*piece{whole}
		}
		if i == 0 || apart(l.Words[i-1], w, l.Size) {
			starts = append(starts, i)
		}
	}
	if strings.ContainsFunc(l.Text, bidi.IsRightToLeft) {
		starts = startsInSpaces(l.Words, l.Size)
	}
	if len(starts) == 1 {
		whole.X, whole.Right = extent(l.Words)
	}
	if len(starts) < 2 {
		return []*piece{whole}
	}
	parts := whole.split(starts)
	if parts == nil {
		return []*piece{whole}
	}
	return parts
}

// apart reports whether the words a and b, which follow each other in a line, are far from each
// other.
func apart(a, b pdfium.Word, size float32) bool {
	gap := b.X - a.Right
	return gap > size*wideGap || gap < -size*wideGap || b.Top > a.Bottom+size*0.3 || b.Bottom < a.Top-size*0.3
}

// startsInSpaces returns the indexes of the words that begin a piece of a line with words of both directions: those on the other side
// of a wide gap than the word before, wherever they are in the line.
func startsInSpaces(words []pdfium.Word, size float32) []int {
	sorted := slices.Clone(words)
	slices.SortFunc(sorted, func(a, b pdfium.Word) int { return cmp.Compare(a.X, b.X) })
	var gaps []float32 // left edges of the pieces
	right := sorted[0].Right
	for _, w := range sorted[1:] {
		if w.X-right > size*wideGap {
			gaps = append(gaps, w.X)
		}
		right = max(right, w.Right)
	}
	starts, last := []int{0}, -1
	for i, w := range words {
		at, found := slices.BinarySearch(gaps, w.X)
		if found {
			at++
		}
		if i > 0 && (at != last || w.Top > words[i-1].Bottom+size*0.3 || w.Bottom < words[i-1].Top-size*0.3) {
			starts = append(starts, i)
		}
		last = at
	}
	return starts
}

func extent(words []pdfium.Word) (x, right float32) {
	x, right = words[0].X, words[0].Right
	for _, w := range words[1:] {
		x, right = min(x, w.X), max(right, w.Right)
	}
	return x, right
}

// split divides a piece before the words with the given indexes, of which the first is 0. It
// returns nil if the words are not the text of the piece.
func (p *piece) split(starts []int) []*piece {
	texts := textsOf(p.Text, p.Words, starts)
	if texts == nil {
		return nil
	}
	var out []*piece
	descent := bottom(p.Words[:starts[1]]) - p.Y
	for i, from := range starts {
		to := len(p.Words)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		part := *p
		part.Text, part.Words = texts[i], p.Words[from:to:to]
		part.X, part.Right = extent(part.Words)
		if y := bottom(part.Words) - descent; absf(y-p.Y) > p.Size*0.2 { // in another line of print
			part.Y = y
		}
		out = append(out, &part)
	}
	return out
}

// bottom returns the lower median of the words' lower edges.
func bottom(words []pdfium.Word) float32 {
	bottoms := make([]float32, len(words))
	for i, w := range words {
		bottoms[i] = w.Bottom
	}
	slices.Sort(bottoms)
	return bottoms[(len(bottoms)-1)/2]
}

// textsOf divides a text before the words with the given indexes, of which the first is 0. It returns nil if the text
// does not consist of the words.
func textsOf(text string, words []pdfium.Word, starts []int) []string {
	var out []string
	from, at, next := 0, 0, 1
	for i, w := range words {
		at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		if next < len(starts) && i == starts[next] {
			out = append(out, strings.TrimSpace(text[from:at]))
			from = at
			next++
		}
		spelt := spellOut(w.Text)
		if !strings.HasPrefix(text[at:], spelt) {
			return nil
		}
		at += len(spelt)
	}
	if rest := strings.TrimSpace(text[at:]); rest != "" && rest != softHyphen {
		return nil
	}
	return append(out, strings.TrimSpace(text[from:]))
}

// row is a line of print: pieces with about the same baseline, from left to right.
type row struct {
	y      float32
	pieces []*piece
}

// rowsOf sorts placed pieces into rows.
func rowsOf(pieces []*piece) []row {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b *piece) int { return cmp.Compare(a.Y, b.Y) })
	var rows []row
	for _, p := range sorted {
		if n := len(rows); n > 0 && p.Y-rows[n-1].y < 0.35*min(p.Size, rows[n-1].pieces[0].Size) {
			rows[n-1].pieces = append(rows[n-1].pieces, p)
			continue
		}
		rows = append(rows, row{p.Y, []*piece{p}})
	}
	for _, r := range rows {
		slices.SortStableFunc(r.pieces, func(a, b *piece) int { return cmp.Compare(a.X, b.X) })
	}
	return rows
}

// isProse reports whether a piece may be a line of a paragraph: it has several words and is not
// narrow.
func (p *piece) isProse() bool {
	if p.Right-p.X < 8*p.Size || len(p.Words) < 3 {
		return false
	}
	letters := 0
	for _, r := range p.Text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 12 && letters*10 >= utf8.RuneCountInString(p.Text)*6
}
