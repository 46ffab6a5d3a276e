package matching

import (
	"slices"
	"strings"

	"annals/events/prose"
	"annals/queries/answer/markdown"
	"annals/queries/answer/words"
)

// Unit is the smallest text that can be an answer on its own.
type Unit struct {
	Passage    int
	Kind       markdown.Form
	Start, End int       // range of bytes in the passage's text
	From, To   int       // range of tokens of the passage
	Leads      [2]int    // range of tokens of the lead-in: a table's header, the sentence before a list, or a heading
	header     [2]int    // range of bytes of the table's header
	Previous   int       // index of the unit before it in the passage, or -1
	Opens      bool      // it is the first unit of its section
	Credits    []float64 // best credit of each term in the unit
	Context    []float64 // best credit of each term in the lead-in and titles
}

// Whole returns all words of the unit.
func (u *Unit) Whole() Span { return Span{From: u.From, To: u.To} }

// Parsed is a parsed Passage.
type Parsed struct {
	Text     string
	Source   Passage
	Tokens   []words.Token
	Credits  []float64  // best credit of each term in the text and titles
	titles   []float64  // best credit of each term in the titles
	Headings [2]heading // the titles of the section and of the document
	Relative float64    // score as a share of the best passage's score
}

// Parse parses a passage and matches its words with the terms of q.
func Parse(q *Question, p Passage) Parsed {
	read := Parsed{Text: markdown.Plain(Cut(p.Text, MaxPassage)), Source: p}
	read.Tokens = words.Tokenize(read.Text, 0, len(read.Text), make([]words.Token, 0, len(read.Text)/5))
	read.Credits = make([]float64, len(q.Terms))
	read.titles = make([]float64, len(q.Terms))
	for i := range read.Tokens {
		t := &read.Tokens[i]
		q.Match(t)
		raise(read.Credits, t)
	}
	titles := append([]string{p.Section, p.Document}, p.Path[:min(len(p.Path), 10)]...)
	if !p.Date.Time.IsZero() {
		titles = append(titles, p.Date.Time.Format("2006"))
	}
	for i, title := range titles {
		title = Cut(title, MaxTitle)
		h := heading{credits: make([]float64, len(q.Terms))}
		for _, t := range words.Tokenize(title, 0, len(title), nil) {
			q.Match(&t)
			raise(read.titles, &t)
			raise(read.Credits, &t)
			raise(h.credits, &t)
			if t.Class == prose.Content {
				h.words++
			}
		}
		if i < len(read.Headings) {
			read.Headings[i] = h
		}
	}
	return read
}

// heading is a parsed title.
type heading struct {
	credits []float64 // best credit of each term of the question
	words   int       // number of content words
}

// Likeness returns the harmonic mean of the share of the question's weight that is in a
// title, and the share of the title's words that are in the question.
func (q *Question) Likeness(h *heading) float64 {
	share, found := 0.0, 0.0
	for t, c := range h.credits {
		share += c * q.Terms[t].Weight / q.Total
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

// AppendUnits appends the units of a passage, whose index is given.
func AppendUnits(units []Unit, index int, p *Parsed) []Unit {
	first := len(units)
	for _, m := range markdown.Units(p.Text) {
		u := Unit{Passage: index, Kind: m.Form, Start: m.Start, End: m.End, Leads: p.within(m.Lead), header: m.Header, Previous: len(units) - 1}
		if len(units) == first {
			u.Previous, u.Opens = -1, p.Source.Opens
		}
		within := p.within([2]int{m.Start, m.End})
		if within[0] == within[1] {
			continue
		}
		u.From, u.To = within[0], within[1]
		u.Credits = make([]float64, len(p.Credits))
		for t := u.From; t < u.To; t++ {
			raise(u.Credits, &p.Tokens[t])
		}
		u.Context = append([]float64(nil), p.titles...)
		for t := u.Leads[0]; t < u.Leads[1]; t++ {
			if u.Kind == markdown.Row { // the answer repeats the table's header
				raise(u.Credits, &p.Tokens[t])
			}
			raise(u.Context, &p.Tokens[t])
		}
		units = append(units, u)
	}
	return units
}

// within returns the range of the tokens in a range of bytes.
func (p *Parsed) within(bytes [2]int) [2]int {
	at := func(b int) int {
		i, _ := slices.BinarySearchFunc(p.Tokens, b, func(t words.Token, b int) int { return t.Start - b })
		return i
	}
	return [2]int{at(bytes[0]), at(bytes[1])}
}

// TableHead returns the header for the table that passage i begins with, if the table
// began in another passage of its section: the passages of a long table are cut between
// rows. It is empty if there is none.
func TableHead(passages []Passage, i int) string {
	p := &passages[i]
	columns := markdown.Headless(Cut(p.Text, MaxPassage))
	if columns == 0 {
		return ""
	}
	for k := range passages {
		if o := &passages[k]; k != i && o.ID == p.ID && o.Document == p.Document && o.Section == p.Section {
			if header := markdown.Header(Cut(o.Text, MaxPassage), columns); header != "" {
				return header
			}
		}
	}
	return ""
}

// RowText returns a table row as "Header: value; Header: value". If the question
// names some of the columns, it returns only these and the first one, which names the row.
func (p *Parsed) RowText(q *Question, u *Unit) string {
	headers := markdown.Cells(p.Text[u.header[0]:u.header[1]])
	values := markdown.Cells(p.Text[u.Start:u.End])
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
func (q *Question) names(header string) bool {
	found := false
	for _, t := range words.Tokenize(header, 0, len(header), nil) {
		if q.Match(&t); t.Term >= 0 {
			found = true
		} else if t.Class == prose.Content || t.Digit {
			return false
		}
	}
	return found
}

// mentions reports whether a text has a word of the question.
func (q *Question) mentions(text string) bool {
	for _, t := range words.Tokenize(text, 0, len(text), nil) {
		if q.Match(&t); t.Term >= 0 {
			return true
		}
	}
	return false
}

// Bounds returns the byte range of a window. It includes signs, quotes, brackets and the
// full stop that are attached to the first or last word.
func (p *Parsed) Bounds(u *Unit, w Span) (start, end int) {
	start, end = u.Start, u.End
	if w.From > u.From {
		start = p.Tokens[w.From].Start
		for start > u.Start && !markdown.IsSpace(p.Text[start-1]) {
			start--
		}
	}
	if w.To < u.To {
		end = p.Tokens[w.To-1].End
		for end < u.End && !markdown.IsSpace(p.Text[end]) {
			end++
		}
	}
	if w.From > u.From || w.To < u.To {
		start, end = markdown.Trim(p.Text, start, end)
	}
	return start, end
}

// Span is the run of words [from, to), as indexes of the passage's tokens.
type Span struct{ From, To int }
