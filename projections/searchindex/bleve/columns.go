package bleve

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"annals/projections/searchindex/language"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// columns has the data that a search needs about every passage, for each segment of the
// latest snapshot. Segments do not change, so each segment is read only once.
type columns struct {
	mu        sync.Mutex
	bySegment map[uint64]*column
}

// column describes the passages of one segment. A passage is identified by its number in
// the segment.
type column struct {
	lengths []uint32          // in terms
	longest uint32            // the greatest one of lengths
	total   uint64            // sum of lengths, including deleted passages
	place   []uint32          // for each passage, its index in places
	places  [][]uint32        // distinct lists of folders that contain a passage, as numbers of folders
	folders map[string]uint32 // the number of each folder, by id
	// languages of the passages, except English
	languages []*language.Language
}

// of returns the columns of a snapshot's segments, in their order.
func (c *columns) of(s *scorch.IndexSnapshot) ([]*column, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	segments := s.Segments()
	found := make([]*column, len(segments))
	current := make(map[uint64]*column, len(segments))
	for i, seg := range segments {
		found[i] = c.bySegment[seg.Id()]
		if found[i] == nil {
			var err error
			if found[i], err = newColumn(seg.Segment()); err != nil {
				return nil, fmt.Errorf("read segment %d of the search index: %w", seg.Id(), err)
			}
		}
		current[seg.Id()] = found[i]
	}
	c.bySegment = current
	return found, nil
}

func newColumn(seg segment.Segment) (*column, error) {
	n := seg.Count()
	c := &column{lengths: make([]uint32, n), place: make([]uint32, n), places: [][]uint32{nil}, folders: make(map[string]uint32)}
	words, err := seg.Dictionary(wordsField)
	if err != nil {
		return nil, err
	}
	err = visit(words, everyPassage, true, func(p segment.Posting) {
		c.lengths[p.Number()] = fieldLength(p.Norm())
		c.total += uint64(c.lengths[p.Number()])
		c.longest = max(c.longest, c.lengths[p.Number()])
	})
	if err != nil {
		return nil, err
	}
	for _, l := range language.All {
		has, err := words.Contains([]byte(l.Mark))
		if err != nil {
			return nil, err
		}
		if has {
			c.languages = append(c.languages, l)
		}
	}
	folders, err := seg.Dictionary(foldersField)
	if err != nil {
		return nil, err
	}
	entries := folders.AutomatonIterator(nil, nil, nil)
	for {
		entry, err := entries.Next()
		if err != nil || entry == nil {
			return c, err
		}
		c.places = append(c.places, c.numbers(entry.Term))
		if err := visit(folders, entry.Term, false, func(p segment.Posting) { c.place[p.Number()] = uint32(len(c.places) - 1) }); err != nil {
			return nil, err
		}
	}
}

// live returns the sum of the lengths of all passages that are not deleted.
func (c *column) live(deleted *roaring.Bitmap) (total uint64) {
	total = c.total
	if deleted != nil {
		for d := deleted.Iterator(); d.HasNext(); {
			total -= uint64(c.lengths[d.Next()])
		}
	}
	return total
}

// numbers returns the numbers of the folders whose ids are joined in a term of
// foldersField.
func (c *column) numbers(term string) []uint32 {
	var numbers []uint32
	for id := range strings.SplitSeq(term, folderSeparator) {
		n, known := c.folders[id]
		if !known {
			n = uint32(len(c.folders))
			c.folders[strings.Clone(id)] = n
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// fieldLength computes the number of terms of a field from the norm that bleve stores.
func fieldLength(norm float64) uint32 {
	if norm <= 0 || math.IsInf(norm, 0) {
		return 0
	}
	return uint32(math.Round(1 / (norm * norm)))
}

// visit calls f with each posting of a term, including postings of deleted passages.
func visit(d segment.TermDictionary, term string, counted bool, f func(segment.Posting)) error {
	list, err := d.PostingsList([]byte(term), nil, nil)
	if err != nil {
		return err
	}
	postings := list.Iterator(counted, counted, false, nil)
	for {
		p, err := postings.Next()
		if err != nil || p == nil {
			return err
		}
		f(p)
	}
}
