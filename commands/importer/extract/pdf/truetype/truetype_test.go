package truetype

import (
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/image/font/gofont/goregular"
)

// A map whose many segments each contain all characters, without glyphs, is not read to its end.
func TestHostileMapOfFont(t *testing.T) {
	const size = 65_534 // bytes of each of the four arrays
	b := make(table, 16+4*size)
	binary.BigEndian.PutUint16(b, 4)
	binary.BigEndian.PutUint16(b[6:], size)
	for at := 0; at < size; at += 2 {
		binary.BigEndian.PutUint16(b[14+at:], 0xfffe)
		binary.BigEndian.PutUint16(b[16+3*size+at:], 0xfffe)
	}
	begun := time.Now()
	if runes := b.runes(); len(runes) > maxRunes || time.Since(begun) > 10*time.Second {
		t.Errorf("%d characters after %v", len(runes), time.Since(begun))
	}
}

// Maps of fonts may be hostile.
func FuzzRunes(f *testing.F) {
	f.Add(goregular.TTF[:min(len(goregular.TTF), 4096)])
	f.Add(append([]byte("\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x40"), make([]byte, 0x40)...))
	f.Add([]byte("\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x2c" +
		"\x00\x00\x00\x01\x00\x03\x00\x0a\x00\x00\x00\x0c" + "\x00\x0c\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, program []byte) {
		if runes := Runes(program); len(runes) > maxRunes {
			t.Errorf("%d characters", len(runes))
		}
		if widths := Widths(program); len(widths) > len(program) {
			t.Errorf("%d widths in %d bytes", len(widths), len(program))
		}
	})
}
