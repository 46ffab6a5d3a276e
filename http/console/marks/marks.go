package marks

import "math"

// Page is a page with the boxes of its words, as the REST interface returns it. Sizes are in
// points, from the left and top.
type Page struct {
	Number int     `json:"page"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Words  []Word  `json:"words"`
}

// Word is a word of a page.
type Word struct {
	Text string `json:"text"`
	Box
}

// Box is a rectangle.
type Box struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Rectangle is a box around words of a passage.
type Rectangle struct {
	Box
	Strong bool // the words are those that answer
}

// On returns the rectangles around the words of a passage on each of some pages, which follow
// each other. The words from number from, before number to, are strong.
func On(pages []Page, passage []string, from, to int) [][]Rectangle {
	var seen []string
	for _, p := range pages {
		for _, w := range p.Words {
			seen = append(seen, w.Text)
		}
	}
	at := Align(passage, seen)
	out := make([][]Rectangle, len(pages))
	for i, p := range pages {
		out[i] = around(p, at[:len(p.Words)], from, to)
		at = at[len(p.Words):]
	}
	return out
}

// around joins the boxes of words that stand in a line, one after the other.
func around(p Page, at []int, from, to int) (out []Rectangle) {
	last := -2
	for i, w := range p.Words {
		if at[i] < 0 && !between(at, i) || !usable(w.Box) {
			continue
		}
		strong := from <= at[i] && at[i] < to || at[i] < 0 && from <= at[i-1] && at[i+1] < to && at[i+1] >= from
		if n := len(out); last == i-1 && out[n-1].Strong == strong && follows(out[n-1].Box, w.Box) {
			out[n-1].Box = union(out[n-1].Box, w.Box)
		} else {
			out = append(out, Rectangle{w.Box, strong})
		}
		last = i
	}
	return out
}

// between reports whether a word without letters, such as a sign of a formula, stands between
// two words of the passage.
func between(at []int, i int) bool {
	return i > 0 && i+1 < len(at) && at[i-1] >= 0 && at[i+1] >= at[i-1] && at[i+1] <= at[i-1]+1
}

// usable reports whether a box can be drawn.
func usable(b Box) bool {
	for _, n := range []float64{b.X, b.Y, b.Width, b.Height} {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return false
		}
	}
	return b.Width > 0 && b.Height > 0
}

// follows reports whether the words in two boxes stand in the same line, close to each other.
func follows(a, b Box) bool {
	high := min(a.Y+a.Height, b.Y+b.Height) - max(a.Y, b.Y)
	wide := max(a.X, b.X) - min(a.X+a.Width, b.X+b.Width)
	size := min(a.Height, b.Height)
	return high > size/2 && wide < 2*max(a.Height, b.Height) && max(a.Height, b.Height) < 3*size
}

func union(a, b Box) Box {
	x, y := min(a.X, b.X), min(a.Y, b.Y)
	return Box{x, y, max(a.X+a.Width, b.X+b.Width) - x, max(a.Y+a.Height, b.Y+b.Height) - y}
}
