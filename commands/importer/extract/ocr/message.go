package ocr

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"annals/commands/importer/extract/process"
)

// The kinds of frames. The response to a request is, for each run of Tesseract, started, which
// the service answers with limited; and then result or failed.
const (
	requestFrame process.Kind = process.Ready + 1 + iota
	startedFrame
	limitedFrame
	resultFrame
	failedFrame
)

// Limits of a Result.
const (
	maxWords = 30_000
	maxText  = 1 << 20 // bytes
	maxWord  = 4 << 10 // bytes
)

// request is the request to recognise a picture within a time.
type request struct {
	Picture
	time time.Duration
	file bool // the pixels are in a file, which is passed with the request
}

func (r request) encode() []byte {
	pixels := r.Pixels
	if r.file {
		pixels = nil
	}
	e := process.Encoder{B: make([]byte, 0, len(pixels)+32)}
	e.Int(r.Width).Int(r.Height).Int(r.DPI).Int(int(r.time / time.Millisecond)).Bool(r.file)
	e.B = append(e.B, pixels...)
	return e.B
}

// decodeRequest decodes a request. file returns the file that was passed with it.
func decodeRequest(b []byte, file func() (io.ReaderAt, error)) (request, error) {
	d := process.Decoder{B: b}
	r := request{Picture: Picture{Width: d.Int(), Height: d.Int(), DPI: d.Int()}, time: time.Duration(d.Int()) * time.Millisecond, file: d.Bool()}
	r.Pixels = d.B
	if r.file && r.sized() {
		f, err := file()
		if err != nil {
			return request{}, err
		}
		r.Pixels = make([]byte, r.Width*r.Height)
		if _, err := f.ReadAt(r.Pixels, int64(len(r.header()))); err != nil {
			return request{}, fmt.Errorf("read a picture to recognise: %w", err)
		}
	}
	if !r.valid() {
		return request{}, errors.New("read a picture to recognise: malformed")
	}
	return r, nil
}

// valid reports whether the picture has as many pixels as its size says, and not too many.
func (p *Picture) valid() bool { return p.sized() && len(p.Pixels) == p.Width*p.Height }

// sized reports whether the size of the picture is within its limits.
func (p *Picture) sized() bool {
	return p.Width > 0 && p.Height > 0 && p.Width <= MaxPixels/p.Height
}

// header is what comes before the pixels in a PGM file.
func (p *Picture) header() string { return fmt.Sprintf("P5\n%d %d\n255\n", p.Width, p.Height) }

// Encode returns the result as a payload.
func (r *Result) Encode() []byte {
	e := new(process.Encoder).Int(r.Width).Int(r.Height).Int(r.Turn).Float(r.Skew).Int(len(r.Lines))
	for _, l := range r.Lines {
		e.Int(l.Block).Int(len(l.Words))
		for _, w := range l.Words {
			e.Text(w.Text).Float(w.Left).Float(w.Top).Float(w.Right).Float(w.Bottom).Float(w.Confidence)
		}
	}
	return e.B
}

// DecodeResult decodes a payload that Result.Encode has returned. The payload may be hostile:
// boxes outside of the picture, invalid text and too many words are errors.
func DecodeResult(b []byte) (Result, error) {
	d := process.Decoder{B: b}
	r := Result{Width: d.Int(), Height: d.Int(), Turn: d.Int(), Skew: d.Float()}
	valid := r.Width > 0 && r.Height > 0 && r.Width <= MaxPixels/r.Height && r.Turn < 4 && r.Skew >= -maxSkew && r.Skew <= maxSkew
	words, text := 0, 0
	for range d.Count(2) {
		l := Line{Block: d.Int()}
		n := d.Count(21)
		if words += n; words > maxWords {
			valid = false
			break
		}
		for range n {
			w := Word{Text: d.Text(), Left: d.Float(), Top: d.Float(), Right: d.Float(), Bottom: d.Float(), Confidence: d.Float()}
			text += len(w.Text)
			valid = valid && w.valid(r.Width, r.Height)
			l.Words = append(l.Words, w)
		}
		valid = valid && n > 0
		r.Lines = append(r.Lines, l)
	}
	if d.End() != nil || !valid || text > maxText {
		return Result{}, errors.New("read recognised text: malformed")
	}
	return r, nil
}

func (w *Word) valid(width, height int) bool {
	return w.Text != "" && len(w.Text) <= maxWord && utf8.ValidString(w.Text) && !strings.ContainsFunc(w.Text, unwanted) &&
		0 <= w.Left && w.Left <= w.Right && w.Right <= float32(width) && 0 <= w.Top && w.Top <= w.Bottom && w.Bottom <= float32(height) &&
		0 <= w.Confidence && w.Confidence <= 1
}
