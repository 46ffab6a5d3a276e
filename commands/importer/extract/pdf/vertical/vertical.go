// Package vertical finds words whose letters stand one below another, such as a label at the side of a table. It imports
// extract/pdf/pdfium.
package vertical

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdf/pdfium"
)

const (
	minLetters = 4     // of a word; fewer may be anything
	maxLetters = 2_000 // of a page that stand alone; one with more is a drawing or a puzzle
)

// Distances of letters, in font sizes.
const (
	minStep, maxStep = 0.85, 1.7 // between letters of a word
	aside            = 0.12      // by which a letter may be beside the edge or axis of its word
	sameLine         = 0.2       // between lower edges of what is on the same line
	near             = 0.6       // to what is on the same line in any case
	descent          = 0.21      // of most fonts
)

// Distances of letters, in those of most letters of the word.
const (
	uneven             = 0.12
	minBlank, maxBlank = 1.6, 2.6 // over a blank
)

// letter is a line with a single letter.
type letter struct {
	pdfium.Word
	line *pdfium.Line
	r    rune
}

// Join returns the lines of an upright page, in which each word with its letters one below another is a line of its own, in the
// place of its first letter. Letters stay as they are if they may be cells of a table, items of a list, or labels of an axis: if
// most of them have other text on their line, or if they are a row of the alphabet.
func Join(lines []pdfium.Line, rules []pdfium.Rule) []pdfium.Line {
	letters := lettersOf(lines)
	if len(letters) < minLetters || len(letters) > maxLetters {
		return lines
	}
	var words []word
	for _, run := range runsOf(letters, rules) {
		words = append(words, run.words()...)
	}
	words = withoutCells(words, lines)
	if len(words) == 0 {
		return lines
	}
	of := wordsByLine(words)
	out := make([]pdfium.Line, 0, len(lines))
	for i := range lines {
		switch w := of[&lines[i]]; {
		case w == nil:
			out = append(out, lines[i])
		case w[0].line == &lines[i]:
			out = append(out, w.joined())
		}
	}
	return out
}

// lettersOf returns the letters that are a line each.
func lettersOf(lines []pdfium.Line) (out []*letter) {
	for i := range lines {
		l := &lines[i]
		if r, n := utf8.DecodeRuneInString(l.Text); n == len(l.Text) && len(l.Words) == 1 && l.Size > 0 && !l.Turned && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) {
			out = append(out, &letter{l.Words[0], l, r})
		}
	}
	return out
}

// word is a number of letters, from the top.
type word []*letter

// runsOf sorts letters into runs of letters that are above each other, with no rule between them.
func runsOf(letters []*letter, rules []pdfium.Rule) (out []word) {
	letters = slices.Clone(letters)
	slices.SortStableFunc(letters, func(a, b *letter) int { return cmp.Compare(a.Bottom, b.Bottom) })
	for _, l := range letters {
		best, least := -1, float32(0)
		for i := len(out) - 1; i >= 0; i-- {
			above := out[i][len(out[i])-1]
			size := l.line.Size
			step, off := (l.Bottom-above.Bottom)/size, min(distance(axis, above, l), distance(left, above, l), distance(right, above, l))/size
			if off > aside || best >= 0 && off >= least || step < minStep || step > maxStep*maxBlank || ratio(size, above.line.Size) > 1.05 ||
				slices.ContainsFunc(rules, func(r pdfium.Rule) bool { return separates(r, above, l) }) {
				continue
			}
			best, least = i, off
		}
		if best < 0 {
			out = append(out, word{l})
		} else {
			out[best] = append(out[best], l)
		}
	}
	return out
}

// separates reports whether a rule is between two letters.
func separates(r pdfium.Rule, above, below *letter) bool {
	x, y := axis(below), (r.Top+r.Bottom)/2
	return r.Across() && r.X < x && r.Right > x && y > above.Bottom-descent*above.line.Size && y < below.Bottom-descent*below.line.Size
}

// Places where letters of a word may be the same.
func axis(l *letter) float32  { return (l.X + l.Right) / 2 }
func left(l *letter) float32  { return l.X }
func right(l *letter) float32 { return l.Right }

func distance(at func(*letter) float32, a, b *letter) float32 { return max(at(a)-at(b), at(b)-at(a)) }

func ratio(a, b float32) float32 { return max(a/b, b/a) }

// words divides a run where letters are farther from each other than over a blank, and returns what may be words.
func (run word) words() (out []word) {
	if len(run) < minLetters {
		return nil
	}
	usual := run.usualStep()
	if size := run[0].line.Size; usual < minStep*size || usual > maxStep*size {
		return nil
	}
	from := 0
	for i := 1; i <= len(run); i++ {
		if i < len(run) {
			step := (run[i].Bottom - run[i-1].Bottom) / usual
			if step > 1-uneven && step < 1+uneven || step > minBlank && step < maxBlank {
				continue
			}
		}
		if w := run[from:i]; w.isStraight() && w.isPlausible() {
			out = append(out, w)
		}
		from = i
	}
	return out
}

// wordsByLine returns the word that each line is a letter of.
func wordsByLine(words []word) map[*pdfium.Line]word {
	out := map[*pdfium.Line]word{}
	for _, w := range words {
		for _, l := range w {
			out[l.line] = w
		}
	}
	return out
}

