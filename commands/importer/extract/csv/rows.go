package csv

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

const (
	maxRow      = 1 << 20 // bytes of a row
	maxUnclosed = 100     // quotation marks without an end that are looked for; for each, up to maxRow bytes are read ahead
)

// rows reads the rows of a table. encoding/csv cannot go on behind a quotation mark that is not closed:
// it takes the rest of the file for one cell.
type rows struct {
	in    *bufio.Reader
	comma byte
	end   byte // of lines

	ahead    []string // lines that were read too early
	unclosed int      // quotation marks without an end so far

	cells  []string // of the row
	cell   []byte   // a quoted cell, so far
	quoted bool     // whether cell is open
	opened int      // offset of its quotation mark in the first line of the row
}

func newRows(in *bufio.Reader, comma byte, sample string) *rows {
	r := &rows{in: in, comma: comma, end: '\n'}
	if !strings.Contains(sample, "\n") && strings.Contains(sample, "\r") {
		r.end = '\r'
	}
	return r
}

var errLongRow = errors.New("the row is too long")

// next returns the next row, which is valid until the next call, or io.EOF. The error is errLongRow if
// a line has more than maxRow bytes.
func (r *rows) next() ([]string, error) {
	first, err := r.line()
	if err != nil {
		return nil, err
	}
	r.cells, r.quoted = r.cells[:0], false
	r.split(first, false)
	if !r.quoted {
		return r.cells, nil
	}
	var lines []string
	fits := r.unclosed < maxUnclosed
	for size := len(first); fits && r.quoted; {
		line, err := r.line()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
		size += len(line) + 1
		fits = size <= maxRow && r.split(line, true)
	}
	if fits && !r.quoted {
		return r.cells, nil
	}
	r.unclosed++
	if len(lines) > 0 {
		r.ahead = append(lines, r.ahead...)
	}
	r.cells = append(r.cells, strings.Split(first[r.opened:], string(r.comma))...)
	return r.cells, nil
}

// line returns the next line without its end.
func (r *rows) line() (string, error) {
	if len(r.ahead) > 0 {
		line := r.ahead[0]
		r.ahead = r.ahead[1:]
		return line, nil
	}
	var line []byte
	for {
		piece, err := r.in.ReadSlice(r.end)
		line = append(line, piece...)
		switch {
		case len(line) > maxRow:
			return "", errLongRow
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(line) > 0, err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		default:
			return "", err
		}
	}
}

// split adds the cells of a line to the row. continued says that the line is the next one of an open
// cell. It returns false if that cell cannot go on, because it holds a mark that only opens cells.
func (r *rows) split(line string, continued bool) bool {
	if continued {
		r.cell = append(r.cell, '\n')
	}
	for i := 0; ; {
		if !r.quoted {
			rest := line[i:]
			bare := strings.TrimLeft(rest, " ")
			if !strings.HasPrefix(bare, `"`) {
				cell, _, more := strings.Cut(rest, string(r.comma))
				r.cells = append(r.cells, cell)
				if i += len(cell) + 1; !more {
					return true
				}
				continue
			}
			r.opened = len(line) - len(bare)
			r.cell, r.quoted, continued, i = r.cell[:0], true, false, r.opened+1
		}
		text, after, marked := strings.Cut(line[i:], `"`)
		r.cell = append(r.cell, text...)
		if !marked {
			return true
		}
		i = len(line) - len(after)
		bare := strings.TrimLeft(after, " ")
		switch {
		case strings.HasPrefix(after, `"`):
			r.cell = append(r.cell, '"')
			i++
		case bare == "" || bare[0] == r.comma:
			r.cells, r.quoted = append(r.cells, string(r.cell)), false
			if i = len(line) - len(bare) + 1; bare == "" {
				return true
			}
		case continued:
			return false
		default:
			r.cell = append(r.cell, '"')
		}
	}
}
