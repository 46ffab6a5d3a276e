package odt

import (
	"cmp"
	"strings"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// style has the settings of a style, without those of its parent.
type style struct {
	parent      string
	title       bool
	kind        blocks.Kind
	hidden      bool
	raised      bool   // superscript
	master      string // style of pages that begins with the paragraph
	breakBefore string // "page" if a page begins with the paragraph
}

// master is a style of pages, with its headers and footers.
type master struct{ headers, footers []blocks.Block }

// style returns a style with the settings of its parents.
func (d *document) style(family, name string) style {
	all := style{}
	for range 16 {
		setByName(&all, name)
		s := d.styles[family+" "+name]
		if s == nil {
			break
		}
		all.hidden = all.hidden || s.hidden
		all.master = cmp.Or(all.master, s.master)
		all.breakBefore = cmp.Or(all.breakBefore, s.breakBefore)
		all.raised = all.raised || s.raised
		if name = s.parent; name == "" {
			break
		}
	}
	return all
}

// setByName sets what the name of a style says.
func setByName(s *style, name string) {
	switch strings.ToLower(strings.ReplaceAll(name, "_20_", " ")) {
	case "title":
		s.title = true
	case "preformatted text", "source code", "code", "sourcecode":
		s.kind = blocks.Code
	case "quotations", "quote", "blockquote", "block text":
		s.kind = blocks.Quote
	}
}

// readStyles reads the part with the styles and headers that the content shares.
func (d *document) readStyles(part string) error {
	x, err := d.pkg.Part(part, zipxml.SmallPart)
	if x == nil || err != nil {
		return err
	}
	defer x.Close()
	return x.Root(func(*zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			switch e.Name {
			case "office:styles", "office:automatic-styles":
				return d.styleList(x)
			case "office:master-styles":
				return x.Children(func(e *zipxml.Element) error {
					if e.Name != "style:master-page" || len(d.masters) >= maxStyles {
						return x.Skip()
					}
					return d.readMaster(x, e.Attr("name"))
				})
			}
			return x.Skip()
		})
	})
}

// styleList reads the styles in the open element.
func (d *document) styleList(x *zipxml.Part) error {
	return x.Children(func(e *zipxml.Element) error {
		if len(d.styles)+len(d.lists) >= maxStyles {
			return fault.Errorf(fault.Invalid, "the OpenDocument text has more than %d styles: save it again as PDF, and upload that", maxStyles)
		}
		switch e.Name {
		case "text:list-style":
			s := &listStyle{}
			d.lists[e.Attr("name")] = s
			return readListStyle(x, s)
		case "text:outline-style":
			return readListStyle(x, &d.outline)
		case "style:style":
			s := &style{parent: e.Attr("parent-style-name"), master: e.Attr("master-page-name")}
			d.styles[e.Attr("family")+" "+e.Attr("name")] = s
			return x.Children(func(e *zipxml.Element) error {
				switch e.Name {
				case "style:text-properties":
					s.hidden = e.Attr("display") == "none"
					position := e.Attr("text-position") // "super", "sub" or a percentage, and the size
					s.raised = strings.HasPrefix(position, "super") || position != "" && position[0] >= '1' && position[0] <= '9'
				case "style:paragraph-properties":
					s.breakBefore = e.Attr("break-before")
				}
				return x.Skip()
			})
		}
		return x.Skip()
	})
}

// readMaster reads the headers and footers of the open style of pages.
func (d *document) readMaster(x *zipxml.Part, name string) error {
	m := &master{}
	d.masters[name] = m
	d.furnishing = true
	defer func() { d.furnishing = false }()
	size := 0
	return x.Children(func(e *zipxml.Element) error {
		var to *[]blocks.Block
		switch e.Name {
		case "style:header", "style:header-left", "style:header-first":
			to = &m.headers
		case "style:footer", "style:footer-left", "style:footer-first":
			to = &m.footers
		}
		if to == nil || e.Attr("display") == "false" {
			return x.Skip()
		}
		return d.blocks(x, func(b blocks.Block) error {
			b.Level, b.Breaks = 0, nil
			if b.Text != "" && !blocks.IsPageNumber(b.Text) {
				*to = append(*to, b)
			}
			size += len(b.Text)
			return tooLong(size)
		})
	})
}

// useMaster begins pages of a style.
func (d *document) useMaster(name string) error {
	m := d.masters[name]
	if m == nil || m == d.master {
		return nil
	}
	if err := d.endMaster(); err != nil {
		return err
	}
	d.master = m
	return nil
}

// write is the sink of the content. Headers are written before the first text of their pages, but after a
// heading, so that they belong to its section.
func (d *document) write(b blocks.Block) error {
	if d.master == nil {
		d.master = d.masters["Standard"]
	}
	if b.Text == "" || d.master == nil || d.master.headers == nil {
		return d.out.Write(b)
	}
	headers := d.master.headers
	d.master.headers = nil // they are written once
	if b.Level > 0 {
		headers = append([]blocks.Block{b}, headers...)
	} else {
		headers = append(headers, b)
	}
	for _, h := range headers {
		if err := d.out.Write(h); err != nil {
			return err
		}
	}
	return nil
}

// endMaster writes the footers of the pages that end.
func (d *document) endMaster() error {
	if d.master == nil {
		return d.out.Close()
	}
	all := append(d.master.headers, d.master.footers...) // headers are left if the pages have no text
	d.master.headers, d.master.footers = nil, nil
	for _, b := range all {
		if err := d.out.Write(b); err != nil {
			return err
		}
	}
	return d.out.Close()
}
