package docx

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"strings"

	"annals/commands/importer/extract"
	"annals/events/fault"
)

// Bounds on a DOCX file. Sizes are counted while inflating, since those that the
// archive declares may be wrong.
const (
	maxDirectory  = 8 << 20  // bytes of the archive's directory
	maxEntries    = 20_000   // of the archive
	maxPartBytes  = 16 << 20 // inflated, of styles, lists, relations, properties, a chart
	maxNotesPart  = 64 << 20 // inflated, of all footnotes, endnotes or comments
	maxPackage    = 2 << 30  // inflated, of all parts that are read, each time
	maxRatio      = 256      // maxPackage as a multiple of the size of the file
	leastPackage  = 64 << 20 // that even a small file may inflate to
	maxXMLDepth   = 400      // elements inside each other
	maxTokenBytes = 16 << 20 // of XML without a tag
	maxBlockBytes = 16 << 20 // of text in a paragraph, a table row or a note
	maxNotesBytes = 32 << 20 // of text in footnotes, endnotes and comments
	maxRelations  = 100_000  // of a part
	maxStyles     = 50_000   // and of list definitions
)

// wordPackage is the archive that a DOCX file is.
type wordPackage struct {
	parts    map[string]*zip.File // by lower-case name
	inflated int64                // by all parts so far
	most     int64                // limit of inflated
	xml      int64                // the same, but each part counts once even if it is read again
	lengths  map[string]int64     // of the parts, as far as they were read
}

// relation points from a part to another.
type relation struct {
	kind     string // last segment of the type
	target   string // name of a part
	external bool
}

func openPackage(f extract.File) (*wordPackage, error) {
	directory := &boundedReaderAt{r: f, left: maxDirectory}
	archive, err := zip.NewReader(directory, f.Size)
	if directory.left < 0 || err == nil && len(archive.File) > maxEntries {
		return nil, fault.Errorf(fault.Invalid, "the Word document has more than %d parts", maxEntries)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the file is not a Word document or is damaged: it cannot be opened as a ZIP archive")
	}
	directory.left = 1 << 62 // each part has a bound of its own
	p := &wordPackage{parts: make(map[string]*zip.File, len(archive.File)), lengths: make(map[string]int64), most: min(maxPackage, max(leastPackage, maxRatio*f.Size))}
	for _, entry := range archive.File {
		name := partName("", entry.Name)
		if p.parts[name] == nil {
			p.parts[name] = entry
		}
	}
	return p, nil
}

// boundedReaderAt fails once more than left bytes were read.
type boundedReaderAt struct {
	r    io.ReaderAt
	left int64
}

func (b *boundedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.r.ReadAt(p, off)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("the directory of the archive is too long")
	}
	return n, err
}

// partName resolves a target against the folder of the part that names it.
func partName(folder, target string) string {
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = folder + "/" + target
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+target), "/"))
}

// open opens a part, and returns nil if it does not exist. limit is the most bytes it may
// inflate to.
func (p *wordPackage) open(name string, limit int64) (io.ReadCloser, error) {
	entry := p.parts[name]
	if entry == nil {
		return nil, nil
	}
	r, err := entry.Open()
	if err != nil {
		return nil, damaged(name)
	}
	return &partReader{ReadCloser: r, p: p, name: name, most: limit, left: limit}, nil
}

func damaged(part string) error {
	return fault.Errorf(fault.Invalid, "the Word document is damaged: its part %s cannot be read", part)
}

// partReader inflates one part within its own bound and that of its package.
type partReader struct {
	io.ReadCloser
	p    *wordPackage
	name string
	most int64
	left int64
	read int64
}

func (r *partReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.left -= int64(n)
	r.p.inflated += int64(n)
	r.read += int64(n)
	if more := r.read - r.p.lengths[r.name]; more > 0 {
		r.p.xml += more
		r.p.lengths[r.name] = r.read
	}
	if r.left < 0 {
		return 0, fault.Errorf(fault.Invalid, "the Word document's part %s inflates to more than the %d MiB that are read of it", r.name, r.most>>20)
	}
	if r.p.inflated > r.p.most {
		return 0, fault.Errorf(fault.Invalid, "the Word document inflates to more than %d MiB, the most for a file of its size (reached in part %s)", r.p.most>>20, r.name)
	}
	if err != nil && err != io.EOF {
		err = damaged(r.name)
	}
	return n, err
}

// relations returns the relations of a part, by id; "" means those of the package.
func (d *document) relations(part string) (map[string]relation, error) {
	folder, base := path.Split(part)
	rels := map[string]relation{}
	err := d.eachElement(partName("", folder+"_rels/"+base+".rels"), maxPartBytes, "Relationship", func(x *xmlPart, e *element) error {
		if len(rels) >= maxRelations {
			return fault.Errorf(fault.Invalid, "the Word document has more than %d relations in one part", maxRelations)
		}
		kind := e.attr("Type")
		r := relation{kind: kind[strings.LastIndexByte(kind, '/')+1:], external: e.attr("TargetMode") == "External"}
		if !r.external {
			r.target = partName(folder, e.attr("Target"))
		}
		rels[e.attr("Id")] = r
		return x.skip()
	})
	return rels, err
}
