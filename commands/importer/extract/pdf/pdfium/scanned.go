package pdfium

import (
	"encoding/binary"
	"math"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdf/quality"
)

const (
	maxObjects = 5_000 // maximum number of objects of a page that are looked at
	maxNested  = 3     // levels of forms in forms
	samples    = 64    // characters of a page that are looked up for a missing map to Unicode, or for being shown

	maxPictures = 1_000 // maximum number of pictures of a page that are compared with its text
	maxStudied  = 200   // of these, whose colours and resolution are looked at
	minStudied  = 0.005 // share of the page that such a picture covers at least: scans may be cut into strips
	maxTyped    = 1_500 // letters of a page with typed text of which pictures may show more
	minScanDPI  = 100
)

// drawing is what a page shows apart from text.
type drawing struct {
	pictures []picture
	studied  int     // pictures whose colours and resolution were looked at
	pictured float32 // share of the page that pictures cover
	images   bool    // the page has pictures or forms
	glyphs   int     // drawn shapes of the size of letters
	segments int     // of drawn shapes that may be many letters
}

// picture is a picture on a page as displayed.
type picture struct {
	box  Word
	grey bool // it has no colours, and the resolution of a scan
}

// drawing looks at the objects of a page.
func (d *document) drawing(page uint64, out *Page) drawing {
	var found drawing
	left := maxObjects
	all := out.Width * out.Height
	for i := range uint64(max(0, int32(d.call(d.countObjects, page)))) {
		if left--; left < 0 {
			break
		}
		d.look(page, d.call(d.pageObject, page, i), &found, &left, 0)
	}
	found.pictured /= max(all, 1)
	return found
}

// look adds an object of a page, or of a form on it, to what was found.
func (d *document) look(page, object uint64, found *drawing, left *int, level int) (hasImage bool) {
	const path, image, form = 2, 3, 5 // the kinds of objects, as PDFium numbers them
	if object == 0 || !d.fills(d.objectBounds, object, d.scratch, d.scratch+4, d.scratch+8, d.scratch+12) {
		return false
	}
	box := d.floats(4) // left, bottom, right, top
	w, h := box[2]-box[0], box[3]-box[1]
	switch d.call(d.objectType, object) {
	case path:
		segments := int(max(0, int32(d.call(d.pathSegments, object))))
		if segments > 6 && h > 2 && h < 40 && w > 0.5 && w < 60 { // a rectangle has fewer
			found.glyphs++
		}
		if segments > 200 {
			found.segments += segments
		}
	case image:
		found.images, hasImage = true, true
	case form:
		found.images = true
		if level >= maxNested {
			return false
		}
		for i := range uint64(max(0, int32(d.call(d.formCount, object)))) {
			if *left--; *left < 0 {
				break
			}
			hasImage = d.look(page, d.call(d.formObject, object, i), found, left, level+1) || hasImage
		}
	}
	if hasImage && level == 0 { // boxes of objects in forms are not those on the page
		found.pictured += w * h
		if len(found.pictures) < maxPictures {
			p := picture{box: d.displayedBox(box[0], box[1], box[2], box[3])}
			if found.studied < maxStudied && w*h >= minStudied*d.w*d.h {
				found.studied++
				p.grey = d.isGrey(page, object)
			}
			found.pictures = append(found.pictures, p)
		}
	}
	return hasImage
}

// isGrey reports whether an object is an image without colours that has the resolution of a scan.
func (d *document) isGrey(page, object uint64) bool {
	const image, indexed = 3, 10 // as PDFium numbers kinds of objects and of colours
	if d.call(d.objectType, object) != image || !d.fills(d.imageMetadata, object, page, d.scratch) {
		return false
	}
	b, ok := d.memory.Read(uint32(d.scratch), 24) // width, height, their resolutions, bits of a pixel, colours
	if !ok {
		return false
	}
	dpi, bits, colours := math.Float32frombits(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:])
	return dpi >= minScanDPI && (bits == 1 || bits == 8 && colours != indexed)
}

