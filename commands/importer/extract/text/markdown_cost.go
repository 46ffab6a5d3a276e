package text

import "bytes"

const (
	maxLines   = 150_000   // of Markdown that are parsed whole; each may become a node
	maxNodes   = 500_000   // of those lines; some 200 bytes each
	maxNesting = 100       // quotes and lists in each other that are parsed
	maxWork    = 200 << 20 // of going through open quotes and lists; about a second
	openWork   = 128       // of going through one of them, in columns of indentation
	maxMarks   = 64        // that may be inline markup, in a heading; more stay as they are
	maxBraces  = 4         // of attributes in a heading
)

// tooHard reports whether the source has too many lines, or too deeply nested quotes and
// lists, for a parser that builds a tree.
func tooHard(source []byte) bool {
	var n nesting
	for lines := 0; len(source) > 0; lines++ {
		line := source[:lineEnd(source, 0)]
		source = source[len(line):]
		n.line(line)
		if lines > maxLines || n.deep || n.work > maxWork || n.nodes > maxNodes {
			return true
		}
	}
	return false
}

// nesting follows which quotes and lists may be open, by the columns of
// their marks. A parser goes through all of them on each line, and through
// the indentation for each.
type nesting struct {
	open  []int // columns, rising
	work  int
	nodes int // that a parser may make
	deep  bool
}

func (n *nesting) line(line []byte) {
	column, marks := 0, 0
prefix:
	for i, c := range line {
		switch {
		case c == ' ':
			column++
		case c == '\t':
			column += 4 - column%4
		case c == '>' || isListMark(line[i:]):
			n.mark(column)
			marks++
			column++
		case c >= '0' && c <= '9':
			column++
		default:
			break prefix
		}
	}
	n.nodes += 1 + 2*marks               // a list and an item for each
	if len(bytes.TrimSpace(line)) == 0 { // leaves all lists open
		n.work += len(n.open) * openWork
		return
	}
	matched := 0
	for matched < len(n.open) && n.open[matched] <= column {
		matched++
	}
	n.work += matched * (openWork + column)
	n.deep = len(n.open) > maxNesting && marks > 0 && !isRule(line)
}

// mark opens what is marked at a column, and closes what is not above it.
func (n *nesting) mark(column int) {
	for len(n.open) > 0 && n.open[len(n.open)-1] >= column {
		n.open = n.open[:len(n.open)-1]
	}
	n.open = append(n.open, column)
}

// isListMark reports whether b begins with the mark of a list item, or with
// the end of one that has a number.
func isListMark(b []byte) bool {
	return bytes.IndexByte([]byte("-*+.)"), b[0]) >= 0 && (len(b) == 1 || bytes.IndexByte([]byte(" \t\r\n"), b[1]) >= 0)
}

// isRule reports whether the line is nothing but dashes, stars or dots, as
// lines across a page and in tables of contents are.
func isRule(line []byte) bool {
	return len(bytes.Trim(line, "-*+. \t\r\n")) == 0 && !bytes.Contains(line, []byte("- -"))
}

// hasHardMarks reports whether a heading has too many brackets and similar marks, mostly
// unpaired, which would take long to parse.
func hasHardMarks(heading []byte) bool {
	marks, braces := 0, 0
	for _, c := range heading {
		switch c {
		case '{':
			braces++
		case '`', '*', '_', '[', ']', '<', '>', '&', '!':
			marks++
		}
	}
	return marks > maxMarks || braces > maxBraces
}
