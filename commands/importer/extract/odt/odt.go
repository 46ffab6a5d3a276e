// Package odt reads texts in OpenDocument format (LibreOffice Writer): headings, lists, tables, notes,
// frames, formulas and charts. It imports extract, extract/blocks, extract/formula, extract/zipxml and
// events/fault.
package odt

import (
	"cmp"
	"context"
	"strings"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/formula"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// Limits of a text.
const (
	maxBlockBytes = 16 << 20 // bytes of text in a paragraph, a table row or a note
	maxHeldBytes  = 32 << 20 // bytes of the notes of a table
	maxStyles     = 50_000   // styles, and also styles of lists
	maxObjects    = 10_000   // formulas and charts
)

// document is a text that is being read. Its content is read as a stream.
type document struct {
	pkg        *zipxml.Package
	out        *blocks.Writer
	styles     map[string]*style // by family and name
	lists      map[string]*listStyle
	outline    listStyle // numbers of headings
	masters    map[string]*master
	master     *master // of the current page
	furnishing bool    // a header or footer is being read
	begun      bool    // the text has a paragraph

	counters  map[string]*counter // of lists, by style
	open      []openList          // lists around the current block
	tables    int                 // tables around the current block
	notes     int
	objects   int
	held      []blocks.Block // notes of a table, which follow it
	heldBytes int
}

// Read reads a text as it is printed with all changes accepted. It skips comments and hidden text.
// Notes and frames follow their paragraph. Headers stand before the text of the first page with them,
// and footers after it. Page numbers are known only if the program that saved the file has stored its
// page breaks.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	pkg, err := zipxml.Open(ctx, f, "OpenDocument text")
	if err != nil {
		return extract.Info{}, err
	}
	d := &document{pkg: pkg, out: blocks.NewWriter(w), styles: map[string]*style{}, lists: map[string]*listStyle{}, masters: map[string]*master{}, counters: map[string]*counter{}}
	if err := d.refuseEncrypted(); err != nil {
		return extract.Info{}, err
	}
	if !pkg.Has("content.xml") {
		return extract.Info{}, pkg.OtherKind()
	}
	title := ""
	err = pkg.Each("meta.xml", zipxml.SmallPart, "title", func(x *zipxml.Part, _ *zipxml.Element) (err error) {
		title, err = x.Text()
		return err
	})
	if err != nil {
		return extract.Info{}, err
	}
	if err := d.readStyles("styles.xml"); err != nil {
		return extract.Info{}, err
	}
	w.LimitBy(pkg.XML)
	if err := extract.UnlessFull(d.readContent()); err != nil {
		return extract.Info{}, err
	}
	return extract.Info{Title: cmp.Or(extract.CleanTitle(title), d.out.Title()), Pages: d.out.Page(), XML: pkg.XML()}, nil
}

// refuseEncrypted returns an error if the content has a password.
func (d *document) refuseEncrypted() error {
	return d.pkg.Each("meta-inf/manifest.xml", zipxml.SmallPart, "encryption-data", func(x *zipxml.Part, _ *zipxml.Element) error {
		return fault.Errorf(fault.Invalid, "the OpenDocument text has a password: save it without a password, and upload the new file")
	})
}

func (d *document) readContent() error {
	x, err := d.pkg.Part("content.xml", zipxml.AnyPart)
	if err != nil {
		return err
	}
	defer x.Close()
	texts := 0
	err = x.Root(func(*zipxml.Element) error {
		return x.Children(func(e *zipxml.Element) error {
			switch e.Name {
			case "office:automatic-styles":
				return d.styleList(x)
			case "office:body":
				return x.Children(func(e *zipxml.Element) error {
					if e.Name != "office:text" {
						return x.Skip()
					}
					texts++
					if e.Attr("use-soft-page-breaks") == "true" {
						d.out.StartPages()
					}
					if err := d.blocks(x, d.write); err != nil {
						return err
					}
					return d.endMaster()
				})
			}
			return x.Skip()
		})
	})
	if err == nil && texts == 0 {
		return d.pkg.OtherKind()
	}
	return err
}

// blocks reads the blocks in the open element.
func (d *document) blocks(x *zipxml.Part, out blocks.Sink) error {
	return x.Children(func(e *zipxml.Element) error { return d.block(x, e, out) })
}