// scanned reports whether the page has to be recognised from its picture, and sets Typed. It errs on the side
// of the page's own text.
func (t *textPage) scanned(page uint64, out *Page) bool {
	q := qualityOf(out.Lines)
	if len(out.Lines) > 0 && q.Rubbish(t.missing()) {
		return true
	}
	if q.Letters == 0 {
		shown := t.drawing(page, out)
		out.Blank = len(out.Lines) == 0 && !shown.images && !shown.lettered()
		return shown.pictured > 0.05 || shown.lettered()
	}
	few := q.All && q.Letters < 200 && out.inMargins()
	typed := q.All && q.Letters < maxTyped
	doubtful, implausible := q.Doubtful(), q.Implausible()
	if !few && !typed && !doubtful && !implausible {
		return false
	}
	shown := t.drawing(page, out)
	if !shown.images {
		return false
	}
	unread, grey := shown.unread(out)
	full, beside := shown.pictured > 0.7, unread > 0.85 || grey > 0.2
	visible := (full || beside) && !t.invisible() // text that is not shown comes from an earlier recognition
	out.Typed = visible && !doubtful && (full && few || typed && beside)
	return out.Typed || full && (few || doubtful || implausible && !visible)
}

// unread returns the share of a page that pictures cover on which there is hardly any text, and the
// share of those that look like scans. A picture below large letters is the background of a slide.
func (d *drawing) unread(out *Page) (all, grey float32) {
	for _, p := range d.pictures {
		x, right := max(p.box.X, 0), min(p.box.Right, out.Width)
		top, bottom := max(p.box.Top, 0), min(p.box.Bottom, out.Height)
		area, text := (right-x)*(bottom-top), float32(0)
		if !(right > x && bottom > top) {
			continue
		}
		for i := range out.Lines {
			b := out.Lines[i].box()
			if cx, cy := (b.X+b.Right)/2, (b.Top+b.Bottom)/2; cx < x || cx > right || cy < top || cy > bottom {
				continue
			}
			if text += (b.Right - b.X) * (b.Bottom - b.Top); out.Lines[i].Size >= 14 {
				text = area
			}
		}
		if text > area*0.04 {
			continue
		}
		all += area
		if p.grey {
			grey += area
		}
	}
	page := max(out.Width*out.Height, 1)
	return all / page, grey / page
}

// invisible reports whether most of the text is not shown, as that of a recognised scan is.
func (t *textPage) invisible() bool {
	const hidden = 3 // as PDF numbers ways to draw text
	looked, not := 0, 0
	for i := 0; i < len(t.text); i += 1 + len(t.text)/samples {
		if c := t.charIndexOf(i); c >= 0 && t.text[i] > ' ' {
			if object := t.call(t.textObject, t.handle, uint64(c)); object != 0 {
				looked++
				if t.call(t.renderMode, object) == hidden {
					not++
				}
			}
		}
	}
	return not*2 > looked
}

// lettered reports whether the shapes look like letters that are drawn as paths.
func (d *drawing) lettered() bool { return d.glyphs >= 60 || d.segments >= 2000 }

// missing looks for characters that the page's fonts do not map to Unicode.
func (t *textPage) missing() (m quality.Missing) {
	unusable := 0
	for _, r := range t.text {
		switch {
		case r == '\r' || r == '\n' || r == '\t' || unicode.IsSpace(r):
			continue
		case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError, unicode.Is(unicode.Co, r):
			unusable++
		}
		m.Visible++
	}
	if m.Visible == 0 {
		return m
	}
	m.Unusable = float32(unusable) / float32(m.Visible)
	looked, unmapped := 0, 0
	for i := 0; i < len(t.text); i += 1 + len(t.text)/samples {
		if c := t.charIndexOf(i); c >= 0 && t.text[i] > ' ' {
			looked++
			if int32(t.call(t.unmapped, t.handle, uint64(c))) == 1 {
				unmapped++
			}
		}
	}
	m.Unmapped = float32(unmapped) / float32(max(looked, 1))
	return m
}

// qualityOf measures the words of lines.
func qualityOf(lines []Line) *quality.Text {
	n := 0
	for i := range lines {
		n += len(lines[i].Words)
	}
	return quality.Of(n, func(yield func(string) bool) {
		for i := range lines {
			for _, w := range lines[i].Words {
				if !yield(w.Text) {
					return
				}
			}
		}
	})
}

// inMargins reports whether all text is at the edges of the page, as stamps are.
func (p *Page) inMargins() bool {
	for i := range p.Lines {
		if l := &p.Lines[i]; !l.Turned && l.Y > p.Height*0.1 && l.Y < p.Height*0.9 {
			return false
		}
	}
	return true
}
