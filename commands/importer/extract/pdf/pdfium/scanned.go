package pdfium

import (
	"encoding/binary"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxObjects = 5_000 // maximum number of objects of a page that are looked at
	maxNested  = 3     // levels of forms in forms
	samples    = 64    // characters of a page that are looked up for a missing map to Unicode, or for being shown

	maxPictures = 1_000 // maximum number of pictures of a page that are compared with its text
	maxTyped    = 1_500 // letters of a page with typed text of which pictures may show more
	minScanDPI  = 100
)

// drawing is what a page shows apart from text.
type drawing struct {
	pictures []picture
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
			found.pictures = append(found.pictures, picture{d.displayedBox(box[0], box[1], box[2], box[3]), d.isGrey(page, object)})
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
	var q quality
	q.count(out.Lines)
	if len(out.Lines) > 0 && q.rubbish(t.missing()) {
		return true
	}
	if q.letters == 0 {
		shown := t.drawing(page, out)
		out.Blank = len(out.Lines) == 0 && !shown.images && !shown.lettered()
		return shown.pictured > 0.05 || shown.lettered()
	}
	few := q.all && q.letters < 200 && out.inMargins()
	typed := q.all && q.letters < maxTyped
	doubtful, implausible := q.doubtful(), q.implausible()
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

// missing describes characters that the page's fonts do not map to Unicode.
type missing struct {
	unusable float32 // share of characters without any meaning
	unmapped float32 // share of characters that PDFium shows by their codes in the font
	visible  int     // number of characters that are no spaces
}

func (t *textPage) missing() (m missing) {
	unusable := 0
	for _, r := range t.text {
		switch {
		case r == '\r' || r == '\n' || r == '\t' || unicode.IsSpace(r):
			continue
		case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError, unicode.Is(unicode.Co, r):
			unusable++
		}
		m.visible++
	}
	if m.visible == 0 {
		return m
	}
	m.unusable = float32(unusable) / float32(m.visible)
	looked, unmapped := 0, 0
	for i := 0; i < len(t.text); i += 1 + len(t.text)/samples {
		if c := t.charIndexOf(i); c >= 0 && t.text[i] > ' ' {
			looked++
			if int32(t.call(t.unmapped, t.handle, uint64(c))) == 1 {
				unmapped++
			}
		}
	}
	m.unmapped = float32(unmapped) / float32(max(looked, 1))
	return m
}

// quality measures how much lines look like text of some language.
type quality struct {
	letters       int // letters and digits; of a sample of the words, if all is false
	all           bool
	latin, upper8 int // Latin letters, and those of the upper half of Latin-1
	words, odd    int // words with letters, and those that no language has
	mixed         int // words with digits between small letters

	seen                  map[string]bool // different words of Latin letters only
	seenLatin, seenVowels int             // letters of these
}

// sampled is the number of words of a page that are looked at.
const sampled = 250

func (q *quality) count(lines []Line) {
	q.seen = map[string]bool{}
	total := 0
	for i := range lines {
		total += len(lines[i].Words)
	}
	step := 1 + total/sampled
	q.all = step == 1
	at := 0
	for i := range lines {
		for _, w := range lines[i].Words {
			if at%step == 0 {
				q.word(w.Text)
			}
			at++
		}
	}
}

// vowels of the Latin alphabets. They are 30 to 50 % of the letters of a language.
const vowels = "aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝāăąēĕėęěīĭįıōŏőœūŭůűųĀĂĄĒĖĘĚĪĮŌŐŒŪŮŰŲ"

// digitInWord matches digits between small letters, as in a bad recognition.
var digitInWord = regexp.MustCompile(`\p{Ll}[0-9]\p{Ll}`)

// word counts a word.
func (q *quality) word(s string) {
	s = strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var latin, vowel, other, digits, symbols, turns, repeated int
	var last rune
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
			if strings.ContainsRune(vowels, r) {
				vowel++
			}
			if r >= 0xc0 && r <= 0xff {
				q.upper8++
			}
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				turns++
			}
		case unicode.IsLetter(r):
			other++
		case unicode.IsDigit(r):
			digits++
		case !strings.ContainsRune("-'’.,/:&@_()–\u00ad", r):
			symbols++
		}
		if r == last && !unicode.IsDigit(r) {
			repeated++
		}
		last = r
	}
	q.letters += latin + other + digits
	q.latin += latin
	if latin+other == 0 {
		return
	}
	q.words++
	if latin >= 4 && vowel == 0 && s != strings.ToUpper(s) || latin > 1 && other > 1 || symbols > 0 && latin+other < 4*symbols || turns > 1 || repeated > 3 {
		q.odd++
	}
	if digits > 0 && digitInWord.MatchString(s) {
		q.mixed++
	}
	if latin > 2 && other+digits+symbols == 0 && !q.seen[s] {
		q.seen[s] = true
		q.seenLatin += latin
		q.seenVowels += vowel
	}
}

// rubbish reports whether the text cannot be that of the page.
func (q *quality) rubbish(m missing) bool {
	vowels := float32(q.seenVowels) / float32(max(q.seenLatin, 1))
	switch {
	case m.visible >= 15 && m.unusable > 0.3:
		return true
	case len(q.seen) >= 50 && vowels < 0.24: // as if the letters were shifted in the alphabet
		return true
	case q.latin >= 100 && q.upper8*5 > q.latin*3: // text in another alphabet, read as Latin-1
		return true
	}
	return m.visible >= 40 && m.unmapped > 0.5 && (len(q.seen) >= 10 && vowels < 0.28 || q.odd*10 > q.words*3)
}

// implausible reports whether the text may have shifted or confused letters, even if it has few different words.
func (q *quality) implausible() bool {
	return len(q.seen) >= 8 && float32(q.seenVowels) < 0.26*float32(q.seenLatin) || q.words >= 15 && q.mixed*5 > q.words*2
}

// doubtful reports whether the text may be a bad recognition of a scan.
func (q *quality) doubtful() bool { return q.words >= 15 && q.odd*5 > q.words*2 }

// inMargins reports whether all text is at the edges of the page, as stamps are.
func (p *Page) inMargins() bool {
	for i := range p.Lines {
		if l := &p.Lines[i]; !l.Turned && l.Y > p.Height*0.1 && l.Y < p.Height*0.9 {
			return false
		}
	}
	return true
}
