package docx

import (
	"encoding/xml"
	"errors"
	"strings"

	"annals/commands/importer/extract"
)

func startOf(t xml.Token) (xml.StartElement, bool) {
	start, ok := t.(xml.StartElement)
	return start, ok
}

const maxChartPoints = 10_000 // strings and values that are read from a chart or diagram

// drawing reads the text boxes, charts, diagrams and picture descriptions of the open drawing.
func (d *document) drawing(x *xmlPart, p *paragraph) error {
	return x.children(func(e *element) error { return d.drawingElement(x, e, p) })
}

func (d *document) drawingElement(x *xmlPart, e *element, p *paragraph) error {
	hang := func(b block) error {
		p.attached = append(p.attached, b)
		p.attachedSize += len(b.text) + 64
		return tooLong(p.attachedSize)
	}
	switch e.name {
	case "w:txbxContent":
		return d.blocks(x, func(b block) error {
			if b.breaks = nil; b.text == "" {
				return nil
			}
			if b.level > 0 {
				b.level = 0
			}
			return hang(b)
		})
	case "mc:AlternateContent":
		return d.choose(x, func(e *element) error { return d.drawingElement(x, e, p) })
	case "wp:docPr":
		if text := extract.CleanTitle(e.attr("descr")); strings.Contains(text, " ") { // without a space it is a file name
			return errors.Join(d.add(p, " [Image: "+text+"] "), x.skip())
		}
	case "c:chart":
		if part := d.rels[e.attr("id")].target; d.showFirst(part) {
			if err := d.chart(part, hang); err != nil {
				return err
			}
		}
	case "dgm:relIds":
		if part := d.rels[e.attr("dm")].target; d.showFirst(part) {
			if err := d.diagram(part, hang); err != nil {
				return err
			}
		}
	}
	return d.drawing(x, p)
}

// showFirst reports whether it is called for a chart or diagram for the first time. A chart or
// diagram that is used several times is read only once.
func (d *document) showFirst(part string) bool {
	if d.shown == nil {
		d.shown = make(map[string]bool)
	}
	before := d.shown[part]
	d.shown[part] = true
	return !before
}

// chart emits the title, series and categories of a chart as a table.
func (d *document) chart(part string, out sink) error {
	var title []string
	header, rows := []string{""}, [][]string{}
	err := d.eachElement(part, maxPartBytes, "title", func(x *xmlPart, _ *element) error {
		return d.texts(x, "t", &title)
	})
	if err != nil {
		return err
	}
	err = d.eachElement(part, maxPartBytes, "ser", func(x *xmlPart, _ *element) error {
		var name, categories, values []string
		err := x.children(func(e *element) error {
			switch e.local {
			case "tx":
				return d.texts(x, "v", &name)
			case "cat", "xVal":
				return d.texts(x, "v", &categories)
			case "val", "yVal":
				return d.texts(x, "v", &values)
			}
			return x.skip()
		})
		header = append(header, strings.Join(name, " "))
		for i := range max(len(categories), len(values)) {
			if i == len(rows) {
				rows = append(rows, make([]string, 1, len(header)))
			}
			if rows[i][0] == "" && i < len(categories) {
				rows[i][0] = categories[i]
			}
			if i < len(values) && len(header) <= maxColumns {
				for len(rows[i]) < len(header)-1 {
					rows[i] = append(rows[i], "")
				}
				rows[i] = append(rows[i], values[i])
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(title) > 0 {
		if err := out(block{text: notMarkup(strings.Join(title, " "))}); err != nil {
			return err
		}
	}
	if len(header) == 1 || len(header) > maxColumns {
		return nil
	}
	t := &table{d: d, out: out, grid: len(header)}
	for _, cells := range append([][]string{header}, rows...) {
		r := &row{}
		for _, text := range cells {
			r.add(text, 1)
		}
		if err := t.add(r); err != nil {
			return err
		}
	}
	return t.flush()
}

// diagram emits the strings of a diagram as a list.
func (d *document) diagram(part string, out sink) error {
	return d.eachElement(part, maxPartBytes, "pt", func(x *xmlPart, _ *element) error {
		var texts []string
		if err := d.texts(x, "t", &texts); err != nil || len(texts) == 0 {
			return err
		}
		return out(block{kind: listItem, text: "- " + strings.Join(texts, " ")})
	})
}

// texts appends the text of all elements with a local name in the open element.
func (d *document) texts(x *xmlPart, local string, to *[]string) error {
	return x.children(func(e *element) error {
		if e.local != local {
			return d.texts(x, local, to)
		}
		text, err := x.text()
		if text = strings.Join(strings.Fields(text), " "); text != "" && len(*to) < maxChartPoints {
			*to = append(*to, text)
		}
		return err
	})
}
