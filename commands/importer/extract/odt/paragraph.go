package odt

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

const maxHeading = 400 // runes; a longer heading is text

// paragraph is a paragraph that is being read.
type paragraph struct {
	text     []byte
	breaks   []int
	attached []blocks.Block // notes and frames
	size     int            // bytes of text in attached
	space    bool           // the text ends with a space, so that another one is left out
	object   bool           // the text ends with a formula or a picture, from which a word must stand apart
}

// paragraph reads the open text:p or text:h, and emits it and then its attached blocks.
func (d *document) paragraph(x *zipxml.Part, e *zipxml.Element, out blocks.Sink) error {
	s := d.style("paragraph", e.Attr("style-name"))
	level := 0
	if e.Name == "text:h" {
		level, _ = strconv.Atoi(e.Attr("outline-level"))
		level = min(max(level, 1), 10)
	} else if s.title {
		level = 1
	}
	headless := e.Attr("is-list-header") == "true"
	p := &paragraph{space: true}
	if d.tables == 0 && !d.furnishing {
		if err := d.useMaster(s.master); err != nil {
			return err
		}
		if d.begun && d.out.Page() > 0 && (s.breakBefore == "page" || s.master != "") {
			p.breaks = append(p.breaks, 0)
		}
		d.begun = true
	}
	hidden := s.hidden
	if err := d.inlines(x, p, false, &hidden); err != nil {
		return err
	}
	b := blocks.Block{Kind: s.kind, Text: string(p.text), Breaks: p.breaks}
	if b.Kind != blocks.Code {
		b.Text = blocks.TrimLines(b.Text)
	}
	label, indent := d.label(e.Name == "text:h" && level > 0, level, headless)
	bare := strings.TrimSpace(b.Text)
	switch {
	case bare == "":
		b.Text, b.Kind = "", blocks.Plain
	case level > 0 && utf8.RuneCountInString(bare) <= maxHeading:
		b.Level, b.Text = level, extract.CleanTitle(bare)
		if label != "" && label != "-" {
			b.Text = label + " " + b.Text
		}
	case label != "" || indent > 0:
		b.Kind = blocks.ListItem
		if label != "" {
			label += " "
		}
		b.Text = strings.Repeat("  ", indent) + label + strings.ReplaceAll(b.Text, "\n", " ")
	case b.Kind == blocks.Quote:
		b.Text = "> " + strings.ReplaceAll(b.Text, "\n", "\n> ")
	case b.Kind == blocks.Plain:
		b.Text = blocks.Escape(b.Text)
	}
	b.MoveBreaks(len(b.Text) - len(p.text))
	if err := out(b); err != nil {
		return err
	}
	for _, b := range p.attached {
		if err := out(b); err != nil {
			return err
		}
	}
	return nil
}

// add adds text as XML contains it, in which any number of spaces and line ends is one space.
func (p *paragraph) add(text string, raised bool) error {
	if raised {
		text = blocks.Raised(string(p.text[max(0, len(p.text)-1):]), text)
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			if !p.space {
				p.text = append(p.text, ' ')
			}
			p.space, p.object = true, false
		default:
			if p.object && (c >= utf8.RuneSelf || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') {
				p.text = append(p.text, ' ')
			}
			p.text, p.space, p.object = append(p.text, c), false, false
		}
	}
	return tooLong(len(p.text))
}

// write adds characters as they are.
func (p *paragraph) write(text string) error {
	p.text, p.space, p.object = append(p.text, text...), false, false
	return tooLong(len(p.text))
}

// addObject adds a formula or the description of a picture.
func (p *paragraph) addObject(text string) error {
	if !p.space {
		text = " " + text
	}
	err := p.write(text)
	p.object = true
	return err
}

// inlines reads the open element inside a paragraph. raised is set for superscript.
func (d *document) inlines(x *zipxml.Part, p *paragraph, raised bool, hidden *bool) error {
	return x.Mixed(func(text string) error {
		if *hidden {
			return nil
		}
		return p.add(text, raised)
	}, func(e *zipxml.Element) error {
		return d.inline(x, e, p, raised, hidden)
	})
}

func (d *document) inline(x *zipxml.Part, e *zipxml.Element, p *paragraph, raised bool, hidden *bool) error {
	hang := func(b blocks.Block) error {
		if b.Text == "" {
			return nil
		}
		p.attached = append(p.attached, b)
		p.size += len(b.Text) + 64
		return tooLong(p.size)
	}
	switch e.Name {
	case "text:soft-page-break":
		if d.out.Page() > 0 && len(p.breaks) < 10_000 {
			p.breaks = append(p.breaks, len(p.text))
		}
		return x.Skip()
	case "office:annotation", "office:annotation-end", "text:tracked-changes", "text:hidden-text", "text:ruby-text", "text:script", "text:page-number", "text:page-count":
		if e.Name == "text:ruby-text" {
			break
		}
		return x.Skip()
	case "text:note":
		return d.note(x, p)
	case "draw:frame", "draw:custom-shape", "draw:g", "draw:rect", "draw:ellipse", "draw:line", "draw:connector", "draw:polygon", "draw:path", "draw:a":
		return d.frame(x, hang, p.addObject)
	}
	if *hidden {
		return x.Skip()
	}
	switch e.Name {
	case "text:s":
		n, err := strconv.Atoi(e.Attr("c"))
		if err != nil {
			n = 1
		}
		if err := p.write(strings.Repeat(" ", min(max(n, 0), 1_000))); err != nil {
			return err
		}
		return x.Skip()
	case "text:tab":
		if err := p.write("\t"); err != nil {
			return err
		}
		return x.Skip()
	case "text:line-break":
		if err := p.write("\n"); err != nil {
			return err
		}
		p.space = true
		return x.Skip()
	case "text:span":
		s := d.style("text", e.Attr("style-name"))
		inner := s.hidden
		return d.inlines(x, p, raised || s.raised, &inner)
	case "text:ruby-text": // the pronunciation
		from := len(p.text)
		if err := d.inlines(x, p, raised, hidden); err != nil || len(p.text) == from {
			return err
		}
		p.text = append(p.text[:from], "("+strings.TrimSpace(string(p.text[from:]))+")"...)
		return nil
	}
	return d.inlines(x, p, raised, hidden) // links, fields, bookmarks, marks of indexes
}

// note reads the open text:note: it adds its mark to the text, and attaches the note.
func (d *document) note(x *zipxml.Part, p *paragraph) error {
	return x.Children(func(e *zipxml.Element) error {
		if e.Name != "text:note-body" {
			return x.Skip()
		}
		open := d.open
		d.open = nil // a list in the note is not part of the list around it
		text, err := blocks.Line(tooLong, func(out blocks.Sink) error { return d.blocks(x, out) })
		d.open = open
		if err != nil || text == "" {
			return err
		}
		d.notes++
		mark := "[^" + strconv.Itoa(d.notes) + "]"
		note := blocks.Block{Text: mark + ": " + text}
		if d.tables > 0 {
			d.held = append(d.held, note)
			if d.heldBytes += len(note.Text) + 64; d.heldBytes > maxHeldBytes {
				return fault.Errorf(fault.Invalid, "the OpenDocument text has more than %d MiB of notes in one table: divide it, and upload the new file", maxHeldBytes>>20)
			}
		} else {
			p.attached = append(p.attached, note)
		}
		if p.size += len(text); tooLong(p.size) != nil {
			return tooLong(p.size)
		}
		return p.write(mark)
	})
}
