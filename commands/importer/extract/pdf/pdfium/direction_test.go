package pdfium

import (
	"fmt"
	"testing"
)

// PDFium returns groups of lines that are turned clockwise from the last to the first.
func TestTurnedLinesAreInReadingOrder(t *testing.T) {
	for _, d := range []Direction{Upwards, Downwards, Leftwards} {
		var lines []Line
		for group := 6; group >= 0; group-- {
			for i := range 3 {
				n := group*3 + i
				at := 100 + 15*float32(n)
				w := Word{Text: fmt.Sprint(n), X: at, Right: at + 10, Top: 60, Bottom: 500}
				switch d {
				case Downwards:
					w.X, w.Right = 600-w.Right, 600-w.X
				case Leftwards:
					w = Word{Text: w.Text, X: 60, Right: 500, Top: 700 - at - 10, Bottom: 700 - at}
				}
				lines = append(lines, Line{Text: w.Text, Size: 11, Turned: true, Direction: d, Words: []Word{w}})
			}
		}
		arrange(lines)
		for i, l := range lines {
			if l.Text != fmt.Sprint(i) {
				t.Fatalf("direction %d: line %d is %s", d, i, l.Text)
			}
		}
	}
}
