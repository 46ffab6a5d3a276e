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

// scopedCaller has the scopes of one caller, by segment.
type scopedCaller struct {
	granted   []string
	bySegment map[uint64]*scope
}

// scope is the set of those passages of one segment that a caller may read, including
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

// of returns the caller's scope in each segment of a snapshot, or nil if the caller may
// read everything.
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

// scope returns the passages in or below the granted folders.
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
