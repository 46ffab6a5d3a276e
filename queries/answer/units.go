package answer

import (
	"regexp"
	"strings"
	"unicode"

	"annals/events/prose"
)

// form is the form of a unit of text.
type form uint8

const (
	sentence form = iota
	item
	row
	code
)

// unit is the smallest text that can be an answer on its own.
type unit struct {
	passage    int
	kind       form
	start, end int       // range of bytes in the passage's text
	from, to   int       // range of tokens of the passage
	leads      [2]int    // range of tokens of the lead-in: a table's header, the sentence before a list, or a heading
	header     [2]int    // range of bytes of the table's header
	previous   int       // index of the unit before it in the passage, or -1
	opens      bool      // it is the first unit of its section
	credits    []float64 // best credit of each term in the unit
	context    []float64 // best credit of each term in the lead-in and titles
}

// passage is a parsed Passage.
type passage struct {
	text     string
	source   Passage
	tokens   []token
	credits  []float64  // best credit of each term in the text and titles
	titles   []float64  // best credit of each term in the titles
	headings [2]heading // the titles of the section and of the document
	relative float64    // score as a share of the best passage's score
}

func newPassage(q *question, p Passage) passage {
	read := passage{text: unmarked(cut(p.Text, maxPassage)), source: p}
	read.tokens = tokenize(read.text, 0, len(read.text), make([]token, 0, len(read.text)/5))
	read.credits = make([]float64, len(q.terms))
	read.titles = make([]float64, len(q.terms))
	for i := range read.tokens {
		t := &read.tokens[i]
		q.match(t)
		raise(read.credits, t)
	}
	titles := append([]string{p.Section, p.Document}, p.Path[:min(len(p.Path), 10)]...)
	for i, title := range titles {
		title = cut(title, maxTitle)
		h := heading{credits: make([]float64, len(q.terms))}
		for _, t := range tokenize(title, 0, len(title), nil) {
			q.match(&t)
			raise(read.titles, &t)
			raise(read.credits, &t)
			raise(h.credits, &t)
			if t.class == prose.Content {
				h.words++
			}
		}
		if i < len(read.headings) {
			read.headings[i] = h
		}
	}
	return read
}

// heading is a parsed title.
type heading struct {
	credits []float64 // best credit of each term of the question
	words   int       // number of content words
}

// likeness returns the harmonic mean of the share of the question's weight that is in a
// title, and the share of the title's words that are in the question.
func (q *question) likeness(h *heading) float64 {
	share, found := 0.0, 0.0
	for t, c := range h.credits {
		share += c * q.terms[t].weight / q.total
		found += c
	}
	if found == 0 || h.words == 0 {
		return 0
	}
	precision := min(1, found/float64(h.words))
	return 2 * share * precision / (share + precision)
}

// raise sets the credit of the term that t matches to the credit of t, if that is
// higher.
func raise(credits []float64, t *token) {
	if t.term >= 0 {
		credits[t.term] = max(credits[t.term], t.credit)
	}
}

// line is the range of bytes of a line.
type line struct{ start, end int }

var (
	headingLine = regexp.MustCompile(`^ {0,3}#{1,6}(\s|$)`)
	itemLine    = regexp.MustCompile(`^\s*([-*+]|\d{1,9}[.)])\s+`)
	ruleLine    = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	fenceLine   = regexp.MustCompile("^ {0,3}(```|~~~)")
)

// cutter cuts a passage into units, line by line.
type cutter struct {
	p       *passage
	passage int
	units   []unit
	first   int    // index of the passage's first unit
	token   int    // index of the next token
	leads   [2]int // lead-in of the next unit
	last    [2]int // range of tokens of the paragraph before, which says what a code block does
	header  [2]int // range of bytes of the current table's header; empty outside of tables
	columns [2]int // range of tokens of that header
}

// appendUnits appends the units of a passage, whose index is given.
func appendUnits(units []unit, index int, p *passage) []unit {
	c := &cutter{p: p, passage: index, units: units, first: len(units)}
	lines := split(p.text)
	for i := 0; i < len(lines); {
		i = c.block(lines, i)
	}
	for i := c.first; i < len(c.units); i++ {
		u := &c.units[i]
		u.opens = p.source.Opens && i == c.first
		u.credits = make([]float64, len(p.credits))
		for t := u.from; t < u.to; t++ {
			raise(u.credits, &p.tokens[t])
		}
		if u.kind == row { // the answer repeats the table's header
			for t := u.leads[0]; t < u.leads[1]; t++ {
				raise(u.credits, &p.tokens[t])
			}
		}
		u.context = append([]float64(nil), p.titles...)
		for t := u.leads[0]; t < u.leads[1]; t++ {
			raise(u.context, &p.tokens[t])
		}
	}
	return c.units
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
	text := func(i int) string { return c.p.text[lines[i].start:lines[i].end] }
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
			leads := c.leads
			if c.last[1] > c.last[0] {
				c.leads = c.last
			}
			c.add(code, lines[i+1].start, lines[end-1].end)
			c.leads = leads
		}
		return min(end+1, len(lines))
	case headingLine.MatchString(s):
		c.leads, c.last = c.take(l.start, l.end), [2]int{}
		return i + 1
	case c.header[1] > 0 && strings.Contains(s, "|"):
		if !ruleLine.MatchString(s) {
			c.add(row, l.start, l.end)
		}
		return i + 1
	case strings.Contains(s, "|") && i+1 < len(lines) && strings.Contains(text(i+1), "-") && ruleLine.MatchString(text(i+1)):
		c.header, c.columns = [2]int{l.start, l.end}, c.take(l.start, l.end)
		for i += 2; i < len(lines) && sparse(cells(c.p.text[c.header[0]:c.header[1]])) && headed(cells(text(i))); i++ {
			c.header, c.columns = [2]int{lines[i].start, lines[i].end}, [2]int{c.columns[0], c.take(lines[i].start, lines[i].end)[1]}
		}
		return i
	case strings.HasPrefix(strings.TrimSpace(s), "|"): // a table whose header is in another passage
		c.add(row, l.start, l.end)
		return i + 1
	case itemLine.MatchString(s):
		return c.paragraph(lines, i, item, l.start+len(itemLine.FindString(s)))
	}
	return c.paragraph(lines, i, sentence, l.start)
}

