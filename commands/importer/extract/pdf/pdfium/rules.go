package pdfium

import "encoding/binary"

const (
	maxRules     = 1_500 // of a page; one with more is a drawing
	maxRuleWidth = 3     // points
	minRule      = 4     // length in points
)

// rules returns the lines that the page draws horizontally and vertically, such as those between the cells of
// a table: thin rectangles, strokes, and the sides of stroked rectangles. It returns none if they cannot be those of a table.
func (d *document) rules(page uint64) (out []Rule) {
	const path = 2
	var across, down int
	add := func(x0, y0, x1, y1 float32) {
		b := d.displayedBox(x0, y0, x1, y1)
		r := Rule{b.X, b.Right, b.Top, b.Bottom}
		if out = append(out, r); r.Across() {
			across++
		} else {
			down++
		}
	}
	for i := range uint64(min(maxObjects, max(0, int32(d.call(d.countObjects, page))))) {
		object := d.call(d.pageObject, page, i)
		if object == 0 || d.call(d.objectType, object) != path {
			continue
		}
		if segments := int32(d.call(d.pathSegments, object)); segments < 2 || segments > 6 || !d.fills(d.objectBounds, object, d.scratch, d.scratch+4, d.scratch+8, d.scratch+12) {
			continue
		}
		b := d.floats(4) // left, bottom, right, top
		w, h := b[2]-b[0], b[3]-b[1]
		switch {
		case max(w, h) < minRule:
		case min(w, h) <= maxRuleWidth:
			add(b[0], b[1], b[2], b[3])
		case min(w, h) >= minRule && d.isFrame(object):
			add(b[0], b[1], b[2], b[1])
			add(b[0], b[3], b[2], b[3])
			add(b[0], b[1], b[0], b[3])
			add(b[2], b[1], b[2], b[3])
		}
		if len(out) > maxRules {
			return nil
		}
	}
	if across < 3 || down < 2 {
		return nil
	}
	return out
}

// isFrame reports whether a path is a rectangle whose sides are stroked.
func (d *document) isFrame(path uint64) bool {
	if int32(d.call(d.pathSegments, path)) < 4 || !d.fills(d.drawMode, path, d.scratch, d.scratch+4) {
		return false
	}
	if b, _ := d.memory.Read(uint32(d.scratch), 8); len(b) < 8 || binary.LittleEndian.Uint32(b[4:]) == 0 {
		return false
	}
	var last [2]float32
	for i := range uint64(min(5, int32(d.call(d.pathSegments, path)))) {
		if !d.fills(d.segmentPoint, d.call(d.pathSegment, path, i), d.scratch, d.scratch+4) {
			return false
		}
		p := d.floats(2)
		if dx, dy := p[0]-last[0], p[1]-last[1]; i > 0 && max(dx, -dx) > 0.1 && max(dy, -dy) > 0.1 {
			return false
		}
		last = [2]float32{p[0], p[1]}
	}
	return true
}
