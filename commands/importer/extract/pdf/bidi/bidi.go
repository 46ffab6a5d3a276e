// Package bidi puts the characters of a displayed line with letters that are written from right
// to left into the order in which they are read: the Unicode Bidirectional Algorithm backwards.
// It imports no other package of this module.
package bidi

import (
	"cmp"
	"slices"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// Glyph is a character of a line, with its box. A space needs none.
type Glyph struct {
	Rune                  rune
	At                    int // index for the caller; -1 for an inserted space
	X, Right, Top, Bottom float32
}

func (g *Glyph) height() float32 { return g.Bottom - g.Top }

// IsRightToLeft reports whether r is a letter, or a mark, of a script that is written from right to left.
func IsRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff && unicode.In(r, unicode.L, unicode.Mn) || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc
}

// Leftwards returns 1 for a letter that is written from right to left, -1 for another letter, and 0 for any other character. The sum is
// positive for a text whose letters are mostly written from right to left.
func Leftwards(r rune) int {
	switch {
	case IsRightToLeft(r):
		return 1
	case unicode.IsLetter(r):
		return -1
	}
	return 0
}

// Distances of characters, in heights of their boxes.
const (
	wordGap = 0.12 // between words
	cellGap = 0.9  // between cells of a table, or columns
)

// Order returns the characters of a line in reading order. rightToLeft is the direction of the page; a line whose
// letters are mostly written from right to left has this direction on any page. PDFium returns the letters of each word that is written
// from right to left in this order, but for ligatures and vowel marks. It orders the other words of such a line by the
// direction of each segment alone. A line that is not horizontal keeps its order.
func Order(line []Glyph, rightToLeft bool) []Glyph {
	leftwards := 0
	for _, g := range line {
		leftwards += Leftwards(g.Rune)
	}
	rightToLeft = rightToLeft || leftwards > 0
	ligatures(line)
	swapLetters(line)
	swapMarks(line)
	units, horizontal := unitsOf(line)
	if !horizontal {
		return line
	}
	slices.SortStableFunc(units, func(a, b unit) int {
		if rightToLeft {
			a, b = b, a
		}
		return cmp.Compare(a.x+a.right, b.x+b.right)
	})
	units = space(units, rightToLeft)
	reverseRuns(units, rightToLeft)
	out := make([]Glyph, 0, len(line)+8)
	for _, u := range units {
		out = append(out, u.glyphs...)
	}
	for len(out) > 0 && out[0].Rune == ' ' {
		out = out[1:]
	}
	mirrorBrackets(out)
	return out
}

// ligatures reverses the letters of each ligature: they have the same box.
func ligatures(line []Glyph) {
	for i := 0; i < len(line); {
		end := i + 1
		for end < len(line) && IsRightToLeft(line[i].Rune) && IsRightToLeft(line[end].Rune) && line[end].X == line[i].X && line[end].Right == line[i].Right && line[end].Top == line[i].Top {
			end++
		}
		// PDFium decomposes the characters for ligatures of lam and alef in the right order. Alef follows lam in every ligature.
		if n := end - i; n > 2 || n == 2 && !(line[i].Rune == 'ل' && isAlef(line[i+1].Rune)) {
			slices.Reverse(line[i:end])
		}
		i = end
	}
}

func isAlef(r rune) bool { return r == 'ا' || r == 'أ' || r == 'إ' || r == 'آ' || r == 'ٱ' }

// swapLetters swaps two letters of a word if the second is displayed on the right of the first one: PDFium reverses the letters of
// a ligature that the file divides into boxes.
func swapLetters(line []Glyph) {
	for i := 0; i+1 < len(line); i++ {
		a, b := &line[i], &line[i+1]
		if !IsRightToLeft(a.Rune) || !IsRightToLeft(b.Rune) || a.Right <= a.X || b.Right <= b.X {
			continue
		}
		if slack := min(a.Right-a.X, b.Right-b.X) * 0.1; b.X > a.Right-slack && b.X < a.Right+slack {
			*a, *b = *b, *a
			i++
		}
	}
}

