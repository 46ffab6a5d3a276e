package bleve

import (
	"slices"
	"sync"

	"annals/projections/searchindex"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// scopeCache has the scopes of the latest callers. A user usually searches several times
// with the same rights, and each search with feedback queries the index twice.
type scopeCache struct {
	mu    sync.Mutex
	calls []*scopedCaller // the latest caller first
}

// cachedScopes is the maximum number of callers in the cache. Each caller takes one bit
// for every passage.
const cachedScopes = 16

// scopedCaller has the scopes of one caller in some folders, by segment.
type scopedCaller struct {
	in        area
	bySegment map[uint64]*scope
}

// area is the part of the index in which a query searches: the passages below granted
// folders that are below one of the requested folders, too. A nil list does not restrict
// it.
type area struct{ granted, requested []string }

// areaOf returns the area of a query, and whether it restricts the query at all.
func areaOf(q searchindex.Query) (in area, restricts bool) {
	if len(q.Folders) > 0 {
		in.requested = q.Folders
	}
	if !q.All && !(q.Inside && len(q.Folders) > 0) {
		in.granted = q.Granted
	}
	return in, in.granted != nil || in.requested != nil
}

func (a area) equal(b area) bool {
	return (a.granted == nil) == (b.granted == nil) && slices.Equal(a.granted, b.granted) && slices.Equal(a.requested, b.requested)
}

// scope is the set of those passages of one segment that a query searches, including
// deleted passages, with the statistics of the set that scores are computed from.
type scope struct {
	set   *roaring.Bitmap
	bits  []uint64 // set as one bit for each passage, for faster lookups
	total uint64   // sum of the lengths of the passages in set
}

// has reports whether a passage is in the scope. A nil scope contains all passages.
func (s *scope) has(number uint32) bool {
	return s == nil || s.bits[number/64]>>(number%64)&1 == 1
}

// of returns the scope of a query in each segment of a snapshot, or nil if the query
// searches all passages.
func (s *scopeCache) of(snapshot *scorch.IndexSnapshot, columns []*column, q searchindex.Query) []*scope {
	in, restricts := areaOf(q)
	if !restricts {
		return nil
	}
	segments := snapshot.Segments()
	known := s.known(in)
	found := make([]*scope, len(segments))
	current := make(map[uint64]*scope, len(segments))
	for i, seg := range segments {
		found[i] = known[seg.Id()]
		if found[i] == nil {
			found[i] = columns[i].scope(in)
		}
		current[seg.Id()] = found[i]
	}
	s.keep(in, current)
	return found
}

// known returns the cached scopes of an area, by segment.
func (s *scopeCache) known(in area) map[uint64]*scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(in); i >= 0 {
		return s.calls[i].bySegment
	}
	return nil
}

// keep replaces the cached scopes of an area.
func (s *scopeCache) keep(in area, current map[uint64]*scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var caller *scopedCaller
	if i := s.find(in); i >= 0 {
		caller = s.calls[i]
		s.calls = slices.Delete(s.calls, i, i+1)
		caller.bySegment = current
	} else {
		caller = &scopedCaller{area{slices.Clone(in.granted), slices.Clone(in.requested)}, current}
		s.calls = s.calls[:min(len(s.calls), cachedScopes-1)]
	}
	s.calls = slices.Insert(s.calls, 0, caller)
}

func (s *scopeCache) find(in area) int {
	return slices.IndexFunc(s.calls, func(c *scopedCaller) bool { return c.in.equal(in) })
}

// scope returns the passages of an area.
func (c *column) scope(in area) *scope {
	pass := c.below(in.granted)
	for i, is := range c.below(in.requested) {
		pass[i] = pass[i] && is
	}
	s := new(scope)
	s.bits = make([]uint64, (len(c.place)+63)/64)
	for number, place := range c.place {
		if pass[place] {
			s.bits[number/64] |= 1 << (number % 64)
			s.total += uint64(c.lengths[number])
		}
	}
	s.set = roaring.FromDense(s.bits, true)
	return s
}

// live returns the scope without deleted passages.
func (s *scope) live(c *column, deleted *roaring.Bitmap) *scope {
	if deleted == nil || !s.set.Intersects(deleted) {
		return s
	}
	gone := roaring.And(s.set, deleted)
	l := &scope{roaring.AndNot(s.set, gone), slices.Clone(s.bits), s.total}
	for d := gone.Iterator(); d.HasNext(); {
		number := d.Next()
		l.bits[number/64] &^= 1 << (number % 64)
		l.total -= uint64(c.lengths[number])
	}
	return l
}

// countWithin returns the number of passages that are both in a posting list and in a
// set.
func countWithin(list segment.PostingsList, set *roaring.Bitmap) (uint64, error) {
	if list.Count() == 0 {
		return 0, nil // all empty lists share an iterator, which must not be changed
	}
	postings := list.Iterator(false, false, false, nil)
	if known, ok := postings.(segment.OptimizablePostingsIterator); ok {
		if number, only := known.DocNum1Hit(); only {
			if set.Contains(uint32(number)) {
				return 1, nil
			}
			return 0, nil
		}
		if all := known.ActualBitmap(); all != nil {
			return all.AndCardinality(set), nil
		}
	}
	var found uint64
	for {
		p, err := postings.Next()
		if err != nil || p == nil {
			return found, err
		}
		if set.Contains(uint32(p.Number())) {
			found++
		}
	}
}
