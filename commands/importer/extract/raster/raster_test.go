package raster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// marked returns an image of w x h pixels, white but for a black top left quarter.
func marked(w, h int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range out.Pix {
		out.Pix[i] = 255
	}
	for y := range h / 2 {
		for x := range w / 2 {
			out.SetRGBA(x, y, color.RGBA{A: 255})
		}
	}
	return out
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, m) })
}

func jpegOf(t testing.TB, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) })
}

func tiffOf(t testing.TB, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, m, &tiff.Options{Compression: tiff.Deflate}) })
}

// withExif returns a JPEG file with an orientation.
func withExif(file []byte, orientation byte) []byte {
	exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), orientation, 0, 0, 0, 0, 0, 0)
	head := []byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(exif) + 2)}
	return append(append(head, exif...), file[2:]...)
}

// twoPages returns a TIFF file with the pages of two.
func twoPages(first, second []byte) []byte {
	out := bytes.Clone(first)
	start := binary.LittleEndian.Uint32(out[4:])
	count := uint32(binary.LittleEndian.Uint16(out[start:]))
	shift := uint32(len(out))
	out = append(out, second...)
	at := shift + binary.LittleEndian.Uint32(second[4:])
	binary.LittleEndian.PutUint32(out[start+2+12*count:], at)
	entries := uint32(binary.LittleEndian.Uint16(out[at:]))
	for i := range entries { // move the offsets of the second file
		entry := out[at+2+12*i:]
		tag, kind, n := binary.LittleEndian.Uint16(entry), binary.LittleEndian.Uint16(entry[2:]), binary.LittleEndian.Uint32(entry[4:])
		size := map[uint16]uint32{1: 1, 2: 1, 3: 2, 4: 4, 5: 8}[kind]
		if tag == 273 || n*size > 4 {
			binary.LittleEndian.PutUint32(entry[8:], binary.LittleEndian.Uint32(entry[8:])+shift)
		}
	}
	return out
}

// corner returns in which corner a drawn image is black.
func corner(m image.Image) string {
	b := m.Bounds()
	var dark []string
	for name, p := range map[string]image.Point{
		"top left": {b.Dx() / 4, b.Dy() / 4}, "top right": {b.Dx() * 3 / 4, b.Dy() / 4},
		"bottom left": {b.Dx() / 4, b.Dy() * 3 / 4}, "bottom right": {b.Dx() * 3 / 4, b.Dy() * 3 / 4},
	} {
		if g := color.GrayModel.Convert(m.At(p.X, p.Y)).(color.Gray); g.Y < 128 {
			dark = append(dark, name)
		}
	}
	return strings.Join(dark, ", ")
}

func open(t testing.TB, file []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(file), int64(len(file)), 256<<20)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFormatsAreDrawn(t *testing.T) {
	m := marked(120, 80)
	for name, file := range map[string][]byte{
		"PNG": pngOf(t, m), "JPEG": jpegOf(t, m), "TIFF": tiffOf(t, m),
		"BMP": encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, m) }),
	} {
		f := open(t, file)
		if w, h, err := f.Size(1); w != 120 || h != 80 || err != nil || f.Pages() != 1 {
			t.Errorf("%s: %d pages, size %d x %d, %v", name, f.Pages(), w, h, err)
		}
		for _, size := range []image.Point{{60, 40}, {120, 80}, {31, 17}, {240, 160}, {60, 160}} {
			for _, grey := range []bool{true, false} {
				drawn, err := f.Draw(1, size.X, size.Y, grey)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if _, ok := drawn.(*image.Gray); ok != grey || drawn.Bounds().Size() != size || corner(drawn) != "top left" {
					t.Errorf("%s in %v: %T of %v, dark at the %s", name, size, drawn, drawn.Bounds(), corner(drawn))
				}
			}
		}
	}
}

func TestTransparentIsWhite(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 40, 40)) // transparent black
	for _, w := range []int{20, 40} {
		drawn, err := open(t, pngOf(t, m)).Draw(1, w, w, true)
		if err != nil || corner(drawn) != "" {
			t.Errorf("Draw = %v, dark at the %s", err, corner(drawn))
		}
	}
}

func TestOrientation(t *testing.T) {
	file := jpegOf(t, marked(120, 80))
	for orientation, want := range map[byte]string{
		0: "top left", 1: "top left", 2: "top right", 3: "bottom right", 4: "bottom left", 5: "top left", 6: "top right", 7: "bottom right", 8: "bottom left", 9: "top left",
	} {
		f := open(t, withExif(file, orientation))
		w, h, err := f.Size(1)
		if turned := orientation > 4 && orientation < 9; err != nil || (w == 80) != turned || (h == 120) != turned {
			t.Errorf("orientation %d: size %d x %d, %v", orientation, w, h, err)
		}
		drawn, err := f.Draw(1, w/2, h/2, true)
		if err != nil || corner(drawn) != want {
			t.Errorf("orientation %d: dark at the %s, want %s: %v", orientation, corner(drawn), want, err)
		}
	}
}

