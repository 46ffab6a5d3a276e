// Package pptx reads PowerPoint presentations (Office Open XML): each slide is a page and a section,
// with its notes at the end. It imports extract, extract/blocks, extract/ooxml, extract/zipxml and
// events/fault.
package pptx

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// Limits of a presentation.
const (
	maxSlides    = 50_000
	maxSlidePart = 64 << 20 // uncompressed bytes of a slide
	maxLayouts   = 1_000    // layouts whose placeholders are kept
)

// presentation is a presentation that is being read.
type presentation struct {
	pkg      *zipxml.Package
	out      *blocks.Writer
	drawings ooxml.Drawings
	layouts  map[string][]ooxml.Shape // placeholders of layouts, by part
	master   map[string]string        // the master of each layout
}

// Read reads a presentation. The title of a slide is the title of its section; the other texts follow in
// the order of their positions. Comments, footers, dates and slide numbers are left out. Hidden slides are
// read, since they have a number like the others. Nothing that a presentation refers to outside of it
// is read.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	pkg, err := zipxml.Open(ctx, f, "PowerPoint presentation")
	if err != nil {
		return extract.Info{}, err
	}
	p := &presentation{pkg: pkg, out: blocks.NewWriter(w), drawings: ooxml.Drawings{Package: pkg}, layouts: map[string][]ooxml.Shape{}, master: map[string]string{}}
	main, title, err := ooxml.Open(pkg, "ppt/presentation.xml")
	if err != nil {
		return extract.Info{}, err
	}
	slides, err := p.slides(main)
	if err != nil {
		return extract.Info{}, err
	}
	w.LimitBy(pkg.XML)
	first := ""
	for i, part := range slides {
		var name string
		if name, err = p.slide(i, part); err != nil {
			break
		}
		first = cmp.Or(first, name)
	}
	if extract.UnlessFull(err) != nil {
		return extract.Info{}, err
	}
	return extract.Info{Title: cmp.Or(title, first), Pages: p.out.Page(), XML: pkg.XML()}, nil
}

// slides returns the parts of the slides in their order.
func (p *presentation) slides(main string) (parts []string, err error) {
	rels, err := ooxml.ReadRelations(p.pkg, main)
	if err != nil {
		return nil, err
	}
	err = p.pkg.Each(main, zipxml.SmallPart, "sldIdLst", func(x *zipxml.Part, _ *zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			if len(parts) >= maxSlides {
				return fault.Errorf(fault.Invalid, "the PowerPoint presentation has more than %d slides: split it, and upload the parts", maxSlides)
			}
			parts = append(parts, rels[e.Relation("id")].Target)
			return x.Skip()
		})
	})
	return parts, err
}

// slide reads a slide, and returns its title, or "" if it has none.
func (p *presentation) slide(i int, part string) (title string, err error) {
	if p.out.Page() == 0 {
		p.out.StartPages()
	} else {
		p.out.TurnPage()
	}
	rels, err := ooxml.ReadRelations(p.pkg, part)
	if err != nil {
		return "", err
	}
	shapes, err := p.shapes(part, rels)
	if err != nil {
		return "", err
	}
	if err := p.place(shapes, rels); err != nil {
		return "", err
	}
	for k, s := range shapes {
		if title == "" && isTitle(s) {
			title = plain(s)
			shapes = slices.Delete(shapes, k, k+1)
			break
		}
	}
	if err := p.out.Write(blocks.Block{Level: 1, Text: cmp.Or(title, fmt.Sprintf("Slide %d", i+1))}); err != nil {
		return "", err
	}
	for _, s := range ooxml.InReadingOrder(shapes) {
		for _, b := range s.Blocks {
			if err := p.out.Write(b); err != nil {
				return "", err
			}
		}
	}
	return title, p.notes(rels)
}

func isTitle(s ooxml.Shape) bool { return s.Placeholder == "title" || s.Placeholder == "ctrTitle" }

// plain returns the text of a title, which is a single line and no list.
func plain(s ooxml.Shape) string { return extract.CleanTitle(s.Plain()) }

// shapes returns the shapes of a slide or of its notes, without those that stand on every slide.
func (p *presentation) shapes(part string, rels ooxml.Relations) (shapes []ooxml.Shape, err error) {
	err = p.pkg.Each(part, maxSlidePart, "spTree", func(x *zipxml.Part, _ *zipxml.Element) error {
		r := ooxml.ShapeReader{Drawings: &p.drawings, Relations: rels, Bullets: true}
		all, err := r.Read(x)
		shapes = append(shapes, all...)
		return err
	})
	return slices.DeleteFunc(shapes, func(s ooxml.Shape) bool {
		switch s.Placeholder {
		case "dt", "ftr", "hdr", "sldNum", "sldImg":
			return true
		}
		return len(s.Blocks) == 0
	}), err
}

// place sets the positions that shapes have from the layout of the slide or from its master.
func (p *presentation) place(shapes []ooxml.Shape, rels ooxml.Relations) error {
	layout := rels.Find(p.pkg, "slideLayout", "")
	if err := p.readLayout(layout); err != nil {
		return err
	}
	for i := range shapes {
		s := &shapes[i]
		for _, from := range [][]ooxml.Shape{p.layouts[layout], p.layouts[p.master[layout]]} {
			for _, l := range from {
				if !s.Placed && l.Placed && s.Placeholder != "" && (s.Index != "" && s.Index == l.Index || s.Placeholder == l.Placeholder && (s.Index == "" || l.Index == "")) {
					s.Left, s.Top, s.Right, s.Bottom, s.Placed = l.Left, l.Top, l.Right, l.Bottom, true
				}
			}
		}
	}
	return nil
}

// readLayout reads the placeholders of a layout and of its master, unless it did so before.
func (p *presentation) readLayout(part string) error {
	if _, known := p.layouts[part]; known || !p.pkg.Has(part) || len(p.layouts) >= maxLayouts {
		return nil
	}
	rels, err := ooxml.ReadRelations(p.pkg, part)
	if err != nil {
		return err
	}
	p.layouts[part] = nil // even if it is its own master
	err = p.pkg.Each(part, zipxml.SmallPart, "spTree", func(x *zipxml.Part, _ *zipxml.Element) error {
		r := ooxml.ShapeReader{Drawings: &ooxml.Drawings{Package: p.pkg}, Relations: nil}
		all, err := r.Read(x)
		for _, s := range all {
			if s.Placed && s.Placeholder != "" && len(p.layouts[part]) < 100 {
				s.Blocks = nil
				p.layouts[part] = append(p.layouts[part], s)
			}
		}
		return err
	})
	if master := rels.Find(p.pkg, "slideMaster", ""); err == nil && master != "" && master != part {
		p.master[part] = master
		err = p.readLayout(master)
	}
	return err
}

// notes writes the notes of the speaker.
func (p *presentation) notes(rels ooxml.Relations) error {
	part := rels.Find(p.pkg, "notesSlide", "")
	if part == "" {
		return nil
	}
	own, err := ooxml.ReadRelations(p.pkg, part)
	if err != nil {
		return err
	}
	shapes, err := p.shapes(part, own)
	label := "Notes: "
	for _, s := range shapes {
		for _, b := range s.Blocks {
			if err != nil {
				return err
			}
			if b.Kind == blocks.ListItem { // a placeholder of notes has no bullets
				b = blocks.Block{Text: strings.TrimPrefix(strings.TrimLeft(b.Text, " "), "- ")}
			}
			b.Text = label + b.Text
			label = ""
			err = p.out.Write(b)
		}
	}
	return err
}
