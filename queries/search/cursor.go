package search

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"

	"annals/events"
	"annals/events/fault"
)

// ErrCursor means that a cursor belongs to another search. Errors that wrap it are of kind
// fault.Invalid.
var ErrCursor = errors.New("the cursor belongs to another search: send it with the same query, filters and user, or leave it out to start over")

// place is the start of a page of a search.
type place struct {
	first int // size of the first page, which determines the order
	shown int // number of passages on earlier pages
}

const checksumSize = 16 // bytes

// cursor returns the cursor of the page that begins at a place. It contains a checksum
// of the search, so that other searches reject the cursor.
func (s Query) cursor(user events.Principal, at place) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(at.first))
	b = binary.BigEndian.AppendUint16(b, uint16(at.shown))
	return base64.RawURLEncoding.EncodeToString(append(b, s.checksum(user, b)...))
}

// place decodes the cursor of s; without a cursor it returns the first page.
func (s Query) place(user events.Principal) (place, error) {
	if s.Cursor == "" {
		return place{first: s.Limit}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s.Cursor[:min(len(s.Cursor), 64)])
	if err != nil || len(b) != 4+checksumSize || subtle.ConstantTimeCompare(b[4:], s.checksum(user, b[:4])) != 1 {
		return place{}, fault.Errorf(fault.Invalid, "%w", ErrCursor)
	}
	at := place{int(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))}
	if at.first < 1 || at.first > MaxDepth || at.shown < 1 || at.shown >= MaxDepth {
		return place{}, fault.Errorf(fault.Invalid, "%w", ErrCursor)
	}
	return at, nil
}

// checksum returns a checksum of everything that determines the results of a search, and
// of at, the encoded start of a page.
func (s Query) checksum(user events.Principal, at []byte) []byte {
	s.Cursor, s.Limit = "", 0
	b, err := json.Marshal(struct {
		User   events.Principal
		At     []byte
		Search Query
	}{user, at, s})
	if err != nil {
		panic(err) // cannot happen: the struct has only plain fields
	}
	sum := sha256.Sum256(b)
	return sum[:checksumSize]
}
