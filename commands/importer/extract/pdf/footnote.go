package pdf

import (
	"regexp"
	"strings"
)

// footMark matches the beginning of a footnote: a number or a sign, often without a space.
var footMark = regexp.MustCompile(`^(?:[0-9]{1,3}|[*∗†‡§¶]{1,3})(?:[.)]? *[\p{L}"“‘(\[]|$)`)

// footnotesLast moves the footnotes of a page behind its text. If the last paragraph seems to
// continue on the next page, they are moved before this paragraph, so that it stays whole: text
// must not move to another page.
func (f *flow) footnotesLast(p layoutPage) []layoutLine {
	n := markFootnotes(p.lines, f.body, p.Height)
	if n == 0 {
		return p.lines
	}
	out := make([]layoutLine, 0, len(p.lines))
	var notes []layoutLine
	for i := range p.lines {
		if p.lines[i].foot {
			notes = append(notes, p.lines[i])
		} else {
			out = append(out, p.lines[i])
		}
	}
	at := f.unfinished(out)
	return append(out[:at:at], append(notes, out[at:]...)...)
}

// markFootnotes sets the field foot of the lines of footnotes, and returns their number. They
// begin with a mark, in letters smaller than body. Above them in their column is text in letters
// of that size, and below them nothing but small letters. A footnote is what follows its mark in the
// order of the file.
func markFootnotes(lines []layoutLine, body float64, height float32) (n int) {
	small := func(l *layoutLine) bool { return l.Size > 0 && sizeOf(l) <= body*0.93 && l.rows == nil && l.level == 0 }
	for i := range lines {
		first := &lines[i]
		if first.foot || first.furniture || first.running || first.Turned || !small(first) || first.Y < height*0.4 || !footMark.MatchString(first.Text) {
			continue
		}
		x, right := first.X, columnRight(lines, i)
		isBelow := func(l *layoutLine) bool {
			return !l.furniture && !l.running && !l.Turned && l.Y > first.Y-float32(body)*0.8
		}
		only := true
		var above *layoutLine
		for j := range lines {
			switch l := &lines[j]; {
			case j != i && !l.Turned && !small(l) && absf(l.Y-first.Y) < float32(body)*0.7 && absf(l.Right-first.X) < first.Size*1.5:
				only = false // the mark is an exponent in a line of text
			case j == i || l.furniture || l.Turned || l.X >= right || l.Right <= x: // in another column
			case isBelow(l):
				only = only && small(l)
			case above == nil || l.Y > above.Y:
				above = l
			}
		}
		if !only || above == nil || small(above) {
			continue
		}
		for j := i; j < len(lines) && !lines[j].foot && isBelow(&lines[j]) && small(&lines[j]); j++ {
			lines[j].foot = true
			n++
		}
	}
	return n
}

// unfinished returns the index of the first line of the page's last paragraph if the paragraph
// seems to continue on the next page, and begins on this one; else the number of lines.
func (f *flow) unfinished(lines []layoutLine) int {
	text := func(l *layoutLine) bool {
		return !l.furniture && !l.running && l.level == 0 && l.rows == nil && !l.Turned
	}
	end := len(lines)
	for end > 0 && (lines[end-1].furniture || lines[end-1].running) {
		end--
	}
	if end == 0 || !text(&lines[end-1]) || mayEndParagraph(lines[end-1].Text) || !isFull(lines, end-1) {
		return len(lines)
	}
	for i := end - 1; i > 0; i-- {
		l, above := &lines[i], &lines[i-1]
		if !text(above) || isItem(l.Text) || l.X > above.X+l.Size*0.8 && mayEndParagraph(above.Text) {
			return i
		}
		down := l.Y - above.Y
		if down < 0 && !strings.HasSuffix(above.Text, softHyphen) || down > l.Size*1.9 || down > 0 && (!isFull(lines, i-1) || absf(above.Size-l.Size) > l.Size*0.25) {
			return i
		}
	}
	return len(lines) // the paragraph may have begun on an earlier page
}

// isFull reports whether a line fills its column.
func isFull(lines []layoutLine, i int) bool {
	right := columnRight(lines, i)
	return lines[i].Right >= right-0.12*(right-lines[i].X)
}
