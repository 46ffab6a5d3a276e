// Package truetype reads the widths and the characters of glyphs in font programs, which may be
// hostile. It imports no other package of this module.
package truetype

import (
	"encoding/binary"
	"unicode"
)

// Widths returns the widths of a TrueType font's glyphs, as parts of the font's size.
func Widths(program []byte) []float32 {
	unit := table(sfntTable(program, "head")).uint16(18)
	count := table(sfntTable(program, "hhea")).uint16(34)
	hmtx := table(sfntTable(program, "hmtx"))
	if unit == 0 {
		return nil
	}
	widths := make([]float32, min(count, len(hmtx)/4))
	for i := range widths {
		widths[i] = float32(hmtx.uint16(4*i)) / float32(unit)
	}
	return widths
}

// sfntTable returns a table of a TrueType or OpenType font, or nil.
func sfntTable(program []byte, tag string) []byte {
	if len(program) < 12 {
		return nil
	}
	entries := program[12:]
	for range binary.BigEndian.Uint16(program[4:]) {
		if len(entries) < 16 {
			return nil
		}
		from, size := uint64(binary.BigEndian.Uint32(entries[8:])), uint64(binary.BigEndian.Uint32(entries[12:]))
		if string(entries[:4]) == tag {
			if from+size > uint64(len(program)) {
				return nil
			}
			return program[from : from+size]
		}
		entries = entries[16:]
	}
	return nil
}

// Runes returns the characters of a TrueType font by glyph, from the font's own map.
func Runes(program []byte) map[int]rune {
	b := table(sfntTable(program, "cmap"))
	for i := range b.uint16(2) {
		entry := 4 + 8*i
		platform, encoding, at := b.uint16(entry), b.uint16(entry+2), b.uint32(entry+4)
		if at >= len(b) || platform != 0 && (platform != 3 || encoding != 1 && encoding != 10) {
			continue
		}
		if runes := b[at:].runes(); len(runes) > 0 {
			return runes
		}
	}
	return nil
}

// table is a part of a font program. Beyond its end there are zeros.
type table []byte

func (b table) uint16(at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint16(b[at:]))
}

func (b table) uint32(at int) int { return b.uint16(at)<<16 | b.uint16(at+2) }

// maxRunes limits the work for a map that names the same characters again and again.
const maxRunes = 1 << 17

// runes reads a map from characters to glyphs, of format 4 or 12.
func (b table) runes() map[int]rune {
	runes := map[int]rune{}
	left := maxRunes
	set := func(glyph, r int) bool {
		if _, ok := runes[glyph]; !ok && glyph != 0 && r >= ' ' {
			runes[glyph] = rune(r)
		}
		left--
		return left > 0
	}
	switch b.uint16(0) {
	case 4:
		size := b.uint16(6) // of each of four arrays, in bytes
		for at := 0; at < size && 16+3*size+at < len(b); at += 2 {
			last, first := b.uint16(14+at), b.uint16(16+size+at)
			delta, place := b.uint16(16+2*size+at), 16+3*size+at
			offset := b.uint16(place)
			for r := first; r <= last && r < 0xffff; r++ {
				glyph := r
				if offset != 0 {
					if glyph = b.uint16(place + offset + 2*(r-first)); glyph == 0 {
						if left--; left <= 0 {
							return runes
						}
						continue
					}
				}
				if !set((glyph+delta)&0xffff, r) {
					return runes
				}
			}
		}
	case 12:
		for i := range min(b.uint32(12), len(b)/12) {
			first, last, glyph := b.uint32(16+12*i), b.uint32(20+12*i), b.uint32(24+12*i)
			for r := first; r <= last && r <= unicode.MaxRune; r++ {
				if !set(glyph+r-first, r) {
					return runes
				}
			}
		}
	}
	return runes
}
