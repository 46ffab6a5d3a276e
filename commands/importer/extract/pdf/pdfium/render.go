package pdfium

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"

	"annals/commands/importer/extract/process"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Limits of a picture. PDFium takes four bytes for each pixel in colour.
const (
	MaxPictureSide   = 3_000     // pixels of the longer side
	MaxPicturePixels = 8_000_000 // pixels in all; Config.Pixels may be less
)

// leastWidth is the width, in pixels, below which no smaller picture is tried if there is not
// enough memory for a page.
const leastWidth = 400

// piece is the maximum number of bytes of a picture in one frame.
const piece = 256 << 10

// Drawing says how a page is drawn.
type Drawing struct {
	Page  int  // from 1
	Width int  // in pixels; the picture is smaller if it would exceed its limits
	Grey  bool // instead of in colour
	// Raw asks for the pixels from the top left, one byte for each: 0 is black, 255 white.
	// It needs Grey. Otherwise the picture is a PNG file.
	Raw bool
	// Pixels is the maximum number of pixels. Readers set it.
	Pixels int
}

// Picture is a page that was drawn.
type Picture struct {
	Width, Height int // in pixels
	Data          []byte
}

// pictureSize returns the size, in pixels, of a picture of a page of the given size. The longer
// side and the number of pixels are limited.
func pictureSize(pageWidth, pageHeight float32, width, pixels int) (w, h int) {
	pw, ph := float64(pageWidth), float64(pageHeight)
	if !(pw > 0 && ph > 0) {
		return 0, 0
	}
	scale := float64(width) / pw
	scale = min(scale, MaxPictureSide/max(pw, ph), math.Sqrt(float64(min(pixels, MaxPicturePixels))/(pw*ph)))
	return max(1, int(pw*scale+1e-6)), max(1, int(ph*scale+1e-6))
}

// drawn is a page that PDFium has drawn. Its pixels are in PDFium's memory, and valid until
// release is called.
type drawn struct {
	w, h    int
	grey    bool
	stride  int    // bytes between the beginnings of two rows
	pixels  []byte // one byte for each pixel if grey, otherwise red, green, blue and 255
	release func()
}

// errShort is the error for a page that PDFium could not draw completely.
var errShort = errors.New("drawing needs more memory than there is")

// render draws page n on a white background, with its annotations and form fields. The error is
// errShort if there is not enough memory; if it is trapped, the engine must not be used any more.
func (d *document) render(n, width int, grey bool, pixels int) (*drawn, error) {
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.ref, Index: n - 1})
	if err != nil {
		return nil, err
	}
	page := requests.Page{ByReference: &loaded.Page}
	defer d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	pageWidth, err := d.FPDF_GetPageWidthF(&requests.FPDF_GetPageWidthF{Page: page})
	if err != nil {
		return nil, err
	}
	pageHeight, err := d.FPDF_GetPageHeightF(&requests.FPDF_GetPageHeightF{Page: page})
	if err != nil {
		return nil, err
	}
	d.short = false
	p := &drawn{grey: grey}
	if p.w, p.h = pictureSize(pageWidth.PageWidth, pageHeight.PageHeight, width, pixels); p.w == 0 {
		return nil, errors.New("the page has no size")
	}
	format := enums.FPDF_BITMAP_FORMAT_BGRA
	if grey {
		format = enums.FPDF_BITMAP_FORMAT_GRAY
	}
	created, err := d.FPDFBitmap_CreateEx(&requests.FPDFBitmap_CreateEx{Width: p.w, Height: p.h, Format: format, Pointer: uint64(0)})
	if err != nil {
		return nil, err
	}
	p.release = func() { d.FPDFBitmap_Destroy(&requests.FPDFBitmap_Destroy{Bitmap: created.Bitmap}) }
	if err := d.paint(page, created.Bitmap, p); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// paint draws a page on a bitmap of the size of p, and sets the pixels of p.
