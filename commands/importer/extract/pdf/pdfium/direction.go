package pdfium

import (
	"math"
	"slices"
)

// Direction is the direction in which the letters of a line follow each other, as displayed.
type Direction uint8

// The directions, counterclockwise, and that of upright letters below each other.
const (
	Rightwards Direction = iota // also text that is written from right to left
	Upwards
	Leftwards // upside down
	Downwards
	Stacked
	directions
)

// directionOf returns the direction of a line whose letters are turned to (dx, dy), and whose
// first and last words are given.
func directionOf(dx, dy, size float32, first, last Word) Direction {
	switch steep := math.Abs(float64(dy)) > math.Abs(float64(dx))/4; {
	case steep && dy < 0:
		return Upwards
	case steep && dy > 0:
		return Downwards
	case dx < 0:
		return Leftwards
	}
	if down := max(first.Bottom, last.Bottom) - min(first.Top, last.Top); down > 2.5*size && down > 2.5*(max(first.Right, last.Right)-min(first.X, last.X)) {
		return Stacked
	}
	return Rightwards
}

// MainDirection returns the direction of most of the text. It is Rightwards unless most is more
// than two thirds.
func MainDirection(lines []Line) Direction {
	var letters [directions]int
	all := 0
	for i := range lines {
		letters[lines[i].Direction] += len(lines[i].Text)
		all += len(lines[i].Text)
	}
	for d, n := range letters {
		if n*3 > all*2 {
			return Direction(d)
		}
	}
	return Rightwards
}

// arrange puts the lines of each direction together, those of the main direction first, and puts
// turned lines in reading order. PDFium orders pieces of text as if all ran from left to right.
func arrange(lines []Line) {
	if !slices.ContainsFunc(lines, func(l Line) bool { return l.Turned }) {
		return
	}
	main := MainDirection(lines)
	rank := func(l *Line) int { return int((l.Direction + directions - main) % directions) }
	slices.SortStableFunc(lines, func(a, b Line) int { return rank(&a) - rank(&b) })
	for i := range lines {
		for j := i; j > max(0, i-maxMoves) && swapped(&lines[j-1], &lines[j], lines[j].Direction == main); j-- {
			lines[j-1], lines[j] = lines[j], lines[j-1]
		}
	}
}

const maxMoves = 300 // lines that a line is moved up by at most

// swapped reports whether line b of turned text is before a. If the text of the page is not turned as a whole, only
// lines near each other are compared, because others belong to different figures.
func swapped(a, b *Line, whole bool) bool {
	if a.Direction != b.Direction || a.Direction == Rightwards {
		return false
	}
	p, q := a.box(), b.box()
	across, size := p.X-q.X, max(a.Size, b.Size) // how far b is left of a
	along := min(p.Bottom, q.Bottom) - max(p.Top, q.Top)
	least := min(p.Bottom-p.Top, q.Bottom-q.Top)
	switch a.Direction {
	case Downwards, Stacked: // the next line is on the left
		across = -across
	case Leftwards: // the next line is above
		across, along, least = (q.Top+q.Bottom-p.Top-p.Bottom)/2, min(p.Right, q.Right)-max(p.X, q.X), min(p.Right-p.X, q.Right-q.X)
	}
	return across > size*0.5 && (whole || across < size*4) && along > least/2
}

// box returns the box of a line's words.
func (l *Line) box() Word {
	var out Word
	for i, w := range l.Words {
		if i == 0 {
			out = w
			continue
		}
		out.X, out.Top, out.Right, out.Bottom = min(out.X, w.X), min(out.Top, w.Top), max(out.Right, w.Right), max(out.Bottom, w.Bottom)
	}
	return out
}
