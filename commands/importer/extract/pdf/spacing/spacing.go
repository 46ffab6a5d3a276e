// Package spacing finds the spaces between the words of a line by the gaps between its characters. It imports no other package of this module.
package spacing

import "slices"

// ByGaps returns the indexes of the characters of a line that begin its words, apart from the first. gaps are those before each character. ok is false if the
// spaces of the line are plausible as they are. They are not if several are in gaps that are no wider than those between the letters of a word, and others in much
// wider ones: PDFium has other widths for letters if the font is one for vertical writing.
func ByGaps(line []rune, gaps []float32, height float32) (starts []int, ok bool) {
	var inner, outer []float32 // gaps without and with a space
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == ' ':
		case line[i-1] == ' ':
			outer = append(outer, gaps[i])
		default:
			inner = append(inner, gaps[i])
		}
	}
	slices.Sort(inner)
	slices.Sort(outer)
	if len(inner) < 3 {
		return nil, false
	}
	usual := inner[len(inner)/2]
	wrong, _ := slices.BinarySearch(outer, usual+0.05*height)
	wide, _ := slices.BinarySearch(outer, usual+0.15*height)
	if wrong < 3 || wrong*4 < len(outer) || wide == len(outer) {
		return nil, false
	}
	least := usual + 0.4*(outer[(wide+len(outer))/2]-usual)
	for i := 1; i < len(line); i++ {
		if line[i] != ' ' && gaps[i] > least {
			starts = append(starts, i)
		}
	}
	return starts, true
}
