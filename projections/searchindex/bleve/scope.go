package bleve

import (
	"slices"
	"sync"

	"annals/projections/searchindex"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// scopeCache holds the scopes of the latest callers: a user searches several times
// with the same rights, and every search queries the index twice.
type scopeCache struct {
	mu    sync.Mutex
	calls []*scopedCaller // the latest first
}

// cachedScopes bounds the callers in the cache. Each takes a bit for every passage.
const cachedScopes = 16

// scopedCaller is what a caller may read, by segment.
type scopedCaller struct {
	granted   []string
	bySegment map[uint64]*scope
}

// scope holds the passages of one segment that a caller may read, including deleted
// ones, and the statistics of those passages that scores are computed from.
type scope struct {
	set   *roaring.Bitmap
	bits  []uint64 // the set as a bit for each passage, for faster lookups
	total uint64   // sum of their lengths
}

// has reports whether a passage is in the scope. A nil scope has all.
func (s *scope) has(number uint32) bool {
	return s == nil || s.bits[number/64]>>(number%64)&1 == 1
}

// of returns the scopes of a query in the segments of a snapshot, nil if the caller
// may read everything.
func (s *scopeCache) of(snapshot *scorch.IndexSnapshot, columns []*column, q searchindex.Query) []*scope {
	if q.All {
		return nil
	}
	segments := snapshot.Segments()
	known := s.known(q.Granted)
	found := make([]*scope, len(segments))
	current := make(map[uint64]*scope, len(segments))
	for i, seg := range segments {
		found[i] = known[seg.Id()]
		if found[i] == nil {
			found[i] = columns[i].scope(q.Granted)
		}
		current[seg.Id()] = found[i]
	}
	s.keep(q.Granted, current)
	return found
}

// known returns the cached scopes of a caller, by segment.
func (s *scopeCache) known(granted []string) map[uint64]*scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(granted); i >= 0 {
		return s.calls[i].bySegment
	}
	return nil
}

// keep replaces the cached scopes of a caller.
func (s *scopeCache) keep(granted []string, current map[uint64]*scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var caller *scopedCaller
	if i := s.find(granted); i >= 0 {
		caller = s.calls[i]
		s.calls = slices.Delete(s.calls, i, i+1)
		caller.bySegment = current
	} else {
		caller = &scopedCaller{slices.Clone(granted), current}
		s.calls = s.calls[:min(len(s.calls), cachedScopes-1)]
	}
	s.calls = slices.Insert(s.calls, 0, caller)
}

func (s *scopeCache) find(granted []string) int {
	return slices.IndexFunc(s.calls, func(c *scopedCaller) bool { return slices.Equal(c.granted, granted) })
}

// scope returns the passages in or below folders that are granted.
func (c *column) scope(granted []string) *scope {
	pass := c.below(granted)
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

// countWithin returns the number of passages that are both on a list and in a set.
func countWithin(list segment.PostingsList, set *roaring.Bitmap) (uint64, error) {
	if list.Count() == 0 {
		return 0, nil // its iterator is shared
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
