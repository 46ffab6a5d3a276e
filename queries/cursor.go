package queries

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

// ErrCursor is in the tree of the error of a search with a cursor that does not fit
// it. Its kind is fault.Invalid.
var ErrCursor = errors.New("the cursor is not one of this search: send the same query, filters and user with it, or leave it out to start over")

// place is where a page of a search begins.
type place struct {
	first int // passages of the first page, on which the order hangs
	shown int // passages on the pages before
}

const cursorSum = 16 // bytes of a checksum

// cursor names the page of a search that begins at a place. It holds a checksum
// of the search, so that another one does not go on with it.
func (s Search) cursor(user events.Principal, at place) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(at.first))
	b = binary.BigEndian.AppendUint16(b, uint16(at.shown))
	return base64.RawURLEncoding.EncodeToString(append(b, s.checksum(user, b)...))
}

// place is the inverse of cursor: that of the first page where there is none.
func (s Search) place(user events.Principal) (place, error) {
	if s.Cursor == "" {
		return place{first: s.Limit}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s.Cursor[:min(len(s.Cursor), 64)])
	if err != nil || len(b) != 4+cursorSum || subtle.ConstantTimeCompare(b[4:], s.checksum(user, b[:4])) != 1 {
		return place{}, fault.Errorf(fault.Invalid, "%w", ErrCursor)
	}
	at := place{int(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))}
	if at.first < 1 || at.first > MaxSearchDepth || at.shown < 1 || at.shown >= MaxSearchDepth {
		return place{}, fault.Errorf(fault.Invalid, "%w", ErrCursor)
	}
	return at, nil
}

// checksum is over all that decides what a search finds, and where a page
// begins.
func (s Search) checksum(user events.Principal, at []byte) []byte {
	s.Cursor, s.Limit = "", 0
	b, err := json.Marshal(struct {
		User   events.Principal
		At     []byte
		Search Search
	}{user, at, s})
	if err != nil {
		panic(err) // a plain struct always can be encoded
	}
	sum := sha256.Sum256(b)
	return sum[:cursorSum]
}
