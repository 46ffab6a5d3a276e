package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Digest identifies the content of a sequence of events. It does not depend on the
// engine that stores them.
type Digest struct {
	Events int64  `json:"events"`
	SHA256 string `json:"sha256"` // in hex
}

// Digester computes the Digest of a sequence of events. It hashes the id and revision of
// each event, and the length-prefixed stream, type, metadata and data.
type Digester struct {
	Positions bool // also hash the positions

	events int64
	hash   hash.Hash
	buf    []byte
}

// Add adds the next event.
func (d *Digester) Add(r *Record) {
	b := d.buf[:0]
	if d.Positions {
		b = binary.BigEndian.AppendUint64(b, uint64(r.Position))
	}
	b = append(b, r.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Revision))
	for _, text := range [...]string{r.Stream, r.Type} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	for _, text := range [...][]byte{r.Metadata, r.Data} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	if d.hash == nil {
		d.hash = sha256.New()
	}
	d.hash.Write(b)
	d.buf, d.events = b, d.events+1
}

// Sum returns the digest of the events added so far.
func (d *Digester) Sum() Digest {
	if d.hash == nil {
		d.hash = sha256.New()
	}
	return Digest{d.events, hex.EncodeToString(d.hash.Sum(nil))}
}
