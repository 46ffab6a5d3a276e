package pdfium

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdf/accent"
	"annals/commands/importer/extract/pdf/bidi"
	"annals/commands/importer/extract/pdf/spacing"
)

// glyph is a character of a line.
type glyph struct {
	r  rune
	at int // index in the page's text; -1 for a space that this package has inserted
}

// traits says what a line contains that needs more than PDFium's order of characters.
type traits struct {
	accents     bool // spacing accents, which may belong to a letter
	rightToLeft bool
	singles     int // most words of one letter in a row
}

// glyphs appends the characters between two indexes of the text to out, with a single space
// between words.
func (t *textPage) glyphs(out []glyph, start, end int) ([]glyph, traits) {
	var has traits
	single, length := 0, 0
	for i := start; i < end; i++ {
		r := printable(t.text[i])
		switch {
		case r < 0:
			continue
		case r == ' ':
			if len(out) > 0 && out[len(out)-1].r != ' ' {
				if length > 1 {
					single = 0
				}
				length = 0
				out = append(out, glyph{' ', i})
			}
			continue
		case r < 0x80 && r != '`' && r != '^' && r != '~':
		case accent.Of(r) != 0:
			has.accents = true
		case bidi.IsRightToLeft(r):
			has.rightToLeft = true
		}
		if length++; length == 1 {
			single++
			has.singles = max(has.singles, single-1)
		}
		out = append(out, glyph{r, i})
	}
	if length == 1 {
		has.singles = max(has.singles, single)
	}
	if n := len(out); n > 0 && out[n-1].r == ' ' {
		out = out[:n-1]
	}
	return out, has
}

// boxOf returns the box of the character at an index of the text.
func (t *textPage) boxOf(at int) Word {
	var w Word
	if at >= 0 {
		c := t.charIndexOf(at)
		t.box(&w, c, c)
	}
	return w
}

// covers reports whether two boxes cover each other by more than half of the smaller one, in
// both directions.
func covers(a, b Word) bool {
	w, h := min(a.Right, b.Right)-max(a.X, b.X), min(a.Bottom, b.Bottom)-max(a.Top, b.Top)
	return w > 0.4*min(a.Right-a.X, b.Right-b.X) && h > 0.4*min(a.Bottom-a.Top, b.Bottom-b.Top) && w > 0 && h > 0
}

// compose joins accents to the letters that they are drawn over.
func (t *textPage) compose(line []glyph) []glyph {
	out := line[:0]
	for i := 0; i < len(line); i++ {
		mark := accent.Of(line[i].r)
		if mark == 0 {
			out = append(out, line[i])
			continue
		}
		box := t.boxOf(line[i].at)
		next := i + 1
		if next < len(line) && line[next].r == ' ' {
			next++
		}
		if next < len(line) {
			if r, ok := accent.Compose(line[next].r, mark); ok && (mark == accent.Slash || covers(box, t.boxOf(line[next].at))) {
				if n := len(out); n > 1 && out[n-1].r == ' ' && !apart(t.boxOf(out[n-2].at), t.boxOf(line[next].at)) {
					out = out[:n-1] // PDFium saw the width of the accent as a gap
				}
				out = append(out, glyph{r, line[next].at})
				i = next
				continue
			}
		}
		if n := len(out); n > 0 {
			if r, ok := accent.Compose(out[n-1].r, mark); ok && covers(box, t.boxOf(out[n-1].at)) {
				out[n-1].r = r
				continue
			}
		}
		if line[i].r >= 0x80 && (t.accentuate(out[max(0, len(out)-near):], box, mark) || t.accentuate(line[next:min(len(line), next+near)], box, mark)) {
			switch n := len(out); { // the accent may have been a word
			case n > 0 && out[n-1].r != ' ':
			case i+1 < len(line) && line[i+1].r == ' ':
				i++
			case i+1 == len(line) && n > 0:
				out = out[:n-1]
			}
			continue
		}
		out = append(out, line[i])
	}
	return out
}

// near is the number of letters on each side of an accent that it may belong to.
const near = 100

