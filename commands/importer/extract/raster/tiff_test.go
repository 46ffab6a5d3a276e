package raster

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"slices"
	"strings"
	"testing"
)

// jpegTIFF returns a TIFF file whose blocks are JPEG images. If shared is set, the tables of the
// blocks are in a tag. Blocks of size across are tiles if they are narrower than the image.
func jpegTIFF(t testing.TB, m image.Image, block image.Point, shared bool, change ...func(tags map[uint16][]uint32)) []byte {
	t.Helper()
	file := []byte("II*\x00\x00\x00\x00\x00")
	var offsets, lengths []uint32
	var tables []byte
	size := m.Bounds().Size()
	for y := 0; y < size.Y; y += block.Y {
		for x := 0; x < size.X; x += block.X {
			rect := image.Rect(0, 0, block.X, block.Y)
			if block.X == size.X { // a strip
				rect.Max.Y = min(block.Y, size.Y-y)
			}
			part := image.NewRGBA(rect)
			draw.Draw(part, part.Rect, m, image.Pt(x, y), draw.Src)
			whole := jpegOf(t, part)
			if shared {
				tables = []byte("\xff\xd8")
				rest := []byte("\xff\xd8")
				image := segments(bytes.NewReader(whole), func(kind byte, at int64, length int) bool {
					segment := whole[at-4:][:length+4]
					if kind == 0xdb || kind == 0xc4 {
						tables = append(tables, segment...)
					} else {
						rest = append(rest, segment...)
					}
					return true
				})
				tables = append(tables, "\xff\xd9"...)
				whole = append(rest, whole[image:]...)
			}
			offsets, lengths = append(offsets, uint32(len(file))), append(lengths, uint32(len(whole)))
			file = append(file, whole...)
		}
	}
	tags := map[uint16][]uint32{
		widthTag: {uint32(size.X)}, heightTag: {uint32(size.Y)}, compressionTag: {jpegCompression}, photometricTag: {6},
		stripOffsetsTag: offsets, stripBytesTag: lengths, rowsPerStripTag: {uint32(block.Y)},
	}
	if block.X < size.X {
		tags[tileOffsetsTag], tags[tileBytesTag], tags[tileWidthTag], tags[tileHeightTag] = offsets, lengths, []uint32{uint32(block.X)}, []uint32{uint32(block.Y)}
	}
	for _, f := range change {
		f(tags)
	}
	var names []uint16
	for tag := range tags {
		names = append(names, tag)
	}
	if shared {
		names = append(names, jpegTablesTag)
	}
	slices.Sort(names)
	binaryOf := binary.LittleEndian
	entries := binaryOf.AppendUint16(nil, uint16(len(names)))
	for _, tag := range names {
		kind, count, data := uint16(4), len(tags[tag]), []byte(nil)
		for _, v := range tags[tag] {
			data = binaryOf.AppendUint32(data, v)
		}
		if tag == jpegTablesTag {
			kind, count, data = 7, len(tables), tables
		}
		entries = binaryOf.AppendUint32(binaryOf.AppendUint16(binaryOf.AppendUint16(entries, tag), kind), uint32(count))
		if len(data) > 4 {
			entries = binaryOf.AppendUint32(entries, uint32(len(file)))
			file = append(file, data...)
		} else {
			entries = append(entries, append(data, 0, 0, 0, 0)[:4]...)
		}
	}
	binaryOf.PutUint32(file[4:], uint32(len(file)))
	return append(append(file, entries...), 0, 0, 0, 0)
}

func TestTIFFWithJPEGIsDrawn(t *testing.T) {
	m := marked(120, 80)
	for name, c := range map[string]struct {
		block  image.Point
		shared bool
	}{
		"one strip": {image.Pt(120, 80), false}, "strips": {image.Pt(120, 24), true}, "tiles": {image.Pt(64, 48), true},
	} {
		f := open(t, jpegTIFF(t, m, c.block, c.shared))
		if w, h, err := f.Size(1); w != 120 || h != 80 || err != nil {
			t.Fatalf("%s: size %d x %d, %v", name, w, h, err)
		}
		drawn, err := f.Draw(1, 120, 80, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, v := range drawn.(*image.Gray).Pix {
			want := color.GrayModel.Convert(m.At(i%120, i/120)).(color.Gray).Y
			if d := int(v) - int(want); d < -60 || d > 60 {
				t.Errorf("%s: pixel %d, %d is %d, want %d", name, i%120, i/120, v, want)
				break
			}
		}
	}
}

func TestHostileTIFFWithJPEGIsRefused(t *testing.T) {
	m := marked(120, 80)
	set := func(tag uint16, values ...uint32) func(map[uint16][]uint32) {
		return func(tags map[uint16][]uint32) { tags[tag] = values }
	}
	for name, file := range map[string][]byte{
		"larger blocks": jpegTIFF(t, marked(600, 600), image.Pt(600, 600), false, set(widthTag, 20), set(heightTag, 20)),
		"many blocks":   jpegTIFF(t, m, image.Pt(120, 80), false, set(heightTag, 50_000), set(widthTag, 500), set(tileWidthTag, 8), set(tileHeightTag, 8)),
		"no blocks":     jpegTIFF(t, m, image.Pt(120, 80), false, set(stripOffsetsTag)),
		"no rows":       jpegTIFF(t, m, image.Pt(120, 80), false, set(rowsPerStripTag, 0)),
		"separate":      jpegTIFF(t, m, image.Pt(120, 80), false, set(planesTag, 2)),
		"offset":        jpegTIFF(t, m, image.Pt(120, 80), false, set(stripOffsetsTag, 1<<31)),
		"cut off":       jpegTIFF(t, m, image.Pt(120, 80), false, set(stripBytesTag, 700)),
	} {
		var bad Error
		f := open(t, file)
		if _, err := f.Draw(1, 10, 10, true); !errors.As(err, &bad) {
			t.Errorf("%s: %v, want an Error", name, err)
		}
	}
	f, err := Open(bytes.NewReader(jpegTIFF(t, m, image.Pt(120, 80), false)), 1<<20, 70_000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Draw(1, 10, 10, true); err == nil || !strings.Contains(err.Error(), "--extract-memory") {
		t.Errorf("a page beyond the memory: %v", err)
	}
}

// Files that are cut off are refused when they are opened; files that lack only their end are drawn.
func TestImagesThatAreCutOff(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 600, 400))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i >> 7)
	}
	for name, file := range map[string][]byte{"PNG": pngOf(t, m), "JPEG": jpegOf(t, m)} {
		for _, left := range []int{len(file) / 2, len(file) - 200} {
			var bad Error
			_, err := Open(bytes.NewReader(file[:left]), int64(left), 256<<20)
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), name+" image is cut off") {
				t.Errorf("%d of %d bytes of a %s: %v", left, len(file), name, err)
			}
		}
		if _, err := open(t, file[:len(file)-map[string]int{"PNG": 12, "JPEG": 2}[name]]).Draw(1, 60, 40, true); err != nil {
			t.Errorf("a %s without its end: %v", name, err)
		}
		if _, err := open(t, append(bytes.Clone(file), "more"...)).Draw(1, 60, 40, true); err != nil {
			t.Errorf("a %s with more behind its end: %v", name, err)
		}
	}
}

