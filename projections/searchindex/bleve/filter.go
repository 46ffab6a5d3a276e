package bleve

import (
	"slices"

	"annals/projections/searchindex"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// filter decides which readable passages of a segment a query may find.
type filter struct {
	column *column
	places []bool            // by place, whether it is in or below a requested folder; nil if all are
	sets   []*roaring.Bitmap // a passage must be in each of these sets
}

func newFilter(seg *scorch.SegmentSnapshot, c *column, q searchindex.Query) (*filter, error) {
	f := &filter{column: c}
	if len(q.Folders) > 0 {
		f.places = c.below(q.Folders)
	}
	if q.Document != "" {
		set, err := containing(seg, documentField, []string{q.Document}, false)
		if err != nil {
			return nil, err
		}
		f.sets = append(f.sets, set)
	}
	if len(q.Tags) > 0 {
		set, err := containing(seg, tagField, q.Tags, !q.AnyTag)
		if err != nil {
			return nil, err
		}
		f.sets = append(f.sets, set)
	}
	return f, nil
}

// below reports for each place (a distinct list of a folder and those above it) whether
// it is in or below one of the folders with these ids. It compares ids once for each
// folder, and not for each place or passage.
func (c *column) below(ids []string) []bool {
	among := c.among(ids)
	is := make([]bool, len(c.places))
	for i, folders := range c.places {
		is[i] = slices.ContainsFunc(folders, func(n uint32) bool { return among[n] })
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

func (f *filter) passes(number uint32) bool {
	if f.places != nil && !f.places[f.column.place[number]] {
		return false
	}
	for _, set := range f.sets {
		if !set.Contains(number) {
			return false
		}
	}
	return true
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
