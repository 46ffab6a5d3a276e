package audit

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"

	"annals/events/fault"
	"annals/queries/accesslog"
)

// changeMark is the position of an entry in the trail: by time, then by log position.
type changeMark struct {
	time     int64 // Unix microseconds
	position int64
}

// String returns the cursor of the page that begins after the entry.
func (m changeMark) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", m.time, m.position))
}

// before returns the position at which the page of f starts: all entries of the page are
// older.
func (f Filter) before() (changeMark, error) {
	m := changeMark{math.MaxInt64, math.MaxInt64}
	if f.Cursor != "" {
		b, err := base64.RawURLEncoding.DecodeString(f.Cursor)
		if err == nil {
			_, err = fmt.Sscanf(string(b), "%d.%d", &m.time, &m.position)
		}
		if err != nil {
			return m, fault.Errorf(fault.Invalid, "cursor must come from a Link header of this listing")
		}
	}
	if to := f.To.UnixMicro(); !f.To.IsZero() && to <= m.time {
		m = changeMark{time: to} // no position is below 0
	}
	return m, nil
}

// fullMark is the position of an entry in a listing of changes and accesses. Method
// compare orders entries by time, then changes before accesses, then by number.
type fullMark struct {
	time   int64
	access bool
	number int64
}

func (m fullMark) compare(o fullMark) int {
	class := func(m fullMark) int {
		if m.access {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(m.time, o.time), cmp.Compare(class(m), class(o)), cmp.Compare(m.number, o.number))
}

// String returns the cursor of the page after the entry.
func (m fullMark) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%t", m.time, m.number, m.access))
}

// beforeAll is like before, for a listing of changes and accesses.
func (f Filter) beforeAll() (fullMark, error) {
	m := fullMark{math.MaxInt64, true, math.MaxInt64}
	if f.Cursor == "" {
		return m, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(f.Cursor)
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d.%d.%t", &m.time, &m.number, &m.access)
	}
	if err != nil {
		return m, fault.Errorf(fault.Invalid, "cursor must come from a Link header of this listing")
	}
	return m, nil
}

// changes converts m to a position in a listing of changes only.
func (m fullMark) changes() changeMark {
	if m.access {
		return changeMark{m.time, math.MaxInt64}
	}
	return changeMark{m.time, m.number}
}

// accesses converts m to a position in a listing of accesses only.
func (m fullMark) accesses() accesslog.Mark {
	if m.access {
		return accesslog.Mark{Time: m.time, Seq: m.number}
	}
	return accesslog.Mark{Time: m.time}
}
