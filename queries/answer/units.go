package answer

import (
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// unit is the smallest text that can be an answer on its own.
type unit struct {
	passage    int
	kind       markdown.Form
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
	tokens   []words.Token
	credits  []float64  // best credit of each term in the text and titles
	titles   []float64  // best credit of each term in the titles
	headings [2]heading // the titles of the section and of the document
	relative float64    // score as a share of the best passage's score
}

func newPassage(q *question, p Passage) passage {
	read := passage{text: markdown.Plain(cut(p.Text, maxPassage)), source: p}
	read.tokens = words.Tokenize(read.text, 0, len(read.text), make([]words.Token, 0, len(read.text)/5))
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
		for _, t := range words.Tokenize(title, 0, len(title), nil) {
			q.match(&t)
			raise(read.titles, &t)
			raise(read.credits, &t)
			raise(h.credits, &t)
			if t.Class == prose.Content {
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
func raise(credits []float64, t *words.Token) {
	if t.Term >= 0 {
		credits[t.Term] = max(credits[t.Term], t.Credit)
	}
}

// appendUnits appends the units of a passage, whose index is given.
func appendUnits(units []unit, index int, p *passage) []unit {
	first := len(units)
	for _, m := range markdown.Units(p.text) {
		u := unit{passage: index, kind: m.Form, start: m.Start, end: m.End, leads: p.within(m.Lead), header: m.Header, previous: len(units) - 1}
		if len(units) == first {
			u.previous, u.opens = -1, p.source.Opens
		}
		within := p.within([2]int{m.Start, m.End})
		if within[0] == within[1] {
			continue
		}
		u.from, u.to = within[0], within[1]
		u.credits = make([]float64, len(p.credits))
		for t := u.from; t < u.to; t++ {
			raise(u.credits, &p.tokens[t])
		}
		u.context = append([]float64(nil), p.titles...)
		for t := u.leads[0]; t < u.leads[1]; t++ {
			if u.kind == markdown.Row { // the answer repeats the table's header
				raise(u.credits, &p.tokens[t])
			}
			raise(u.context, &p.tokens[t])
		}
		units = append(units, u)
	}
	return units
}

// within returns the range of the tokens in a range of bytes.
func (p *passage) within(bytes [2]int) [2]int {
	at := func(b int) int {
		i, _ := slices.BinarySearchFunc(p.tokens, b, func(t words.Token, b int) int { return t.Start - b })
		return i
	}
	return [2]int{at(bytes[0]), at(bytes[1])}
}

// tableHead returns the header for the table that passage i begins with, if the table
// began in another passage of its section: the passages of a long table are cut between
// rows. It is empty if there is none.
func tableHead(passages []Passage, i int) string {
	p := &passages[i]
	columns := markdown.Headless(cut(p.Text, maxPassage))
	if columns == 0 {
		return ""
	}
	for k := range passages {
		if o := &passages[k]; k != i && o.Document == p.Document && o.Section == p.Section {
			if header := markdown.Header(cut(o.Text, maxPassage), columns); header != "" {
				return header
			}
		}
	}
	return ""
}

// rowText returns a table row as "Header: value; Header: value". If the question
// names some of the columns, it returns only these and the first one, which names the row.
func (p *passage) rowText(q *question, u *unit) string {
	headers := markdown.Cells(p.text[u.header[0]:u.header[1]])
	values := markdown.Cells(p.text[u.start:u.end])
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
	for _, t := range words.Tokenize(header, 0, len(header), nil) {
		if q.match(&t); t.Term >= 0 {
			found = true
		} else if t.Class == prose.Content || t.Digit {
			return false
		}
	}
	return found
}

// mentions reports whether a text has a word of the question.
func (q *question) mentions(text string) bool {
	for _, t := range words.Tokenize(text, 0, len(text), nil) {
		if q.match(&t); t.Term >= 0 {
			return true
		}
	}
	return false
}
