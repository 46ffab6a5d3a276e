package markdown

import (
	"regexp"
	"strings"
	"unicode"

	"annals/events/prose"
)

// Form is the form of a Unit.
type Form uint8

// Forms of units.
const (
	Sentence Form = iota
	Item          // a sentence of a list item
	Row
	Code
)

// Unit is a sentence, a row or a block of code. All ranges are of bytes.
type Unit struct {
	Form       Form
	Start, End int
	Lead       [2]int // what introduces it: the header of its table, the paragraph before its list or code, or its heading
	Header     [2]int // of a Row, the line that has the names of the columns
}

// line is the range of bytes of a line.
type line struct{ start, end int }

var (
	headingLine = regexp.MustCompile(`^ {0,3}#{1,6}(\s|$)`)
	itemLine    = regexp.MustCompile(`^\s*([-*+]|\d{1,9}[.)])\s+`)
	ruleLine    = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	fenceLine   = regexp.MustCompile("^ {0,3}(```|~~~)")
)

// Units cuts a text line by line. Units that have no word are left out.
func Units(text string) []Unit {
	c := cutter{text: text}
	lines := split(text)
	for i := 0; i < len(lines); {
		i = c.block(lines, i)
	}
	return c.units
}

// cutter is the state of Units.
type cutter struct {
	text    string
	units   []Unit
	lead    [2]int // of the next unit
	last    [2]int // the paragraph before, which says what a code block does
	header  [2]int // the last line of the current table's header; empty outside of tables
	columns [2]int // all lines of that header
}

func split(text string) []line {
	var lines []line
	for start := 0; start < len(text); {
		n := strings.IndexByte(text[start:], '\n')
		if n < 0 {
			n = len(text) - start
		}
		lines = append(lines, line{start, start + n})
		start += n + 1
	}
	return lines
}

// block cuts the block that starts at line i, and returns the line at which the next one
// starts.
func (c *cutter) block(lines []line, i int) int {
	text := func(i int) string { return c.text[lines[i].start:lines[i].end] }
	l := lines[i]
	switch s := text(i); {
	case strings.TrimSpace(s) == "":
		c.header = [2]int{}
		return i + 1
	case fenceLine.MatchString(s):
		end := i + 1
		for end < len(lines) && !fenceLine.MatchString(text(end)) {
			end++
		}
		if end > i+1 {
			lead := c.lead
			if c.last[1] > c.last[0] {
				c.lead = c.last
			}
			c.add(Code, lines[i+1].start, lines[end-1].end)
			c.lead = lead
		}
		return min(end+1, len(lines))
	case headingLine.MatchString(s):
		c.lead, c.last = [2]int{l.start, l.end}, [2]int{}
		return i + 1
	case c.header[1] > 0 && strings.Contains(s, "|"):
		if !ruleLine.MatchString(s) {
			c.add(Row, l.start, l.end)
		}
		return i + 1
	case strings.Contains(s, "|") && i+1 < len(lines) && strings.Contains(text(i+1), "-") && ruleLine.MatchString(text(i+1)):
		c.header, c.columns = [2]int{l.start, l.end}, [2]int{l.start, l.end}
		for i += 2; i < len(lines) && sparse(Cells(c.text[c.header[0]:c.header[1]])) && headed(Cells(text(i))); i++ {
			c.header, c.columns[1] = [2]int{lines[i].start, lines[i].end}, lines[i].end
		}
		return i
	case strings.HasPrefix(strings.TrimSpace(s), "|"): // a table whose header is in another passage
		c.add(Row, l.start, l.end)
		return i + 1
	case itemLine.MatchString(s):
		return c.paragraph(lines, i, Item, l.start+len(itemLine.FindString(s)))
	}
	return c.paragraph(lines, i, Sentence, l.start)
}

// labelled matches a label before the first sentence of a text, as PDF files have it.
var labelled = regexp.MustCompile(`^(?i:abstract|summary|introduction|background|overview|motivation|conclusions?|preface|foreword)\b[.:]?\s+`)

