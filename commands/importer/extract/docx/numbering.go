package docx

import (
	"strings"
	"unicode"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// numbering has the list definitions of a document, and the counters of their items.
type numbering struct {
	abstracts map[int]*abstractList
	lists     map[int]*list
}

// abstractList is the format and the counters that the lists based on it share.
type abstractList struct {
	levels    [9]listLevel
	styleLink string // style that defines the levels instead of this list
	counts    [9]int
	counted   [9]bool
}

type listLevel struct {
	format, text string
	start        int
	restart      int    // number of the outer level that restarts this one; 0 means none, -1 any
	style        string // paragraphs with this style are of this level
	legal        bool   // all numbers are in Arabic digits
}

type list struct {
	abstract  int
	overrides [9]*listLevel
	starts    [9]int // overrides of the start numbers; -1 means none
	used      [9]bool
}

func (d *document) readNumbering(part string) error {
	n := &d.lists
	n.abstracts, n.lists = map[int]*abstractList{}, map[int]*list{}
	return d.pkg.Each(part, zipxml.SmallPart, "numbering", func(x *zipxml.Part, _ *zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			if len(n.abstracts)+len(n.lists) > maxStyles {
				return fault.Errorf(fault.Invalid, "the Word document has more than %d list definitions: save it again as PDF, and upload that", maxStyles)
			}
			switch e.Name {
			case "w:abstractNum":
				a := &abstractList{}
				n.abstracts[atoi(e.Attr("abstractNumId"), -1)] = a
				return readAbstract(x, a)
			case "w:num":
				l := &list{abstract: -1, starts: [9]int{-1, -1, -1, -1, -1, -1, -1, -1, -1}}
				n.lists[atoi(e.Attr("numId"), -1)] = l
				return readList(x, l)
			}
			return x.Skip()
		})
	})
}

func readAbstract(x *zipxml.Part, a *abstractList) error {
	return x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "w:numStyleLink":
			a.styleLink = e.Attr("val")
		case "w:lvl":
			if i := atoi(e.Attr("ilvl"), -1); i >= 0 && i < len(a.levels) {
				return readLevel(x, &a.levels[i])
			}
		}
		return x.Skip()
	})
}

func readList(x *zipxml.Part, l *list) error {
	return x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "w:abstractNumId":
			l.abstract = atoi(e.Attr("val"), -1)
		case "w:lvlOverride":
			i := atoi(e.Attr("ilvl"), -1)
			if i < 0 || i >= len(l.starts) {
				break
			}
			return x.Children(func(c *zipxml.Element) error {
				switch c.Name {
				case "w:startOverride":
					l.starts[i] = atoi(c.Attr("val"), 1)
				case "w:lvl":
					l.overrides[i] = &listLevel{}
					return readLevel(x, l.overrides[i])
				}
				return x.Skip()
			})
		}
		return x.Skip()
	})
}

func readLevel(x *zipxml.Part, l *listLevel) error {
	l.format, l.start, l.restart = "decimal", 0, -1
	return x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "w:start":
			l.start = atoi(e.Attr("val"), 1)
		case "w:numFmt":
			l.format = e.Attr("val")
		case "w:lvlText":
			l.text = e.Attr("val")
		case "w:lvlRestart":
			l.restart = atoi(e.Attr("val"), -1)
		case "w:pStyle":
			l.style = e.Attr("val")
		case "w:isLgl":
			l.legal = on(e)
		}
		return x.Skip()
	})
}

const maxLabel = 256 // bytes of a label; only its last numeral may exceed the limit

// abstract returns the definition of a list, or nil.
func (d *document) abstract(l *list) *abstractList {
	if l == nil {
		return nil
	}
	a := d.lists.abstracts[l.abstract]
	if a != nil && a.styleLink != "" {
		linked, _ := d.styleNumbering(a.styleLink)
		if other := d.lists.lists[linked]; other != nil {
			a = d.lists.abstracts[other.abstract]
		}
	}
	return a
}

// label counts an item of a list, and returns its number as displayed, "-" for a bullet, or "" if
// nothing is displayed. If the item's paragraph does not say its level, level is -1: it is the one that
// the list has for the paragraph's style, or the first.
func (d *document) label(numID int, level *int, style string) string {
	l := d.lists.lists[numID]
	a := d.abstract(l)
	if a == nil {
		return ""
	}
	at := func(i int) *listLevel {
		if o := l.overrides[i]; o != nil {
			return o
		}
		return &a.levels[i]
	}
	if *level < 0 {
		*level = 0
		for i := range a.levels {
			if style != "" && at(i).style == style {
				*level = i
			}
		}
	}
	*level = min(*level, len(a.levels)-1)
	a.count(l, *level, at)
	this := at(*level)
	if this.format == "bullet" {
		return "-"
	}
	var out strings.Builder
	for i := 0; i < len(this.text) && out.Len() < maxLabel; i++ {
		c := this.text[i]
		if c != '%' || i+1 == len(this.text) || this.text[i+1] < '1' || this.text[i+1] > '9' {
			out.WriteByte(c)
			continue
		}
		i++
		n := int(this.text[i] - '1')
		format := at(n).format
		if this.legal {
			format = "decimal"
		}
		count := a.counts[n]
		if !a.counted[n] {
			count = at(n).start
		}
		out.WriteString(blocks.Numeral(count, format))
	}
	label := strings.TrimSpace(strings.ToValidUTF8(out.String(), ""))
	if this.format == "none" && strings.IndexFunc(label, unicode.IsLetter) < 0 { // a word such as "Note:" is displayed
		return ""
	}
	return label
}

// count advances the counters to the next item at a level of list l.
func (a *abstractList) count(l *list, level int, at func(int) *listLevel) {
	for i := range level { // an outer level that was skipped counts as one item
		if !a.counted[i] {
			a.counts[i], a.counted[i] = at(i).start, true
		}
	}
	start := at(level).start
	switch {
	case l.starts[level] >= 0 && !l.used[level]:
		a.counts[level] = l.starts[level]
	case !a.counted[level]:
		a.counts[level] = start
	default:
		a.counts[level]++
	}
	a.counted[level], l.used[level] = true, true
	for i := level + 1; i < len(a.counts); i++ {
		if r := at(i).restart; r < 0 || level < r {
			a.counted[i] = false
		}
	}
}
