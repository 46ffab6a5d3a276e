package pdf

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
)

// softHyphen is the last character of a line whose last word continues on the next line.
const softHyphen = "\u00ad"

// flow writes lines as paragraphs. It joins a line that fills its column to the next line.
// Shorter lines stay separate, as in lists and tables.
type flow struct {
	w         *extract.Writer
	compounds map[string]bool
	body      float64    // font size of most letters
	last      layoutLine // the last line written
	full      bool       // whether last fills its column
	leading   float32    // distance between the lines of the paragraph that last belongs to
	spacing   float32    // usual distance between the lines of paragraphs on the page, if it is wide; else 0
	script    bool       // last is an index or exponent of the line before it
	begun     bool       // the open section has text
	heading   []string   // lines of the open heading
	level     int
}

// page writes the lines and then the notes of a page.
func (f *flow) page(p layoutPage) error {
	f.w.Page(p.Number)
	f.w.RecognisedPage(p.confidence)
	fresh := true // no line of this page was written
	lines := f.footnotesLast(p)
	f.spacing = wideSpacing(lines)
	for i := range lines {
		l := &lines[i]
		if l.furniture {
			continue
		}
		f.w.Recognised(float64(l.Confidence))
		if err := f.line(lines, i, fresh); err != nil {
			return err
		}
		fresh = false
	}
	if err := f.flushHeading(); err != nil {
		return err
	}
	f.w.Recognised(0)
	return f.notes(p)
}

func (f *flow) line(lines []layoutLine, i int, fresh bool) error {
	l := &lines[i]
	if !l.continues || l.level != f.level {
		if err := f.flushHeading(); err != nil {
			return err
		}
	}
	if l.level > 0 {
		title := l.title
		if title == "" {
			title = l.Text
		}
		f.heading, f.level = append(f.heading, title), l.level
		if l.title == "" {
			return nil
		}
		if err := f.flushHeading(); err != nil {
			return err
		}
	}
	if l.rows != nil {
		return f.table(l)
	}
	sep, hyphen, script := "", false, false
	if f.begun {
		sep, hyphen = f.separator(l, fresh)
		if script = !fresh && !hyphen && f.isScript(l); script {
			sep = scriptSeparator(&f.last, l, f.script)
		}
	}
	f.script = script
	text := strings.TrimSuffix(l.Text, softHyphen)
	if sep == "\n" || sep == "\n\n" || !f.begun {
		text = markdownRow(text)
	}
	switch {
	case hyphen:
		sep = f.hyphen(text)
	case sep == " " && (fresh || absf(l.Y-f.last.Y) > l.Size*0.5):
		sep = between(f.last.Text, text)
	}
	switch down := l.Y - f.last.Y; {
	case sep == "\n\n":
		f.leading = 0 // the next paragraph may have another line distance
	case !fresh && !script && down > l.Size*0.5 && down < l.Size*2.5:
		f.leading = down
	}
	f.last, f.begun = *l, true
	f.full = isFull(lines, i)
	if err := f.w.Write(sep + text); err != nil {
		return err
	}
	return nil
}

// table writes a table.
func (f *flow) table(l *layoutLine) error {
	sep := ""
	if f.begun {
		sep = "\n\n"
	}
	f.last, f.begun, f.full, f.leading = *l, true, false, 0
	return f.w.Write(sep + markdownTable(l.rows))
}

// flushHeading begins a section with the lines of the open heading.
func (f *flow) flushHeading() error {
	if len(f.heading) == 0 {
		return nil
	}
	var b strings.Builder
	for i, part := range f.heading {
		if i > 0 && !strings.HasSuffix(f.heading[i-1], softHyphen) {
			b.WriteString(between(f.heading[i-1], part))
		}
		b.WriteString(strings.TrimSuffix(part, softHyphen))
	}
	f.heading, f.begun, f.leading = f.heading[:0], false, 0
	return f.w.Begin(f.level, ornament.ReplaceAllString(b.String(), ""))
}

