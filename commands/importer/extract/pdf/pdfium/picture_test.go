package pdfium

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract/process"
	"annals/events/fault"
)

// objectsPDF writes a PDF that consists of these objects, the first of which is the catalogue,
// and returns its path.
func objectsPDF(t testing.TB, objects ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\n%%%%EOF\n", len(objects)+1)
	path := filepath.Join(t.TempDir(), "test.pdf")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stream returns a stream object; entries are further entries of its dictionary.
func stream(entries, content string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(content), entries, content)
}

// paintedPDF writes a PDF with one page, and returns its path. entries are further entries of
// the page.
func paintedPDF(t testing.TB, entries, content string) string {
	return objectsPDF(t,
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R "+entries+" >>",
		stream("", content))
}

func openFile(t testing.TB, path string) File {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return File{File: f}
}

// drawPNG draws a page and decodes the picture.
func drawPNG(t testing.TB, r *Readers, path string, how Drawing) image.Image {
	t.Helper()
	p, err := r.Draw(t.Context(), openFile(t, path), how)
	if err != nil {
		t.Fatalf("Draw(%+v) = %v", how, err)
	}
	m, err := png.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	if size := m.Bounds().Size(); size != image.Pt(p.Width, p.Height) {
		t.Errorf("Draw(%+v): the PNG has size %v, want %d x %d", how, size, p.Width, p.Height)
	}
	return m
}

