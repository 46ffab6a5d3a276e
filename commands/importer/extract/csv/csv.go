// Package csv reads tables with separated values, in all common encodings. It imports extract,
// extract/charset and events/fault.
package csv

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"
	"annals/events/fault"
)

const (
	sampleBytes = 64 << 10 // bytes of the file from which the separator is found
	sampleRows  = 200
	sectionRows = 100     // rows of a section
	sectionSize = 4 << 20 // bytes of a section, if its rows are long
	maxColumns  = 1_000   // columns of a row; the text of more joins the last
)

// Read reads a table. Its first row is the head, which is repeated in each section of up to 100
// rows, or fewer long ones; lines of one cell before it are text.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	encoded := charset.File{File: f}
	decoded, err := encoded.Decode(ctx)
	if err != nil {
		return extract.Info{}, err
	}
	in := bufio.NewReaderSize(decoded, sampleBytes)
	sample, err := in.Peek(sampleBytes)
	if err != nil && err != io.EOF {
		return extract.Info{}, err
	}
	comma, skip := separator(sample, extract.Extension(f.Name) == ".tsv")
	if _, err := in.Discard(skip); err != nil {
		return extract.Info{}, err
	}
	t := table{w: w}
	t.width = columns(sample[skip:], comma)
	r := newRows(in, comma, string(sample))
	unclosed := 0 // number of the first row with a quotation mark that is not closed
	for n := 1; ; n++ {
		row, err := r.next()
		if err == io.EOF {
			break
		}
		if err == errLongRow {
			return extract.Info{}, fault.Errorf(fault.Invalid, "row %d of the table is longer than %d KiB: upload the table in another format", n, maxRow>>10)
		}
		if r.unclosed > 0 && unclosed == 0 {
			unclosed = n
		}
		if err == nil {
			err = t.add(row)
		}
		if err == nil && n&1023 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return extract.Info{}, err
		}
	}
	warnings := encoded.Warnings()
	if unclosed > 0 {
		warnings = append(warnings, fmt.Sprintf("Quotation marks in the table are not closed, or only after more than %d KiB, the first one in row %d: they are read as part of their cells.", maxRow>>10, unclosed))
	}
	return extract.Info{Warnings: warnings}, t.flush()
}

// separator returns the separator of a table, given its start, and how many bytes name the
// separator, as Excel writes it ("sep=;").
func separator(sample []byte, tabs bool) (comma byte, skip int) {
	if line, _, _ := bytes.Cut(sample, []byte("\n")); bytes.HasPrefix(line, []byte("sep=")) && len(bytes.TrimSpace(line)) <= len("sep=;") {
		comma = '\t'
		if named := bytes.TrimSpace(line[len("sep="):]); len(named) == 1 && strings.Contains(",;|:", string(named)) {
			comma = named[0]
		}
		return comma, min(len(line)+1, len(sample))
	}
	candidates := []byte{',', ';', '\t', '|'}
	if tabs {
		candidates = []byte{'\t', ',', ';', '|'}
	}
	best := 0.0
	comma = candidates[0]
	for _, candidate := range candidates {
		if score := regularity(sample, candidate); score > best {
			best, comma = score, candidate
		}
	}
	return comma, 0
}

// regularity returns how well a separator fits: the share of the rows that have the usual number
// of columns, and a little for more columns. It is 0 if there is one column.
func regularity(sample []byte, comma byte) float64 {
	counts, rows := widths(sample, comma)
	delete(counts, 1) // lines of text around the table
	usual := commonest(counts)
	if usual < 2 {
		return 0
	}
	return float64(counts[usual])/float64(rows) + min(float64(usual), 100)/10_000
}

// columns returns the usual number of columns.
func columns(sample []byte, comma byte) int {
	counts, _ := widths(sample, comma)
	return commonest(counts)
}

// commonest returns the number of columns that most rows have, the largest of several, or 1.
func commonest(counts map[int]int) int {
	usual := 1
	for width, n := range counts {
		if n > counts[usual] || n == counts[usual] && width > usual {
			usual = width
		}
	}
	return usual
}

// widths counts the rows at the start of a table by their number of columns.
func widths(sample []byte, comma byte) (counts map[int]int, rows int) {
	counts = map[int]int{}
	if end := bytes.LastIndexByte(sample, '\n') + 1; len(sample) == sampleBytes && end > 0 { // the last line may not be whole
		sample = sample[:end]
	}
	r := newRows(bufio.NewReader(bytes.NewReader(sample)), comma, string(sample))
	for rows < sampleRows {
		row, err := r.next()
		if err != nil {
			break
		}
		rows++
		counts[len(row)]++
	}
	return counts, max(rows, 1)
}

// table writes rows as Markdown tables.
type table struct {
	w     *extract.Writer
	width int // usual number of columns
	head  string
	rows  []string // of the section
	size  int      // bytes of rows
	count int      // rows written so far, without the head
}

func (t *table) add(row []string) error {
	filled := 0
	for i, cell := range row {
		row[i] = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
		if row[i] != "" {
			filled = i + 1
		}
	}
	row = row[:filled]
	switch {
	case filled == 0:
		return nil
	case t.width == 1, t.head == "" && filled == 1: // text before the table
		return t.w.Write(strings.Join(row, " ") + "\n\n")
	}
	if len(row) > maxColumns {
		row = append(row[:maxColumns-1:maxColumns-1], strings.Join(row[maxColumns-1:], " "))
	}
	if t.head == "" {
		t.width = len(row)
		t.head = "| " + strings.Join(row, " | ") + " |\n|" + strings.Repeat(" --- |", len(row))
		return nil
	}
	line := "| " + strings.Join(row, " | ") + " |"
	t.rows, t.size = append(t.rows, line), t.size+len(line)
	if len(t.rows) < sectionRows && t.size < sectionSize {
		return nil
	}
	return t.flush()
}

// flush writes a section.
func (t *table) flush() error {
	if t.head == "" || len(t.rows) == 0 && t.count > 0 {
		return nil
	}
	from := t.count + 1
	t.count += len(t.rows)
	if from > 1 || len(t.rows) == sectionRows || t.size >= sectionSize {
		if err := t.w.Begin(1, fmt.Sprintf("Rows %d to %d", from, t.count)); err != nil {
			return err
		}
	}
	err := t.w.Write(t.head + "\n" + strings.Join(t.rows, "\n") + "\n")
	t.rows, t.size = t.rows[:0], 0
	return err
}
