package ooxml

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/formula"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

const (
	maxShapes     = 10_000   // shapes of a drawing that are placed; those beyond follow in their order
	maxShapeBytes = 16 << 20 // bytes of text in a drawing
)

// Shape is a shape with text, a table, a picture with a description, a chart or a diagram.
type Shape struct {
	// Placeholder is the type of the placeholder of a slide that the shape fills, such as "title",
	// or "" if it fills none. A placeholder without a type is an "obj". Index identifies it on its
	// slide.
	Placeholder, Index       string
	Left, Top, Right, Bottom int64
	Placed                   bool // the shape says its position
	Blocks                   []blocks.Block
}

// Plain returns the text of the shape as a single line.
func (s Shape) Plain() string {
	texts := make([]string, len(s.Blocks))
	for i, b := range s.Blocks {
		texts[i] = b.Text
	}
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

// ShapeReader reads the shapes of a drawing: of a slide, or of a sheet.
type ShapeReader struct {
	Drawings   *Drawings
	Relations  Relations // of the part with the drawing
	TitlesOnly bool      // of charts, only the titles are read
	Bullets    bool      // paragraphs of placeholders are items of a list, unless they say otherwise

	shapes []Shape
	size   int
}

// Read returns the shapes in the open element.
func (r *ShapeReader) Read(x *zipxml.Part) ([]Shape, error) {
	err := x.Children(func(e *zipxml.Element) error { return r.element(x, e, place{1, 1, 0, 0}) })
	return r.shapes, err
}

// place converts the positions in a group to those on the slide.
type place struct{ scaleX, scaleY, x, y float64 }

func (r *ShapeReader) element(x *zipxml.Part, e *zipxml.Element, at place) error {
	switch e.Local {
	case "sp", "pic", "graphicFrame", "cxnSp":
		s := Shape{}
		err := x.Children(func(e *zipxml.Element) error { return r.part(x, e, at, &s) })
		if len(s.Blocks) > 0 || s.Placeholder != "" && len(r.shapes) < maxShapes {
			r.shapes = append(r.shapes, s)
		}
		return err
	case "grpSp":
		inner := at
		return x.Children(func(e *zipxml.Element) error {
			if e.Local == "grpSpPr" {
				return x.Children(func(e *zipxml.Element) error {
					if e.Local != "xfrm" {
						return x.Skip()
					}
					var err error
					inner, err = groupPlace(x, at)
					return err
				})
			}
			return r.element(x, e, inner)
		})
	case "twoCellAnchor", "oneCellAnchor", "absoluteAnchor", "contentPart":
		return x.Children(func(e *zipxml.Element) error { return r.element(x, e, at) })
	case "AlternateContent":
		return Choose(x, func(e *zipxml.Element) error { return r.element(x, e, at) })
	}
	return x.Skip()
}

// Choose visits the children of the first of alternative contents.
func Choose(x *zipxml.Part, visit func(*zipxml.Element) error) error {
	chosen := false
	return x.Children(func(e *zipxml.Element) error {
		if chosen || e.Name != "mc:Choice" && e.Name != "mc:Fallback" {
			return x.Skip()
		}
		chosen = true
		return x.Children(visit)
	})
}

// part reads a child of a shape.
func (r *ShapeReader) part(x *zipxml.Part, e *zipxml.Element, at place, s *Shape) error {
	emit := func(b blocks.Block) error { return r.emit(s, b) }
	switch e.Local {
	case "ph":
		s.Placeholder, s.Index = e.Attr("type"), e.Attr("idx")
		if s.Placeholder == "" {
			s.Placeholder = "obj"
		}
	case "cNvPr":
		if text := extract.CleanTitle(e.Attr("descr")); strings.Contains(text, " ") { // without a space it is a file name
			if err := emit(blocks.Block{Text: "[Image: " + text + "]"}); err != nil {
				return err
			}
		}
	case "xfrm":
		return readPlace(x, at, s)
	case "txBody":
		return r.textBody(x, r.Bullets && isBody(s.Placeholder), emit)
	case "tbl":
		return r.table(x, emit)
	case "chart":
		if e.Name != "c:chart" {
			break
		}
		part := r.Relations[e.Relation("id")].Target
		if r.TitlesOnly {
			return join(r.Drawings.Titles(part, emit), x)
		}
		return join(r.Drawings.Chart(part, emit), x)
	case "relIds":
		return join(r.Drawings.Diagram(r.Relations[e.Relation("dm")].Target, emit), x)
	case "nvSpPr", "nvPicPr", "nvGraphicFramePr", "nvPr", "spPr", "graphic", "graphicData":
		return x.Children(func(e *zipxml.Element) error { return r.part(x, e, at, s) })
	}
	return x.Skip()
}

// isBody reports whether a placeholder has the main text of a slide, which is a list.
func isBody(placeholder string) bool { return placeholder == "body" || placeholder == "obj" }

func join(err error, x *zipxml.Part) error {
	if err != nil {
		return err
	}
	return x.Skip()
}

func (r *ShapeReader) emit(s *Shape, b blocks.Block) error {
	if b.Text == "" {
		return nil
	}
	if r.size += len(b.Text) + 64; r.size > maxShapeBytes {
		return fault.Errorf(fault.Invalid, "a slide or drawing in the file has more than %d MiB of text: divide it, and upload the new file", maxShapeBytes>>20)
	}
	s.Blocks = append(s.Blocks, b)
	return nil
}

func number(text string) float64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > 1<<40 || n < -1<<40 {
		return 0
	}
	return float64(n)
}