func (d *document) block(x *zipxml.Part, e *zipxml.Element, out blocks.Sink) error {
	switch e.Name {
	case "text:h", "text:p":
		return d.paragraph(x, e, out)
	case "text:list":
		return d.list(x, e, out)
	case "text:section":
		if e.Attr("display") == "none" {
			return x.Skip()
		}
		return d.blocks(x, out)
	case "text:numbered-paragraph", "text:table-of-content", "text:illustration-index", "text:table-index", "text:object-index", "text:user-index", "text:alphabetical-index", "text:bibliography",
		"text:index-body", "text:index-title", "draw:a", "draw:g", "text:note-body":
		return d.blocks(x, out)
	case "table:table":
		return d.table(x, e, out)
	case "text:soft-page-break":
		d.out.TurnPage()
	case "draw:frame", "draw:custom-shape", "draw:rect", "draw:ellipse", "draw:line", "draw:connector", "draw:polygon", "draw:path":
		return d.frame(x, out, func(text string) error { return out(blocks.Block{Text: text}) })
	}
	return x.Skip()
}

// frame reads the open frame or shape. Its texts go to out; what stands in the line, such as a formula
// or the description of a picture, goes to inline.
func (d *document) frame(x *zipxml.Part, out blocks.Sink, inline func(string) error) error {
	description, object := "", false
	open := d.open
	d.open = nil // a list in the frame is not part of the list around it
	defer func() { d.open = open }()
	err := x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "draw:text-box":
			return d.blocks(x, func(b blocks.Block) error {
				b.Level, b.Breaks = 0, nil
				return out(b)
			})
		case "text:p", "text:h", "text:list", "table:table", "draw:frame", "draw:custom-shape", "draw:g", "draw:rect", "draw:ellipse":
			return d.block(x, e, func(b blocks.Block) error {
				b.Level, b.Breaks = 0, nil
				return out(b)
			})
		case "draw:object":
			if object {
				break
			}
			text, found, err := d.object(x, e, out)
			if object = found; err != nil || text == "" {
				return err
			}
			return inline(text)
		case "svg:title", "svg:desc":
			text, err := x.Text()
			if text = extract.CleanTitle(text); strings.Contains(text, " ") { // without a space it is a file name
				description = text
			}
			return err
		}
		return x.Skip()
	})
	if err != nil || description == "" {
		return err
	}
	return inline("[Image: " + description + "]")
}

// object reads the formula or chart that an element refers to, or contains. It returns a formula, and
// emits a chart.
func (d *document) object(x *zipxml.Part, e *zipxml.Element, out blocks.Sink) (text string, found bool, err error) {
	read := func(x *zipxml.Part, e *zipxml.Element) error {
		switch e.Name {
		case "math:math":
			found = true
			text, err = formula.MathML(x)
			return err
		case "office:document-content", "office:document", "office:body", "office:chart", "chart:chart":
			return x.Children(func(e *zipxml.Element) error {
				switch e.Name {
				case "office:body", "office:chart", "chart:chart":
					return x.Children(func(e *zipxml.Element) error { return d.chart(x, e, out, &found) })
				}
				return x.Skip()
			})
		}
		return x.Skip()
	}
	if err := x.Children(func(e *zipxml.Element) error { return read(x, e) }); err != nil || found {
		return text, found, err
	}
	if d.objects++; d.objects > maxObjects {
		return "", false, nil
	}
	part := zipxml.Name("", e.Attr("href")) + "/content.xml" // a name within the archive; others do not exist there
	inner, err := d.pkg.Part(part, zipxml.SmallPart)
	if inner == nil || err != nil {
		return "", false, err
	}
	defer inner.Close()
	err = inner.Root(func(e *zipxml.Element) error { return read(inner, e) })
	return text, found, err
}

// chart reads an element of a chart: its titles, and the table with its values.
func (d *document) chart(x *zipxml.Part, e *zipxml.Element, out blocks.Sink, found *bool) error {
	switch e.Name {
	case "office:chart", "chart:chart", "chart:plot-area", "chart:axis":
		return x.Children(func(e *zipxml.Element) error { return d.chart(x, e, out, found) })
	case "chart:title", "chart:subtitle":
		*found = true
		return d.blocks(x, out)
	case "table:table":
		*found = true
		return d.table(x, e, out)
	}
	return x.Skip()
}

func tooLong(n int) error {
	if n > maxBlockBytes {
		return fault.Errorf(fault.Invalid, "the OpenDocument text has more than %d bytes of text in one paragraph, table row or note: divide it, and upload the new file", maxBlockBytes)
	}
	return nil
}
