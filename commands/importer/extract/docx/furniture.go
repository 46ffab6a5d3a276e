package docx

import (
	"bytes"
	"io"
	"regexp"

	"annals/commands/importer/extract/blocks"
	"annals/commands/importer/extract/ooxml"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

const (
	maxFurniture      = 1_000   // references to headers and footers that are followed
	maxFurnitureBytes = 1 << 20 // bytes of text in all headers and footers
	maxFurniturePart  = 4 << 20 // uncompressed bytes of a header or footer
	maxReference      = 4 << 10 // bytes of the XML of a reference
)

// furniture has the headers and footers that are new in a section of pages.
type furniture struct {
	refs             []string // ids of relations
	headers, footers []blocks.Block
}

// references matches what scan looks for: the start of a section's properties and of its references.
var references = regexp.MustCompile(`<(?:\w+:)?(?:(sectPr)[\s/>]|(sectPrChange)[\s/>]|(?:header|footer)Reference\s[^>]*\bid=["']([^"']*)["'])`)

// scan looks in the main part for stored page breaks and for references to headers and footers, which
// are at the end of a section of pages, although the header is to stand at its start. It looks at bytes,
// because parsing the XML twice would take twice as long.
func (d *document) scan(part string) (marked bool, all []*furniture, err error) {
	r, err := d.pkg.Read(part, zipxml.AnyPart)
	if r == nil || err != nil {
		return false, nil, err
	}
	defer r.Close()
	mark := []byte("lastRenderedPageBreak")
	buf := make([]byte, 64<<10)
	section, count, changed := -1, 0, false
	for kept := 0; ; {
		n, err := r.Read(buf[kept:])
		b := buf[:kept+n]
		marked = marked || bytes.Contains(b, mark)
		last := err == io.EOF
		if err != nil && !last {
			return false, nil, err
		}
		done := max(0, len(b)-maxReference) // what begins after this is looked at with the next bytes
		if last {
			done = len(b)
		}
		if bytes.Contains(b, []byte("sectPr")) || bytes.Contains(b, []byte("erReference")) {
			for _, m := range references.FindAllSubmatchIndex(b, -1) {
				switch {
				case m[0] >= done || count >= maxFurniture:
				case m[4] >= 0: // the properties that follow are those before a change
					changed = true
				case m[2] >= 0:
					if !changed {
						section++
						all = append(all, &furniture{})
					}
					changed = false
				case section >= 0:
					all[section].refs = append(all[section].refs, string(b[m[6]:m[7]]))
				}
				count++
			}
		}
		if last {
			return marked, all, nil
		}
		kept = copy(buf, b[done:])
	}
}

// readFurniture reads the headers and footers of all sections of pages. A text that occurred before is
// left out.
func (d *document) readFurniture() error {
	rels, seen, size := d.rels, map[string]bool{}, 0
	defer func() { d.rels, d.furnishing = rels, false }()
	d.furnishing = true
	for _, f := range d.furniture {
		for _, id := range f.refs {
			rel := rels[id]
			if seen[rel.Target] || rel.Kind != "header" && rel.Kind != "footer" {
				continue
			}
			seen[rel.Target] = true
			var err error
			if d.rels, err = ooxml.ReadRelations(d.pkg, rel.Target); err != nil {
				return err
			}
			local := map[string]string{"header": "hdr", "footer": "ftr"}[rel.Kind]
			err = d.pkg.Each(rel.Target, maxFurniturePart, local, func(x *zipxml.Part, _ *zipxml.Element) error {
				return d.story(x, func(b blocks.Block) error {
					b.Breaks, b.Level = nil, 0
					key := "text " + b.Text
					if b.Text == "" || seen[key] || blocks.IsPageNumber(b.Text) {
						return nil
					}
					seen[key] = true
					if size += len(b.Text); size > maxFurnitureBytes {
						return fault.Errorf(fault.Invalid, "the Word document has more than %d bytes of text in headers and footers: save it again as PDF, and upload that", maxFurnitureBytes)
					}
					if rel.Kind == "header" {
						f.headers = append(f.headers, b)
					} else {
						f.footers = append(f.footers, b)
					}
					return nil
				})
			})
			if err != nil {
				return err
			}
		}
		f.refs = nil
	}
	return nil
}

// write is the sink of the main part. The headers of a section of pages are written before its first
// text, but after a heading at its start, so that they belong to the heading's section.
func (d *document) write(b blocks.Block) error {
	if d.headed || d.section >= len(d.furniture) || b.Text == "" {
		return d.out.Write(b)
	}
	d.headed = true
	headers := d.furniture[d.section].headers
	if b.Level > 0 {
		if err := d.out.Write(b); err != nil {
			return err
		}
	}
	for _, h := range headers {
		if err := d.out.Write(h); err != nil {
			return err
		}
	}
	if b.Level > 0 {
		return nil
	}
	return d.out.Write(b)
}

// endSection ends a section of pages: it writes what is left, and the footers.
func (d *document) endSection() error {
	if d.furnishing || d.nesting > 0 {
		return nil
	}
	if err := d.flush(d.write); err != nil {
		return err
	}
	if d.section < len(d.furniture) {
		f := d.furniture[d.section]
		if !d.headed {
			f.footers = append(f.headers, f.footers...)
		}
		for _, b := range f.footers {
			if err := d.out.Write(b); err != nil {
				return err
			}
		}
	}
	d.section, d.headed = d.section+1, false
	return d.out.Close()
}
