// Package charset decodes files of text in any encoding. It imports extract and events/fault.
package charset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	runes "unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/events/fault"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

const (
	encodingSample = 64 << 10  // bytes of a file from which its encoding is guessed
	bufferBytes    = 256 << 10 // bytes of a file that are read at a time
)

// marks are the byte order marks. If one mark begins with another, the longer one comes
// first.
var marks = []struct {
	mark string
	enc  encoding.Encoding // nil: UTF-8
}{
	{"\xef\xbb\xbf", nil},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{"\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
}

// File is a file of text in any encoding.
type File struct {
	extract.File
	// Declared returns the encoding that the start of the file names, or nil. May be nil.
	Declared func(head []byte) encoding.Encoding

	nuls int64 // number of NULs that were replaced by spaces so far
}

// Warnings returns warnings for the user about what was decoded so far.
func (f *File) Warnings() []string {
	if f.nuls == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The file contains zero bytes (%d in all), which are read as spaces: it may be damaged.", f.nuls)}
}

// Decode returns the file's text as UTF-8, without its byte order mark. Bytes that are invalid in
// the file's encoding become U+FFFD or stay as they are. The encoding is determined, in this
// order, by a byte order mark, by NULs in every other byte (UTF-16 without a mark), by being valid
// UTF-8, by what the file declares, and by statistics of a sample. The default is windows-1252.
// Binary files are refused.
func (f *File) Decode(ctx context.Context) (io.Reader, error) {
	head := make([]byte, min(f.Size, encodingSample))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.mark)) {
			return f.decode(m.enc, int64(len(m.mark))), nil
		}
	}
	if enc := utf16WithoutMark(head, f.Size); enc != nil {
		return f.decode(enc, 0), nil
	}
	if isBinary(head) {
		return nil, fault.Errorf(fault.Invalid, "the file is named %s but contains no text: rename it, or upload another file", extract.Extension(f.Name))
	}
	bad, err := f.firstInvalidUTF8(ctx, head)
	if err != nil {
		return nil, err
	}
	if bad < 0 && isISO2022JP(head) {
		return f.decode(japanese.ISO2022JP, 0), nil
	}
	if bad < 0 {
		return f.decode(nil, 0), nil
	}
	if f.Declared != nil {
		if enc := f.Declared(head); enc != nil {
			return f.decode(enc, 0), nil
		}
	}
	sample := make([]byte, encodingSample)
	n, err := f.ReadAt(sample, max(0, bad-encodingSample/8))
	if err != nil && err != io.EOF {
		return nil, err
	}
	return f.decode(guess(sample[:n]), 0), nil
}

func (f *File) decode(enc encoding.Encoding, from int64) io.Reader {
	r := io.Reader(io.NewSectionReader(f, from, f.Size-from))
	if enc != nil {
		r = transform.NewReader(r, enc.NewDecoder())
	}
	return &withoutNULs{r: r, count: &f.nuls}
}

// withoutNULs replaces each run of NULs by a space, because NULs may separate words.
type withoutNULs struct {
	r     io.Reader
	count *int64
	inRun bool
}

