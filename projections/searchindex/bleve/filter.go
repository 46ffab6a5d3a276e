package bleve

import (
	"slices"

	"annals/projections/searchindex"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// filter decides which passages of a query's scope the query may find in one segment.
type filter struct {
	within []*roaring.Bitmap // a passage must be in each of these sets
	except *roaring.Bitmap   // and not in this one, if it is not nil
}

func newFilter(seg *scorch.SegmentSnapshot, q searchindex.Query) (f filter, err error) {
	if q.Document != "" {
		err = f.require(seg, documentField, []string{q.Document}, true)
	}
	if err == nil && len(q.Tags) > 0 {
		err = f.require(seg, tagField, q.Tags, !q.AnyTag)
	}
	for i := 0; err == nil && i < len(q.Required); i++ {
		err = f.require(seg, wordsField, q.Required[i], false)
	}
	if err == nil && len(q.Excluded) > 0 {
		f.except, err = containing(seg, wordsField, q.Excluded, false)
	}
	return f, err
}

func (f *filter) require(seg *scorch.SegmentSnapshot, field string, terms []string, all bool) error {
	set, err := containing(seg, field, terms, all)
	f.within = append(f.within, set)
	return err
}

// below reports for each place (a distinct list of a folder and those above it) whether
// it is in or below one of the folders with these ids. If ids is nil, every place is. It
// compares ids once for each folder, and not for each place or passage.
func (c *column) below(ids []string) []bool {
	among := c.among(ids)
	is := make([]bool, len(c.places))
	for i, folders := range c.places {
		is[i] = ids == nil || slices.ContainsFunc(folders, func(n uint32) bool { return among[n] })
	}
	return is
}

// among reports for each folder of the segment whether its id is one of ids.
func (c *column) among(ids []string) []bool {
	found := make([]bool, len(c.folders))
	for _, id := range ids {
		if n, known := c.folders[id]; known {
			found[n] = true
		}
	}
	return found
}

// all reports whether the filter lets all passages pass.
func (f filter) all() bool { return len(f.within) == 0 && f.except == nil }

func (f filter) passes(number uint32) bool {
	for _, set := range f.within {
		if !set.Contains(number) {
			return false
		}
	}
	return f.except == nil || !f.except.Contains(number)
}

// containing returns the passages that contain at least one of the terms. If all is set,
// it returns the passages that contain every term.
func containing(seg *scorch.SegmentSnapshot, field string, terms []string, all bool) (*roaring.Bitmap, error) {
	d, err := seg.Segment().Dictionary(field)
	if err != nil {
		return nil, err
	}
	var set *roaring.Bitmap
	for _, t := range terms {
		one := roaring.New()
		if err := visit(d, t, false, func(p segment.Posting) { one.Add(uint32(p.Number())) }); err != nil {
			return nil, err
		}
		switch {
		case set == nil:
			set = one
		case all:
			set.And(one)
		default:
			set.Or(one)
		}
	}
	return set, nil
}
