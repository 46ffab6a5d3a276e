package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Kind is the type of a frame. Each pair of programs has kinds of its own above Ready.
type Kind byte

// Ready is what a process sends first, with its Report.
const Ready Kind = 1

// MaxFrame is the most bytes of one frame. For a longer one Read returns an error without
// allocating memory for it.
const MaxFrame = 8 << 20

// A frame is one byte that names its kind, the length of its payload as a
// varint, and the payload.

// Write buffers one frame. Flush sends it, or a later Write if the buffer is full.
func (c *Conn) Write(k Kind, payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("a frame of %d bytes is longer than %d", len(payload), MaxFrame)
	}
	if err := c.w.WriteByte(byte(k)); err != nil {
		return err
	}
	return c.writeRest(payload)
}

// writeRest writes a frame without its first byte.
func (c *Conn) writeRest(payload []byte) error {
	var length [binary.MaxVarintLen64]byte
	c.w.Write(length[:binary.PutUvarint(length[:], uint64(len(payload)))])
	_, err := c.w.Write(payload) // also returns the error of the write before
	return err
}

// Flush sends what was written.
func (c *Conn) Flush() error { return c.w.Flush() }

// Read returns the next frame; its payload is valid until the next Read. The
// error at the end of the stream is io.EOF, within a frame io.ErrUnexpectedEOF.
func (c *Conn) Read() (Kind, []byte, error) {
	k, err := c.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(c.r)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	if k == 0 || n > MaxFrame {
		return 0, nil, fmt.Errorf("invalid frame: kind %d, %d bytes", k, n)
	}
	c.buf = c.buf[:0]
	for uint64(len(c.buf)) < n { // grow as bytes arrive: the announced length may be a lie
		have := len(c.buf)
		c.buf = append(c.buf, make([]byte, min(n-uint64(have), 64<<10))...)
		if _, err := io.ReadFull(c.r, c.buf[have:]); err != nil {
			return 0, nil, errors.Join(io.ErrUnexpectedEOF, err)
		}
	}
	return Kind(k), c.buf, nil
}

// Encoder appends values to a payload. Its methods return it, for the next value.
type Encoder struct{ B []byte }

// Int appends a number that is not negative.
func (e *Encoder) Int(n int) *Encoder {
	e.B = binary.AppendUvarint(e.B, uint64(n))
	return e
}

// Text appends a string.
func (e *Encoder) Text(s string) *Encoder {
	e.Int(len(s))
	e.B = append(e.B, s...)
	return e
}

// Float appends a number.
func (e *Encoder) Float(f float32) *Encoder {
	e.B = binary.LittleEndian.AppendUint32(e.B, math.Float32bits(f))
	return e
}

// Bool appends a boolean.
func (e *Encoder) Bool(v bool) *Encoder {
	if v {
		return e.Int(1)
	}
	return e.Int(0)
}

// Decoder takes values from a payload, which may be hostile: it allocates no more
// than the payload holds. After the first error every value is zero, and End
// returns that error.
type Decoder struct {
	B   []byte
	bad bool
}

// Int takes a number below 2^31.
func (d *Decoder) Int() int {
	v := d.Long()
	if v > math.MaxInt32 {
		d.bad, d.B = true, nil
		return 0
	}
	return int(v)
}

// Long takes a number below 2^63.
func (d *Decoder) Long() int64 {
	v, n := binary.Uvarint(d.B)
	if n <= 0 || v > math.MaxInt64 {
		d.bad, d.B = true, nil
		return 0
	}
	d.B = d.B[n:]
	return int64(v)
}

// Count takes the length of a list whose items have at least size bytes.
func (d *Decoder) Count(size int) int {
	n := d.Int()
	if n > len(d.B)/size {
		d.bad, d.B = true, nil
		return 0
	}
	return n
}

// Text takes a string.
func (d *Decoder) Text() string {
	n := d.Count(1)
	s := string(d.B[:n])
	d.B = d.B[n:]
	return s
}

// Float takes a number; NaN and infinities become 0.
func (d *Decoder) Float() float32 {
	if len(d.B) < 4 {
		d.bad, d.B = true, nil
		return 0
	}
	f := math.Float32frombits(binary.LittleEndian.Uint32(d.B))
	d.B = d.B[4:]
	if f != f || math.IsInf(float64(f), 0) {
		return 0
	}
	return f
}

// Bool takes a boolean.
func (d *Decoder) Bool() bool { return d.Int() != 0 }

// End returns an error unless the payload was complete and all of it was taken.
func (d *Decoder) End() error {
	if d.bad || len(d.B) > 0 {
		return errors.New("malformed payload")
	}
	return nil
}