// swapMarks moves a vowel mark behind the letter that it is drawn at.
func swapMarks(line []Glyph) {
	for i := 0; i+1 < len(line); i++ {
		a, b := &line[i], &line[i+1]
		if !unicode.Is(unicode.Mn, a.Rune) || !unicode.IsLetter(b.Rune) {
			continue
		}
		if middle := (a.X + a.Right) / 2; middle > b.X && middle < b.Right {
			*a, *b = *b, *a
			i++
		}
	}
}

// unit is a character, or letters of a word that is written from right to left. Their order is
// not decided by their boxes, which may cover each other.
type unit struct {
	glyphs    []Glyph
	class     bidi.Class
	from, to  int  // indexes in PDFium's line
	spaced    bool // PDFium has a space before it
	wide      bool // a space as wide as one between cells
	x, right  float32
	top, foot float32
}

func (u *unit) isRightToLeft() bool { return u.class == bidi.R || u.class == bidi.AL }
func (u *unit) isDigit() bool       { return u.class == bidi.EN || u.class == bidi.AN }

// unitsOf divides a line into units, without its spaces. horizontal is false if the line is a vertical one.
func unitsOf(line []Glyph) (units []unit, horizontal bool) {
	spaced := false
	var left, right, top, foot float32
	for i, g := range line {
		if g.Rune == ' ' {
			spaced = true
			continue
		}
		n := len(units)
		if n == 0 {
			left, right, top, foot = g.X, g.Right, g.Top, g.Bottom
		}
		left, right, top, foot = min(left, g.X), max(right, g.Right), min(top, g.Top), max(foot, g.Bottom)
		marked := spaced && i+1 < len(line) && unicode.Is(unicode.Mn, line[i+1].Rune) && n > 0 && units[n-1].x-g.Right < 0.1*g.height() && units[n-1].x >= g.X // PDFium saw the mark as a word
		if n > 0 && (g.Right <= g.X || IsRightToLeft(g.Rune) && units[n-1].isRightToLeft() && (!spaced || marked) && units[n-1].touches(g)) {
			u := &units[n-1]
			u.glyphs, u.to = append(u.glyphs, g), i+1
			if g.Right > g.X {
				u.x, u.right = min(u.x, g.X), max(u.right, g.Right)
			}
			spaced = false
			continue
		}
		u := unit{glyphs: []Glyph{g}, from: i, to: i + 1, spaced: spaced, x: g.X, right: g.Right, top: g.Top, foot: g.Bottom}
		p, _ := bidi.LookupRune(g.Rune)
		if u.class = p.Class(); u.class == bidi.NSM && IsRightToLeft(g.Rune) {
			u.class = bidi.AL
		}
		units, spaced = append(units, u), false
	}
	return units, right-left >= foot-top
}

// touches reports whether g may be the next letter of a word.
func (u *unit) touches(g Glyph) bool {
	return u.x-g.Right < 0.5*g.height() && g.X-u.right < 0.5*g.height()
}

// space inserts spaces between sorted units. PDFium's spaces are right within words of one
// direction. Letters of both directions that touch get a space, so that both words can be found.
func space(units []unit, rightToLeft bool) []unit {
	out := make([]unit, 0, len(units)*5/4)
	for i, u := range units {
		if i == 0 {
			out = append(out, u)
			continue
		}
		last := units[i-1]
		gap := u.x - last.right
		if rightToLeft {
			gap = last.x - u.right
		}
		height := min(u.foot-u.top, last.foot-last.top)
		wide := gap > wordGap*height
		switch mixed := u.isRightToLeft() != last.isRightToLeft(); {
		case mixed:
			wide = wide || isLetter(u) && isLetter(last)
		case last.to <= u.from && u.from-last.to <= 1:
			wide = u.spaced || gap > cellGap*height
		case u.to <= last.from && last.from-u.to <= 1:
			wide = last.spaced || gap > cellGap*height
		}
		if wide {
			out = append(out, unit{glyphs: []Glyph{{Rune: ' ', At: -1}}, class: bidi.WS, wide: gap > cellGap*height})
		}
		out = append(out, u)
	}
	return out
}