// usualStep returns the distance of most letters.
func (w word) usualStep() float32 {
	steps := make([]float32, len(w)-1)
	for i := range steps {
		steps[i] = w[i+1].Bottom - w[i].Bottom
	}
	slices.Sort(steps)
	return steps[len(steps)/3] // some are over blanks
}

// isStraight reports whether all letters have the same axis or edge.
func (w word) isStraight() bool {
	for _, at := range []func(*letter) float32{axis, left, right} {
		least, most := at(w[0]), at(w[0])
		for _, l := range w {
			least, most = min(least, at(l)), max(most, at(l))
		}
		if most-least <= 2*aside*w[0].line.Size {
			return true
		}
	}
	return false
}

// isPlausible reports whether letters may be a word, or several: they are all capitals or all small, apart from the first; there are three
// different ones, and a vowel if they are Latin; and most do not follow each other in the alphabet.
func (w word) isPlausible() bool {
	if len(w) < minLetters {
		return false
	}
	counts := map[rune]int{}
	up, down, latin, vowels, blanks := 0, 0, true, false, len(w.blanks())
	for i, l := range w {
		counts[unicode.ToLower(l.r)]++
		latin = latin && unicode.Is(unicode.Latin, l.r)
		vowels = vowels || l.r >= 0x80 || strings.ContainsRune("aeiouyAEIOUY", l.r)
		if i == 0 {
			continue
		}
		if i > 1 && unicode.IsUpper(l.r) != unicode.IsUpper(w[1].r) || unicode.IsUpper(l.r) && !unicode.IsUpper(w[0].r) {
			return false
		}
		switch l.r - w[i-1].r {
		case 1:
			up++
		case -1:
			down++
		}
	}
	return len(counts) >= 3 && (vowels || !latin) && 3*max(up, down) <= 2*(len(w)-1) && 3*blanks <= len(w)
}

// blanks returns the indexes of the letters that have a blank before them.
func (w word) blanks() (out []int) {
	usual := w.usualStep()
	for i := 1; i < len(w); i++ {
		if w[i].Bottom-w[i-1].Bottom > minBlank*usual {
			out = append(out, i)
		}
	}
	return out
}

// maxRounds limits how often words are looked through for cells: those beside a cell may be cells, too.
const maxRounds = 4

// withoutCells returns the words whose letters are not cells of a table: three quarters of these at least have other text on the same line, in
// about the same size. Of letters of another word that is because both words are columns of codes: they begin and end on the same lines.
func withoutCells(words []word, lines []pdfium.Line) []word {
	type place struct {
		pdfium.Word
		line *pdfium.Line
		word word // that the letter belongs to
	}
	for range maxRounds {
		of := wordsByLine(words)
		var places []place // by the lower edge
		for i := range lines {
			if l := &lines[i]; !l.Turned {
				for _, w := range l.Words {
					places = append(places, place{w, l, of[l]})
				}
			}
		}
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.Bottom, b.Bottom) })
		isBeside := func(l *letter, w word) bool {
			size := l.line.Size
			from, _ := slices.BinarySearchFunc(places, l.Bottom-size, func(p place, y float32) int { return cmp.Compare(p.Bottom, y) })
			for _, p := range places[from:] {
				if p.Bottom > l.Bottom+size {
					return false
				}
				off := max(p.Bottom-l.Bottom, l.Bottom-p.Bottom)
				switch {
				case p.word != nil && &p.word[0] == &w[0]:
				case p.word != nil:
					if off < sameLine*size && areColumns(w, p.word) {
						return true
					}
				case off < sameLine*size && ratio(size, max(p.line.Size, 0.01)) < 1.25, max(p.X-l.Right, l.X-p.Right) < near*size && off < size/2:
					return true
				}
			}
			return false
		}
		kept := words[:0:0]
		for _, w := range words {
			beside := 0
			for _, l := range w {
				if isBeside(l, w) {
					beside++
				}
			}
			if 4*beside < 3*len(w) {
				kept = append(kept, w)
			}
		}
		if len(kept) == len(words) {
			break
		}
		words = kept
	}
	return words
}

// areColumns reports whether two words beside each other may be columns of codes: they begin on the same line, have the same number of letters, and
// few different ones.
func areColumns(a, b word) bool {
	return len(a) == len(b) && max(a[0].Bottom-b[0].Bottom, b[0].Bottom-a[0].Bottom) < sameLine*a[0].line.Size && (a.different() < 5 || b.different() < 5)
}

// different returns the number of different letters.
func (w word) different() int {
	seen := map[rune]bool{}
	for _, l := range w {
		seen[l.r] = true
	}
	return len(seen)
}

// joined returns the letters as a line, which is as wide as they are. Its baseline is that of the first.
func (w word) joined() pdfium.Line {
	out := *w[0].line
	out.Direction, out.Turned, out.Words = pdfium.Stacked, true, nil
	blanks := w.blanks()
	for i, l := range w {
		if i == 0 || slices.Contains(blanks, i) {
			out.Words = append(out.Words, l.Word)
		} else {
			part := &out.Words[len(out.Words)-1]
			part.Text += l.Text
			part.X, part.Right, part.Bottom = min(part.X, l.X), max(part.Right, l.Right), l.Bottom
		}
		out.X, out.Right = min(out.X, l.X), max(out.Right, l.Right)
	}
	texts := make([]string, len(out.Words))
	for i, part := range out.Words {
		texts[i] = part.Text
	}
	out.Text = strings.Join(texts, " ")
	return out
}
