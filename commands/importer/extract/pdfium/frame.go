package pdfium

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A frame is one byte that names its kind, the length of its payload as a
// varint, and the payload. The process says that it is ready; then requests go
// to it, one at a time. It answers one for a file with opened and done, one for
// pages with these and done, one for neither with done, or each with failed.
type kind byte

const (
	requestFrame kind = iota + 1
	readyFrame
	openedFrame
	pageFrame
	doneFrame
	failedFrame
)

// maxFrame is the most bytes of one frame: a page of a PDF is far smaller, so
// a greater length is a fault of the sender and not worth its memory.
const maxFrame = 32 << 20

// frames writes and reads frames. Its buffers serve frame after frame.
type frames struct {
	r   *bufio.Reader
	w   *bufio.Writer
	buf []byte
}

// write sends one frame at once.
func (f *frames) write(k kind, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("a frame of %d bytes is over %d", len(payload), maxFrame)
	}
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = byte(k)
	n := 1 + binary.PutUvarint(head[1:], uint64(len(payload)))
	f.w.Write(head[:n])
	f.w.Write(payload)
	return f.w.Flush()
}

// read returns the next frame; its payload is valid until the next read. The
// error at the end of the stream is io.EOF, within a frame io.ErrUnexpectedEOF.
func (f *frames) read() (kind, []byte, error) {
	k, err := f.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(f.r)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	if k < byte(requestFrame) || k > byte(failedFrame) || n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of kind %d and %d bytes", k, n)
	}
	f.buf = f.buf[:0]
	for uint64(len(f.buf)) < n { // grow as bytes arrive, whatever length was announced
		have := len(f.buf)
		f.buf = append(f.buf, make([]byte, min(n-uint64(have), 64<<10))...)
		if _, err := io.ReadFull(f.r, f.buf[have:]); err != nil {
			return 0, nil, errors.Join(io.ErrUnexpectedEOF, err)
		}
	}
	return kind(k), f.buf, nil
}

// encoder appends values to a payload.
type encoder struct{ b []byte }

func (e *encoder) int(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)) }

func (e *encoder) text(s string) {
	e.int(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) float(f float32) {
	e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(f))
}

func (e *encoder) bool(v bool) {
	if v {
		e.int(1)
	} else {
		e.int(0)
	}
}

// decoder takes values from a payload. After the first fault every value is
// zero, and end returns the fault.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) int() int {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > math.MaxInt32 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return int(v)
}

// count takes the length of a list whose items have at least size bytes.
func (d *decoder) count(size int) int {
	n := d.int()
	if n > len(d.b)/size {
		d.bad, d.b = true, nil
		return 0
	}
	return n
}

func (d *decoder) text() string {
	n := d.count(1)
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) float() float32 {
	if len(d.b) < 4 {
		d.bad, d.b = true, nil
		return 0
	}
	f := math.Float32frombits(binary.LittleEndian.Uint32(d.b))
	d.b = d.b[4:]
	if f != f || math.IsInf(float64(f), 0) {
		return 0
	}
	return f
}

func (d *decoder) bool() bool { return d.int() != 0 }

// end returns an error unless the payload was whole and nothing is left of it.
func (d *decoder) end() error {
	if d.bad || len(d.b) > 0 {
		return errors.New("a frame is damaged")
	}
	return nil
}