func (w *withoutNULs) Read(p []byte) (int, error) {
	for {
		n, err := w.r.Read(p)
		if kept := w.compact(p[:n]); kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

func (w *withoutNULs) compact(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if !w.inRun && bytes.IndexByte(b, 0) < 0 {
		return len(b)
	}
	kept := 0
	for _, c := range b {
		if c == 0 {
			*w.count++
		}
		if c == 0 && w.inRun {
			continue
		}
		if w.inRun = c == 0; w.inRun {
			c = ' '
		}
		b[kept] = c
		kept++
	}
	return kept
}

// firstInvalidUTF8 returns the offset of the first byte that is not valid UTF-8, or -1 if there is
// none. head is the start of the file.
func (f *File) firstInvalidUTF8(ctx context.Context, head []byte) (int64, error) {
	if int64(len(head)) == f.Size && utf8.Valid(head) {
		return -1, nil
	}
	buf := make([]byte, min(f.Size+1, bufferBytes))
	kept := 0
	for offset := int64(0); ; {
		n, err := f.ReadAt(buf[kept:], offset+int64(kept))
		b := buf[:kept+n]
		end := len(b) - IncompleteRune(b)
		if err == io.EOF {
			end = len(b)
		}
		if !utf8.Valid(b[:end]) {
			return offset + int64(validPrefix(b[:end])), nil
		}
		if err == io.EOF {
			return -1, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		kept = copy(buf, b[end:])
		offset += int64(end)
	}
}

// IncompleteRune returns the number of bytes of a truncated rune at the end of b.
func IncompleteRune(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

func validPrefix(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// utf16WithoutMark returns the encoding of UTF-16 text without a byte order mark, or nil. In such
// text, NULs are all in the first or all in the second byte of a pair. In Western text almost
// every character has a NUL. In other scripts only spaces and line ends have one, and the text is
// implausible in single-byte encodings. A few stray NULs are not enough. b is the start of a file
// of size bytes.
func utf16WithoutMark(b []byte, size int64) encoding.Encoding {
	if len(b) < 16 || size%2 != 0 && size < encodingSample { // a larger file of odd size is accepted, because it may have been cut off
		return nil
	}
	b = b[:len(b)&^1]
	var nul [2]int
	ascii := 0
	for i, c := range b {
		if c == 0 {
			nul[i&1]++
		} else if c >= ' ' && c < 0x7f {
			ascii++
		}
	}
	few, many, units := min(nul[0], nul[1]), max(nul[0], nul[1]), len(b)/2
	western := many*10 >= units*3
	other := many*50 >= units && ascii*10 < len(b)*7 && (isBinary(b) || !utf8.Valid(b[:len(b)-IncompleteRune(b)]))
	if few*20 > many || !western && !other {
		return nil
	}
	order := unicode.LittleEndian
	if nul[0] > nul[1] {
		order = unicode.BigEndian
	}
	enc := unicode.UTF16(order, unicode.IgnoreBOM)
	if !isSensibleUTF16(b, enc) {
		return nil
	}
	return enc
}

// isSensibleUTF16 reports whether b decodes without unpaired surrogates, and with few
// non-printable characters.
func isSensibleUTF16(b []byte, enc encoding.Encoding) bool {
	text, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		return false
	}
	text = bytes.TrimSuffix(text, []byte("\ufffd")) // the sample may end in the middle of a surrogate pair
	all, odd := 0, 0
	for _, r := range string(text) {
		all++
		switch {
		case r == utf8.RuneError:
			return false
		case !runes.IsGraphic(r) && !runes.IsSpace(r):
			odd++
		}
	}
	return odd*20 <= all
}

// isBinary reports whether b has too many control characters for text. It ignores NULs, because a
// power failure can leave runs of them in a text file.
func isBinary(b []byte) bool {
	control, rest := 0, 0
	for _, c := range b {
		switch {
		case c == 0:
		case c < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b\x1a", rune(c)), c == 0x7f:
			control++
			rest++
		default:
			rest++
		}
	}
	return control*20 > rest || rest == 0
}

// guess returns the encoding of a sample that is not valid UTF-8. It returns nil for UTF-8 if the
// sample has only a few invalid bytes.
func guess(sample []byte) encoding.Encoding {
	valid, invalid := 0, 0
	for i := 0; i < len(sample); {
		r, n := utf8.DecodeRune(sample[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			invalid++
		case n > 1:
			valid++
		}
		i += n
	}
	if valid > 10*invalid {
		return nil
	}
	if enc := eastAsian(sample); enc != nil {
		return enc
	}
	result, err := chardet.NewTextDetector().DetectBest(sample)
	if err != nil || result.Confidence < 25 || strings.HasPrefix(result.Charset, "UTF") { // UTF encodings were ruled out before
		return byLetters(sample)
	}
	switch result.Charset {
	case "GB-18030":
		return simplifiedchinese.GB18030
	case "KOI8-R":
		return charmap.KOI8U // which has the Ukrainian letters too
	case "ISO-8859-1", "ISO-8859-2", "ISO-8859-9", "windows-1250", "windows-1252", "windows-1254", "ISO-8859-15", "IBM420_rtl", "IBM420_ltr", "IBM424_rtl", "IBM424_ltr":
		return byLetters(sample)
	}
	enc, err := htmlindex.Get(result.Charset)
	if err != nil {
		return byLetters(sample)
	}
	if text, err := enc.NewDecoder().Bytes(sample); err != nil || bytes.ContainsRune(bytes.TrimSuffix(text, []byte("\ufffd")), utf8.RuneError) {
		return byLetters(sample)
	}
	return enc
}

// Text returns b as UTF-8. label is the name of the encoding that b is said to have, or "". It is
// ignored if b is valid UTF-8 with letters that ASCII lacks.
func Text(b []byte, label string) string {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	enc, _ := htmlindex.Get(label)
	ascii := bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	switch {
	case utf8.Valid(b) && isISO2022JP(b):
		enc = japanese.ISO2022JP
	case utf8.Valid(b) && (enc == nil || !ascii || bytes.IndexByte(b, 0x1b) < 0 && bytes.IndexByte(b, 0) < 0):
		return string(b)
	case enc == nil:
		enc = guess(b[:min(len(b), encodingSample)])
	}
	if enc == nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	text, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(text)
}
