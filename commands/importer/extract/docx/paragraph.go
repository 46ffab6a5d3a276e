package docx

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"annals/commands/importer/extract"
)

const maxHeading = 400 // runes; a longer paragraph with a heading style is text

// paragraph is a paragraph that is being read.
type paragraph struct {
	style        string
	outline      int // -1 if not set
	numID, level int // -1 if not set
	text         []byte
	breaks       []int
	attached     []block // text boxes, notes and comments
	attachedSize int     // bytes of text boxes, charts and diagrams in attached
}

// paragraph reads the open w:p, and emits it and then its attached blocks.
func (d *document) paragraph(x *xmlPart, out sink) error {
	p := &paragraph{outline: -1, numID: -1, level: -1}
	if err := x.children(func(e *element) error { return d.inline(x, e, p) }); err != nil {
		return err
	}
	for i := range d.fields { // a field instruction that has no separator ends with the paragraph
		d.fields[i] = false
	}
	if err := out(d.finish(p)); err != nil {
		return err
	}
	for _, b := range p.attached {
		if err := out(b); err != nil {
			return err
		}
	}
	return nil
}

// inline reads an element inside a paragraph, such as a run, and adds its text to the
// paragraph.
func (d *document) inline(x *xmlPart, e *element, p *paragraph) error {
	switch e.name {
	case "w:r":
		return d.run(x, p)
	case "w:t":
		text, err := x.text()
		if err != nil {
			return err
		}
		return d.add(p, text)
	case "w:pPr":
		return d.properties(x, p)
	case "w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:customXml", "w:sdt", "w:sdtContent", "w:fldSimple", "w:dir", "w:bdo", "w:ruby", "w:rubyBase":
		return x.children(func(e *element) error { return d.inline(x, e, p) })
	case "w:drawing", "w:pict", "w:object":
		return d.drawing(x, p)
	case "mc:AlternateContent":
		return d.choose(x, func(e *element) error { return d.inline(x, e, p) })
	case "m:oMath", "m:oMathPara":
		text, err := d.math(x)
		if err != nil {
			return err
		}
		return d.add(p, " "+text+" ")
	case "w:fldChar":
		return d.field(x, e, p)
	case "w:footnoteReference", "w:endnoteReference", "w:commentReference":
		if err := d.reference(strings.TrimSuffix(e.local, "Reference"), e, p); err != nil {
			return err
		}
	case "w:lastRenderedPageBreak":
		if !d.fresh {
			d.breakPage(p)
		}
	case "w:br":
		if e.attr("type") == "page" {
			d.breakPage(p)
		} else if err := d.add(p, "\n"); err != nil {
			return err
		}
	default:
		if err := d.add(p, character(e)); err != nil {
			return err
		}
	}
	return x.skip()
}

// character returns the text of an element that stands for a character.
func character(e *element) string {
	switch e.name {
	case "w:tab", "w:ptab":
		return "\t"
	case "w:cr":
		return "\n"
	case "w:noBreakHyphen":
		return "-"
	case "w:sym":
		code, err := strconv.ParseUint(e.attr("char"), 16, 32)
		if err != nil {
			return ""
		}
		switch code & 0xfff {
		case 0x06f, 0x0a8, 0x071:
			return "☐"
		case 0x0fe, 0x078, 0x0fd, 0x052:
			return "☒"
		case 0x0fc:
			return "✓"
		case 0x0b7, 0x0a7:
			return "•"
		case 0x0e0, 0x0e8:
			return "→"
		}
		if code < 0xe000 && code >= ' ' {
			return string(rune(code))
		}
	}
	return ""
}

// run reads the open w:r, unless it is hidden.
func (d *document) run(x *xmlPart, p *paragraph) error {
	hidden := false
	return x.children(func(e *element) error {
		if e.name == "w:rPr" {
			return x.children(func(c *element) error {
				if c.name == "w:vanish" {
					hidden = c.on()
				}
				return x.skip()
			})
		}
		if hidden && e.name == "w:t" {
			return x.skip()
		}
		return d.inline(x, e, p)
	})
}

func (d *document) add(p *paragraph, text string) error {
	if text == "" || len(d.fields) > 0 && d.inInstruction() {
		return nil
	}
	p.text = append(p.text, text...)
	if d.fresh && strings.TrimSpace(text) != "" {
		d.fresh = false
	}
	return tooLong(len(p.text))
}

func (d *document) inInstruction() bool {
	for _, instruction := range d.fields {
		if instruction {
			return true
		}
	}
	return false
}

// breakPage starts the next page.
func (d *document) breakPage(p *paragraph) {
	if d.page > 0 && len(p.breaks) < 10_000 {
		p.breaks = append(p.breaks, len(p.text))
		d.fresh = true
	}
}

