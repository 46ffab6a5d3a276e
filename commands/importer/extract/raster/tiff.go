package raster

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"slices"

	"golang.org/x/image/tiff"
)

// Tags and values of TIFF directories.
const (
	widthTag        = 256
	heightTag       = 257
	bitsTag         = 258
	compressionTag  = 259
	photometricTag  = 262
	stripOffsetsTag = 273
	rowsPerStripTag = 278
	stripBytesTag   = 279
	planesTag       = 284
	tileWidthTag    = 322
	tileHeightTag   = 323
	tileOffsetsTag  = 324
	tileBytesTag    = 325
	sampleFormatTag = 339
	jpegTablesTag   = 347

	group3Compression     = 3
	group4Compression     = 4
	lzwCompression        = 5
	jpegCompression       = 7
	deflateCompression    = 8
	packBitsCompression   = 32773
	oldDeflateCompression = 32946

	blackIsZero    = 1
	rgbPhotometric = 2
)

// compressions are the compressions of TIFF pages that are read. Files without the tag have 0.
var compressions = []uint32{0, 1, group3Compression, group4Compression, lzwCompression, jpegCompression, deflateCompression, packBitsCompression, oldDeflateCompression}

const (
	maxBlocks = 100_000  // strips or tiles of a page
	maxTables = 64 << 10 // bytes of tables that JPEG blocks share
)

// tiffPage returns the directory of a page. It must be a page of a TIFF file.
func (f *File) tiffPage(n int) directory { return directory{f.r, int64(f.starts[n-1]), f.order} }

// checkCompression returns an error if a page has a compression that is not read. x/image/tiff would
// notice that only when it decodes the page.
func (f *File) checkCompression(page int) error {
	if page < 1 || page > len(f.starts) || slices.Contains(compressions, f.tiffPage(page).value(compressionTag, 0)) {
		return nil
	}
	return tiff.UnsupportedError("compression")
}

// unsupported returns what x/image/tiff cannot decode in a page.
func (f *File) unsupported(page int) string {
	if page < 1 || page > len(f.starts) {
		return "some properties"
	}
	d := f.tiffPage(page)
	if c := d.value(compressionTag, 0); !slices.Contains(compressions, c) {
		names := map[uint32]string{2: "CCITT RLE", 6: "old JPEG", 34712: "JPEG 2000", 34925: "LZMA", 50000: "Zstandard", 50001: "WebP"}
		if names[c] == "" {
			return fmt.Sprintf("pages with the compression of number %d", c)
		}
		return "pages with the compression " + names[c]
	}
	switch photometric := d.value(photometricTag, 0); {
	case photometric == 5:
		return "CMYK colours"
	case photometric == 6:
		return "YCbCr colours without JPEG compression"
	case photometric >= 8 && photometric <= 10:
		return "Lab colours"
	case photometric > 3:
		return fmt.Sprintf("colours of the kind %d", photometric)
	case d.value(sampleFormatTag, 1) != 1:
		return "pixels with signs or fractions"
	case photometric < rgbPhotometric && len(d.values(bitsTag, 2)) > 1:
		return "grey pixels with transparency"
	}
	return fmt.Sprintf("pixels of %d bits for each colour", d.value(bitsTag, 1))
}

// jpegPage is a page of a TIFF file that consists of blocks (strips or tiles), each of which is a JPEG
// image. x/image/tiff does not read them.
type jpegPage struct {
	directory
	width, height int
	block         image.Point // size of a block
	tiled         bool
}

// jpegPage returns a page if it is compressed as JPEG.
func (f *File) jpegPage(n int) (jpegPage, bool) {
	if n < 1 || n > len(f.starts) {
		return jpegPage{}, false
	}
	d := f.tiffPage(n)
	if d.value(compressionTag, 0) != jpegCompression {
		return jpegPage{}, false
	}
	p := jpegPage{directory: d, width: int(d.value(widthTag, 0)), height: int(d.value(heightTag, 0))}
	p.block = image.Pt(p.width, int(min(d.value(rowsPerStripTag, 1<<31), uint32(p.height))))
	if width := d.value(tileWidthTag, 0); width > 0 {
		p.tiled, p.block = true, image.Pt(int(width), int(d.value(tileHeightTag, 0)))
	}
	return p, true
}