// tableHead returns the header for the table that passage i begins with, if the table
// began in another passage of its section: the passages of a long table are cut between
// rows. It is empty if there is none.
func tableHead(passages []Passage, i int) string {
	p := &passages[i]
	first, rest, _ := strings.Cut(cut(p.Text, maxPassage), "\n")
	second, _, _ := strings.Cut(rest, "\n")
	if !strings.HasPrefix(first, "|") || ruleLine.MatchString(second) {
		return ""
	}
	columns := len(cells(first))
	for k := range passages {
		o := &passages[k]
		if k == i || o.Document != p.Document || o.Section != p.Section {
			continue
		}
		lines := strings.Split(cut(o.Text, maxPassage), "\n")
		for l := 1; l < len(lines); l++ {
			if !strings.HasPrefix(lines[l], "|") || !ruleLine.MatchString(lines[l]) || len(cells(lines[l-1])) != columns {
				continue
			}
			end := l + 1
			for last := l - 1; end < len(lines) && sparse(cells(lines[last])) && headed(cells(lines[end])); end++ {
				last = end
			}
			return strings.Join(lines[l-1:end], "\n") + "\n"
		}
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

// paragraph cuts the lines up to a blank line or the start of another block.
func (c *cutter) paragraph(lines []line, i int, kind form, start int) int {
	end := i + 1
	for end < len(lines) {
		s := c.p.text[lines[end].start:lines[end].end]
		if strings.TrimSpace(s) == "" || headingLine.MatchString(s) || fenceLine.MatchString(s) || itemLine.MatchString(s) || strings.HasPrefix(strings.TrimSpace(s), "|") {
			break
		}
		end++
	}
	stop := lines[end-1].end
	from := c.token
	for start < stop {
		next := prose.SentenceEnd(c.p.text, start, stop)
		c.add(kind, start, next)
		start = next
	}
	c.last = [2]int{from, c.token}
	if strings.HasSuffix(strings.TrimSpace(c.p.text[:stop]), ":") {
		c.leads = [2]int{from, c.token}
	}
	return end
}

// add appends the unit text[start:end], unless it has no word.
func (c *cutter) add(kind form, start, end int) {
	tokens := c.take(start, end)
	if tokens[0] == tokens[1] {
		return
	}
	for start < end && isSpace(c.p.text[start]) {
		start++
	}
	for end > start && isSpace(c.p.text[end-1]) {
		end--
	}
	u := unit{passage: c.passage, kind: kind, start: start, end: end, from: tokens[0], to: tokens[1], leads: c.leads, previous: len(c.units) - 1}
	if len(c.units) == c.first {
		u.previous = -1
	}
	if kind == row {
		u.header, u.leads = c.header, c.columns
	}
	c.units = append(c.units, u)
}

// take returns the range of the tokens in text[start:end], and advances c.token to the
// first token after them.
func (c *cutter) take(start, end int) [2]int {
	for c.token < len(c.p.tokens) && c.p.tokens[c.token].start < start {
		c.token++
	}
	from := c.token
	for c.token < len(c.p.tokens) && c.p.tokens[c.token].end <= end {
		c.token++
	}
	return [2]int{from, c.token}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// cells returns the cells of a table row.
func cells(line string) []string {
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

// rowText returns a table row as "Header: value; Header: value". If the question
// names some of the columns, it returns only these and the first one, which names the row.
func (p *passage) rowText(q *question, u *unit) string {
	headers := cells(p.text[u.header[0]:u.header[1]])
	values := cells(p.text[u.start:u.end])
	asked := make([]bool, len(values))
	named, found, full := false, false, 0
	for i, value := range values {
		if value == "" {
			continue
		}
		full++
		asked[i] = q.mentions(value) || !named
		named = true
		if i < len(headers) && full > 1 && q.names(headers[i]) {
			asked[i], found = true, true
		}
	}
	var parts []string
	for i, value := range values {
		switch {
		case value == "" || found && !asked[i]:
		case i < len(headers) && headers[i] != "":
			parts = append(parts, headers[i]+": "+value)
		default:
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, "; ")
}

// names reports whether all words of a header are in the question: "Last week" is not the
// column for "what did it cost that week".
func (q *question) names(header string) bool {
	found := false
	for _, t := range tokenize(header, 0, len(header), nil) {
		if q.match(&t); t.term >= 0 {
			found = true
		} else if t.class == prose.Content || t.digit {
			return false
		}
	}
	return found
}

// mentions reports whether a text has a word of the question.
func (q *question) mentions(text string) bool {
	for _, t := range tokenize(text, 0, len(text), nil) {
		if q.match(&t); t.term >= 0 {
			return true
		}
	}
	return false
}
