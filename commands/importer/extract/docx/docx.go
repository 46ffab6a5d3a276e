// Package docx reads Word documents (Office Open XML): paragraphs, tables, notes, lists and
// drawings. It limits the uncompressed size of all parts. It imports extract and events/fault.
package docx

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"annals/commands/importer/extract"
	"annals/events/fault"
)

// document is a Word document that is being read. Its main part, which contains the text, is
// read as a stream.
type document struct {
	ctx          context.Context
	pkg          *wordPackage
	w            *extract.Writer
	styles       map[string]*paragraphStyle
	defaultStyle string
	lists        numbering
	rels         map[string]relation // relations of the current part
	notes        map[string]note     // by the name of the element that refers to the note, and its id
	noteBytes    int
	noteCount    int      // footnotes and endnotes written so far
	fields       []bool   // open fields; true before their separator, in the instruction
	nesting      int      // tables around the current one
	warnings     []string // each only once
	top, first   string   // the first heading of level 1, and the first heading of any level

	page  int  // number of the current page; 0 if Word has not stored its page breaks
	fresh bool // nothing was written on this page
	last  kind // kind of the last block written
	begun bool // whether this section has a block

	shown map[string]bool // by part name, the charts and diagrams that were read
}

// note is a footnote, endnote or comment.
type note struct{ author, text string }

// block is a paragraph, a list item or some rows of a table.
type block struct {
	kind   kind
	level  int // of a heading, from 1; 0 for other blocks
	text   string
	breaks []int // offsets in text where pages begin
	tight  bool  // no blank line between this and a block of the same kind
}

// Read reads a Word document. It skips deleted text, the instructions of fields, and all but the
// first of alternative contents. Footnotes, comments and text boxes follow their paragraph. Page
// numbers are known only if Word has stored its page breaks.
func Read(ctx context.Context, f extract.File, w *extract.Writer) (extract.Info, error) {
	pkg, err := openPackage(f)
	if err != nil {
		return extract.Info{}, err
	}
	d := &document{ctx: ctx, pkg: pkg, w: w, styles: map[string]*paragraphStyle{}, notes: map[string]note{}}
	root, err := d.relations("")
	if err != nil {
		return extract.Info{}, err
	}
	main := d.find(root, "officeDocument", "word/document.xml")
	if pkg.parts[main] == nil {
		return extract.Info{}, fault.Errorf(fault.Invalid, "the file is not a Word document, but another kind of ZIP archive: upload its files instead")
	}
	title, err := d.readTitle(d.find(root, "core-properties", "docprops/core.xml"))
	if err != nil {
		return extract.Info{}, err
	}
	if err := d.readReferences(main); err != nil {
		return extract.Info{}, err
	}
	w.LimitBy(func() int64 { return min(pkg.xml, extract.MaxXML(f.Size)) })
	if err := extract.UnlessFull(d.readMain(main)); err != nil {
		return extract.Info{}, err
	}
	return extract.Info{Title: cmp.Or(title, d.top, d.first), Pages: d.page, XML: pkg.xml, Warnings: d.warnings}, nil
}

// find returns the target of the relation of this kind. If there is none, it returns the usual
// part, if that exists.
func (d *document) find(rels map[string]relation, kind, usual string) string {
	for _, r := range rels {
		if r.kind == kind && !r.external && d.pkg.parts[r.target] != nil {
			return r.target
		}
	}
	return usual
}

// readTitle returns the title in the document's properties, or "" if it looks like one that a
// program and not the author has set.
func (d *document) readTitle(part string) (title string, err error) {
	err = d.eachElement(part, maxPartBytes, "title", func(x *xmlPart, _ *element) error {
		title, err = x.text()
		return err
	})
	title = strings.TrimPrefix(extract.CleanTitle(title), "Microsoft Word - ")
	switch strings.ToLower(title) {
	case "word document", "untitled", "document", "document1", "title", "powerpoint presentation":
		return "", err
	}
	return title, err
}

// readReferences reads the parts that the main part refers to: styles, lists and notes. It also
// determines whether Word has stored its page breaks in the main part.
func (d *document) readReferences(main string) (err error) {
	if d.rels, err = d.relations(main); err != nil {
		return err
	}
	folder := main[:strings.LastIndexByte(main, '/')+1]
	if err := d.readStyles(d.find(d.rels, "styles", folder+"styles.xml")); err != nil {
		return err
	}
	if err := d.readNumbering(d.find(d.rels, "numbering", folder+"numbering.xml")); err != nil {
		return err
	}
	mainRels := d.rels
	for _, kind := range []string{"footnote", "endnote", "comment"} {
		part := d.find(mainRels, kind+"s", folder+kind+"s.xml")
		if d.rels, err = d.relations(part); err != nil {
			return err
		}
		if err := d.readNotes(part, kind); err != nil {
			return err
		}
	}
	d.rels, d.noteCount = mainRels, 0
	marked, err := d.hasPageMarks(main)
	if marked {
		d.page, d.fresh = 1, true
		d.w.Page(1)
	}
	return err
}

func (d *document) readNotes(part, kind string) error {
	return d.eachElement(part, maxNotesPart, kind, func(x *xmlPart, e *element) error {
		id := kind + e.attr("id")
		if t := e.attr("type"); t != "" && t != "normal" { // the separator of notes
			return x.skip()
		}
		text, err := d.collect(func(out sink) error { return d.blocks(x, out) })
		if d.noteBytes += len(text); d.noteBytes > maxNotesBytes {
			return fault.Errorf(fault.Invalid, "the Word document has more than %d bytes of notes: split it, and upload the parts", maxNotesBytes)
		}
		d.notes[id] = note{author: extract.CleanTitle(e.attr("author")), text: text}
		return err
	})
}

