package pdfium

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxObjects = 5_000 // maximum number of objects of a page that are looked at
	maxNested  = 3     // levels of forms in forms
	samples    = 64    // characters of a page that are looked up for a missing map to Unicode
)

// drawing is what a page shows apart from text.
type drawing struct {
	pictured float32 // share of the page that pictures cover
	images   bool    // the page has pictures or forms
	glyphs   int     // drawn shapes of the size of letters
	segments int     // of drawn shapes that may be many letters
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
		d.look(d.call(d.pageObject, page, i), &found, &left, 0)
	}
	found.pictured /= max(all, 1)
	return found
}

// look adds an object of a page, or of a form on it, to what was found.
func (d *document) look(object uint64, found *drawing, left *int, level int) (hasImage bool) {
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
			hasImage = d.look(d.call(d.formObject, object, i), found, left, level+1) || hasImage
		}
	}
	if hasImage && level == 0 { // boxes of objects in forms are not those on the page
		found.pictured += w * h
	}
	return hasImage
}

// scanned reports whether the page has to be recognised from its picture. It errs on the side
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
	if few := q.all && q.letters < 200 && out.inMargins(); few || q.doubtful() {
		return t.drawing(page, out).pictured > 0.7
	}
	return false
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
