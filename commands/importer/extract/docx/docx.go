// Package docx reads Word documents (Office Open XML): paragraphs, tables, notes, lists and
// drawings. It imports extract, extract/blocks, extract/ooxml, extract/zipxml and events/fault.
package docx

import (
	"cmp"
	"context"
	"encoding/xml"
	"io"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/formula"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// Limits of a Word document.
const (
	maxNotesPart  = 64 << 20 // uncompressed bytes of all footnotes or endnotes
	maxBlockBytes = 16 << 20 // bytes of text in a paragraph, a table row or a note
	maxNotesBytes = 32 << 20 // bytes of text in footnotes and endnotes
	maxStyles     = 50_000   // styles, and also list definitions
)

// document is a Word document that is being read. Its main part, which contains the text, is
// read as a stream.
type document struct {
	pkg          *zipxml.Package
	out          *blocks.Writer
	styles       map[string]*paragraphStyle
	defaultStyle string
	lists        numbering
	rels         ooxml.Relations   // relations of the current part
	notes        map[string]string // by the name of the element that refers to the note, and its id
	noteBytes    int
	noteCount    int      // footnotes and endnotes written so far
	fields       []bool   // open fields; true before their separator, in the instruction
	nesting      int      // tables around the current one
	warnings     []string // each only once

	fresh    bool // nothing was written on this page
	drawings ooxml.Drawings

	furnishing bool            // a header or footer is being read
	pageField  int             // number of open fields when the field of a page number began, or 0
	hidden     map[string]bool // whether styles of characters hide text, if they say so
	furniture  []*furniture    // headers and footers, by section
	section    int             // number of the current section of pages
	headed     bool            // the headers of this section were written
	held       []blocks.Block  // notes of a table, which follow it
	carried    *paragraph      // a paragraph whose end was deleted, so that the next one continues it
}

// Read reads a Word document as it is printed with all changes accepted. It skips deleted and hidden
// text, comments, the instructions of fields, and all but the first of alternative contents. Notes and
// text boxes follow their paragraph. The header of a section of pages stands before its text, and the
// footer after it; a text that several headers or footers have stands only once. Page numbers are known
// only if Word has stored its page breaks.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	pkg, err := zipxml.Open(ctx, f, "Word document")
	if err != nil {
		return extract.Info{}, err
	}
	d := &document{pkg: pkg, out: blocks.NewWriter(w), drawings: ooxml.Drawings{Package: pkg}, styles: map[string]*paragraphStyle{}, hidden: map[string]bool{}, notes: map[string]string{}}
	main, title, err := ooxml.Open(pkg, "word/document.xml")
	if err != nil {
		return extract.Info{}, err
	}
	if err := d.readReferences(main); err != nil {
		return extract.Info{}, err
	}
	w.LimitBy(pkg.XML)
	if err := extract.UnlessFull(d.readMain(main)); err != nil {
		return extract.Info{}, err
	}
	return extract.Info{Title: cmp.Or(title, d.out.Title()), Pages: d.out.Page(), XML: pkg.XML(), Warnings: d.warnings}, nil
}

// readReferences reads the parts that the main part refers to: styles, lists and notes. It also
// determines whether Word has stored its page breaks in the main part.
func (d *document) readReferences(main string) (err error) {
	if d.rels, err = ooxml.ReadRelations(d.pkg, main); err != nil {
		return err
	}
	folder := ooxml.Folder(main)
	if err := d.readStyles(d.rels.Find(d.pkg, "styles", folder+"styles.xml")); err != nil {
		return err
	}
	if err := d.readNumbering(d.rels.Find(d.pkg, "numbering", folder+"numbering.xml")); err != nil {
		return err
	}
	mainRels := d.rels
	for _, kind := range []string{"footnote", "endnote"} {
		part := mainRels.Find(d.pkg, kind+"s", folder+kind+"s.xml")
		if d.rels, err = ooxml.ReadRelations(d.pkg, part); err != nil {
			return err
		}
		if err := d.readNotes(part, kind); err != nil {
			return err
		}
	}
	d.rels, d.noteCount = mainRels, 0
	marked, furniture, err := d.scan(main)
	if err != nil {
		return err
	}
	d.furniture = furniture
	if err := d.readFurniture(); err != nil {
		return err
	}
	if marked {
		d.fresh = true
		d.out.StartPages()
	}
	return nil
}

func (d *document) readNotes(part, kind string) error {
	return d.pkg.Each(part, maxNotesPart, kind, func(x *zipxml.Part, e *zipxml.Element) error {
		id := kind + e.Attr("id")
		if t := e.Attr("type"); t != "" && t != "normal" { // the separator of notes
			return x.Skip()
		}
		text, err := blocks.Line(tooLong, func(out blocks.Sink) error { return d.story(x, out) })
		if d.noteBytes += len(text); d.noteBytes > maxNotesBytes {
			return fault.Errorf(fault.Invalid, "the Word document has more than %d bytes of notes: split it, and upload the parts", maxNotesBytes)
		}
		d.notes[id] = text
		return err
	})
}

func (d *document) readMain(part string) error {
	x, err := d.pkg.Part(part, zipxml.AnyPart)
	if err != nil {
		return err
	}
	defer x.Close()
	for bodies := 0; ; {
		t, err := x.Next()
		if err == io.EOF && bodies == 0 {
			return d.pkg.Damaged(part)
		}
		if err == io.EOF {
			return d.endSection()
		}
		if err != nil {
			return err
		}
		if start, ok := t.(xml.StartElement); ok && start.Name.Local == "body" {
			bodies++
			if err := d.story(x, d.write); err != nil {
				return err
			}
		}
	}
}

// story reads the blocks in the open element, which other text does not continue.
func (d *document) story(x *zipxml.Part, out blocks.Sink) error {
	if err := d.blocks(x, out); err != nil {
		return err
	}
	return d.flush(out)
}

// flush emits the paragraph that the next one would have continued.
func (d *document) flush(out blocks.Sink) error {
	p := d.carried
	if p == nil {
		return nil
	}
	d.carried = nil
	return d.emit(p, out)
}

// blocks reads the paragraphs and tables in the open element.
func (d *document) blocks(x *zipxml.Part, out blocks.Sink) error {
	return x.Children(func(e *zipxml.Element) error { return d.blockElement(x, e, out) })
}

func (d *document) blockElement(x *zipxml.Part, e *zipxml.Element, out blocks.Sink) error {
	switch e.Name {
	case "w:p":
		return d.paragraph(x, out)
	case "w:tbl":
		return d.table(x, out)
	case "w:sdt", "w:sdtContent", "w:customXml", "w:smartTag", "w:ins", "w:moveTo", "w:dir", "w:bdo":
		return d.blocks(x, out)
	case "mc:AlternateContent":
		return ooxml.Choose(x, func(e *zipxml.Element) error { return d.blockElement(x, e, out) })
	case "w:sectPr": // of the last section
	case "w:altChunk", "w:subDoc":
		d.warn("The document embeds another file, which was not read.")
	case "m:oMathPara", "m:oMath":
		text, err := formula.OMML(x)
		if err != nil {
			return err
		}
		return out(blocks.Block{Text: text})
	}
	return x.Skip()
}

func (d *document) warn(sentence string) {
	for _, w := range d.warnings {
		if w == sentence {
			return
		}
	}
	d.warnings = append(d.warnings, sentence)
}

func tooLong(n int) error {
	if n > maxBlockBytes {
		return fault.Errorf(fault.Invalid, "the Word document has more than %d bytes of text in one paragraph, table row or note: divide it, and upload the new file", maxBlockBytes)
	}
	return nil
}
