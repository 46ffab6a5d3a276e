package docx

import (
	"errors"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
)

// drawing reads the text boxes, charts, diagrams and picture descriptions of the open drawing.
func (d *document) drawing(x *zipxml.Part, p *paragraph) error {
	return x.Children(func(e *zipxml.Element) error { return d.drawingElement(x, e, p) })
}

func (d *document) drawingElement(x *zipxml.Part, e *zipxml.Element, p *paragraph) error {
	hang := func(b blocks.Block) error {
		p.attached = append(p.attached, b)
		p.attachedSize += len(b.Text) + 64
		return tooLong(p.attachedSize)
	}
	switch e.Name {
	case "w:txbxContent":
		return d.story(x, func(b blocks.Block) error {
			if b.Breaks = nil; b.Text == "" {
				return nil
			}
			b.Level = 0
			return hang(b)
		})
	case "mc:AlternateContent":
		return ooxml.Choose(x, func(e *zipxml.Element) error { return d.drawingElement(x, e, p) })
	case "wp:docPr":
		if text := extract.CleanTitle(e.Attr("descr")); strings.Contains(text, " ") { // without a space it is a file name
			return errors.Join(d.add(p, " [Image: "+text+"] "), x.Skip())
		}
	case "v:shape", "v:rect", "v:imagedata":
		if text := extract.CleanTitle(e.Attr("alt")); strings.Contains(text, " ") {
			if err := d.add(p, " [Image: "+text+"] "); err != nil {
				return err
			}
		}
	case "v:textpath": // WordArt
		if text := extract.CleanTitle(e.Attr("string")); text != "" {
			if err := hang(blocks.Block{Text: blocks.Escape(text)}); err != nil {
				return err
			}
		}
	case "c:chart":
		if err := d.drawings.Chart(d.rels[e.Relation("id")].Target, hang); err != nil {
			return err
		}
	case "dgm:relIds":
		if err := d.drawings.Diagram(d.rels[e.Relation("dm")].Target, hang); err != nil {
			return err
		}
	}
	return d.drawing(x, p)
}