// separator returns what to write between the last line and l. fresh means that l is the first
// line of its page. hyphen means that a word begins in the last line and continues in l.
func (f *flow) separator(l *layoutLine, fresh bool) (sep string, hyphen bool) {
	last := &f.last
	down := l.Y - last.Y
	size := max(last.Size, l.Size, 1)
	if strings.HasSuffix(last.Text, softHyphen) {
		return "", true
	}
	if last.rows != nil || l.foot != last.foot {
		return "\n\n", false
	}
	if l.Turned != last.Turned {
		return "\n\n", false
	}
	if !fresh && absf(down) < size*0.5 { // l is on the same line of print, or is a superscript
		switch gap := l.X - last.Right; {
		case gap < -size: // l is to the left: it is in another column, or the lines are not in order
			return "\n", false
		case gap < size*0.12 && gap > -size:
			return "", false
		}
		return " ", false
	}
	if fresh || down < 0 || down > size*4 { // another page or column
		if f.full && !mayEndParagraph(last.Text) && beginsLower(l.Text) {
			return " ", false
		}
		return "\n\n", false
	}
	same := absf(last.Size-l.Size) <= size*0.25 // with a tolerance, because a line may begin with small capitals
	switch {
	case isItem(l.Text), step.MatchString(l.Text), haveSameBullet(last, l), hasLeader(last.Text), hasLeader(l.Text) && entry.MatchString(l.Text), !fresh && isRow(last) && isRow(l):
		return "\n", false
	case down > size*1.9 && (down > f.spacing*1.2 || isNumber(l.Text)) || f.leading > 0 && down > f.leading*1.35:
		return "\n\n", false
	case same && f.full && !(l.X > last.X+size*0.8 && l.X < last.X+size*4 && mayEndParagraph(last.Text)):
		if hangs(last.Text, l.Text) {
			return "", false
		}
		return " ", false
	case !same:
		return "\n\n", false
	}
	return "\n", false
}

// isRow reports whether a line has two gaps at least that are wider than those of text: it is a row of cells.
func isRow(l *layoutLine) bool {
	gaps := 0
	for i := 1; i < len(l.Words); i++ {
		if l.Words[i].X-l.Words[i-1].Right > l.Size*1.5*wideGap {
			gaps++
		}
	}
	return gaps > 1
}

// haveSameBullet reports whether two lines begin with the same consonant at the same place. In a
// font with symbols it is a bullet.
func haveSameBullet(a, b *layoutLine) bool {
	first, _, _ := strings.Cut(a.Text, " ")
	return len(first) == 1 && strings.Contains("bcdfghjklmnpqrstvwxz", first) && strings.HasPrefix(b.Text, first+" ") && absf(a.X-b.X) < 2
}

// wideSpacing returns the usual distance between the lines of the paragraphs of a page, if it is
// wider than that of most documents, as in drafts and letters; else 0.
func wideSpacing(lines []layoutLine) float32 {
	var steps []float32
	lower := 0
	for i := 1; i < len(lines); i++ {
		last, l := &lines[i-1], &lines[i]
		if down := l.Y - last.Y; down > l.Size && down < l.Size*4 && absf(l.Size-last.Size) < l.Size*0.1 && l.level == 0 && last.rows == nil && l.rows == nil && !mayEndParagraph(last.Text) && len(last.Text) > 40 && isFull(lines, i-1) {
			steps = append(steps, down)
			if first, _, _ := strings.Cut(l.Text, " "); beginsLower(first) && len(first) > 1 { // not a bullet
				lower++
			}
		}
	}
	if len(steps) < 4 || lower*2 < len(steps) { // otherwise they may be items of a list
		return 0
	}
	usual, same := median(steps), 0
	for _, s := range steps {
		if absf(s-usual) < usual*0.1 {
			same++
		}
	}
	if same*4 < len(steps)*3 {
		return 0
	}
	return usual
}

// isScript reports whether the last line or l is an index or exponent of the other one, or of
// the same letter: it is small and beside it, a little higher or lower.
func (f *flow) isScript(l *layoutLine) bool {
	last, body := &f.last, float32(f.body)
	if l.Turned || last.Turned || last.rows != nil || l.foot != last.foot || last.Text == "" || min(last.Size, l.Size) > body*0.85 || max(last.Size, l.Size) > body*1.15 {
		return false
	}
	down, size := absf(l.Y-last.Y), max(last.Size, l.Size)
	if f.script && absf(l.X-last.X) < last.Size*0.6 && len(last.Text) < 8 { // an index below an exponent
		return down < last.Size*1.2
	}
	return max(last.Size, l.Size) > body*0.9 && down < size*0.75 && absf(l.X-last.Right) < size*0.6 && (down > size*0.1 || f.script)
}

// scriptSeparator returns what to write between a line and an index or exponent beside it. after
// means that the line is one, too.
func scriptSeparator(last, l *layoutLine, after bool) string {
	if l.X-last.Right > max(last.Size, l.Size)*0.15 || after && l.X < last.Right-last.Size*0.1 {
		return " "
	}
	return ""
}

// between returns what is between two lines of a paragraph: a space, but not in Chinese and Japanese.
func between(last, next string) string {
	a, _ := utf8.DecodeLastRuneInString(last)
	b, _ := utf8.DecodeRuneInString(next)
	if isSpaceless(a) && isSpaceless(b) {
		return ""
	}
	return " "
}

// isSpaceless reports whether r is of a script without spaces between words, or punctuation of such a script.
func isSpaceless(r rune) bool {
	return r >= 0x3001 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r <= 0x303f || r == 'ー' || r >= 0xff01 && r <= 0xff60)
}

