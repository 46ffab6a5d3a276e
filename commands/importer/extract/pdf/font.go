package pdf

import "math"

// fonts are the fonts of a document by the height of their words' boxes, in tenths of a point.
// PDFium reports the size and weight of the first letter of a line only.
type fonts map[int]font

type font struct{ size, weight float32 }

// maxFonts is the maximum number of pairs of a height and a font that are counted.
const maxFonts = 1_000

// study finds the fonts in lines whose words all have the same height.
func (f *fonts) study(pages []layoutPage) {
	type sample struct {
		height int
		font   font
	}
	letters := map[sample]int{}
	for _, p := range pages {
		for i := range p.lines {
			l := &p.lines[i]
			if height, share := commonHeight(l); height > 0 && share == 1 && l.Confidence == 0 && len(letters) < maxFonts {
				letters[sample{height, font{l.Size, l.Weight}}] += len(l.Text)
			}
		}
	}
	*f = fonts{}
	most := map[int]int{}
	for s, n := range letters {
		best := (*f)[s.height]
		if n > most[s.height] || n == most[s.height] && (s.font.size < best.size || s.font.size == best.size && s.font.weight < best.weight) {
			most[s.height], (*f)[s.height] = n, s.font
		}
	}
}

// settle corrects the font of lines of which only the beginning is in other letters: a large initial, a bold name before a
// text, or the raised mark of a note.
func (f fonts) settle(lines []layoutLine) {
	for i := range lines {
		l := &lines[i]
		if len(l.Words) < 2 || heightOf(l, 0) == 0 || l.Confidence > 0 { // boxes of recognised words are those of their ink
			continue
		}
		height, share := commonHeight(l)
		if is, ok := f[height]; ok && share > 0.6 && height != heightOf(l, 0) && (is.size < l.Size || is.size < l.Size*2 && footMark.MatchString(l.Text)) {
			l.Size, l.Weight = is.size, is.weight
		}
	}
}

// heightOf returns the height of a word of a line in tenths of a point.
func heightOf(l *layoutLine, word int) int {
	w := &l.Words[word]
	return int(math.Round(float64(min(max(w.Bottom-w.Top, 0), 1e6)) * 10))
}

// commonHeight returns the height that most letters of a line have, and their share of all.
func commonHeight(l *layoutLine) (height int, share float32) {
	if len(l.Words) == 0 {
		return 0, 0
	}
	candidate, votes, all := 0, 0, 0
	for i := range l.Words { // the candidate is the only height that can have more than half of the letters
		n, h := len(l.Words[i].Text), heightOf(l, i)
		all += n
		switch {
		case votes == 0:
			candidate, votes = h, n
		case h == candidate:
			votes += n
		case n > votes:
			candidate, votes = h, n-votes
		default:
			votes -= n
		}
	}
	n := 0
	for i := range l.Words {
		if heightOf(l, i) == candidate {
			n += len(l.Words[i].Text)
		}
	}
	return candidate, float32(n) / float32(max(all, 1))
}