// config returns the size of a page, before its blocks are looked at.
func (p jpegPage) config() image.Config {
	return image.Config{Width: p.width, Height: p.height, ColorModel: color.RGBAModel}
}

// decode decodes the blocks, one at a time. Blocks that take more than memory bytes together with the
// page are refused before they are decoded.
func (p jpegPage) decode(memory int64) (image.Image, error) {
	if p.value(planesTag, 1) != 1 {
		return nil, reason("its colours are stored apart from each other")
	}
	if p.block.X < 1 || p.block.Y < 1 {
		return nil, reason("its blocks have no size")
	}
	across, down := (p.width+p.block.X-1)/p.block.X, (p.height+p.block.Y-1)/p.block.Y
	if across*down > maxBlocks {
		return nil, reason(fmt.Sprintf("it has more than %d blocks", maxBlocks))
	}
	offsetsTag, bytesTag := uint16(stripOffsetsTag), uint16(stripBytesTag)
	if p.tiled {
		offsetsTag, bytesTag = tileOffsetsTag, tileBytesTag
	}
	offsets, lengths := p.values(offsetsTag, across*down), p.values(bytesTag, across*down)
	if len(offsets) < across*down || len(lengths) < across*down {
		return nil, reason("the places of its blocks are missing")
	}
	head := p.head()
	out := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	left := memory - int64(len(out.Pix))
	for i := range offsets {
		at := image.Pt(i%across*p.block.X, i/across*p.block.Y)
		block, err := p.decodeBlock(head, int64(offsets[i]), int64(lengths[i]), left)
		if err != nil {
			return nil, fmt.Errorf("block %d of %d: %w", i+1, len(offsets), err)
		}
		draw.Draw(out, image.Rectangle{at, at.Add(p.block)}, block, block.Bounds().Min, draw.Src)
	}
	return out, nil
}

// head returns the start of every block: the tables that they share, and for pages in RGB a mark of
// Adobe, without which the JPEG decoder takes the colours for YCbCr.
func (p jpegPage) head() []byte {
	head := []byte("\xff\xd8")
	if p.value(photometricTag, 0) == rgbPhotometric {
		head = append(head, "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"...)
	}
	tables, _ := p.data(jpegTablesTag, maxTables)
	return append(head, bytes.TrimSuffix(bytes.TrimPrefix(tables, []byte("\xff\xd8")), []byte("\xff\xd9"))...)
}

// decodeBlock decodes a block that takes at most memory bytes.
func (p jpegPage) decodeBlock(head []byte, at, length, memory int64) (image.Image, error) {
	file := io.MultiReader(bytes.NewReader(head), io.NewSectionReader(p.r, at+2, length-2))
	var start bytes.Buffer // what is read to find the size
	c, err := jpeg.DecodeConfig(io.TeeReader(file, &start))
	if err != nil {
		return nil, err
	}
	cost := int64(4)
	if progressive(bytes.NewReader(start.Bytes())) {
		cost = 15
	}
	if c.Width > p.block.X+maxPadding || c.Height > p.block.Y+maxPadding || int64(c.Width)*int64(c.Height)*cost > memory {
		return nil, reason(fmt.Sprintf("a block of it has %d x %d pixels, and takes too much memory or more room than it has", c.Width, c.Height))
	}
	return jpeg.Decode(io.MultiReader(&start, file))
}

// maxPadding is the number of pixels by which blocks may exceed their size.
const maxPadding = 64

// negative reports whether x/image/tiff returns the negative of a page. In pages with fax compression
// it takes 1 for black always, but most writers follow the tag that says what stands for black.
func (f *File) negative(page int) bool {
	if page < 1 || page > len(f.starts) {
		return false
	}
	d := f.tiffPage(page)
	compression := d.value(compressionTag, 0)
	return (compression == group3Compression || compression == group4Compression) && d.value(photometricTag, 0) == blackIsZero
}
