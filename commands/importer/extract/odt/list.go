package odt

import (
	"strconv"
	"strings"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
)

// listStyle has the numbers of each level of a list.
type listStyle struct{ levels [10]listLevel }

type listLevel struct {
	defined        bool
	bullet         bool
	format         string // such as "1", "a" or "I"; "" means that nothing is displayed
	prefix, suffix string
	start          int
	shown          int // levels that a number has, such as 2 for 1.2
}

// counter counts the items of the lists of a style.
type counter struct{ counts [10]int }

// openList is a list around the current block.
type openList struct {
	style   string
	counter *counter
	header  bool // the current item has no number
	fresh   bool // the current item has no block yet
}

// list reads the open text:list.
func (d *document) list(x *zipxml.Part, e *zipxml.Element, out blocks.Sink) error {
	l := openList{style: e.Attr("style-name")}
	level := len(d.open)
	switch {
	case level > 0:
		if l.style == "" {
			l.style = d.open[level-1].style
		}
		l.counter = d.open[level-1].counter
	default:
		if c := d.counters[l.style]; c != nil && (e.Attr("continue-numbering") == "true" || e.Attr("continue-list") != "") {
			l.counter = c
		} else {
			l.counter = &counter{}
			if len(d.counters) < maxStyles {
				d.counters[l.style] = l.counter
			}
		}
	}
	if level < len(l.counter.counts) && (level > 0 || e.Attr("continue-numbering") != "true" && e.Attr("continue-list") == "") {
		l.counter.counts[level] = d.level(l.style, level).start - 1
	}
	d.open = append(d.open, l)
	defer func() { d.open = d.open[:level] }()
	return x.Children(func(e *zipxml.Element) error {
		if e.Name != "text:list-item" && e.Name != "text:list-header" {
			return x.Skip()
		}
		this := &d.open[level]
		this.header, this.fresh = e.Name == "text:list-header", true
		if start, err := strconv.Atoi(e.Attr("start-value")); err == nil && level < len(this.counter.counts) {
			this.counter.counts[level] = start - 1
		}
		return d.blocks(x, out)
	})
}

// level returns a level of a style of lists. A style that is not known has bullets.
func (d *document) level(style string, level int) listLevel {
	if s := d.lists[style]; s != nil && level < len(s.levels) && s.levels[level].defined {
		return s.levels[level]
	}
	return listLevel{bullet: true, start: 1}
}

// label counts an item of a list or a numbered heading. It returns its number as displayed, "-" for a
// bullet, or "" if nothing is displayed, and how deep a text is in lists.
func (d *document) label(heading bool, level int, headless bool) (label string, indent int) {
	depth := len(d.open)
	if depth > 0 {
		l := &d.open[depth-1]
		if !l.fresh || l.header {
			return "", depth
		}
		l.fresh = false
		at := min(depth-1, len(l.counter.counts)-1)
		this := d.level(l.style, at)
		l.counter.counts[at]++
		for i := at + 1; i < len(l.counter.counts); i++ {
			l.counter.counts[i] = 0
		}
		if this.bullet {
			return "-", depth - 1
		}
		return this.number(at, l.counter, func(i int) listLevel { return d.level(l.style, i) }), depth - 1
	}
	if !heading || headless {
		return "", 0
	}
	c := d.counters["outline"]
	if c == nil {
		c = &counter{}
		for i := range c.counts {
			c.counts[i] = d.outline.levels[i].start - 1
		}
		d.counters["outline"] = c
	}
	at := level - 1
	if !d.outline.levels[at].defined {
		return "", 0
	}
	c.counts[at]++
	for i := at + 1; i < len(c.counts); i++ {
		c.counts[i] = d.outline.levels[i].start - 1
	}
	return d.outline.levels[at].number(at, c, func(i int) listLevel { return d.outline.levels[i] }), 0
}

// number returns the number of the current item of level at, as displayed.
func (l listLevel) number(at int, c *counter, level func(int) listLevel) string {
	if l.format == "" {
		return strings.TrimSpace(l.prefix + l.suffix)
	}
	var numbers []string
	for i := max(0, at-max(l.shown, 1)+1); i <= at; i++ {
		if f := level(i); f.format != "" {
			numbers = append(numbers, blocks.Numeral(c.counts[i], map[string]string{"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman", "①": "decimalEnclosedCircle", "一": "chineseCounting", "一, 二, 三, ...": "chineseCounting", "ア": "aiueo", "イ": "iroha"}[f.format]))
		}
	}
	return strings.TrimSpace(l.prefix + strings.Join(numbers, ".") + l.suffix)
}

// readListStyle reads the levels of the open style of lists.
func readListStyle(x *zipxml.Part, s *listStyle) error {
	return x.Children(func(e *zipxml.Element) error {
		i, err := strconv.Atoi(e.Attr("level"))
		if err != nil || i < 1 || i > len(s.levels) {
			return x.Skip()
		}
		l := listLevel{defined: true, format: e.Attr("num-format"), prefix: e.Attr("num-prefix"), suffix: e.Attr("num-suffix"), start: 1, shown: 1}
		if n, err := strconv.Atoi(e.Attr("start-value")); err == nil {
			l.start = n
		}
		if n, err := strconv.Atoi(e.Attr("display-levels")); err == nil {
			l.shown = min(max(n, 1), len(s.levels))
		}
		switch e.Name {
		case "text:list-level-style-bullet", "text:list-level-style-image":
			l.bullet = true
		case "text:outline-level-style":
			l.defined = l.format != ""
		case "text:list-level-style-number":
		default:
			return x.Skip()
		}
		s.levels[i-1] = l
		return x.Skip()
	})
}