// readPlace reads the open xfrm.
func readPlace(x *zipxml.Part, at place, s *Shape) error {
	return x.Children(func(e *zipxml.Element) error {
		switch e.Local {
		case "off":
			s.Placed = true
			s.Left, s.Top = int64(at.x+number(e.Attr("x"))*at.scaleX), int64(at.y+number(e.Attr("y"))*at.scaleY)
			s.Right, s.Bottom = s.Left, s.Top
		case "ext":
			s.Right, s.Bottom = s.Left+int64(number(e.Attr("cx"))*at.scaleX), s.Top+int64(number(e.Attr("cy"))*at.scaleY)
		}
		return x.Skip()
	})
}

// groupPlace reads the open xfrm of a group.
func groupPlace(x *zipxml.Part, at place) (place, error) {
	var outer, inner Shape
	unit := place{1, 1, 0, 0}
	err := x.Children(func(e *zipxml.Element) error {
		switch e.Local {
		case "off":
			outer.Left, outer.Top = int64(number(e.Attr("x"))), int64(number(e.Attr("y")))
		case "ext":
			outer.Right, outer.Bottom = int64(number(e.Attr("cx"))), int64(number(e.Attr("cy")))
		case "chOff":
			inner.Left, inner.Top = int64(number(e.Attr("x"))), int64(number(e.Attr("y")))
		case "chExt":
			inner.Right, inner.Bottom = int64(number(e.Attr("cx"))), int64(number(e.Attr("cy")))
		}
		return x.Skip()
	})
	if inner.Right > 0 && inner.Bottom > 0 && outer.Right > 0 && outer.Bottom > 0 {
		unit.scaleX, unit.scaleY = float64(outer.Right)/float64(inner.Right), float64(outer.Bottom)/float64(inner.Bottom)
	}
	unit.x, unit.y = float64(outer.Left)-float64(inner.Left)*unit.scaleX, float64(outer.Top)-float64(inner.Top)*unit.scaleY
	return place{at.scaleX * unit.scaleX, at.scaleY * unit.scaleY, at.x + unit.x*at.scaleX, at.y + unit.y*at.scaleY}, err
}

// textBody emits the paragraphs of the open text.
func (r *ShapeReader) textBody(x *zipxml.Part, bullets bool, out blocks.Sink) error {
	var counts [9]int
	return x.Children(func(e *zipxml.Element) error {
		if e.Local != "p" {
			return x.Skip()
		}
		p := &paragraph{bullet: bullets}
		if err := x.Children(func(e *zipxml.Element) error { return p.element(x, e) }); err != nil {
			return err
		}
		text := blocks.TrimLines(p.out.String())
		if text == "" {
			return nil
		}
		label := "-"
		if p.numbered {
			counts[p.level]++
			label = strconv.Itoa(max(p.start-1, 0)+counts[p.level]) + "."
		} else {
			counts[p.level] = 0
		}
		clear(counts[p.level+1:])
		if p.bullet || p.numbered {
			return out(blocks.Block{Kind: blocks.ListItem, Text: strings.Repeat("  ", p.level) + label + " " + strings.ReplaceAll(text, "\n", " ")})
		}
		return out(blocks.Block{Text: blocks.Escape(text)})
	})
}

// paragraph is a paragraph of a shape that is being read.
type paragraph struct {
	out              strings.Builder
	level            int // of a list, from 0
	bullet, numbered bool
	start            int // number of the first item
}

func (p *paragraph) element(x *zipxml.Part, e *zipxml.Element) error {
	switch e.Name {
	case "a:pPr":
		if level, err := strconv.Atoi(e.Attr("lvl")); err == nil {
			p.level = min(max(level, 0), 8)
		}
		return x.Children(func(e *zipxml.Element) error {
			switch e.Local {
			case "buNone":
				p.bullet = false
			case "buChar", "buBlip":
				p.bullet = true
			case "buAutoNum":
				p.numbered = true
				p.start, _ = strconv.Atoi(e.Attr("startAt"))
				p.start = min(max(p.start, 0), 32767)
			}
			return x.Skip()
		})
	case "a:r":
		return p.run(x)
	case "a:fld":
		if strings.HasPrefix(e.Attr("type"), "slidenum") {
			return x.Skip()
		}
		return p.run(x)
	case "a:br":
		p.out.WriteByte('\n')
	case "mc:AlternateContent":
		return Choose(x, func(e *zipxml.Element) error { return p.element(x, e) })
	case "a14:m":
		return x.Children(func(e *zipxml.Element) error { return p.element(x, e) })
	case "m:oMath", "m:oMathPara":
		text, err := formula.OMML(x)
		p.out.WriteString(" " + text + " ")
		return err
	}
	return x.Skip()
}