// label returns the length of a label that a paragraph begins with, such as "Abstract" in
// "Abstract We explore …".
func label(text string) int {
	l := labelled.FindString(text)
	first, _, _ := strings.Cut(strings.TrimSpace(text[len(l):]), " ")
	if l == "" || first == "" || !unicode.IsUpper([]rune(first)[0]) {
		return 0
	}
	if strings.ContainsAny(l, "\n.:") || prose.ClassOf(strings.ToLower(first)) != prose.Content {
		return len(l)
	}
	return 0
}

// paragraph cuts the lines up to a blank line or the start of another block.
func (c *cutter) paragraph(lines []line, i int, form Form, start int) int {
	end := i + 1
	for end < len(lines) {
		s := c.text[lines[end].start:lines[end].end]
		if strings.TrimSpace(s) == "" || headingLine.MatchString(s) || fenceLine.MatchString(s) || itemLine.MatchString(s) || strings.HasPrefix(strings.TrimSpace(s), "|") {
			break
		}
		end++
	}
	from, stop := start, lines[end-1].end
	start += label(c.text[start:stop])
	for start < stop {
		next := prose.SentenceEnd(c.text, start, stop)
		c.add(form, start, next)
		start = next
	}
	c.last = [2]int{from, stop}
	if strings.HasSuffix(strings.TrimSpace(c.text[:stop]), ":") {
		c.lead = c.last
	}
	return end
}

// add appends the unit text[start:end], unless it has no word.
func (c *cutter) add(form Form, start, end int) {
	if !strings.ContainsFunc(c.text[start:end], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return
	}
	for start < end && IsSpace(c.text[start]) {
		start++
	}
	for end > start && IsSpace(c.text[end-1]) {
		end--
	}
	u := Unit{Form: form, Start: start, End: end, Lead: c.lead}
	if form == Row {
		u.Header, u.Lead = c.header, c.columns
	}
	c.units = append(c.units, u)
}

// IsSpace reports whether a byte is white space.
func IsSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// Cells returns the cells of a table row.
func Cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var out []string
	start := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			out = append(out, strings.TrimSpace(line[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(line[start:]))
}

// Headless returns the number of columns of the table that a text begins with, if that table
// has no header: it began in another text. Otherwise it returns 0.
func Headless(text string) int {
	first, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	if !strings.HasPrefix(first, "|") || ruleLine.MatchString(second) {
		return 0
	}
	return len(Cells(first))
}

// Header returns the lines of the header of the first table with that number of columns, or
// "" if the text has none.
func Header(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for l := 1; l < len(lines); l++ {
		if !strings.HasPrefix(lines[l], "|") || !ruleLine.MatchString(lines[l]) || len(Cells(lines[l-1])) != columns {
			continue
		}
		end := l + 1
		for last := l - 1; end < len(lines) && sparse(Cells(lines[last])) && headed(Cells(lines[end])); end++ {
			last = end
		}
		return strings.Join(lines[l-1:end], "\n") + "\n"
	}
	return ""
}

// sparse reports whether most cells of a header are empty, because the header has further
// rows: the first line of a table in Markdown is only the first of them.
func sparse(header []string) bool {
	full := 0
	for _, cell := range header {
		if cell != "" {
			full++
		}
	}
	return 3*full < 2*len(header)
}

// headed reports whether a row may be the row of a header: it has words in most cells, and
// no number alone in any.
func headed(row []string) bool {
	full := 0
	for _, cell := range row {
		if cell == "" {
			continue
		}
		if strings.IndexFunc(cell, unicode.IsLetter) < 0 {
			return false
		}
		full++
	}
	return full > 0
}

// StartsItem reports whether a list item starts at a byte of a text, after its mark.
func StartsItem(text string, at int) bool { return marked(text, at) != "" }

// Numbered reports whether an item of a numbered list starts at a byte of a text.
func Numbered(text string, at int) bool {
	return strings.ContainsFunc(marked(text, at), unicode.IsDigit)
}

// marked returns the mark before an item that starts at a byte of a text, or "".
func marked(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	if itemLine.FindString(line+" ") != line && itemLine.FindString(line) != line {
		return ""
	}
	return line
}
