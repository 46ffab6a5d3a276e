// Package raster reads image files as pages: PNG, JPEG, WebP and BMP have one, TIFF may have
// several. It checks the size of an image before it decodes it. It imports no other package of
// this module.
package raster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/bmp"
	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// maxSide limits the width and height of an image, in pixels.
const maxSide = 60_000

// File is an open image file. It is not safe for concurrent use.
type File struct {
	r      io.ReaderAt
	size   int64
	memory int64 // limit of the memory that a decoded page takes
	format format
	starts []uint32 // offsets of the pages of a TIFF file
	order  binary.ByteOrder
}

type format struct {
	name   string
	magic  []string // "?" stands for any byte
	end    string   // with which a file must end; "" if its header has its size
	decode func(io.Reader) (image.Image, error)
	config func(io.Reader) (image.Config, error)
}

var formats = []format{
	{"PNG", []string{"\x89PNG\r\n\x1a\n"}, "\x00\x00\x00\x00IEND\xaeB`\x82", png.Decode, png.DecodeConfig},
	{"JPEG", []string{"\xff\xd8\xff"}, "\xff\xd9", jpeg.Decode, jpeg.DecodeConfig},
	{"TIFF", []string{"II*\x00", "MM\x00*"}, "", tiff.Decode, tiff.DecodeConfig},
	{"WebP", []string{"RIFF????WEBP"}, "", webp.Decode, webp.DecodeConfig},
	{"BMP", []string{"BM"}, "", bmp.Decode, bmp.DecodeConfig},
}

// Error is why an image cannot be read, for its owner.
type Error string

func (e Error) Error() string { return string(e) }

// Open reads which format a file of size bytes has, and how many pages. Pages that take more than
// memory bytes when they are decoded cannot be read. If the file is the reason of an error, that is
// an Error.
func Open(r io.ReaderAt, size, memory int64) (*File, error) {
	head := make([]byte, 16)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	for _, f := range formats {
		for _, magic := range f.magic {
			if !matches(head[:n], magic) {
				continue
			}
			file := &File{r: r, size: size, memory: memory, format: f}
			if f.name == "TIFF" {
				return file, file.findPages(head)
			}
			return file, file.checkEnd()
		}
	}
	return nil, Error("the file is not an image in PNG, JPEG, TIFF, WebP or BMP, or is damaged: save it again, and upload the new file")
}

// tail is the number of bytes in which the end of a file is searched: other data may follow it.
const tail = 64 << 10

// checkEnd returns an Error if a file is cut off and cannot be decoded therefore. Whether a file that
// has an end is damaged shows when it is drawn.
func (f *File) checkEnd() error {
	if f.format.end == "" {
		return nil
	}
	last := make([]byte, min(f.size, tail))
	if _, err := f.r.ReadAt(last, f.size-int64(len(last))); err != nil && err != io.EOF {
		return fmt.Errorf("read the image: %w", err)
	}
	if bytes.Contains(last, []byte(f.format.end)) {
		return nil
	}
	if _, err := f.check(1); err != nil {
		return err
	}
	if _, err := f.decode(1); err != nil {
		return Error("the " + f.format.name + " image is cut off: its end is missing. Upload the whole file")
	}
	return nil
}

func matches(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != head[i] {
			return false
		}
	}
	return true
}

// Pages returns the number of pages.
func (f *File) Pages() int {
	if f.starts != nil {
		return len(f.starts)
	}
	return 1
}

// Size returns the size of a page, from 1, as displayed, in pixels. The error is an Error.
func (f *File) Size(page int) (width, height int, err error) {
	c, err := f.check(page)
	if err != nil {
		return 0, 0, err
	}
	if f.orientation(page) > 4 {
		return c.Height, c.Width, nil
	}
	return c.Width, c.Height, nil
}

// maxChecked limits the pages that Check looks at.
const maxChecked = 100

