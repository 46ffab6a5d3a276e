package reader

import (
	"math"
	"slices"
	"strings"

	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/pdf"
	"annals/commands/importer/extract/pdf/pdfium"
)

// The resolution of a page's picture. Small pages get more than usual, because they are often
// pictures whose size is unknown.
const (
	usualDPI   = 200
	mostDPI    = 300
	fewPixels  = 2_000_000 // at usualDPI
	pointsInch = 72
)

// drawingOf says how a page is drawn to be recognised.
func drawingOf(p pdfium.Page) pdfium.Drawing {
	w, h := float64(p.Width)/pointsInch, float64(p.Height)/pointsInch
	dpi := float64(usualDPI)
	if pixels := w * h * usualDPI * usualDPI; pixels < fewPixels && pixels > 0 {
		dpi = min(mostDPI, usualDPI*math.Sqrt(fewPixels/pixels))
	}
	return pdfium.Drawing{Page: p.Number, Width: int(min(max(w*dpi, 1), pdfium.MaxPictureSide)), Grey: true, Raw: true}
}

// pictureOf returns a picture of a page as it is recognised.
func pictureOf(p pdfium.Page, drawn pdfium.Picture) ocr.Picture {
	return ocr.Picture{
		Width: drawn.Width, Height: drawn.Height, Pixels: drawn.Data,
		DPI: int(min(max(float64(drawn.Width)*pointsInch/float64(p.Width), 1), 2400)),
	}
}

// leastBetter is the confidence from which on recognised text replaces a text layer that looks
// unusable.
const leastBetter = 0.5

// replaces reports whether recognised text is better than the text of a page.
func replaces(r ocr.Result, p pdfium.Page) bool {
	confidence, letters := r.Confidence()
	return letters > 0 && (len(p.Lines) == 0 || confidence >= leastBetter)
}

// recognised returns a page with the text that was recognised in its picture.
func recognised(p pdfium.Page, r ocr.Result) pdfium.Page {
	p.Scanned = false
	if !replaces(r, p) {
		p.Blank = len(p.Lines) == 0
		return p
	}
	pdf.Turn(&p, pdfium.Direction(r.Turn)) // the boxes of what was recognised are those of the upright page
	scale := p.Width / float32(r.Width)
	var lines []pdfium.Line
	for _, l := range r.Lines {
		lines = append(lines, lineOf(l, scale))
	}
	evenSizes(lines)
	if p.Typed {
		lines = withTyped(lines, p.Lines)
	}
	p.Blank, p.Lines = false, lines
	return p
}

// withTyped returns recognised lines with the typed lines of the page in the place of what was recognised of
// them, and without lines that are hardly text, as in photographs. Typed lines that are turned are the last ones of a
// page, and stay so.
func withTyped(lines, typed []pdfium.Line) []pdfium.Line {
	out := make([]pdfium.Line, 0, len(lines)+len(typed))
	next := 0
	before := func(y float32) {
		for ; next < len(typed) && typed[next].Y < y && !typed[next].Turned; next++ {
			out = append(out, typed[next])
		}
	}
	for _, l := range lines {
		y, same := l.Y-l.Size*0.3, 0 // the middle of its letters, and its words that are typed
		for _, w := range l.Words {
			if slices.ContainsFunc(typed, func(t pdfium.Line) bool { return covers(t, (w.X+w.Right)/2, y) }) {
				same++
			}
		}
		before(l.Y + 2)
		if same*2 < len(l.Words) && l.Confidence >= leastBetter {
			out = append(out, l)
		}
	}
	return append(out, typed[next:]...)
}

// covers reports whether a point is on a word of a line, or between two.
func covers(l pdfium.Line, x, y float32) bool {
	before, behind, beside := false, false, false // words of the line that begin before x, end behind it, and are as high as y
	for _, w := range l.Words {
		before, behind, beside = before || w.X < x, behind || w.Right > x, beside || y > w.Top-1 && y < w.Bottom+1
	}
	return before && behind && beside
}

// Shares of a font's size: the height of small letters, of letters with ascenders and of capitals,
// and the depth of descenders.
const (
	smallHeight = 0.5
	tallHeight  = 0.71
	descent     = 0.21
)

// lineOf converts a line. Its size is estimated from the heights of its words.
func lineOf(l ocr.Line, scale float32) pdfium.Line {
	out := pdfium.Line{X: l.Words[0].Left * scale}
	var texts []string
	var sizes, baselines []float32
	var sum, letters float32
	for _, w := range l.Words {
		texts = append(texts, w.Text)
		box := pdfium.Word{Text: w.Text, X: w.Left * scale, Right: w.Right * scale, Top: w.Top * scale, Bottom: w.Bottom * scale}
		out.Words = append(out.Words, box)
		out.X, out.Right = min(out.X, box.X), max(out.Right, box.Right)
		n := float32(max(w.Letters(), 1))
		sum, letters = sum+n*w.Confidence, letters+n
		up, down := extentOf(w.Text)
		size := (box.Bottom - box.Top) / (up + down)
		sizes, baselines = append(sizes, size), append(baselines, box.Bottom-down*size)
	}
	out.Text = strings.Join(texts, " ")
	out.Size, out.Y = median(sizes), median(baselines)
	out.Confidence = max(sum/letters, 0.001)
	return out
}

// extentOf returns how far the letters of a word reach above and below the baseline.
func extentOf(word string) (up, down float32) {
	up = smallHeight
	for _, r := range word {
		if strings.ContainsRune("gjpqy,;Qçş()[]{}|/", r) {
			down = descent
		}
		if !strings.ContainsRune("acegmnopqrsuvwxyz.,;:-–—_~+=*<>«»·•", r) {
			up = tallHeight
		}
	}
	return up, down
}

func median(values []float32) float32 {
	slices.Sort(values)
	return values[len(values)/2]
}

// evenSizes gives lines the usual size of their page if they differ little from it, because the
// sizes are only estimates, and a heading is larger than other text.
func evenSizes(lines []pdfium.Line) {
	var all []float32
	for _, l := range lines {
		for range min(len(l.Text), 200) {
			all = append(all, l.Size)
		}
	}
	usual := median(all)
	for i := range lines {
		if r := lines[i].Size / usual; r > 0.8 && r < 1.22 {
			lines[i].Size = usual
		}
	}
}
