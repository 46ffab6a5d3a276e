package extracttest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Story is text with common words, for pictures of pages.
var Story = []string{
	"The lighthouse at the end of the harbour was",
	"finished in the autumn of that year, and its",
	"keeper wrote down every ship that passed. When",
	"the storm came, nobody had expected so much",
	"water; the boats were carried into the market,",
	"and the baker sold his bread from a window of",
	"the upper floor. Later a wall was built, which",
	"still protects the lower part of the town.",
}

// Printed returns a picture of a page of 5 x 6.5 inches with these lines, at 200 dots per inch,
// with the dust of a scanner.
func Printed(t testing.TB, lines ...string) *image.Gray {
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
	d := font.Drawer{Dst: page, Src: image.NewUniform(color.Gray{Y: 20}), Face: face}
	for i, line := range lines {
		d.Dot = fixed.P(110, 200+50*i)
		d.DrawString(line)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range width * height / 200 {
		page.Pix[random.IntN(len(page.Pix))] = byte(random.IntN(256))
	}
	return page
}

// ScanPage is a page of ScannedPDF.
type ScanPage struct {
	Picture *image.Gray // fills the page; may be nil
	Content string      // drawn above the picture, as in PDF
	Rotate  int         // rotation of the page in degrees
}

// ScannedPDF returns a PDF file whose pages have 5 x 6.5 inches.
func ScannedPDF(t testing.TB, pages ...ScanPage) []byte {
	t.Helper()
	var b bytes.Buffer
	var offsets []int
	object := func(dictionary string, stream []byte) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		if stream == nil {
			fmt.Fprintf(&b, "<< %s >>\nendobj\n", dictionary)
			return
		}
		fmt.Fprintf(&b, "<< %s /Length %d >>\nstream\n%s\nendstream\nendobj\n", dictionary, len(stream), stream)
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+3*i)
	}
	object("/Type /Catalog /Pages 2 0 R", nil)
	object(fmt.Sprintf("/Type /Pages /Kids [ %s] /Count %d", kids, len(pages)), nil)
	object("/Type /Font /Subtype /Type1 /BaseFont /Helvetica", nil)
	for i, p := range pages {
		content := p.Content
		picture := image.NewGray(image.Rect(0, 0, 1, 1))
		if p.Picture != nil {
			picture = p.Picture
			content = "q 360 0 0 468 0 0 cm /Im Do Q\n" + content
		}
		object(fmt.Sprintf("/Type /Page /Parent 2 0 R /MediaBox [0 0 360 468] /Rotate %d /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> /XObject << /Im %d 0 R >> >>",
			p.Rotate, 5+3*i, 6+3*i), nil)
		object("", []byte(content))
		var pixels bytes.Buffer
		z := zlib.NewWriter(&pixels)
		if _, err := z.Write(picture.Pix); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		object(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode",
			picture.Rect.Dx(), picture.Rect.Dy()), pixels.Bytes())
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}
