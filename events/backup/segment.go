package backup

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"annals/events"
	"annals/events/fault"
)

// Digest is the digest of a sequence of events: the SHA-256 of the digest up to the
// previous event (zeros before the first), followed by the last event as appendRecord
// encodes it. The digest does not depend on how a log is split into segments.
type Digest [sha256.Size]byte

func (d *Digest) add(record []byte) {
	h := sha256.New()
	h.Write(d[:])
	h.Write(record)
	h.Sum(d[:0])
}

// MarshalText writes the digest in hex.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return fmt.Errorf("read a digest: want %d hex digits, got %d", hex.EncodedLen(len(d)), len(text))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// maxRecord is the maximum size of an encoded record in bytes. A log accepts only
// smaller records.
const maxRecord = events.MaxAppendBytes + 64<<10

// appendRecord appends the encoding of a record that segments store and digests cover:
// position, id, stream, revision, type, data and metadata. Numbers are unsigned varints;
// fields of variable length are prefixed with their length.
func appendRecord(b []byte, r events.Record) []byte {
	b = binary.AppendUvarint(b, uint64(r.Position))
	b = append(b, r.ID[:]...)
	b = appendBytes(b, r.Stream)
	b = binary.AppendUvarint(b, uint64(r.Revision))
	b = appendBytes(b, r.Type)
	b = appendBytes(b, r.Data)
	return appendBytes(b, r.Metadata)
}

func appendBytes[T ~string | ~[]byte](b []byte, field T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(field))), field...)
}

var errCorrupt = errors.New("it is corrupt")

// parseRecord decodes a record. The record shares memory with b.
func parseRecord(b []byte) (r events.Record, err error) {
	number := func() int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err, n = errCorrupt, 0
		}
		b = b[n:]
		return int64(v)
	}
	cut := func(n int64) []byte {
		if n < 0 || n > int64(len(b)) {
			err, n = errCorrupt, 0
		}
		field := b[:n:n]
		b = b[n:]
		return field
	}
	r.Position = events.Position(number())
	copy(r.ID[:], cut(int64(len(r.ID))))
	r.Stream = string(cut(number()))
	r.Revision = number()
	r.Type = string(cut(number()))
	r.Data = cut(number())
	r.Metadata = cut(number())
	if len(b) > 0 {
		err = errCorrupt
	}
	return r, err
}

// segmentWriter writes a segment: gzip of length-prefixed records.
type segmentWriter struct {
	to      io.Writer // the segment file
	sum     hash.Hash // SHA-256 of the segment file
	zip     *gzip.Writer
	buf     []byte
	raw     int64 // bytes before compression
	segment Segment
}

func newSegmentWriter(to io.Writer, name string, digest Digest) (w *segmentWriter, err error) {
	w = &segmentWriter{to: to, sum: sha256.New(), segment: Segment{File: File{Name: name}, Digest: digest}}
	w.zip, err = gzip.NewWriterLevel(writerFunc(w.write), gzip.BestSpeed)
	return w, err
}

// write writes compressed bytes to the file, and counts and hashes them.
func (w *segmentWriter) write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.segment.Bytes += int64(n)
	w.sum.Write(p[:n])
	return n, err
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (w *segmentWriter) add(r events.Record) error {
	w.buf = appendRecord(w.buf[:0], r)
	if len(w.buf) > maxRecord {
		return fmt.Errorf("event %d of %s has %d bytes, and the limit is %d", r.Revision, r.Stream, len(w.buf), maxRecord)
	}
	w.segment.Digest.add(w.buf)
	w.segment.Events++
	w.segment.Through = r.Position
	w.raw += int64(len(w.buf))
	if _, err := w.zip.Write(binary.AppendUvarint(nil, uint64(len(w.buf)))); err != nil {
		return err
	}
	_, err := w.zip.Write(w.buf)
	return err
}

// finish writes the end of the segment.
func (w *segmentWriter) finish() (Segment, error) {
	err := w.zip.Close()
	w.segment.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return w.segment, err
}

// read calls each with the records of the segment, in batches. If the records do not
// match the digests of the segment, it returns an error, possibly only after the last
// batch. before is the digest of the events before the segment.
func (s Segment) read(ctx context.Context, p Location, before Digest, each func([]events.Record) error) error {
	wrong := func(err error) error {
		return fault.Errorf(fault.KindOf(err), "the segment %s of %s: %w", s.Name, p, err)
	}
	f, err := p.Open(ctx, s.Name)
	if err != nil {
		return wrong(err)
	}
	defer f.Close()
	sum := sha256.New()
	stored := io.TeeReader(f, sum)
	zip, err := gzip.NewReader(stored)
	if err != nil {
		return wrong(err)
	}
	in := &segmentReader{in: bufio.NewReaderSize(zip, 64<<10), digest: before}
	for {
		batch, err := in.batch()
		if err != nil {
			return wrong(err)
		}
		if len(batch) == 0 {
			break
		}
		if err := errors.Join(ctx.Err(), each(batch)); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, stored); err != nil {
		return wrong(err)
	}
	switch {
	case hex.EncodeToString(sum.Sum(nil)) != s.SHA256:
		return wrong(errors.New("its SHA-256 differs from the manifest"))
	case in.digest != s.Digest || in.events != s.Events:
		return wrong(errors.New("the digest of its events differs from the manifest"))
	}
	return nil
}

// segmentReader reads and hashes records.
type segmentReader struct {
	in     *bufio.Reader
	digest Digest
	events int64
}

// batch returns the next records, about MaxBatchBytes in total, or no records at the
// end.
func (s *segmentReader) batch() (batch []events.Record, err error) {
	for size := 0; size < events.MaxBatchBytes && len(batch) < page; {
		length, err := binary.ReadUvarint(s.in)
		if err == io.EOF {
			return batch, nil
		}
		if err == nil && length > maxRecord {
			err = errCorrupt
		}
		if err != nil {
			return nil, err
		}
		b := make([]byte, length)
		if _, err := io.ReadFull(s.in, b); err != nil {
			return nil, err
		}
		s.digest.add(b)
		s.events++
		r, err := parseRecord(b)
		if err != nil {
			return nil, err
		}
		batch = append(batch, r)
		size += len(b)
	}
	return batch, nil
}