// hangs reports whether a line ends with a hyphen or dash that joins it to the next line without
// a space, as in "2018–" and "19".
func hangs(last, next string) bool {
	dash, n := utf8.DecodeLastRuneInString(last)
	if dash != '-' && dash != '–' && dash != '/' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(last[:len(last)-n])
	after, _ := utf8.DecodeRuneInString(next)
	return isWord(before) && isWord(after) && (dash == '-' || unicode.IsDigit(before) || dash == '/')
}

// hyphen returns what to write between the halves of a word divided at the end of a line: "",
// or "-" if the word is a compound with a hyphen.
func (f *flow) hyphen(next string) string {
	left := strings.TrimSuffix(f.last.Text, softHyphen)
	left = left[strings.LastIndexByte(left, ' ')+1:]
	right, _, _ := strings.Cut(next, " ")
	whole := strings.ToLower(strings.TrimFunc(left+"-"+right, func(r rune) bool { return !unicode.IsLetter(r) }))
	if f.compounds[whole] || !beginsLower(right) || utf8.RuneCountInString(left) == 1 {
		return "-"
	}
	return ""
}

// notes writes the form fields and comments of a page, unless the text of the page contains
// them.
func (f *flow) notes(p layoutPage) error {
	if len(p.Notes) == 0 {
		return nil
	}
	var text strings.Builder
	for i := range p.lines {
		text.WriteString(p.lines[i].Text)
		text.WriteByte('\n')
	}
	sep := "\n\n"
	for _, note := range p.Notes {
		if strings.Contains(text.String(), note) {
			continue
		}
		if err := f.w.Write(sep + strings.ReplaceAll(spellOut(note), "\r", "\n")); err != nil {
			return err
		}
		sep, f.begun, f.full, f.last.Text = "\n", true, false, note
	}
	return nil
}

// columnRight returns the right edge of a line's column: the right edge of the longest line near
// line i that has the same left edge. Lines beyond a heading count only if the section has few lines,
// because they may be in a wider column.
func columnRight(lines []layoutLine, i int) float32 {
	right := [2]float32{lines[i].Right, lines[i].Right} // of the section, and of all
	n := 1
	for _, step := range [2]int{-1, 1} {
		beyond := false
		for j := i + step; j >= max(0, i-6) && j < min(len(lines), i+7); j += step {
			beyond = beyond || lines[j].level > 0
			if absf(lines[j].X-lines[i].X) >= 40 || lines[j].Turned || lines[j].X >= lines[i].Right || lines[j].furniture || lines[j].running != lines[i].running {
				continue
			}
			right[1] = max(right[1], lines[j].Right)
			if !beyond {
				right[0] = max(right[0], lines[j].Right)
				n++
			}
		}
	}
	if n < 5 {
		return right[1]
	}
	return right[0]
}

func mayEndParagraph(s string) bool {
	s = strings.TrimRight(s, `"'”’)]`)
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:;。！？", r)
}

func beginsLower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

var (
	bullet = regexp.MustCompile(`^[•‣◦▪▫■□●○∙·⁃–—*►➢✓❖\x{f0b7}\x{f0a7}-] +`)
	item   = regexp.MustCompile(`^(?:\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\[[0-9]{1,4}\]) +\S`)
)

// step matches the beginning of a line of an algorithm.
var step = regexp.MustCompile(`^[0-9]{1,3}: +[\p{L}(]`)

// ornament matches characters of symbol fonts that precede a title.
var ornament = regexp.MustCompile(`^(?:[!#•‣◦▪▫■□●○∙·►➢✓❖*\x{f000}-\x{f0ff}] +)+`)

// entry matches the beginning of an entry of a table of contents.
var entry = regexp.MustCompile(`^(?:[0-9]{1,3}|[A-Z])(?:\.[0-9]{1,3}){0,5}\.? +\p{L}`)

// hasLeader reports whether a line has a row of dots or dashes, as between a title and its page
// number in a table of contents.
func hasLeader(s string) bool {
	var last rune
	n, spaces := 0, 0
	for _, r := range s {
		switch r {
		case ' ':
			spaces++
			continue
		case '.', '-', '·', '_', '…':
			if r != last || spaces > 1 {
				n = 0
			}
			if n++; n == 5 || r == '…' && n == 2 {
				return true
			}
		default:
			n = 0
		}
		last, spaces = r, 0
	}
	return false
}

func isItem(s string) bool { return bullet.MatchString(s) || item.MatchString(s) }

// markdownRow returns a line as Markdown: bullets become list items, and other characters that
// would be markup are escaped.
func markdownRow(s string) string {
	if m := bullet.FindString(s); m != "" {
		return "- " + s[len(m):]
	}
	switch {
	case s == "":
	case s[0] == '#', s[0] == '>', strings.HasPrefix(s, "```"), strings.HasPrefix(s, "~~~"),
		strings.Trim(s, "=") == "", strings.Trim(s, "-") == "":
		return `\` + s
	}
	return s
}
