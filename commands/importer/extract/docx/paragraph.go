package docx

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/formula"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
)

const (
	maxFields  = 400 // fields in fields
	maxHeading = 400 // runes; a longer paragraph with a heading style is text
)

// paragraph is a paragraph that is being read.
type paragraph struct {
	style        string
	outline      int // -1 if not set
	numID, level int // -1 if not set
	text         []byte
	breaks       []int
	attached     []blocks.Block // text boxes and notes
	attachedSize int            // bytes of text boxes, charts and diagrams in attached
	joined       bool           // its end was deleted
	sectionEnd   bool           // it is the last paragraph of a section of pages
	formula      int            // offset after the last formula, or 0
	hidden       *bool          // whether its style hides its runs; nil before the first run
}

// paragraph reads the open w:p, and emits it and then its attached blocks.
func (d *document) paragraph(x *zipxml.Part, out blocks.Sink) error {
	p := &paragraph{outline: -1, numID: -1, level: -1}
	if c := d.carried; c != nil {
		p.text, p.breaks, p.attached, p.attachedSize = c.text, c.breaks, c.attached, c.attachedSize
		d.carried = nil
	}
	if err := x.Children(func(e *zipxml.Element) error { return d.inline(x, e, p) }); err != nil {
		return err
	}
	for i := range d.fields { // a field instruction that has no separator ends with the paragraph
		d.fields[i] = false
	}
	if p.joined {
		d.carried = p
		return nil
	}
	if err := d.emit(p, out); err != nil {
		return err
	}
	if p.sectionEnd {
		return d.endSection()
	}
	return nil
}

// emit emits a paragraph, and then its attached blocks.
func (d *document) emit(p *paragraph, out blocks.Sink) error {
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
func (d *document) inline(x *zipxml.Part, e *zipxml.Element, p *paragraph) error {
	switch e.Name {
	case "w:r":
		return d.run(x, p)
	case "w:t":
		text, err := x.Text()
		if err != nil {
			return err
		}
		return d.add(p, text)
	case "w:pPr":
		return d.properties(x, p)
	case "w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:customXml", "w:sdt", "w:sdtContent", "w:dir", "w:bdo", "w:rubyBase":
		return x.Children(func(e *zipxml.Element) error { return d.inline(x, e, p) })
	case "w:drawing", "w:pict", "w:object":
		return d.drawing(x, p)
	case "mc:AlternateContent":
		return ooxml.Choose(x, func(e *zipxml.Element) error { return d.inline(x, e, p) })
	case "m:oMath", "m:oMathPara":
		text, err := formula.OMML(x)
		if err != nil {
			return err
		}
		return d.addFormula(p, text)
	case "w:fldSimple":
		if d.furnishing && isPageField(e.Attr("instr")) {
			return x.Skip()
		}
		return x.Children(func(e *zipxml.Element) error { return d.inline(x, e, p) })
	case "w:instrText":
		text, err := x.Text()
		if d.furnishing && d.pageField == 0 && isPageField(text) {
			d.pageField = len(d.fields)
		}
		return err
	case "w:ruby":
		return d.ruby(x, p)
	case "w:fldChar":
		return d.field(x, e, p)
	case "w:footnoteReference", "w:endnoteReference":
		if err := d.reference(strings.TrimSuffix(e.Local, "Reference"), e, p); err != nil {
			return err
		}
	case "w:lastRenderedPageBreak":
		if !d.fresh {
			d.breakPage(p)
		}
	case "w:br":
		if e.Attr("type") == "page" {
			d.breakPage(p)
		} else if err := d.add(p, "\n"); err != nil {
			return err
		}
	default:
		if err := d.add(p, character(e)); err != nil {
			return err
		}
	}
	return x.Skip()
}

// character returns the text of an element that stands for a character.
func character(e *zipxml.Element) string {
	switch e.Name {
	case "w:tab", "w:ptab":
		return "\t"
	case "w:cr":
		return "\n"
	case "w:noBreakHyphen":
		return "-"
	case "w:sym":
		code, err := strconv.ParseUint(e.Attr("char"), 16, 32)
		if err != nil {
			return ""
		}
		return symbol(e.Attr("font"), rune(code))
	}
	return ""
}

// run reads the open w:r. Of hidden text, only the marks of fields count.
func (d *document) run(x *zipxml.Part, p *paragraph) error {
	if p.hidden == nil {
		p.hidden = new(d.hiddenStyle(cmp.Or(p.style, d.defaultStyle)))
	}
	hidden, symbol, raised := *p.hidden, false, false
	return x.Children(func(e *zipxml.Element) error {
		switch {
		case e.Name == "w:rPr":
			return x.Children(func(c *zipxml.Element) error {
				switch c.Name {
				case "w:rStyle":
					if of, ok := d.hidden[c.Attr("val")]; ok {
						hidden = of
					}
				case "w:vanish":
					hidden = on(c)
				case "w:rFonts":
					symbol = c.Attr("ascii") == "Symbol"
				case "w:vertAlign":
					raised = c.Attr("val") == "superscript"
				}
				return x.Skip()
			})
		case hidden && e.Name != "w:fldChar":
			return x.Skip()
		case e.Name == "w:t" && (symbol || raised):
			text, err := x.Text()
			if err != nil {
				return err
			}
			if symbol {
				text = fromSymbolFont(text)
			}
			if raised {
				text = blocks.Raised(string(p.text[max(0, len(p.text)-1):]), text)
			}
			return d.add(p, text)
		}
		return d.inline(x, e, p)
	})
}

// ruby reads the open w:ruby: a text with its pronunciation, which follows it in brackets.
func (d *document) ruby(x *zipxml.Part, p *paragraph) error {
	spoken := &paragraph{}
	err := x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "w:rt":
			return x.Children(func(e *zipxml.Element) error { return d.inline(x, e, spoken) })
		case "w:rubyBase":
			return d.inline(x, e, p)
		}
		return x.Skip()
	})
	if text := strings.TrimSpace(string(spoken.text)); err == nil && text != "" {
		err = d.add(p, "("+text+")")
	}
	return err
}