// The same bits are a picture or its negative, depending on which number stands for black.
func TestFaxesAreNotNegatives(t *testing.T) {
	const group4 = "296059fffffffffffffffffff93503c0a3fffffffffffffffffff0010010" // ones for all but the top left quarter
	for photometric := range uint32(2) {
		strip, err := hex.DecodeString(group4)
		if err != nil {
			t.Fatal(err)
		}
		file := append([]byte("II*\x00\x00\x00\x00\x00"), strip...)
		binary.LittleEndian.PutUint32(file[4:], uint32(len(file)))
		file = append(file, 7, 0)
		for _, e := range [][2]uint32{{widthTag, 120}, {heightTag, 80}, {compressionTag, group4Compression}, {photometricTag, photometric}, {stripOffsetsTag, 8}, {rowsPerStripTag, 80}, {stripBytesTag, uint32(len(strip))}} {
			file = binary.LittleEndian.AppendUint16(file, uint16(e[0]))
			file = append(file, 4, 0, 1, 0, 0, 0)
			file = binary.LittleEndian.AppendUint32(file, e[1])
		}
		drawn, err := open(t, append(file, 0, 0, 0, 0)).Draw(1, 120, 80, true)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := drawn.(*image.Gray).GrayAt(10, 10).Y == 0, photometric == blackIsZero; got != want {
			t.Errorf("photometric %d: the top left is black: %t, want %t", photometric, got, want)
		}
	}
}

// What is not decoded is refused before, with a sentence that names it.
func TestTIFFThatIsNotRead(t *testing.T) {
	for want, tags := range map[string]map[uint16]uint32{
		"pages with the compression CCITT RLE in TIFF":      {compressionTag: 2},
		"pages with the compression LZMA in TIFF":           {compressionTag: 34925},
		"pages with the compression Zstandard in TIFF":      {compressionTag: 50000},
		"pages with the compression of number 9999 in TIFF": {compressionTag: 9999},
		"CMYK colours in TIFF":                              {photometricTag: 5},
		"Lab colours in TIFF":                               {photometricTag: 8},
		"pixels with signs or fractions in TIFF":            {sampleFormatTag: 3},
		"pixels of 4 bits for each colour in TIFF":          {bitsTag: 4},
		"grey pixels with transparency in TIFF":             {bitsTag: 8<<16 | 8},
	} {
		all := map[uint16]uint32{widthTag: 8, heightTag: 2, bitsTag: 1, compressionTag: 1, photometricTag: 1, stripOffsetsTag: 0, rowsPerStripTag: 2, stripBytesTag: 2}
		maps.Copy(all, tags)
		file := []byte("II*\x00\x08\x00\x00\x00")
		file = binary.LittleEndian.AppendUint16(file, uint16(len(all)))
		for _, tag := range slices.Sorted(maps.Keys(all)) {
			kind, count := uint16(4), uint32(1)
			if tag == bitsTag && all[tag] > 1<<16 { // two numbers of 16 bits
				kind, count = 3, 2
			}
			file = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(file, tag), kind)
			file = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(file, count), all[tag])
		}
		if err := open(t, append(file, 0, 0, 0, 0)).Check(); !errors.As(err, new(Error)) || !strings.Contains(err.Error(), "because "+want) || strings.Contains(err.Error(), "unsupported") {
			t.Errorf("%v: %v, want that %s files are not read", tags, err, want)
		}
	}
}

func TestFileIsReadIfOnePageCanBe(t *testing.T) {
	readable := tiffOf(t, marked(8, 8))
	start := binary.LittleEndian.Uint32(readable[4:])
	unread := bytes.Clone(readable)
	for entry := unread[start+2:]; ; entry = entry[12:] {
		if binary.LittleEndian.Uint16(entry) == photometricTag {
			entry[8] = 5
			break
		}
	}
	for name, file := range map[string][]byte{"first": twoPages(readable, unread), "second": twoPages(unread, readable)} {
		if err := open(t, file).Check(); err != nil {
			t.Errorf("only the %s page can be read: %v", name, err)
		}
	}
	if err := open(t, twoPages(unread, unread)).Check(); err == nil {
		t.Error("no page can be read, but there is no error")
	}
}