// field reads the open w:fldChar. The text between "begin" and "separate" is the field's
// instruction, the text between "separate" and "end" its result.
func (d *document) field(x *xmlPart, e *element, p *paragraph) error {
	switch e.attr("fldCharType") {
	case "begin":
		if len(d.fields) < maxXMLDepth {
			d.fields = append(d.fields, true)
		}
	case "separate":
		if n := len(d.fields); n > 0 {
			d.fields[n-1] = false
		}
	case "end":
		if n := len(d.fields); n > 0 {
			d.fields = d.fields[:n-1]
		}
	}
	box := ""
	err := x.children(func(c *element) error { // a w:ffData/w:checkBox has no result text
		if c.name != "w:ffData" {
			return x.skip()
		}
		return x.children(func(c *element) error {
			if c.name != "w:checkBox" {
				return x.skip()
			}
			box = "☐"
			return x.children(func(c *element) error {
				if (c.name == "w:checked" || c.name == "w:default") && c.on() {
					box = "☒"
				} else if c.name == "w:checked" {
					box = "☐"
				}
				return x.skip()
			})
		})
	})
	p.text = append(p.text, box...)
	return err
}

// reference adds the mark of a note to the text, and attaches the note.
func (d *document) reference(kind string, e *element, p *paragraph) error {
	n, ok := d.notes[kind+e.attr("id")]
	if !ok || n.text == "" {
		return nil
	}
	delete(d.notes, kind+e.attr("id")) // so that a note is written only once
	if kind == "comment" {
		text := "Comment: " + n.text
		if n.author != "" {
			text = "Comment by " + n.author + ": " + n.text
		}
		p.attached = append(p.attached, block{kind: quote, text: "> " + text})
		return nil
	}
	d.noteCount++
	mark := "[^" + strconv.Itoa(d.noteCount) + "]"
	p.attached = append(p.attached, block{text: mark + ": " + n.text})
	return d.add(p, mark)
}

// properties reads the open w:pPr.
func (d *document) properties(x *xmlPart, p *paragraph) error {
	return x.children(func(e *element) error {
		switch e.name {
		case "w:pStyle":
			p.style = e.attr("val")
		case "w:outlineLvl":
			p.outline = atoi(e.attr("val"), -1)
		case "w:numPr":
			return readNumPr(x, &p.numID, &p.level)
		case "w:pageBreakBefore":
			if e.on() && !d.fresh {
				d.breakPage(p)
			}
		}
		return x.skip()
	})
}

var noteMark = regexp.MustCompile(`\[\^\d+\]`)

// finish converts a paragraph to a block.
func (d *document) finish(p *paragraph) block {
	b := block{breaks: p.breaks, text: string(p.text)}
	if strings.Contains(b.text, "\u00ad") { // a soft hyphen
		b.text = strings.ReplaceAll(b.text, "\u00ad", "")
	}
	if p.style == "" {
		p.style = d.defaultStyle
	}
	level := d.headingLevel(p.style)
	if p.outline >= 0 && p.outline <= 9 {
		level = (p.outline + 1) % 10
	}
	b.kind = d.styleKind(p.style)
	if b.kind != code {
		b.text = trimLines(b.text)
	}
	label := d.itemLabel(p)
	bare := strings.TrimSpace(b.text)
	switch {
	case bare == "":
		b.text, b.kind = "", plain
	case level > 0 && utf8.RuneCountInString(bare) <= maxHeading:
		b.level, b.text = level, extract.CleanTitle(noteMark.ReplaceAllString(bare, ""))
		if label != "" && label != "-" {
			b.text = label + " " + b.text
		}
	case label != "":
		b.kind = listItem
		b.text = strings.Repeat("  ", max(p.level, 0)) + label + " " + b.text
	case b.kind == quote:
		b.text = "> " + strings.ReplaceAll(b.text, "\n", "\n> ")
	case b.kind == plain:
		b.text = notMarkup(b.text)
	}
	shift := len(b.text) - len(p.text)
	for i, at := range b.breaks { // exact for breaks at the start, approximate for others
		if at > 0 {
			at += max(shift, 0)
		}
		at = min(at, len(b.text))
		for at > 0 && at < len(b.text) && !utf8.RuneStart(b.text[at]) {
			at--
		}
		b.breaks[i] = at
	}
	return b
}

// itemLabel counts a list item, and returns its number.
func (d *document) itemLabel(p *paragraph) string {
	numID, level := d.styleNumbering(p.style)
	if p.numID >= 0 {
		numID = p.numID
	}
	if p.level < 0 {
		p.level = max(level, 0)
	}
	if numID <= 0 {
		return ""
	}
	return d.label(numID, min(p.level, 8))
}

// trimLines removes the spaces at both ends of each line.
func trimLines(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

var markup = regexp.MustCompile("(?m)^(#{1,6}\\s|>|[-+*]\\s|```|~~~)")

// notMarkup escapes a text whose start Markdown would read as a heading, quotation, list or
// code.
func notMarkup(text string) string {
	switch {
	case strings.IndexByte("#>-+*`~", text[0]) >= 0, strings.Contains(text, "\n"):
		return markup.ReplaceAllString(text, `\$1`)
	}
	return text
}
