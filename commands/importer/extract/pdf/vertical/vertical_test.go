package vertical

import (
	"slices"
	"strings"
	"testing"

	"annals/commands/importer/extract/pdf/pdfium"
)

// column returns letters of 10 points with the same axis, one below another. A space leaves a place empty.
func column(axis, y, step float32, letters string) (lines []pdfium.Line) {
	for _, r := range letters {
		if w := (pdfium.Word{Text: string(r), X: axis - 3, Right: axis + 3, Top: y - 8, Bottom: y + 2}); r != ' ' {
			lines = append(lines, pdfium.Line{Text: w.Text, X: w.X, Right: w.Right, Y: y, Size: 10, Words: []pdfium.Word{w}})
		}
		y += step
	}
	return lines
}

func textsOf(lines []pdfium.Line) string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Text)
	}
	return strings.Join(texts, "|")
}

func TestJoin(t *testing.T) {
	lines := Join(slices.Concat(column(50, 100, 12, "SAFE CITY"), column(70, 100, 12, "FIRST")), nil)
	if got := textsOf(lines); got != "SAFE CITY|FIRST" {
		t.Fatalf("lines %q", got)
	}
	l := lines[0]
	want := []pdfium.Word{{Text: "SAFE", X: 47, Right: 53, Top: 92, Bottom: 138}, {Text: "CITY", X: 47, Right: 53, Top: 152, Bottom: 198}}
	if l.Direction != pdfium.Stacked || !l.Turned || l.Y != 100 || !slices.Equal(l.Words, want) {
		t.Errorf("line %+v, want words %+v", l, want)
	}
}

// A word takes the place of its first letter, and lines between its letters stay.
func TestOtherLinesStay(t *testing.T) {
	word := column(50, 100, 12, "NOTICE")
	other := pdfium.Line{Text: "other words", X: 200, Right: 260, Y: 106, Size: 10, Words: []pdfium.Word{{Text: "other", X: 200, Right: 225, Top: 98, Bottom: 108}, {Text: "words", X: 230, Right: 260, Top: 98, Bottom: 108}}}
	if got := textsOf(Join(slices.Insert(word, 2, other), nil)); got != "NOTICE|other words" {
		t.Errorf("lines %q", got)
	}
}

func TestWhatIsNoWord(t *testing.T) {
	cell := func(y float32) pdfium.Line {
		w := pdfium.Word{Text: "cell", X: 120, Right: 140, Top: y - 8, Bottom: y + 2}
		return pdfium.Line{Text: "cell", X: 120, Right: 140, Y: y, Size: 10, Words: []pdfium.Word{w}}
	}
	across := pdfium.Rule{X: 40, Right: 300, Top: 126, Bottom: 126.5}
	for name, c := range map[string]struct {
		lines []pdfium.Line
		rules []pdfium.Rule
	}{
		"cells beside":         {lines: append(column(50, 100, 12, "ABNYA"), cell(100), cell(112), cell(124), cell(136), cell(148))},
		"cells but one":        {lines: append(column(50, 100, 12, "ABNYA"), cell(100), cell(112), cell(124), cell(136))},
		"rule between letters": {lines: column(50, 100, 12, "NOTICE"), rules: []pdfium.Rule{across}},
		"columns of codes":     {lines: append(column(50, 100, 12, "ABNYA"), column(80, 100, 12, "NABAY")...)},
		"alphabet":             {lines: column(50, 100, 12, "ABCDEF")},
		"alphabet from below":  {lines: column(50, 100, 12, "FEDCBA")},
		"two letters":          {lines: column(50, 100, 12, "YNNYYN")},
		"no vowel":             {lines: column(50, 100, 12, "MTWTFSS")},
		"mixed case":           {lines: column(50, 100, 12, "NoTiCe")},
		"three letters":        {lines: column(50, 100, 12, "ICE")},
		"wide steps":           {lines: column(50, 100, 18, "NOTICE")},
		"mostly blanks":        {lines: column(50, 100, 12, "N O T I CE")},
		"askew":                {lines: slices.Concat(column(50, 100, 12, "NO"), column(52, 124, 12, "TI"), column(54, 148, 12, "CE"))},
		"digits":               {lines: column(50, 100, 12, "2E4A6")},
	} {
		if got, want := textsOf(Join(slices.Clone(c.lines), c.rules)), textsOf(c.lines); got != want {
			t.Errorf("%s: lines %q, want %q", name, got, want)
		}
	}
}

// Whatever the places of letters are, each of them is in one line of the result.
func FuzzJoin(f *testing.F) {
	f.Add("NOTICE SAFE CITY", float32(12), float32(0))
	f.Add("abcdefgh", float32(-1), float32(3))
	f.Fuzz(func(t *testing.T, letters string, step, slant float32) {
		var lines []pdfium.Line
		for i, r := range []rune(letters) {
			lines = append(lines, column(50+slant*float32(i%7), 100+step*float32(i), 1, string(r))...)
		}
		sorted := func(lines []pdfium.Line) string {
			all := []rune(strings.NewReplacer("|", "", " ", "").Replace(textsOf(lines)))
			slices.Sort(all)
			return string(all)
		}
		want := sorted(lines)
		if got := sorted(Join(lines, []pdfium.Rule{{X: 0, Right: 100, Top: step, Bottom: step + 1}})); got != want {
			t.Errorf("letters %q, want %q", got, want)
		}
	})
}