// accentuate puts an accent on the letter that it is drawn over, if it is one of the given. PDFium moves accents that are drawn
// higher than the letters behind these. An accent over the space between two letters is one of a formula.
func (t *textPage) accentuate(letters []glyph, box Word, mark rune) bool {
	for i, g := range letters {
		r, ok := accent.Compose(g.r, mark)
		if !ok {
			continue
		}
		letter := t.boxOf(g.at)
		if off := (letter.X + letter.Right - box.X - box.Right) / 2; max(off, -off) < 0.3*(letter.Right-letter.X) && covers(box, letter) {
			letters[i].r = r
			return true
		}
	}
	return false
}

// apart reports whether there is a space between two boxes of a line.
func apart(a, b Word) bool { return gap(a, b) > 0.15*(a.Bottom-a.Top) }

// gap returns the distance between two boxes, which are beside or above each other.
func gap(a, b Word) float32 {
	return max(a.X-b.Right, b.X-a.Right, a.Top-b.Bottom, b.Top-a.Bottom)
}

// respace adds the spaces that PDFium does not see in a line, and removes those that it sees within words.
func (t *textPage) respace(line []glyph, words []Word) []glyph {
	height, width, letters := float32(0), float32(0), 0
	for _, w := range words {
		height, width, letters = max(height, w.Bottom-w.Top), width+w.Right-w.X, letters+utf8.RuneCountInString(w.Text)
	}
	height = min(height, 2.5*width/float32(max(letters, 1))) // some fonts have boxes of several lines
	narrow := 0
	for i := 1; i < len(words); i++ {
		if gap(words[i-1], words[i]) < 0.12*height {
			narrow++
		}
	}
	if narrow < 3 || narrow*4 < len(words) {
		return t.missedSpaces(line, words)
	}
	text, gaps, last := make([]rune, len(line)), make([]float32, len(line)), Word{}
	for i, g := range line {
		if text[i] = g.r; g.r != ' ' {
			box := t.boxOf(g.at)
			gaps[i], last = gap(last, box), box
		}
	}
	starts, ok := spacing.ByGaps(text, gaps, height)
	if !ok {
		return line
	}
	out := make([]glyph, 0, len(line))
	for i, g := range line {
		if len(starts) > 0 && starts[0] == i {
			out, starts = append(out, glyph{' ', -1}), starts[1:]
		}
		if g.r != ' ' {
			out = append(out, g)
		}
	}
	return out
}

// missedSpaces adds the spaces that PDFium does not see in a line whose words are close to each
// other: it compares gaps with the widths of letters, and justified lines may have narrow spaces.
func (t *textPage) missedSpaces(line []glyph, words []Word) []glyph {
	gaps := make([]float32, 0, len(words))
	for i := 1; i < len(words); i++ {
		gaps = append(gaps, gap(words[i-1], words[i]))
	}
	slices.Sort(gaps)
	if len(gaps) < 3 || gaps[len(gaps)/2] > 0.2*(words[0].Bottom-words[0].Top) {
		return line
	}
	least := max(0.09*(words[0].Bottom-words[0].Top), gaps[len(gaps)/2]*0.6)
	out, uneven, last, before := make([]glyph, 0, len(line)+8), 0, Word{}, float32(0) // before is the gap before the last letter
	for i, g := range line {
		box := t.boxOf(g.at)
		space := gap(last, box)
		switch {
		case i == 0 || g.r == ' ' || line[i-1].r == ' ' || box.Right <= box.X:
			space = 0
		case space > least && isDivisible(line, i):
			out, space = append(out, glyph{' ', -1}), 0
		case space > least*0.3 && unicode.IsLetter(g.r), before != 0 && max(space-before, before-space) > least*0.4:
			uneven++
		}
		out, last, before = append(out, g), box, space
	}
	if uneven > 2 || (len(out)-len(line))*3 > len(words) { // letters are spaced, or have wrong widths
		return line
	}
	return out
}