// hasPageMarks reports whether Word has stored its page breaks in a part.
func (d *document) hasPageMarks(part string) (bool, error) {
	r, err := d.pkg.open(part, maxPackage)
	if r == nil || err != nil {
		return false, err
	}
	defer r.Close()
	mark := []byte("lastRenderedPageBreak")
	buf := make([]byte, 64<<10)
	for kept := 0; ; {
		n, err := r.Read(buf[kept:])
		b := buf[:kept+n]
		if bytes.Contains(b, mark) {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, b[max(0, len(b)-len(mark)+1):])
	}
}

func (d *document) readMain(part string) error {
	x, closer, err := d.part(part, maxPackage)
	if err != nil {
		return err
	}
	defer closer.Close()
	for bodies := 0; ; {
		t, err := x.next()
		if err == io.EOF && bodies == 0 {
			return damaged(part)
		}
		if err == io.EOF {
			return d.closeFence()
		}
		if err != nil {
			return err
		}
		if start, ok := startOf(t); ok && start.Name.Local == "body" {
			bodies++
			if err := d.blocks(x, d.write); err != nil {
				return err
			}
		}
	}
}

// sink receives blocks in order.
type sink func(block) error

// blocks reads the paragraphs and tables in the open element.
func (d *document) blocks(x *xmlPart, out sink) error {
	return x.children(func(e *element) error { return d.blockElement(x, e, out) })
}

func (d *document) blockElement(x *xmlPart, e *element, out sink) error {
	switch e.name {
	case "w:p":
		return d.paragraph(x, out)
	case "w:tbl":
		return d.table(x, out)
	case "w:sdt", "w:sdtContent", "w:customXml", "w:smartTag", "w:ins", "w:moveTo", "w:dir", "w:bdo":
		return d.blocks(x, out)
	case "mc:AlternateContent":
		return d.choose(x, func(e *element) error { return d.blockElement(x, e, out) })
	case "w:altChunk", "w:subDoc":
		d.warn("The document embeds another file, which was not read.")
	case "m:oMathPara", "m:oMath":
		text, err := d.math(x)
		if err != nil {
			return err
		}
		return out(block{text: text})
	}
	return x.skip()
}

// choose visits the first of alternative contents.
func (d *document) choose(x *xmlPart, visit func(*element) error) error {
	chosen := false
	return x.children(func(e *element) error {
		if chosen || e.name != "mc:Choice" && e.name != "mc:Fallback" {
			return x.skip()
		}
		chosen = true
		return x.children(visit)
	})
}

func (d *document) warn(sentence string) {
	for _, w := range d.warnings {
		if w == sentence {
			return
		}
	}
	d.warnings = append(d.warnings, sentence)
}

// collect joins the blocks that read emits, and returns them as a single line of text.
func (d *document) collect(read func(sink) error) (string, error) {
	var out strings.Builder
	err := read(func(b block) error {
		if b.text == "" {
			return nil
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(strings.TrimSpace(b.text))
		return tooLong(out.Len())
	})
	return strings.ReplaceAll(out.String(), "\n", " "), err
}

func tooLong(n int) error {
	if n > maxBlockBytes {
		return fault.Errorf(fault.Invalid, "the Word document has more than %d bytes of text in one paragraph, table row or note: divide it, and upload the new file", maxBlockBytes)
	}
	return nil
}

// write is the sink of the main part.
func (d *document) write(b block) error {
	if b.level > 0 && d.w.Sections() < extract.MaxSections {
		return d.writeHeading(b)
	}
	if b.text == "" {
		return d.writePages(b)
	}
	separator := "\n\n"
	if b.kind == d.last && d.begun && (b.tight || b.kind == listItem || b.kind == code) {
		separator = "\n"
	} else if err := d.closeFence(); err != nil {
		return err
	} else if b.kind == code {
		separator += "```\n"
	}
	d.last, d.begun = b.kind, true
	if err := d.w.Write(separator); err != nil {
		return err
	}
	return d.writePages(b)
}

func (d *document) writeHeading(b block) error {
	if err := d.closeFence(); err != nil {
		return err
	}
	d.last, d.begun = plain, false
	for len(b.breaks) > 0 && b.breaks[0] == 0 {
		d.turnPage()
		b.breaks = b.breaks[1:]
	}
	d.first = cmp.Or(d.first, b.text)
	if b.level == 1 {
		d.top = cmp.Or(d.top, b.text)
	}
	if err := d.w.Begin(b.level, b.text); err != nil {
		return err
	}
	for range b.breaks {
		d.turnPage()
	}
	return nil
}

// writePages writes a block's text, and starts a page at each of its breaks.
func (d *document) writePages(b block) error {
	from := 0
	for _, at := range b.breaks {
		if err := d.w.Write(b.text[from:at]); err != nil {
			return err
		}
		d.turnPage()
		from = at
	}
	return d.w.Write(b.text[from:])
}

func (d *document) turnPage() {
	if d.page > 0 {
		d.page++
		d.w.Page(d.page)
	}
}

func (d *document) closeFence() error {
	if d.last != code || !d.begun {
		return nil
	}
	d.last = plain
	return d.w.Write("\n```")
}