func isLetter(u unit) bool { return unicode.IsLetter(u.glyphs[0].Rune) }

// reverseRuns reverses the words and numbers that are written against the direction in which the units are sorted.
func reverseRuns(units []unit, rightToLeft bool) {
	looked := 0          // units before this index were looked at for the end of a run
	afterArabic := false // the last letter that is written from right to left is Arabic
	for i := 0; i < len(units); {
		end := i
		if u := &units[i]; i >= looked && (rightToLeft && (u.class == bidi.L || u.isDigit()) || !rightToLeft && u.isRightToLeft()) {
			end, looked = runEnd(units, i, rightToLeft)
		}
		switch {
		case end > i:
			slices.Reverse(units[i:end])
			if !rightToLeft {
				reverseRuns(units[i:end], true)
			}
			i = end
		case rightToLeft && units[i].isDigit():
			i = reverseNumber(units, i, afterArabic || units[i].class == bidi.AN)
		default:
			if units[i].isRightToLeft() {
				afterArabic = units[i].class == bidi.AL
			}
			i++
		}
	}
}

// runEnd returns the end of the words at units[i] that are written against the direction in which the units are sorted, or i if
// none of them has a letter. Signs and narrow spaces between the words belong to them, and numbers, but those around words that are written
// from right to left. looked is the index of the first unit that was not looked at.
func runEnd(units []unit, i int, rightToLeft bool) (end, looked int) {
	end, letter := i, false
	for looked = i; looked < len(units); looked++ {
		u := &units[looked]
		if u.wide || rightToLeft && u.isRightToLeft() || !rightToLeft && u.class == bidi.L {
			break
		}
		switch {
		case u.class == bidi.L, u.isRightToLeft():
			end, letter = looked+1, true
		case rightToLeft && u.isDigit():
			end = looked + 1
		}
	}
	if !letter {
		return i, looked
	}
	return end, looked
}

// reverseNumber reverses the number at units[i], which are sorted from the right, and returns its end. Separators between digits
// belong to it. Signs such as those of currencies do, too, but not behind Arabic numbers, which are those with Arabic digits or after an
// Arabic letter, nor does a hyphen between their digits (rules W2, W4 and W5).
func reverseNumber(units []unit, i int, arabic bool) (end int) {
	class := func(i int) bidi.Class {
		if i < 0 || i >= len(units) {
			return bidi.WS
		}
		return units[i].class
	}
	for end = i + 1; end < len(units); end++ {
		joins := class(end) == bidi.CS || class(end) == bidi.ES && !arabic
		if !units[end].isDigit() && !(joins && end+1 < len(units) && units[end+1].isDigit()) {
			break
		}
	}
	for class(i-1) == bidi.ET {
		i--
	}
	for !arabic && class(end) == bidi.ET {
		end++
	}
	slices.Reverse(units[i:end])
	return end
}

var brackets = map[rune]rune{'(': ')', '[': ']', '{': '}', '«': '»', '‹': '›', ')': '(', ']': '[', '}': '{', '»': '«', '›': '‹'}

// mirrorBrackets makes the brackets of an ordered line opening or closing ones, by what is beside
// them: files have them as they look or as they are meant, and PDFium mirrors some.
func mirrorBrackets(line []Glyph) {
	depth := map[rune]int{}
	isWord := func(i int) bool {
		return i >= 0 && i < len(line) && line[i].Rune != ' ' && brackets[line[i].Rune] == 0
	}
	for i := range line {
		mirrored := brackets[line[i].Rune]
		if mirrored == 0 {
			continue
		}
		open, shut := min(line[i].Rune, mirrored), max(line[i].Rune, mirrored)
		opens := depth[open] == 0
		switch before, after := isWord(i-1), isWord(i+1) && !unicode.IsPunct(line[i+1].Rune); {
		case after && !before:
			opens = true
		case before && !after:
			opens = false
		}
		if opens {
			line[i].Rune = open
			depth[open]++
		} else {
			line[i].Rune = shut
			depth[open] = 0
		}
	}
}
