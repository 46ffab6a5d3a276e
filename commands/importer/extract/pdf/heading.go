package pdf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract/pdf/pdfium"
)

const (
	maxHeading = 200 // runes; longer text in large letters is not a heading
	maxSizes   = 5   // maximum number of font sizes that are heading levels
)

// style describes the fonts of a document's text and of its headings.
type style struct {
	body, weight float64          // font size and weight of most letters
	sizes        []float64        // smallest font size of each level of headings, largest first
	bold         bool             // bold lines in the body size are headings, too
	base         int              // number of levels of bookmarks; font sizes get levels after these
	lists        map[float64]bool // larger font sizes whose lines are items of lists, as on slides
	off          bool             // only bookmarks are headings
}

// sizeOf rounds a font size, so that small differences do not matter.
func sizeOf(l *layoutLine) float64 { return math.Round(float64(l.Size)*2) / 2 }

// study determines the style of a document from its first pages.
func (s *style) study(pages []layoutPage, doc pdfium.Document) {
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
	large, estimated, bold := map[float64]int{}, map[float64]bool{}, 0
	items := map[float64]int{}
	for _, p := range pages {
		for i := range p.lines {
			l := &p.lines[i]
			switch {
			case s.isLarge(l):
				large[sizeOf(l)]++
				if bullet.MatchString(l.Text) {
					items[sizeOf(l)]++
				}
				estimated[sizeOf(l)] = estimated[sizeOf(l)] || l.Confidence > 0
			case s.isBold(l) && !beginsLower(l.Text) && !strings.HasSuffix(l.Text, ","):
				bold++
			}
		}
	}
	s.lists = map[float64]bool{}
	for size, n := range large {
		if s.lists[size] = items[size] >= 4 && items[size]*3 >= n; s.lists[size] {
			continue
		}
		if n*3 <= lines { // too many lines for headings
			s.sizes = append(s.sizes, size)
		}
	}
	slices.SortFunc(s.sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	s.sizes = levels(s.sizes, estimated)
	s.sizes = s.sizes[:min(len(s.sizes), maxSizes)]
	s.bold = bold*4 <= lines
}

// levels joins font sizes that belong to the same level of headings. The sizes of recognised
// lines are estimates, which differ from page to page.
func levels(sizes []float64, estimated map[float64]bool) (smallest []float64) {
	const near = 0.85
	var largest float64 // of the current level
	for _, size := range sizes {
		if n := len(smallest); n > 0 && size >= largest*near && (estimated[size] || estimated[smallest[n-1]]) {
			smallest[n-1] = size
			continue
		}
		smallest, largest = append(smallest, size), size
	}
	return smallest
}

// outline sets the number of levels that bookmarks have, so that headings recognised by their
// font get levels after these. If the document has many bookmarks, only the bookmarks are
// headings.
func (s *style) outline(doc pdfium.Document) {
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

// commonest returns the value with the highest count. If several values have this count it
// returns the smallest of them.
func commonest(counts map[float64]int) float64 {
	best, highest := 0.0, -1
	for value, n := range counts {
		if n > highest || n == highest && value < best {
			best, highest = value, n
		}
	}
	return best
}

// isHeadline reports whether a line's text can be a heading.
func isHeadline(l *layoutLine) bool {
	text := l.Text
	if l.furniture || l.running || l.Turned || l.rows != nil || utf8.RuneCountInString(text) > maxHeading || strings.HasSuffix(text, softHyphen) || strings.HasPrefix(text, ",") ||
		hasLeader(text) || leader.MatchString(text) || isNames(text) || caption.MatchString(text) || stamp.MatchString(text) {
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
	if l.Confidence > 0 { // lines and logos are easily taken for letters
		return letters >= 5 && letters >= 4*others && l.Confidence >= 0.7
	}
	return letters >= 2 && letters >= others || reference.MatchString(text) // otherwise the line is a row of numbers
}

// isNames reports whether a text is a list of people: several names of two to four words that
// begin with capitals, separated by commas. Marks of their notes may follow the names.
func isNames(text string) bool {
	names := 0
	for name := range strings.SplitSeq(text, ",") {
		words := strings.Fields(strings.TrimPrefix(strings.TrimRight(name, " 0123456789*∗†‡§¶"), " and "))
		if len(words) == 0 { // a mark
			continue
		}
		if names++; len(words) == 1 || len(words) > 4 || slices.ContainsFunc(words, beginsLower) {
			return false
		}
	}
	return names > 2
}

func (s *style) isLarge(l *layoutLine) bool {
	larger := 1.12
	if l.Confidence > 0 { // the size is an estimate
		larger = 1.25
	}
	return s.body > 0 && sizeOf(l) >= s.body*larger && !s.lists[sizeOf(l)] && isHeadline(l)
}

var (
	// reference matches a word and a number that identifies something, such as an invoice.
	reference = regexp.MustCompile(`^\p{Lu}\p{L}{3,}(?: (?:no\.?|nr\.?|number|nummer))?:? #?[0-9A-Z]{1,6}(?:[-/][0-9A-Z]{1,8}){0,4}$`)
	// leader matches a short row of dots before the number of a page.
	leader = regexp.MustCompile(`(?:[.·…_-] ?){3,}[0-9]+$`)
	// caption matches the beginning of the text below a figure or above a table.
	caption = regexp.MustCompile(`^(?i:fig(?:ure|\.)?|table|tab\.|abb(?:ildung|\.)|tabelle|tableau|exhibit|chart|listing|algorithm|box) (?:[0-9]{1,3}|[IVX]{1,5})(?:[.-][0-9]{1,3})*(?:[.:]|$| [-–—|])`)
	// stamp matches what programs of printers and publishers write into margins.
	stamp = regexp.MustCompile(`(?i)\bfile ?id\b.*[/\\]|\bxsl/xml\b|\bjob (?:no|number|id)\b|\bverdate\b|\bjkt \d|\bsfmt\b|\bpsn:|\S\.(?:indd|indb|qx[dp]|fm|pm[56]|eps|ai|cdr)\b|\buserid:|\d-[a-z]{3}-(?:19|20)\d\d$`)
)

var numbered = regexp.MustCompile(`^(?:(?:[0-9]{1,3}|[A-Z])(?:\.[0-9]{1,3}){0,5}\.?|[IVX]{1,5}\.|(?:Chapter|Section|Appendix|Part) [0-9A-Z]{1,4}[.:]?) +\p{L}`)

// section matches the number of a section within another one, before its title.
var section = regexp.MustCompile(`^[0-9]{1,2}(?:\.[0-9]{1,2}){1,4} +\p{Lu}\p{L}+`)

// isNumberedTitle reports whether line i is a heading in the font of the text, or in one whose
// weight the file does not say: a short line with the number of a section, a space above it and
// a paragraph below it. Neighbours that have numbers are entries of a list with it.
func (s *style) isNumberedTitle(lines []layoutLine, i int) bool {
	l := &lines[i]
	if i == 0 || i+1 == len(lines) || s.body <= 0 || l.Confidence > 0 || sizeOf(l) < s.body*0.95 || !section.MatchString(l.Text) || !isHeadline(l) || utf8.RuneCountInString(l.Text) > 70 {
		return false
	}
	last, above, below := l.Text[len(l.Text)-1], &lines[i-1], &lines[i+1]
	up, down := l.Y-above.Y, below.Y-l.Y
	return !strings.ContainsRune(".,;:)", rune(last)) && up > l.Size*1.6 && down > 0 && down < l.Size*4 && below.Right-below.X > 1.2*(l.Right-l.X) && absf(below.X-l.X) < l.Size*3 &&
		!beginsLower(below.Text) && !section.MatchString(above.Text) && !section.MatchString(below.Text)
}

// innerStop matches the end of a sentence and the beginning of the next.
var innerStop = regexp.MustCompile(`\p{Ll}{2}[.?!] \p{Lu}`)

// isBold reports whether a line in the body size is a heading: it is bold and short, and
// neither a sentence nor a part of a sentence.
func (s *style) isBold(l *layoutLine) bool {
	if s.weight <= 0 || float64(l.Weight) < s.weight+120 || sizeOf(l) < s.body*0.95 || !isHeadline(l) {
		return false
	}
	n := utf8.RuneCountInString(l.Text)
	if n < 4 || n > 80 || innerStop.MatchString(l.Text) || bullet.MatchString(l.Text) || isField(l) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(l.Text)
	return !strings.ContainsRune(".;", last)
}

// isField reports whether a line has a wide gap, as between the name and the value of a field. One after the number of a section
// does not count.
func isField(l *layoutLine) bool {
	number := len(strings.Fields(numbered.FindString(l.Text))) - 1
	for i := 1; i < len(l.Words); i++ {
		if i != number && l.Words[i].X-l.Words[i-1].Right > l.Size*1.5 {
			return true
		}
	}
	return false
}

// headings marks the lines of a page whose font makes them headings.
func (s *style) headings(lines []layoutLine) {
	if s.off {
		return
	}
	for i := range lines {
		l := &lines[i]
		if l.level > 0 {
			continue
		}
		level := s.level(l)
		if level == 0 && s.isNumberedTitle(lines, i) {
			level = s.base + len(s.sizes) + 1 + strings.Count(section.FindString(l.Text), ".")
		}
		if level == 0 || !isAlone(lines, i) || i > 0 && continuesList(&lines[i-1], l) {
			continue
		}
		l.continues = i > 0 && lines[i-1].level > 0 && (lines[i-1].level == level || l.Confidence > 0) && lines[i-1].title == "" && continuesHeading(&lines[i-1], l)
		if l.continues {
			level = lines[i-1].level // sizes of recognised lines differ a little
		}
		if l.continues || !beginsLower(l.Text) || sizeOf(l) >= s.body*1.5 {
			l.level = level
		}
	}
	s.dropParagraphs(lines)
}

// dropParagraphs turns headings that have many lines, or are whole sentences, into text.
func (s *style) dropParagraphs(lines []layoutLine) {
	for i := 0; i < len(lines); i++ {
		if lines[i].level == 0 || lines[i].title != "" {
			continue
		}
		end, runes := i+1, utf8.RuneCountInString(lines[i].Text)
		for ; end < len(lines) && lines[end].continues; end++ {
			runes += utf8.RuneCountInString(lines[end].Text)
		}
		if end-i > 4 || runes > maxHeading || isSentence(lines[i:end], runes) || runsOn(lines, end-1) {
			for j := i; j < end; j++ {
				lines[j].level, lines[j].continues = 0, false
			}
		}
		i = end - 1
	}
}

// isSentence reports whether a heading is a whole sentence, or contains the end of one.
func isSentence(lines []layoutLine, runes int) bool {
	var text strings.Builder
	for i := range lines {
		text.WriteString(lines[i].Text + " ")
	}
	s := strings.TrimSpace(text.String())
	return strings.HasSuffix(s, ",") || runes > 60 && mayEndParagraph(s) || strings.HasSuffix(s, ".") && len(strings.Fields(s)) > 7 || innerStop.MatchString(s) && !numbered.MatchString(s)
}

// runsOn reports whether the text of line i goes on in the next line, so that it is the beginning
// of a paragraph and not a heading.
func runsOn(lines []layoutLine, i int) bool {
	l := &lines[i]
	if i+1 == len(lines) || mayEndParagraph(l.Text) {
		return false
	}
	next := &lines[i+1]
	down := next.Y - l.Y
	return !next.furniture && next.level == 0 && next.rows == nil && beginsLower(next.Text) && down > 0 && down < l.Size*1.7 &&
		absf(next.X-l.X) < l.Size*3 && absf(next.Size-l.Size) < l.Size*0.13
}

// level returns the level of a heading in the font of a line, or 0 if this font is not one of
// headings.
func (s *style) level(l *layoutLine) int {
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

// isAlone reports whether a heading is not on the same line of print as text in another font.
// A large initial, or a bold word at the start of a paragraph, is not a heading.
func isAlone(lines []layoutLine, i int) bool {
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
	return !hasNeighbour(lines, i)
}

// hasNeighbour reports whether there is another line in the same size beside line i: both are in
// the head of a table.
func hasNeighbour(lines []layoutLine, i int) bool {
	l := &lines[i]
	for j := max(0, i-3); j < min(len(lines), i+4); j++ {
		o := &lines[j]
		if j != i && !o.furniture && o.rows == nil && absf(o.Y-l.Y) < l.Size*0.4 && (o.X > l.Right+l.Size*1.5 || o.Right < l.X-l.Size*1.5) && absf(o.Size-l.Size) < 0.6 {
			return true
		}
	}
	return false
}

// continuesList reports whether line b continues a list in line a, such as that of the authors.
func continuesList(a, b *layoutLine) bool {
	down := b.Y - a.Y
	return a.level == 0 && !a.furniture && a.rows == nil && strings.HasSuffix(a.Text, ",") && absf(a.Size-b.Size) < 0.6 && absf(a.Weight-b.Weight) < 60 && down > 0 && down < b.Size*1.9
}

// continuesHeading reports whether line b continues the heading in line a.
func continuesHeading(a, b *layoutLine) bool {
	down, differ := b.Y-a.Y, float32(0.6)
	if a.Confidence > 0 && b.Confidence > 0 {
		differ = 0.2 * a.Size
	}
	return absf(a.Size-b.Size) < differ && down > -a.Size*0.4 && down < a.Size*1.9 && !numbered.MatchString(b.Text)
}

func absf(f float32) float32 { return max(f, -f) }
