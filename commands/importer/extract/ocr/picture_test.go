package ocr

import (
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

var story = []string{
	"The lighthouse at the end of the harbour was",
	"finished in the autumn of that year, and its",
	"keeper wrote down every ship that passed. When",
	"the storm came, nobody had expected so much",
	"water; the boats were carried into the market,",
	"and the baker sold his bread from a window of",
	"the upper floor. Later a wall was built, which",
	"still protects the lower part of the town.",
}

// printed returns a picture of a page with these lines, at 200 dots per inch.
func printed(t testing.TB, lines ...string) Picture {
	t.Helper()
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 12, DPI: 200})
	if err != nil {
		t.Fatal(err)
	}
	const width, height = 1000, 1300
	page := image.NewGray(image.Rect(0, 0, width, height))
	draw.Draw(page, page.Bounds(), image.White, image.Point{}, draw.Src)
	d := font.Drawer{Dst: page, Src: image.NewUniform(color.Gray{20}), Face: face}
	for i, line := range lines {
		d.Dot = fixed.P(110, 200+50*i)
		d.DrawString(line)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range width * height / 200 { // dust of a scanner
		page.Pix[random.IntN(len(page.Pix))] = byte(random.IntN(256))
	}
	return Picture{Width: width, Height: height, Pixels: page.Pix, DPI: 200}
}

func text(r Result) string {
	var b strings.Builder
	for _, l := range r.Lines {
		for _, w := range l.Words {
			b.WriteString(w.Text + " ")
		}
	}
	return b.String()
}

// recall returns the share of the wanted words that a text has.
func recall(got string, lines ...string) float64 {
	have := map[string]bool{}
	for w := range strings.FieldsSeq(got) {
		have[strings.Trim(strings.ToLower(w), ".,;")] = true
	}
	found, all := 0, 0
	for w := range strings.FieldsSeq(strings.ToLower(strings.Join(lines, " "))) {
		all++
		if have[strings.Trim(w, ".,;")] {
			found++
		}
	}
	return float64(found) / float64(all)
}

func TestSkewIsMeasured(t *testing.T) {
	page := printed(t, story...)
	for _, degrees := range []float32{0, 1, -3, 6.5, -11, 14} {
		rotated := page.rotated(degrees)
		ink := inkOf(&rotated)
		if got := ink.skew(); abs(got+degrees) > 0.35 {
			t.Errorf("skew of a page rotated by %v = %v, want %v", degrees, got, -degrees)
		}
	}
}

func TestInk(t *testing.T) {
	page := printed(t, story...)
	white := Picture{Width: 300, Height: 300, Pixels: make([]byte, 300*300)}
	for i := range white.Pixels {
		white.Pixels[i] = 250 - byte(i%7)
	}
	inverted := page.inverted()
	if ink := inkOf(&page); ink.empty() || ink.dark {
		t.Errorf("a printed page: %d dark pixels, dark %t", len(ink.xs), ink.dark)
	}
	if ink := inkOf(&inverted); ink.empty() || !ink.dark {
		t.Errorf("a page in white on black: %d dark pixels, dark %t", len(ink.xs), ink.dark)
	}
	if ink := inkOf(&white); !ink.empty() {
		t.Errorf("an empty page has %d dark pixels", len(ink.xs))
	}
	if ink := inkOf(&Picture{Width: 1, Height: 900, Pixels: make([]byte, 900)}); !ink.empty() {
		t.Errorf("a page of one column has %d dark pixels", len(ink.xs))
	}
}