// addFormula adds a formula. Markdown does not recognise one that touches other text.
func (d *document) addFormula(p *paragraph, text string) error {
	if r, _ := utf8.DecodeLastRune(p.text); len(p.text) > 0 && (unicode.IsLetter(r) || unicode.IsNumber(r) || r == '$') {
		text = " " + text
	}
	err := d.add(p, text)
	p.formula = len(p.text)
	return err
}

func (d *document) add(p *paragraph, text string) error {
	if text == "" || len(d.fields) > 0 && d.inInstruction() {
		return nil
	}
	if p.formula > 0 && p.formula == len(p.text) {
		if r, _ := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || unicode.IsNumber(r) {
			text = " " + text
		}
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
	if d.out.Page() > 0 && len(p.breaks) < 10_000 {
		p.breaks = append(p.breaks, len(p.text))
		d.fresh = true
	}
}

// field reads the open w:fldChar. The text between "begin" and "separate" is the field's
// instruction, the text between "separate" and "end" its result.
func (d *document) field(x *zipxml.Part, e *zipxml.Element, p *paragraph) error {
	switch e.Attr("fldCharType") {
	case "begin":
		if len(d.fields) < maxFields {
			d.fields = append(d.fields, true)
		}
	case "separate":
		if n := len(d.fields); n > 0 {
			d.fields[n-1] = n == d.pageField
		}
	case "end":
		if n := len(d.fields); n > 0 {
			if n <= d.pageField {
				d.pageField = 0
			}
			d.fields = d.fields[:n-1]
		}
	}
	box := ""
	err := x.Children(func(c *zipxml.Element) error { // a w:ffData/w:checkBox has no result text
		if c.Name != "w:ffData" {
			return x.Skip()
		}
		return x.Children(func(c *zipxml.Element) error {
			if c.Name != "w:checkBox" {
				return x.Skip()
			}
			box = "☐"
			return x.Children(func(c *zipxml.Element) error {
				if (c.Name == "w:checked" || c.Name == "w:default") && on(c) {
					box = "☒"
				} else if c.Name == "w:checked" {
					box = "☐"
				}
				return x.Skip()
			})
		})
	})
	p.text = append(p.text, box...)
	return err
}

// isPageField reports whether an instruction of a field stands for the number of a page or of pages,
// which is not a text of a header or footer.
func isPageField(instruction string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(instruction), " ")
	switch strings.ToUpper(name) {
	case "PAGE", "NUMPAGES", "SECTIONPAGES":
		return true
	}
	return false
}

