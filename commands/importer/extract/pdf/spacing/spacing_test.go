package spacing_test

import (
	"slices"
	"testing"

	"annals/commands/importer/extract/pdf/spacing"
)

// PDFium sees and misses spaces in horizontal lines of a font for vertical writing, because it has other widths for such letters. Their gaps
// say where the spaces are, if they are clear.
func TestByGaps(t *testing.T) {
	for _, c := range []struct {
		line, want            string
		letter, uneven, space float32 // gaps in the height of a letter; uneven is added to every third gap
	}{
		{"N O TI CE OF PU BLI C H EA RI N G", "NOTICE OF PUBLIC HEARING", 0.1, 0.03, 0.44},
		{"wi l l h ol dapu bl i c h ea ri n g", "will hold a public hearing", 0.07, -0.04, 0.9},
		{"some words of a line", "some words of a line", 0, 0.02, 0.25},
		{"a tight line of many words", "a tight line of many words", 0, 0, 0.09},
		{"w i d e s p a c i n g", "w i d e s p a c i n g", 0.5, 0, 0.5},
	} {
		line, gaps := []rune(c.line), make([]float32, len(c.line))
		end := 0 // of what is before the character in want
		for i, r := range line {
			if r == ' ' {
				continue
			}
			if gaps[i] = c.letter; i%3 == 0 {
				gaps[i] += c.uneven
			}
			if c.want[end] == ' ' {
				gaps[i], end = c.space, end+1
			}
			end++
		}
		starts, ok := spacing.ByGaps(line, gaps, 1)
		if plausible := c.line == c.want; ok == plausible {
			t.Errorf("%q: ok is %t", c.line, ok)
		}
		if !ok {
			continue
		}
		got := ""
		for i, r := range line {
			if slices.Contains(starts, i) {
				got += " "
			}
			if r != ' ' {
				got += string(r)
			}
		}
		if got != c.want {
			t.Errorf("%q is read as %q, want %q", c.line, got, c.want)
		}
	}
}