// isDivisible reports whether a gap before character i may be a space: it is beside a word of a
// script with spaces, and not within a formula or at a dash.
func isDivisible(line []glyph, i int) bool {
	a, b := line[i-1].r, line[i].r
	isWord := func(i, step int) bool {
		r := line[i].r
		i += step
		return unicode.IsLetter(r) && (r == 'a' || r == 'A' || r == 'I' || i >= 0 && i < len(line) && unicode.IsLetter(line[i].r))
	}
	return max(a, b) < 0x2e80 && !unicode.Is(unicode.Pd, a) && !unicode.In(b, unicode.Pd, unicode.Pe, unicode.Po) &&
		(isWord(i-1, -1) || !unicode.IsLetter(a)) && (isWord(i, 1) || !unicode.IsLetter(b)) && (unicode.IsLetter(a) || unicode.IsLetter(b))
}

// minSpaced is the least number of letters in a row, each with a space after it, that are taken
// for a word with wide spacing.
const minSpaced = 4

// joinSpaced joins the letters of words that are set with wide spacing, such as "N O T I C E".
// The gaps between the words of such a line are wider than those between the letters.
func (t *textPage) joinSpaced(line []glyph) []glyph {
	out := line[:0]
	for i := 0; i < len(line); {
		end := i // of letters that each have a space after them
		for end < len(line) && unicode.IsLetter(line[end].r) && (end+1 == len(line) || line[end+1].r == ' ') {
			end += 2
		}
		n := (end - i) / 2
		if n < minSpaced || i > 0 && line[i-1].r != ' ' {
			end = i + 1
			for end < len(line) && line[end-1].r != ' ' { // the rest of this word
				end++
			}
			out = append(out, line[i:min(end, len(line))]...)
			i = end
			continue
		}
		end = min(end, len(line))
		out = append(out, t.spaced(line[i:end])...)
		i = end
	}
	return out
}

// spaced joins single letters to words. The letters stay as they are if their gaps are those of
// a table, or if they are a row of the alphabet.
func (t *textPage) spaced(letters []glyph) []glyph {
	n := (len(letters) + 1) / 2
	boxes, gaps := make([]Word, n), make([]float32, n-1)
	alphabet := true
	for i := range boxes {
		boxes[i] = t.boxOf(letters[2*i].at)
		if i > 0 {
			gaps[i-1] = gap(boxes[i-1], boxes[i])
			alphabet = alphabet && letters[2*i].r == letters[2*i-2].r+1
		}
	}
	sorted := slices.Sorted(slices.Values(gaps))
	usual := sorted[len(sorted)/3] // most gaps are within words
	if size := boxes[0].Bottom - boxes[0].Top; alphabet || usual <= 0 || usual > size*1.2 {
		return letters
	}
	out := make([]glyph, 0, len(letters))
	for i := range boxes {
		if i > 0 && gaps[i-1] > usual*1.7 {
			out = append(out, letters[2*i-1])
		}
		out = append(out, letters[2*i])
	}
	if len(letters)%2 == 0 {
		out = append(out, letters[len(letters)-1])
	}
	return out
}

// order puts a line with letters that are written from right to left into reading order.
func (t *textPage) order(line []glyph) []glyph {
	boxed := make([]bidi.Glyph, len(line))
	for i, g := range line {
		boxed[i] = bidi.Glyph{Rune: g.r, At: g.at}
		if g.r != ' ' {
			b := t.boxOf(g.at)
			boxed[i].X, boxed[i].Right, boxed[i].Top, boxed[i].Bottom = b.X, b.Right, b.Top, b.Bottom
		}
	}
	line = line[:0]
	for _, g := range bidi.Order(boxed, t.isRightToLeft()) {
		line = append(line, glyph{g.Rune, g.At})
	}
	return line
}

// isRightToLeft reports whether most letters of the page are of a script that is written from right to left.
func (t *textPage) isRightToLeft() bool {
	if t.leftwards == 0 {
		for _, r := range t.text {
			t.leftwards += bidi.Leftwards(r)
		}
	}
	return t.leftwards > 0
}