// ink returns the smallest rectangle with all pixels that are not white.
func ink(m image.Image) (r image.Rectangle) {
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			if color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y < 250 {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}

func TestDrawColours(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	path := paintedPDF(t, "/MediaBox [0 0 100 200]", "1 0 0 rg 0 100 50 100 re f 0 0 1 rg 50 0 50 100 re f")
	m := drawPNG(t, r, path, Drawing{Page: 1, Width: 50})
	for at, want := range map[image.Point]color.RGBA{
		{12, 25}: {255, 0, 0, 255}, {37, 25}: {255, 255, 255, 255}, {37, 75}: {0, 0, 255, 255}, {12, 75}: {255, 255, 255, 255},
	} {
		if got := color.RGBAModel.Convert(m.At(at.X, at.Y)); got != want {
			t.Errorf("pixel %v = %v, want %v", at, got, want)
		}
	}
	if _, ok := drawPNG(t, r, path, Drawing{Page: 1, Width: 51, Grey: true}).(*image.Gray); !ok {
		t.Error("the PNG of a grey picture is not grey")
	}
	black := paintedPDF(t, "/MediaBox [0 0 100 200]", "0 100 50 100 re f")
	grey, ok := drawPNG(t, r, black, Drawing{Page: 1, Width: 51}).(*image.Gray)
	if !ok {
		t.Fatal("the PNG of a page without colours is not grey")
	}
	if got, want := ink(grey), image.Rect(0, 0, 26, 51); got != want {
		t.Errorf("ink of the grey picture in %v, want %v", got, want)
	}
	raw, err := r.Draw(t.Context(), openFile(t, black), Drawing{Page: 1, Width: 51, Grey: true, Raw: true})
	if err != nil || raw.Width != 51 || raw.Height != 102 || !bytes.Equal(raw.Data, grey.Pix) {
		t.Errorf("Draw = %d x %d pixels, %v, and not those of the PNG", raw.Width, raw.Height, err)
	}
}

func TestDrawRotatedPages(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	for rotation, want := range map[int]image.Rectangle{ // a square at the top left of the unrotated page
		0: image.Rect(0, 0, 10, 10), 90: image.Rect(190, 0, 200, 10), 180: image.Rect(90, 190, 100, 200), 270: image.Rect(0, 90, 10, 100),
	} {
		path := paintedPDF(t, fmt.Sprintf("/MediaBox [0 0 100 200] /Rotate %d", rotation), "0 190 10 10 re f")
		width := 100
		if rotation%180 == 90 {
			width = 200
		}
		if got := ink(drawPNG(t, r, path, Drawing{Page: 1, Width: width})); got != want {
			t.Errorf("rotated by %d: ink in %v, want %v", rotation, got, want)
		}
	}
}

// Transparency is blended with the white background, also in grey.
func TestDrawTransparency(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	path := paintedPDF(t, "/MediaBox [0 0 10 10] /Group << /S /Transparency /CS /DeviceRGB >> /Resources << /ExtGState << /G << /ca 0.5 >> >> >>", "/G gs 0 0 10 10 re f")
	for _, grey := range []bool{false, true} {
		m := drawPNG(t, r, path, Drawing{Page: 1, Width: 10, Grey: grey})
		if got := color.GrayModel.Convert(m.At(5, 5)).(color.Gray).Y; got < 126 || got > 129 {
			t.Errorf("grey %t: half transparent black is %d, want 127", grey, got)
		}
	}
}

// Annotations and form fields are drawn, also a field without an appearance.
func TestDrawAnnotations(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	page := func(annots string, more ...string) string {
		return objectsPDF(t, append([]string{
			"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R] /DA (/Helv 20 Tf 0 g) /DR << /Font << /Helv 4 0 R >> >> >> >>",
			"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Annots [" + annots + "] >>",
			"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		}, more...)...)
	}
	field := page("5 0 R", "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /DA (/Helv 20 Tf 0 g) /Rect [20 100 180 130] /F 4 >>")
	stamp := page("5 0 R", "<< /Type /Annot /Subtype /Stamp /Rect [20 100 180 130] /F 4 /AP << /N 6 0 R >> >>",
		stream("/Type /XObject /Subtype /Form /BBox [0 0 160 30]", "0 0 160 30 re f"))
	for name, path := range map[string]string{"field": field, "stamp": stamp} {
		for range 2 { // the second time in the same process
			got := ink(drawPNG(t, r, path, Drawing{Page: 1, Width: 200}))
			if got.Empty() || !got.In(image.Rect(20, 70, 180, 100)) {
				t.Errorf("%s: ink in %v, want some in the annotation's rectangle, and none elsewhere", name, got)
			}
		}
	}
}

func TestPictureSize(t *testing.T) {
	for _, c := range []struct {
		pageWidth, pageHeight float32
		width, pixels, w, h   int
	}{
		{612, 792, 600, MaxPicturePixels, 600, 776},
		{612, 792, 2000, MaxPicturePixels, 2000, 2588},
		{612, 792, 3000, MaxPicturePixels, 2318, 3000},
		{1000, 1000, 3000, MaxPicturePixels, 2828, 2828},
		{1000, 1000, 3000, 10 * MaxPicturePixels, 2828, 2828},
		{1000, 1000, 3000, 1_000_000, 1000, 1000},
		{14400, 1, 3000, MaxPicturePixels, 3000, 1},
		{1, 14400, 600, MaxPicturePixels, 1, 3000},
		{0, 100, 600, MaxPicturePixels, 0, 0},
	} {
		w, h := pictureSize(c.pageWidth, c.pageHeight, c.width, c.pixels)
		if w != c.w || h != c.h || w*h > MaxPicturePixels || max(w, h) > MaxPictureSide {
			t.Errorf("pictureSize(%v, %v, %d, %d) = %d, %d, want %d, %d", c.pageWidth, c.pageHeight, c.width, c.pixels, w, h, c.w, c.h)
		}
	}
}

func TestDrawErrors(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	one := linePDF(t, "one")
	for _, page := range []int{-1, 0, 2, 1 << 30} {
		if _, err := r.Draw(t.Context(), openFile(t, one), Drawing{Page: page, Width: 100}); !fault.Is(err, fault.NotFound) {
			t.Errorf("Draw of page %d of 1: %v, want not found", page, err)
		}
		if _, err := r.ReadPage(t.Context(), openFile(t, one), page); !fault.Is(err, fault.NotFound) {
			t.Errorf("ReadPage(%d) of 1: %v, want not found", page, err)
		}
	}
	if _, err := r.Draw(t.Context(), openFile(t, anyFile), Drawing{Page: 1, Width: 100}); !fault.Is(err, fault.Invalid) {
		t.Errorf("Draw of a file that is no PDF: %v, want invalid", err)
	}
	missing := objectsPDF(t, "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [7 0 R 3 0 R] /Count 2 >>", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>")
	if _, err := r.Draw(t.Context(), openFile(t, missing), Drawing{Page: 1, Width: 100}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "page 1 of the PDF is damaged") {
		t.Errorf("Draw of a page that is missing: %v", err)
	}
	if r.pool.Idle() != 1 {
		t.Errorf("%d idle processes after errors, want 1", r.pool.Idle())
	}
}

func TestReadPage(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1})
	b, err := r.ReadPage(t.Context(), openFile(t, linePDF(t, "one", "two", "three")), 2)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := DecodePage(b); err != nil || p.Number != 2 || len(p.Lines) != 1 || p.Lines[0].Text != "two" {
		t.Errorf("ReadPage(2) = %+v, %v", p, err)
	}
}

// A page that takes too long is stopped, and so is one whose reader dies.
func TestDrawIsLimited(t *testing.T) {
	r := readersOf(t, "serve", Config{Processes: 1, PageTime: time.Second})
	slow := paintedPDF(t, "/MediaBox [0 0 9 9]", strings.Repeat("0 0 9 9 re f ", 20_000))
	begun := time.Now()
	_, err := r.Draw(t.Context(), openFile(t, slow), Drawing{Page: 1, Width: 2_800})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "page 1 of the PDF took longer than 1s, and cannot be shown") {
		t.Errorf("Draw of a page that takes for ever: %v", err)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("Draw with a limit of one second took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Draw(ctx, openFile(t, slow), Drawing{Page: 1, Width: 2_800}); err != context.DeadlineExceeded {
		t.Errorf("Draw after its context has ended: %v", err)
	}
	for _, mode := range []string{"crash", "babble"} {
		broken := readersOf(t, mode, Config{Processes: 1})
		if _, err := broken.Draw(t.Context(), openFile(t, anyFile), Drawing{Page: 1, Width: 100}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: Draw: %v, want invalid", mode, err)
		}
	}
}

func TestCollectorRefuses(t *testing.T) {
	begin := func(page, w, h int) []byte { return new(process.Encoder).Int(page).Int(w).Int(h).B }
	raw := Drawing{Page: 1, Grey: true, Raw: true, Pixels: MaxPicturePixels}
	few := Drawing{Page: 1, Grey: true, Raw: true, Pixels: 99}
	for name, c := range map[string]struct {
		how    Drawing
		frames []process.Frame
	}{
		"pieces before the size":  {raw, []process.Frame{{Kind: pieceFrame, Payload: []byte("x")}}},
		"another page":            {raw, []process.Frame{{Kind: pictureFrame, Payload: begin(2, 1, 1)}}},
		"too wide":                {raw, []process.Frame{{Kind: pictureFrame, Payload: begin(1, MaxPictureSide+1, 1)}}},
		"too many pixels":         {raw, []process.Frame{{Kind: pictureFrame, Payload: begin(1, MaxPictureSide, MaxPictureSide)}}},
		"more pixels than asked":  {few, []process.Frame{{Kind: pictureFrame, Payload: begin(1, 10, 10)}}},
		"no pixels":               {raw, []process.Frame{{Kind: pictureFrame, Payload: begin(1, 0, 1)}}},
		"two sizes":               {raw, []process.Frame{{Kind: pictureFrame, Payload: begin(1, 1, 1)}, {Kind: pictureFrame, Payload: begin(1, 1, 1)}}},
		"more pixels than stated": {raw, []process.Frame{{Kind: pictureFrame, Payload: begin(1, 2, 2)}, {Kind: pieceFrame, Payload: make([]byte, 5)}}},
		"a huge PNG":              {Drawing{Page: 1, Pixels: 4}, []process.Frame{{Kind: pictureFrame, Payload: begin(1, 2, 2)}, {Kind: pieceFrame, Payload: make([]byte, maxPNG+1)}}},
		"another kind of frame":   {raw, []process.Frame{{Kind: pageFrame, Payload: begin(1, 1, 1)}}},
	} {
		collect := &collector{Drawing: c.how}
		var err error
		for _, f := range c.frames {
			err = collect.add(f.Kind, f.Payload)
		}
		if err == nil {
			t.Errorf("%s: the collector accepted it", name)
		}
	}
	half := &collector{Drawing: raw}
	if half.add(pictureFrame, begin(1, 2, 2)) != nil || half.add(pieceFrame, make([]byte, 3)) != nil || half.complete() {
		t.Error("three of four pixels are complete")
	}
}

// PDFium leaves out an image that it has no memory for. Such a picture must not be shown.
func TestDrawReportsMissingMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux notes that PDFium's memory is used up")
	}
	const side = 4_000 // pixels of an image that takes 48 MB
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(make([]byte, 3*side*side)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := objectsPDF(t,
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>",
		stream("", "100 0 0 100 0 0 cm /I Do"),
		stream(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %[1]d /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode", side), b.String()))
	small := readersOf(t, "serve", Config{Processes: 1, Memory: LeastMemory})
	if _, err := small.Draw(t.Context(), openFile(t, path), Drawing{Page: 1, Width: 500}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more memory") {
		t.Errorf("Draw with little memory: %v, want an error about memory", err)
	}
	large := readersOf(t, "serve", Config{Processes: 1})
	if got, want := ink(drawPNG(t, large, path, Drawing{Page: 1, Width: 500})), image.Rect(0, 0, 500, 500); got != want {
		t.Errorf("ink in %v, want %v", got, want)
	}
}

// A collector must not panic, or keep more bytes than a picture may have.
func FuzzPictureFrames(f *testing.F) {
	begin := new(process.Encoder).Int(1).Int(2).Int(2).B
	f.Add(begin, []byte("abcd"), true)
	f.Add(begin, []byte("abc"), true)
	f.Add(begin, []byte("abcde"), false)
	f.Add(new(process.Encoder).Int(1).Int(1<<20).Int(1<<20).B, []byte{}, true)
	f.Fuzz(func(t *testing.T, first, second []byte, raw bool) {
		c := &collector{Drawing: Drawing{Page: 1, Grey: raw, Raw: raw, Pixels: MaxPicturePixels}}
		if c.add(pictureFrame, first) != nil {
			return
		}
		if n := cap(c.picture.Data); n > MaxPicturePixels {
			t.Errorf("the collector reserved %d bytes", n)
		}
		for range 3 {
			_ = c.add(pieceFrame, second)
		}
		p := c.picture
		if c.complete() && raw && len(p.Data) != p.Width*p.Height || len(p.Data) > c.limit() {
			t.Errorf("a picture of %d x %d pixels with %d bytes", p.Width, p.Height, len(p.Data))
		}
	})
}