func TestPagesOfTIFF(t *testing.T) {
	file := twoPages(tiffOf(t, marked(120, 80)), tiffOf(t, marked(50, 70)))
	f := open(t, file)
	if f.Pages() != 2 {
		t.Fatalf("%d pages, want 2", f.Pages())
	}
	if w, h, err := f.Size(2); w != 50 || h != 70 || err != nil {
		t.Errorf("page 2 has %d x %d pixels, %v", w, h, err)
	}
	if drawn, err := f.Draw(2, 50, 70, true); err != nil || corner(drawn) != "top left" {
		t.Errorf("page 2: %v", err)
	}
	// A list of pages that never ends.
	start := binary.LittleEndian.Uint32(file[4:])
	count := uint32(binary.LittleEndian.Uint16(file[start:]))
	binary.LittleEndian.PutUint32(file[start+2+12*count:], start)
	if n := open(t, file).Pages(); n != 1 {
		t.Errorf("a cyclic list has %d pages, want 1", n)
	}
}

func TestLargeImagesAreRefusedBeforeDecoding(t *testing.T) {
	file := pngOf(t, marked(10, 10))
	binary.BigEndian.PutUint32(file[16:], 50_000) // width and height, with a wrong checksum
	binary.BigEndian.PutUint32(file[20:], 50_000)
	var bad Error
	if _, err := open(t, file).Draw(1, 10, 10, true); !errors.As(err, &bad) {
		t.Errorf("Draw of a wrong checksum: %v", err)
	}
	bitmap := encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, marked(10, 10)) })
	binary.LittleEndian.PutUint32(bitmap[18:], 20_000)
	binary.LittleEndian.PutUint32(bitmap[22:], 20_000)
	if _, err := open(t, bitmap).Draw(1, 10, 10, true); !errors.As(err, &bad) || !strings.Contains(err.Error(), "20000 x 20000 pixels") {
		t.Errorf("Draw of a large image: %v", err)
	}
	for _, file := range []string{"", "GIF89a", "BM", "II*\x00\xff\xff\xff\xff", "\x89PNG\r\n\x1a\n"} {
		f, err := Open(strings.NewReader(file), int64(len(file)), 256<<20)
		if err == nil {
			_, _, err = f.Size(1)
		}
		if !errors.As(err, &bad) {
			t.Errorf("%q: %v, want an Error", file, err)
		}
	}
}

// Whatever is wrong with an image, the error says it in words for its owner, not in those of a decoder.
func TestErrorsAreForOwners(t *testing.T) {
	sentence := regexp.MustCompile(`^the (PNG|JPEG) image is cut off: |^the TIFF file has no pages|^the image has [0-9]+ x [0-9]+ pixels, and |^(the image|page 1 of the image) cannot be decoded, because (it|its|the places of its blocks|a block of it|this kind of|pages with|pixels|grey pixels|colours|some|[A-Za-z0-9]+ colours|the (PNG|JPEG|TIFF|WebP|BMP) file) `)
	foreign := regexp.MustCompile(`(?i)png:|jpeg:|tiff:|bmp:|webp:|vp8|riff:|lzw:|ccitt:|flate:|zlib:|EOF|checksum|chunk|invalid|marker`)
	m := marked(12, 8)
	files := map[string][]byte{
		"PNG": pngOf(t, m), "JPEG": jpegOf(t, m), "TIFF": tiffOf(t, m), "TIFF with JPEG": jpegTIFF(t, m, image.Pt(12, 4), true),
		"BMP":  encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, m) }),
		"WebP": []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0e\x00\x00\x00\x2f\x0b\x40\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
	}
	seen := map[string]int{}
	for name, whole := range files {
		check := func(file []byte) {
			f, err := Open(bytes.NewReader(file), int64(len(file)), 1<<20)
			if err == nil {
				_, err = f.Draw(1, 6, 4, true)
			}
			if err == nil || strings.HasPrefix(err.Error(), "the file is not an image") {
				return
			}
			seen[name]++
			if text := err.Error(); !errors.As(err, new(Error)) || !sentence.MatchString(text) || foreign.MatchString(text) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for i := range whole {
			for _, b := range []byte{0, 0xff, whole[i] ^ 1} {
				file := bytes.Clone(whole)
				file[i] = b
				check(file)
			}
			check(whole[:i])
		}
	}
	for name := range files {
		if seen[name] == 0 {
			t.Errorf("no damage to the %s is noticed", name)
		}
	}
	file := tiffOf(t, m)
	binary.LittleEndian.PutUint32(file[binary.LittleEndian.Uint32(file[4:])+2+8:], 0) // the first tag is the width
	if _, _, err := open(t, file).Size(1); err == nil || !strings.Contains(err.Error(), "because it has no pixels: ") {
		t.Errorf("an image without width: %v", err)
	}
}

// Hostile files are refused or drawn, without panic.
func FuzzDraw(f *testing.F) {
	m := marked(8, 6)
	f.Add(pngOf(f, m))
	f.Add(withExif(jpegOf(f, m), 6))
	f.Add(twoPages(tiffOf(f, m), tiffOf(f, m)))
	f.Add(encoded(f, func(b *bytes.Buffer) error { return bmp.Encode(b, m) }))
	f.Add(jpegTIFF(f, m, image.Pt(8, 2), true))
	f.Add(jpegTIFF(f, marked(40, 40), image.Pt(16, 16), false))
	f.Fuzz(func(t *testing.T, in []byte) {
		file, err := Open(bytes.NewReader(in), int64(len(in)), 256<<20)
		if err != nil {
			return
		}
		for page := 1; page <= min(file.Pages(), 3); page++ {
			w, h, err := file.Size(page)
			if err != nil || w*h > 1<<20 {
				continue
			}
			if drawn, err := file.Draw(page, 5, 7, true); err == nil && drawn.Bounds().Dx() != 5 {
				t.Errorf("page %d is %v", page, drawn.Bounds())
			}
		}
	})
}
