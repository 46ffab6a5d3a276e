package text

import "bytes"

const (
	// Limits of Markdown files that are parsed.
	maxLines   = 150_000
	maxNodes   = 500_000   // nodes of the syntax tree, about 200 bytes each
	maxNesting = 100       // depth of quotes and lists
	maxWork    = 200 << 20 // units of work that open quotes and lists cause; this takes about a second
	openWork   = 128       // units for each open quote or list on a line, plus one for each column of indentation

	// Limits of a heading whose inline markup is parsed.
	maxMarks  = 64
	maxBraces = 4
)

// tooComplex reports whether the source has too many lines, or quotes and lists nested too deeply,
// for a parser that builds a syntax tree.
func tooComplex(source []byte) bool {
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

// nesting estimates the cost of parsing. It tracks which quotes and lists may be open, by the
// columns of their marks. On each line a parser visits all open quotes and lists, and scans the
// indentation for each of them.
type nesting struct {
	open  []int // columns of the open quotes and lists, ascending
	work  int
	nodes int // upper bound for the nodes of the syntax tree
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
	n.nodes += 1 + 2*marks               // for each mark a list and an item
	if len(bytes.TrimSpace(line)) == 0 { // a blank line does not close a list
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

// mark closes the quotes and lists whose mark is at this column or after it, and opens a new one
// at this column.
func (n *nesting) mark(column int) {
	for len(n.open) > 0 && n.open[len(n.open)-1] >= column {
		n.open = n.open[:len(n.open)-1]
	}
	n.open = append(n.open, column)
}

// isListMark reports whether b starts with the mark of a bullet item, or with the "." or ")" after
// the number of a numbered item.
func isListMark(b []byte) bool {
	return bytes.IndexByte([]byte("-*+.)"), b[0]) >= 0 && (len(b) == 1 || bytes.IndexByte([]byte(" \t\r\n"), b[1]) >= 0)
}

// isRule reports whether the line has only dashes, stars or dots, such as a horizontal rule or a
// line of a table of contents.
func isRule(line []byte) bool {
	return len(bytes.Trim(line, "-*+. \t\r\n")) == 0 && !bytes.Contains(line, []byte("- -"))
}

// hasManyMarks reports whether a heading has too many brackets and similar marks, mostly unpaired:
// parsing them would take long.
func hasManyMarks(heading []byte) bool {
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
