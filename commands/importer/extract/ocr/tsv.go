package ocr

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Columns of Tesseract's TSV output.
const (
	levelColumn = iota
	_           // number of the page
	blockColumn
	_ // number of the paragraph within its block
	_ // number of the line within its paragraph
	_ // number of the word within its line
	leftColumn
	topColumn
	widthColumn
	heightColumn
	confidenceColumn
	textColumn
	columns
)

// Levels of a row of TSV.
const (
	lineLevel = "4"
	wordLevel = "5"
)

// leastConfidence is the confidence of a word below which it is rather a stain.
const leastConfidence = 0.05

// parseTSV returns the lines of Tesseract's TSV output for a picture of the given size. It
// ignores rows that are malformed.
func parseTSV(tsv string, width, height int) Result {
	r := Result{Width: width, Height: height}
	words, text := 0, 0
	var line Line
	flush := func() {
		if len(line.Words) > 0 {
			r.Lines = append(r.Lines, line)
		}
		line = Line{}
	}
	for row := range strings.Lines(tsv) {
		fields := strings.SplitN(strings.TrimRight(row, "\r\n"), "\t", columns)
		if len(fields) < textColumn {
			continue
		}
		switch fields[levelColumn] {
		case lineLevel:
			flush()
			if n, err := strconv.Atoi(fields[blockColumn]); err == nil && n > 0 {
				line.Block = n
			}
		case wordLevel:
			w, ok := parseWord(fields, width, height)
			if ok && words < maxWords && text+len(w.Text) <= maxText {
				line.Words = append(line.Words, w)
				words, text = words+1, text+len(w.Text)
			}
		}
	}
	flush()
	return r
}

func parseWord(fields []string, width, height int) (w Word, ok bool) {
	if len(fields) < columns {
		return w, false
	}
	var box [4]int
	for i := range box {
		n, err := strconv.Atoi(fields[leftColumn+i])
		if err != nil {
			return w, false
		}
		box[i] = n
	}
	confidence, err := strconv.ParseFloat(fields[confidenceColumn], 32)
	if err != nil {
		return w, false
	}
	w = Word{
		Text:       strings.TrimSpace(norm.NFC.String(strings.Map(printable, strings.ToValidUTF8(fields[textColumn], "")))),
		Left:       float32(min(max(box[0], 0), width)),
		Top:        float32(min(max(box[1], 0), height)),
		Right:      float32(min(max(box[0]+max(box[2], 0), 0), width)),
		Bottom:     float32(min(max(box[1]+max(box[3], 0), 0), height)),
		Confidence: float32(min(max(confidence/100, 0), 1)),
	}
	return w, w.Confidence >= leastConfidence && w.valid(width, height)
}

// unwanted reports whether a character must not be in a word.
func unwanted(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\ufeff' || r == unicode.ReplacementChar || r >= 0xfff0 && r <= 0xffff
}

func printable(r rune) rune {
	if unwanted(r) {
		return -1
	}
	return r
}

// straighten turns the result if most of its text runs from top to bottom, or from bottom to
// top: Tesseract reads such pages, but returns boxes of the page as it is.
func (r *Result) straighten() {
	upright, down, up := 0, 0, 0
	for _, l := range r.Lines {
		first, last := l.Words[0], l.Words[len(l.Words)-1]
		across, along := last.Left-first.Left, last.Top-first.Top
		switch n := len(l.Words); {
		case n < 2:
		case abs(along) <= abs(across):
			upright += n
		case along > 0:
			down += n
		default:
			up += n
		}
	}
	switch {
	case down > upright+up:
		r.turn(3)
	case up > upright+down:
		r.turn(1)
	}
}

// turn turns the boxes by quarter turns clockwise.
func (r *Result) turn(quarters int) {
	for i := range r.Lines {
		for j := range r.Lines[i].Words {
			w := &r.Lines[i].Words[j]
			switch quarters {
			case 1:
				w.Left, w.Top, w.Right, w.Bottom = float32(r.Height)-w.Bottom, w.Left, float32(r.Height)-w.Top, w.Right
			case 3:
				w.Left, w.Top, w.Right, w.Bottom = w.Top, float32(r.Width)-w.Right, w.Bottom, float32(r.Width)-w.Left
			}
		}
	}
	r.Width, r.Height = r.Height, r.Width
	r.Turn = (r.Turn + quarters) % 4
}

func abs(f float32) float32 { return max(f, -f) }