func (d *document) paint(page requests.Page, bitmap references.FPDF_BITMAP, p *drawn) error {
	stride, err := d.FPDFBitmap_GetStride(&requests.FPDFBitmap_GetStride{Bitmap: bitmap})
	if err != nil {
		return err
	}
	if p.stride = stride.Stride; p.stride == 0 {
		return errShort
	}
	if _, err := d.FPDFBitmap_FillRect(&requests.FPDFBitmap_FillRect{Bitmap: bitmap, Width: p.w, Height: p.h, Color: 0xffffffff}); err != nil {
		return err
	}
	flags := enums.FPDF_RENDER_FLAG_ANNOT
	if !p.grey {
		flags |= enums.FPDF_RENDER_FLAG_REVERSE_BYTE_ORDER // PDFium's own order is blue, green, red
	}
	if _, err := d.FPDF_RenderPageBitmap(&requests.FPDF_RenderPageBitmap{Bitmap: bitmap, Page: page, SizeX: p.w, SizeY: p.h, Flags: flags}); err != nil {
		return err
	}
	if d.forms != nil { // also draws fields that have a value, but no appearance
		_, err := d.FPDF_FFLDraw(&requests.FPDF_FFLDraw{FormHandle: d.forms.handle, Bitmap: bitmap, Page: page, SizeX: p.w, SizeY: p.h, Flags: flags})
		if err != nil {
			return err
		}
		if _, err := d.FORM_OnBeforeClosePage(&requests.FORM_OnBeforeClosePage{Page: page, FormHandle: d.forms.handle}); err != nil {
			return err
		}
	}
	buffer, err := d.FPDFBitmap_GetBuffer(&requests.FPDFBitmap_GetBuffer{Bitmap: bitmap})
	if err != nil {
		return err
	}
	p.pixels = buffer.Buffer
	if d.short { // PDFium leaves out images that it has no memory for
		return errShort
	}
	return nil
}

// image returns the picture as an image that shares its memory.
func (p *drawn) image() image.Image {
	bounds := image.Rect(0, 0, p.w, p.h)
	if p.grey {
		return &image.Gray{Pix: p.pixels, Stride: p.stride, Rect: bounds}
	}
	// A picture without colours is a third as large as a grey one. A row is only written
	// where it has been read, so this needs no further memory.
	for y := range p.h {
		row := p.pixels[y*p.stride:][:4*p.w]
		for x := 0; x < len(row); x += 4 {
			if row[x] != row[x+1] || row[x] != row[x+2] {
				return &image.RGBA{Pix: p.pixels, Stride: p.stride, Rect: bounds}
			}
		}
	}
	for y := range p.h {
		row := p.pixels[y*p.stride:][:4*p.w]
		for x := range p.w {
			row[x] = row[4*x]
		}
	}
	return &image.Gray{Pix: p.pixels, Stride: p.stride, Rect: bounds}
}

// draw sends a page as a picture: a frame with its size, and then its bytes in pieces.
func (s *server) draw(r Drawing) error {
	if s.doc == nil || r.Page > s.doc.pages {
		return errors.New("draw a page: no file is open, or the page does not exist")
	}
	p, err := s.doc.render(r.Page, r.Width, r.Grey, r.Pixels)
	for w := r.Width / 2; err == errShort && w >= leastWidth; w /= 2 { // PDFium decodes some images only as far as needed
		p, err = s.doc.render(r.Page, w, r.Grey, r.Pixels)
	}
	switch {
	case trapped(err) != nil:
		return err
	case err == errShort:
		return unreadable(fmt.Sprintf("page %d of the PDF needs more memory to be drawn than %s", r.Page, (&Config{Memory: s.limit}).memoryText()))
	case err != nil:
		return unreadable(fmt.Sprintf("page %d of the PDF is damaged, and cannot be drawn", r.Page))
	}
	defer p.release()
	if err := s.conn.Write(pictureFrame, new(process.Encoder).Int(r.Page).Int(p.w).Int(p.h).B); err != nil {
		return err
	}
	out := &pieces{conn: s.conn}
	if r.Raw {
		for y := range p.h {
			if _, err := out.Write(p.pixels[y*p.stride:][:p.w]); err != nil {
				return err
			}
		}
	} else {
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		if err := encoder.Encode(out, p.image()); err != nil {
			return fmt.Errorf("encode page %d of the PDF as PNG: %w", r.Page, err)
		}
	}
	return out.flush()
}

// pieces sends what is written to it in frames.
type pieces struct {
	conn *process.Server
	buf  []byte
}

func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(piece-len(p.buf), len(rest))
		p.buf, rest = append(p.buf, rest[:n]...), rest[n:]
		if len(p.buf) == piece {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

func (p *pieces) flush() error {
	err := p.conn.Write(pieceFrame, p.buf)
	p.buf = p.buf[:0]
	return err
}