func (p *paragraph) run(x *zipxml.Part) error {
	superscript := false
	return x.Children(func(e *zipxml.Element) error {
		switch e.Local {
		case "rPr":
			baseline := e.Attr("baseline")
			superscript = !strings.HasPrefix(baseline, "-") && strings.Trim(baseline, "0%") != ""
		case "t":
			text, err := x.Text()
			if superscript {
				text = blocks.Raised(p.out.String(), text)
			}
			p.out.WriteString(text)
			if p.out.Len() > maxShapeBytes && err == nil {
				err = fault.Errorf(fault.Invalid, "a paragraph in the file has more than %d MiB of text: divide it, and upload the new file", maxShapeBytes>>20)
			}
			return err
		}
		return x.Skip()
	})
}

// table emits the open table. Cells that are merged with others are empty.
func (r *ShapeReader) table(x *zipxml.Part, out blocks.Sink) error {
	t := &blocks.Table{Out: out}
	err := x.Children(func(e *zipxml.Element) error {
		if e.Local != "tr" {
			return x.Skip()
		}
		row := &blocks.Row{}
		err := x.Children(func(e *zipxml.Element) error {
			if e.Local != "tc" {
				return x.Skip()
			}
			var texts []string
			err := x.Children(func(e *zipxml.Element) error {
				if e.Local != "txBody" {
					return x.Skip()
				}
				return r.textBody(x, false, func(b blocks.Block) error {
					texts = append(texts, b.Text)
					return nil
				})
			})
			row.Add(strings.Join(texts, " "), 1)
			return err
		})
		if row.Size > maxShapeBytes && err == nil {
			err = fault.Errorf(fault.Invalid, "a row of a table in the file has more than %d MiB of text: divide it, and upload the new file", maxShapeBytes>>20)
		}
		if err != nil {
			return err
		}
		return t.Add(row)
	})
	if err != nil {
		return err
	}
	return t.Flush()
}

// InReadingOrder sorts shapes from top to bottom and, side by side, from left to right. Shapes without
// a position keep their place among those around them.
func InReadingOrder(shapes []Shape) []Shape {
	if len(shapes) > maxShapes {
		return append(InReadingOrder(shapes[:maxShapes:maxShapes]), shapes[maxShapes:]...)
	}
	for i := range shapes {
		if s := &shapes[i]; !s.Placed && i > 0 {
			before := shapes[i-1]
			s.Left, s.Top, s.Right, s.Bottom = before.Left, before.Bottom, before.Right, before.Bottom
		}
	}
	sorted := make([]Shape, 0, len(shapes))
	cut(shapes, false, 0, &sorted)
	return sorted
}

// cut divides shapes at the gaps between them, first at horizontal gaps and then at vertical ones, until
// there is no gap. vertical says that there is none of the other direction.
func cut(shapes []Shape, vertical bool, depth int, to *[]Shape) {
	start := func(s Shape) int64 { return s.Top }
	end := func(s Shape) int64 { return s.Bottom }
	if vertical {
		start, end = func(s Shape) int64 { return s.Left }, func(s Shape) int64 { return s.Right }
	}
	shapes = slices.Clone(shapes)
	slices.SortStableFunc(shapes, func(a, b Shape) int { return cmp.Compare(start(a), start(b)) })
	if len(shapes) < 2 || depth > 32 {
		*to = append(*to, shapes...)
		return
	}
	var groups [][]Shape
	from, reach := 0, end(shapes[0])
	for i := 1; i < len(shapes); i++ {
		// Neighbours may overlap a little.
		if overlap := reach - start(shapes[i]); overlap <= min(end(shapes[i])-start(shapes[i]), reach-start(shapes[from]))/8 {
			groups = append(groups, shapes[from:i])
			from = i
		}
		reach = max(reach, end(shapes[i]))
	}
	groups = append(groups, shapes[from:])
	switch {
	case len(groups) > 1:
		for _, g := range groups {
			cut(g, !vertical, depth+1, to)
		}
	case !vertical:
		cut(shapes, true, depth+1, to)
	default: // they overlap in both directions
		slices.SortStableFunc(shapes, func(a, b Shape) int { return cmp.Compare(a.Top, b.Top) })
		*to = append(*to, shapes...)
	}
}
