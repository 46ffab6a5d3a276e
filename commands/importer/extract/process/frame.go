package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Kind is the type of a frame. Each protocol defines its own kinds above Ready.
type Kind byte

// Ready is the first frame that a process sends, with its sandbox.Report.
const Ready Kind = 1

// maxFrame limits the bytes of a frame. For a longer frame Read returns an error, and
// allocates no memory.
const maxFrame = 8 << 20

// A frame is one byte for its kind, the length of the payload as a varint, and the payload.

// Write buffers a frame. It is sent by Flush, or when the buffer is full.
func (c *conn) Write(k Kind, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("send a frame: it has %d bytes, the limit is %d", len(payload), maxFrame)
	}
	if err := c.w.WriteByte(byte(k)); err != nil {
		return err
	}
	return c.writeRest(payload)
}

// writeRest writes a frame without its kind.
func (c *conn) writeRest(payload []byte) error {
	var length [binary.MaxVarintLen64]byte
	c.w.Write(length[:binary.PutUvarint(length[:], uint64(len(payload)))])
	_, err := c.w.Write(payload) // also returns an error of the previous write
	return err
}

// Flush sends the buffered frames.
func (c *conn) Flush() error { return c.w.Flush() }

// Read returns the next frame. Its payload is valid until the next Read. The error at the
// end of the stream is io.EOF, or io.ErrUnexpectedEOF within a frame.
func (c *conn) Read() (Kind, []byte, error) {
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
	if k == 0 || n > maxFrame {
		return 0, nil, fmt.Errorf("read a frame: invalid kind %d or length %d", k, n)
	}
	c.buf = c.buf[:0]
	for uint64(len(c.buf)) < n { // grow as bytes arrive, because a hostile process may announce any length
		have := len(c.buf)
		c.buf = append(c.buf, make([]byte, min(n-uint64(have), 64<<10))...)
		if _, err := io.ReadFull(c.r, c.buf[have:]); err != nil {
			return 0, nil, errors.Join(io.ErrUnexpectedEOF, err)
		}
	}
	return Kind(k), c.buf, nil
}

// Encoder appends values to a payload. Its methods return the Encoder, for chaining.
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

// Decoder decodes values of a payload, which may be hostile: it allocates no more memory than
// the payload has bytes. After the first error all values are zero, and End returns an error.
type Decoder struct {
	B      []byte
	failed bool
}

// Int decodes a number below 2^31.
func (d *Decoder) Int() int {
	v := d.Long()
	if v > math.MaxInt32 {
		d.failed, d.B = true, nil
		return 0
	}
	return int(v)
}

// Long decodes a number below 2^63.
func (d *Decoder) Long() int64 {
	v, n := binary.Uvarint(d.B)
	if n <= 0 || v > math.MaxInt64 {
		d.failed, d.B = true, nil
		return 0
	}
	d.B = d.B[n:]
	return int64(v)
}

// Count decodes the length of a list whose items have at least size bytes each.
func (d *Decoder) Count(size int) int {
	n := d.Int()
	if n > len(d.B)/size {
		d.failed, d.B = true, nil
		return 0
	}
	return n
}

// Text decodes a string.
func (d *Decoder) Text() string {
	n := d.Count(1)
	s := string(d.B[:n])
	d.B = d.B[n:]
	return s
}

// Float decodes a number; NaN and infinities become 0.
func (d *Decoder) Float() float32 {
	if len(d.B) < 4 {
		d.failed, d.B = true, nil
		return 0
	}
	f := math.Float32frombits(binary.LittleEndian.Uint32(d.B))
	d.B = d.B[4:]
	if f != f || math.IsInf(float64(f), 0) {
		return 0
	}
	return f
}

// Bool decodes a boolean.
func (d *Decoder) Bool() bool { return d.Int() != 0 }

// End returns an error unless the payload was valid and all of it was decoded.
func (d *Decoder) End() error {
	if d.failed || len(d.B) > 0 {
		return errors.New("decode a payload: malformed")
	}
	return nil
}