// reference adds the mark of a note to the text, and attaches the note.
func (d *document) reference(kind string, e *zipxml.Element, p *paragraph) error {
	text := d.notes[kind+e.Attr("id")]
	if text == "" {
		return nil
	}
	delete(d.notes, kind+e.Attr("id")) // so that a note is written only once
	d.noteCount++
	mark := "[^" + strconv.Itoa(d.noteCount) + "]"
	note := blocks.Block{Text: mark + ": " + text}
	if d.nesting > 0 {
		d.held = append(d.held, note)
	} else {
		p.attached = append(p.attached, note)
	}
	return d.add(p, mark)
}

// properties reads the open w:pPr.
func (d *document) properties(x *zipxml.Part, p *paragraph) error {
	return x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "w:pStyle":
			p.style = e.Attr("val")
		case "w:outlineLvl":
			p.outline = atoi(e.Attr("val"), -1)
		case "w:numPr":
			return readNumPr(x, &p.numID, &p.level)
		case "w:sectPr":
			p.sectionEnd = true
		case "w:rPr": // of the paragraph's end
			return x.Children(func(c *zipxml.Element) error {
				p.joined = p.joined || c.Name == "w:del" || c.Name == "w:moveFrom"
				return x.Skip()
			})
		case "w:pageBreakBefore":
			if on(e) && !d.fresh {
				d.breakPage(p)
			}
		}
		return x.Skip()
	})
}

var (
	noteMark    = regexp.MustCompile(`\[\^\d+\]`)
	pictureMark = regexp.MustCompile(`\[Image: [^\]]*\]`)
)

// headingTitle returns the text of a heading without marks of notes, and without those of pictures
// beside the text.
func headingTitle(text string) string {
	text = noteMark.ReplaceAllString(text, "")
	if without := pictureMark.ReplaceAllString(text, ""); strings.TrimSpace(without) != "" {
		text = without
	}
	return extract.CleanTitle(text)
}

// finish converts a paragraph to a block.
func (d *document) finish(p *paragraph) blocks.Block {
	b := blocks.Block{Breaks: p.breaks, Text: string(p.text)}
	if strings.Contains(b.Text, "\u00ad") { // a soft hyphen
		b.Text = strings.ReplaceAll(b.Text, "\u00ad", "")
	}
	if p.style == "" {
		p.style = d.defaultStyle
	}
	level := d.headingLevel(p.style)
	if p.outline >= 0 && p.outline <= 9 {
		level = (p.outline + 1) % 10
	}
	b.Kind = d.styleKind(p.style)
	if b.Kind != blocks.Code {
		b.Text = blocks.TrimLines(b.Text)
	}
	label := d.itemLabel(p)
	bare := strings.TrimSpace(b.Text)
	switch {
	case bare == "":
		b.Text, b.Kind = "", blocks.Plain
	case level > 0 && utf8.RuneCountInString(bare) <= maxHeading:
		b.Level, b.Text = level, headingTitle(bare)
		if label != "" && label != "-" {
			b.Text = label + " " + b.Text
		}
	case label != "":
		b.Kind = blocks.ListItem
		b.Text = strings.Repeat("  ", max(p.level, 0)) + label + " " + b.Text
	case b.Kind == blocks.Quote:
		b.Text = "> " + strings.ReplaceAll(b.Text, "\n", "\n> ")
	case b.Kind == blocks.Plain:
		b.Text = blocks.Escape(b.Text)
	}
	b.MoveBreaks(len(b.Text) - len(p.text))
	return b
}

// itemLabel counts a list item, and returns its number.
func (d *document) itemLabel(p *paragraph) string {
	numID, level := d.styleNumbering(p.style)
	if p.numID >= 0 {
		numID = p.numID
	}
	if p.level < 0 {
		p.level = level
	}
	if numID <= 0 {
		return ""
	}
	return d.label(numID, &p.level, p.style)
}