// Check returns an Error if no page can be decoded. A file with very many pages may have later ones
// that can.
func (f *File) Check() error {
	if f.Pages() > maxChecked {
		return nil
	}
	var first error
	for page := range f.Pages() {
		_, err := f.check(page + 1)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// config returns the properties of a page as the file states them.
func (f *File) config(page int) (image.Config, error) {
	if p, ok := f.jpegPage(page); ok {
		return p.config(), nil
	}
	if err := f.checkCompression(page); err != nil {
		return image.Config{}, err
	}
	if page >= 1 && page <= len(f.starts) {
		d := f.tiffPage(page)
		w, h := d.values(widthTag, 1), d.values(heightTag, 1)
		if len(w) == 0 || len(h) == 0 {
			return image.Config{}, reason("its width or height is missing")
		}
		if w[0] == 0 || h[0] == 0 {
			return image.Config{}, noPixels
		}
	}
	return f.format.config(f.page(page))
}

// decode decodes a page that has been checked.
func (f *File) decode(page int) (image.Image, error) {
	if p, ok := f.jpegPage(page); ok {
		return p.decode(f.memory)
	}
	if f.format.end != "" { // files that lack only their end can be decoded
		return f.format.decode(io.MultiReader(f.page(page), strings.NewReader(f.format.end)))
	}
	m, err := f.format.decode(f.page(page))
	if grey, ok := m.(*image.Gray); ok && f.negative(page) {
		for i := range grey.Pix {
			grey.Pix[i] = ^grey.Pix[i]
		}
	}
	return m, err
}

// check returns the properties of a page, or an Error if it is too large to be decoded.
func (f *File) check(page int) (image.Config, error) {
	c, err := f.config(page)
	if err != nil {
		return c, f.damaged(page, err)
	}
	if c.Width < 1 || c.Height < 1 {
		return c, f.damaged(page, noPixels)
	}
	if c.Width > maxSide || c.Height > maxSide {
		return c, Error(fmt.Sprintf("the image has %d x %d pixels, and the limit of a side is %d: make it smaller, and upload it again", c.Width, c.Height, maxSide))
	}
	if int64(c.Width)*int64(c.Height)*f.cost(c.ColorModel) > f.memory {
		return c, Error(fmt.Sprintf("the image has %d x %d pixels, and decoding it takes more than the %d MiB that --extract-memory leaves for it: make it smaller, or ask the operator for more", c.Width, c.Height, f.memory>>20))
	}
	return c, nil
}

// cost returns how many bytes a pixel takes while it is decoded.
func (f *File) cost(m color.Model) int64 {
	switch {
	case f.format.name == "JPEG" && progressive(f.r): // all coefficients are kept
		return 15
	case f.format.name == "JPEG":
		return 4
	case m == color.RGBA64Model || m == color.NRGBA64Model:
		return 8
	case f.format.name == "TIFF": // the decompressed bytes, and the image
		return 8
	}
	return 5
}

// damaged returns an Error for a page that cannot be decoded.
func (f *File) damaged(page int, err error) error {
	text := fmt.Sprintf("page %d of the image cannot be decoded", page)
	if f.Pages() == 1 {
		text = "the image cannot be decoded"
	}
	if errors.As(err, new(tiff.UnsupportedError)) {
		return Error(fmt.Sprintf("%s, because %s in TIFF files are not read: save it in RGB or grey with the compression LZW or Deflate, or as PNG, and upload the new file", text, f.unsupported(page)))
	}
	return Error(fmt.Sprintf("%s, because %s: save it again, or in another format, and upload the new file", text, f.because(err)))
}

const noPixels = reason("it has no pixels")

// reason is why a page cannot be decoded, in words for the owner of the file.
type reason string

func (r reason) Error() string { return string(r) }

// because returns why a page cannot be decoded. The decoders' own words are for programmers.
func (f *File) because(err error) string {
	var own reason
	switch {
	case errors.As(err, &own):
		return string(own)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the " + f.format.name + " file is damaged or cut off"
	case errors.As(err, new(png.UnsupportedError)), errors.As(err, new(jpeg.UnsupportedError)), errors.Is(err, bmp.ErrUnsupported):
		return "this kind of " + f.format.name + " is not read"
	}
	return "the " + f.format.name + " file is damaged"
}

// Draw draws a page in the given size, on white: as an *image.Gray, or as an *image.RGBA. The
// error is an Error.
func (f *File) Draw(page, width, height int, grey bool) (image.Image, error) {
	if _, err := f.check(page); err != nil {
		return nil, err
	}
	source, err := f.decode(page)
	if err != nil {
		return nil, f.damaged(page, err)
	}
	turn := f.orientation(page)
	w, h := width, height
	if turn > 4 {
		w, h = h, w
	}
	scaled := scale(source, w, h)
	if turn > 1 {
		scaled = oriented(scaled, turn)
	}
	if !grey {
		return scaled, nil
	}
	out := image.NewGray(scaled.Rect)
	for i := range out.Pix {
		p := scaled.Pix[4*i:][:3]
		out.Pix[i] = byte((19595*int(p[0]) + 38470*int(p[1]) + 7471*int(p[2]) + 1<<15) >> 16)
	}
	return out, nil
}

// strip is the number of bytes of rows that are converted at a time.
const strip = 4 << 20

// scale returns an image in the given size, on white. Pixels of a smaller image are means.
func scale(source image.Image, w, h int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	from := source.Bounds()
	if w >= from.Dx() || h >= from.Dy() {
		draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
		xdraw.ApproxBiLinear.Scale(out, out.Rect, source, from, draw.Over, nil)
		return out
	}
	rows := max(1, min(from.Dy(), strip/(4*from.Dx())))
	part := image.NewRGBA(image.Rect(0, 0, from.Dx(), rows))
	sums := make([]int, 4*w) // of red, green and blue, and the number of pixels
	top := 0                 // first row of the source in part
	filled := 0              // rows in part
	for y := range h {
		clear(sums)
		for sy := y * from.Dy() / h; sy < max((y+1)*from.Dy()/h, y*from.Dy()/h+1); sy++ {
			if sy >= top+filled {
				top, filled = sy, min(rows, from.Dy()-sy)
				bounds := image.Rect(0, 0, from.Dx(), filled)
				draw.Draw(part, bounds, image.White, image.Point{}, draw.Src)
				draw.Draw(part, bounds, source, image.Pt(from.Min.X, from.Min.Y+sy), draw.Over)
			}
			row := part.Pix[(sy-top)*part.Stride:][:4*from.Dx()]
			x, next := 0, from.Dx()/w
			for sx := range from.Dx() {
				for sx >= next && x < w-1 {
					x++
					next = (x + 1) * from.Dx() / w
				}
				s := sums[4*x:][:4]
				s[0] += int(row[4*sx])
				s[1] += int(row[4*sx+1])
				s[2] += int(row[4*sx+2])
				s[3]++
			}
		}
		row := out.Pix[y*out.Stride:][:4*w]
		for x := range w {
			s := sums[4*x:][:4]
			n := max(s[3], 1)
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = byte(s[0]/n), byte(s[1]/n), byte(s[2]/n), 255
		}
	}
	return out
}

// oriented returns an image as its orientation in Exif says that it is displayed.
func oriented(in *image.RGBA, orientation int) *image.RGBA {
	w, h := in.Rect.Dx(), in.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation > 4 {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var sx, sy int
			switch orientation {
			case 2:
				sx, sy = w-1-x, y
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sx, sy = x, h-1-y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			copy(out.Pix[y*out.Stride+4*x:][:4], in.Pix[sy*in.Stride+4*sx:][:4])
		}
	}
	return out
}
