package extract

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdfium"
)

const (
	longestHeading = 200 // runes; longer ones are text in large letters
	maxSizes       = 5   // levels that font sizes can make
)

// pdfStyle is how a document tells its headings from its text.
type pdfStyle struct {
	body, weight float64   // of most letters
	sizes        []float64 // of headings, falling
	bold         bool      // bold lines of the text's own size are headings too
	base         int       // levels above those of font sizes, taken by bookmarks
	off          bool      // the outline has them all
}

// sizeOf rounds a size, so that one style stays one style.
func sizeOf(l *pdfLine) float64 { return math.Round(float64(l.Size)*2) / 2 }

// study learns the style of a document from its first pages.
func (s *pdfStyle) study(pages []pdfPage, doc pdfium.Document) {
	sizes, weights := map[float64]int{}, map[float64]int{}
	lines := 0
	for _, p := range pages {
		for i := range p.lines {
			sizes[sizeOf(&p.lines[i])] += utf8.RuneCountInString(p.lines[i].Text)
			lines++
		}
	}
	s.body = commonest(sizes)
	for _, p := range pages {
		for i := range p.lines {
			if l := &p.lines[i]; sizeOf(l) == s.body {
				weights[math.Round(float64(l.Weight)/20)*20] += utf8.RuneCountInString(l.Text)
			}
		}
	}
	s.weight = commonest(weights)
	s.outline(doc)
	large, bold := map[float64]int{}, 0
	for _, p := range pages {
		for i := range p.lines {
			l := &p.lines[i]
			switch {
			case s.isLarge(l):
				large[sizeOf(l)]++
			case s.isBold(l):
				bold++
			}
		}
	}
	for size, n := range large {
		if n*3 <= lines { // what a third of the lines are in is no heading
			s.sizes = append(s.sizes, size)
		}
	}
	slices.SortFunc(s.sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	s.sizes = s.sizes[:min(len(s.sizes), maxSizes)]
	s.bold = bold*8 <= lines
}

// outline decides what font sizes may add to the document's bookmarks: nothing
// where these divide it well, levels below them where there are few.
func (s *pdfStyle) outline(doc pdfium.Document) {
	marks := 0
	for _, b := range doc.Outline {
		if b.Page > 0 {
			marks++
			s.base = max(s.base, b.Level)
		}
	}
	s.off = marks >= max(3, doc.Pages/4)
	if s.off {
		s.base = 0
	}
	s.base = min(s.base, 3)
}

// commonest returns what most letters have, the smaller of equals.
func commonest(counts map[float64]int) float64 {
	best, most := 0.0, -1
	for value, n := range counts {
		if n > most || n == most && value < best {
			best, most = value, n
		}
	}
	return best
}

// isHeadline reports whether a line can be a heading by its words alone.
func isHeadline(l *pdfLine) bool {
	text := l.Text
	if l.furniture || l.running || l.Turned || utf8.RuneCountInString(text) > longestHeading || strings.HasSuffix(text, softHyphen) {
		return false
	}
	letters, others := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			letters++
		case !unicode.IsSpace(r):
			others++
		}
	}
	return letters >= 2 && letters >= others // rows of figures are none
}

func (s *pdfStyle) isLarge(l *pdfLine) bool {
	return s.body > 0 && sizeOf(l) >= s.body*1.12 && isHeadline(l)
}

var numbered = regexp.MustCompile(`^(?:(?:[0-9]{1,3}|[A-Z])(?:\.[0-9]{1,3}){0,5}\.?|[IVX]{1,5}\.|(?:Chapter|Section|Appendix|Part) [0-9A-Z]{1,4}[.:]?) +\p{L}`)

// innerStop is the end of one sentence and the beginning of another.
var innerStop = regexp.MustCompile(`\p{Ll}{2}\. \p{Lu}`)

// isBold finds headings in letters of the text's own size: bold, short, and
// not the beginning of a sentence that goes on.
func (s *pdfStyle) isBold(l *pdfLine) bool {
	if s.weight <= 0 || float64(l.Weight) < s.weight+120 || sizeOf(l) < s.body*0.95 || !isHeadline(l) {
		return false
	}
	n := utf8.RuneCountInString(l.Text)
	if n < 4 || n > 80 || innerStop.MatchString(l.Text) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(l.Text)
	first, _ := utf8.DecodeRuneInString(l.Text)
	return !strings.ContainsRune(".,;", last) && !unicode.IsLower(first)
}

// headings marks the lines of a page that are headings by their font.
func (s *pdfStyle) headings(lines []pdfLine) {
	if s.off {
		return
	}
	for i := range lines {
		l := &lines[i]
		if l.level > 0 {
			continue
		}
		level := s.level(l)
		if level == 0 || !standsAlone(lines, i) {
			continue
		}
		l.level = level
		if i > 0 && lines[i-1].level == level && lines[i-1].title == "" && goesOn(&lines[i-1], l) {
			l.continues = true
		}
	}
	s.dropParagraphs(lines)
}

// dropParagraphs unmarks headings that run on like text: of many lines, or of
// whole sentences.
func (s *pdfStyle) dropParagraphs(lines []pdfLine) {
	for i := 0; i < len(lines); i++ {
		if lines[i].level == 0 || lines[i].title != "" {
			continue
		}
		end, runes := i+1, utf8.RuneCountInString(lines[i].Text)
		for ; end < len(lines) && lines[end].continues; end++ {
			runes += utf8.RuneCountInString(lines[end].Text)
		}
		if end-i > 4 || runes > longestHeading || runes > 60 && endsSentence(lines[end-1].Text) {
			for j := i; j < end; j++ {
				lines[j].level, lines[j].continues = 0, false
			}
		}
		i = end - 1
	}
}

// level returns how deep a heading of such a font is, 0 for text.
func (s *pdfStyle) level(l *pdfLine) int {
	if s.isLarge(l) {
		for i, size := range s.sizes {
			if sizeOf(l) >= size {
				return s.base + i + 1
			}
		}
		return 0
	}
	if s.bold && s.isBold(l) {
		level := s.base + len(s.sizes) + 1
		if m := numbered.FindString(l.Text); m != "" {
			level += strings.Count(strings.TrimRight(strings.Fields(m)[0], "."), ".")
		}
		return level
	}
	return 0
}

// standsAlone reports whether no other text shares a heading's line: a large
// initial, or a bold word that begins a paragraph, is no heading.
func standsAlone(lines []pdfLine, i int) bool {
	for _, j := range []int{i - 1, i + 1} {
		if j < 0 || j >= len(lines) || lines[j].furniture {
			continue
		}
		near := max(lines[i].Size, lines[j].Size)
		if absf(lines[i].Y-lines[j].Y) < near*0.4 && absf(lines[i].Size-lines[j].Size) > 0.6 ||
			absf(lines[i].Y-lines[j].Y) < near*0.4 && absf(lines[i].Weight-lines[j].Weight) > 60 {
			return false
		}
	}
	return true
}

// goesOn reports whether b is the next line of the heading that a belongs to.
func goesOn(a, b *pdfLine) bool {
	down := b.Y - a.Y
	return absf(a.Size-b.Size) < 0.6 && down > -a.Size*0.4 && down < a.Size*1.9 && !numbered.MatchString(b.Text)
}

func absf(f float32) float32 { return max(f, -f) }
