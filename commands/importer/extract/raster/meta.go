package raster

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	maxPages         = 100_000 // pages of a TIFF file
	maxEntries       = 4_096   // entries of a directory of TIFF
	maxSegments      = 2_000   // segments of a JPEG file before its image
	orientationTag   = 0x0112
	exifSegment      = 0xe1
	frameSegment     = 0xc0 // to 0xcf, without 0xc4, 0xc8 and 0xcc
	progressiveFrame = 0xc2
	scanSegment      = 0xda
)

// findPages finds the directories of a TIFF file, one for each page. They are a linked list,
// which may be cyclic.
func (f *File) findPages(head []byte) error {
	f.order = binary.LittleEndian
	if head[0] == 'M' {
		f.order = binary.BigEndian
	}
	at := f.order.Uint32(head[4:])
	seen := map[uint32]bool{}
	for at != 0 && !seen[at] {
		if len(f.starts) == maxPages {
			return Error(fmt.Sprintf("the TIFF file has more than %d pages: split it, and upload the parts", maxPages))
		}
		var count [2]byte
		if _, err := f.r.ReadAt(count[:], int64(at)); err != nil {
			break
		}
		seen[at] = true
		f.starts = append(f.starts, at)
		var next [4]byte
		if _, err := f.r.ReadAt(next[:], int64(at)+2+12*int64(f.order.Uint16(count[:]))); err != nil {
			break
		}
		at = f.order.Uint32(next[:])
	}
	if len(f.starts) == 0 {
		return Error("the TIFF file has no pages, or is damaged: save it again, and upload the new file")
	}
	return nil
}

// page returns the file or, of a TIFF file with several pages, a view of it that begins with the
// given page.
func (f *File) page(n int) io.Reader {
	section := io.NewSectionReader(f.r, 0, f.size)
	if n < 2 || n > len(f.starts) {
		return section
	}
	first := make([]byte, 4)
	f.order.PutUint32(first, f.starts[n-1])
	return &view{section, first}
}

// view is a TIFF file with another first page.
type view struct {
	*io.SectionReader
	first []byte // replaces the bytes from 4 on
}

func (v *view) ReadAt(p []byte, off int64) (int, error) {
	n, err := v.SectionReader.ReadAt(p, off)
	for i := range v.first {
		if at := int64(4+i) - off; at >= 0 && at < int64(n) {
			p[at] = v.first[i]
		}
	}
	return n, err
}

// orientation returns how a page is to be displayed, from 1 to 8 as in Exif; 1 is upright.
func (f *File) orientation(page int) int {
	switch {
	case f.format.name == "TIFF" && page >= 1 && page <= len(f.starts):
		return orientationOf(f.r, int64(f.starts[page-1]), f.order)
	case f.format.name == "JPEG":
		orientation := 1
		segments(f.r, func(kind byte, at int64, length int) bool {
			var head [14]byte
			if kind != exifSegment || length < len(head) {
				return true
			}
			if _, err := f.r.ReadAt(head[:], at); err != nil || string(head[:6]) != "Exif\x00\x00" {
				return true
			}
			order := binary.ByteOrder(binary.LittleEndian)
			if head[6] == 'M' {
				order = binary.BigEndian
			}
			orientation = orientationOf(f.r, at+6+int64(order.Uint32(head[10:])), order)
			return false
		})
		return orientation
	}
	return 1
}

// orientationOf reads the orientation from the directory at an offset.
func orientationOf(r io.ReaderAt, at int64, order binary.ByteOrder) int {
	if v := (directory{r, at, order}).values(orientationTag, 1); len(v) == 1 && v[0] >= 1 && v[0] <= 8 {
		return int(v[0])
	}
	return 1
}

// directory is a directory of a TIFF file: the properties of one page.
type directory struct {
	r     io.ReaderAt
	at    int64
	order binary.ByteOrder
}

// values returns at most most numbers that a tag has, and none if they cannot be read.
func (d directory) values(tag uint16, most int) []uint32 {
	data, kind := d.data(tag, most)
	var out []uint32
	size := max(sizes[kind], 1)
	for ; len(data) >= size; data = data[size:] {
		switch size {
		case 1:
			out = append(out, uint32(data[0]))
		case 2:
			out = append(out, uint32(d.order.Uint16(data)))
		case 4:
			out = append(out, d.order.Uint32(data))
		}
	}
	return out
}

// value returns the first number that a tag has, or other if it has none.
func (d directory) value(tag uint16, other uint32) uint32 {
	if v := d.values(tag, 1); len(v) == 1 {
		return v[0]
	}
	return other
}

// sizes are the bytes of a number, by its type in TIFF: bytes, shorts, longs and undefined bytes.
var sizes = map[uint16]int{1: 1, 3: 2, 4: 4, 7: 1}

// data returns the type of a tag, and the bytes of at most most of its numbers. It returns none if
// the directory has no such tag, or the file does not have its bytes.
func (d directory) data(tag uint16, most int) ([]byte, uint16) {
	var count [2]byte
	if _, err := d.r.ReadAt(count[:], d.at); err != nil {
		return nil, 0
	}
	for i := range min(int64(d.order.Uint16(count[:])), maxEntries) {
		var entry [12]byte
		if _, err := d.r.ReadAt(entry[:], d.at+2+12*i); err != nil {
			return nil, 0
		}
		if d.order.Uint16(entry[:]) != tag {
			continue
		}
		kind := d.order.Uint16(entry[2:])
		all := int64(d.order.Uint32(entry[4:])) * int64(sizes[kind])
		data := entry[8:]
		if all > int64(len(data)) {
			data = make([]byte, min(all, int64(most)*int64(sizes[kind])))
			if _, err := d.r.ReadAt(data, int64(d.order.Uint32(entry[8:]))); err != nil {
				return nil, 0
			}
		}
		return data[:min(int64(len(data)), all, int64(most)*int64(sizes[kind]))], kind
	}
	return nil, 0
}

// progressive reports whether a JPEG file is progressive.
func progressive(r io.ReaderAt) bool {
	progressive := false
	segments(r, func(kind byte, _ int64, _ int) bool {
		progressive = kind == progressiveFrame
		return kind < frameSegment || kind > 0xcf || kind == 0xc4 || kind == 0xc8 || kind == 0xcc
	})
	return progressive
}

// segments calls each with the segments of a JPEG file before its image: their kinds, and the
// offset and length of their data. It stops if each returns false. It returns where the image begins,
// or 0 if it was not reached.
func segments(r io.ReaderAt, each func(kind byte, at int64, length int) bool) int64 {
	at := int64(2)
	for range maxSegments {
		var head [4]byte
		if _, err := r.ReadAt(head[:], at); err != nil || head[0] != 0xff {
			return 0
		}
		if head[1] == 0xff { // fill byte
			at++
			continue
		}
		if head[1] == scanSegment {
			return at
		}
		length := int(binary.BigEndian.Uint16(head[2:]))
		if length < 2 || !each(head[1], at+4, length-2) {
			return 0
		}
		at += 2 + int64(length)
	}
	return 0
}
