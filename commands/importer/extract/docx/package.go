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

// Limits of a DOCX file. Sizes are counted while uncompressing, because those declared by the
// archive may be wrong.
const (
	maxDirectory = 8 << 20 // bytes of the archive's directory
	maxEntries   = 20_000  // files in the archive
	// Uncompressed bytes:
	maxPartBytes = 16 << 20 // of the styles, lists, relations, properties or a chart
	maxNotesPart = 64 << 20 // of all footnotes, endnotes or comments
	maxPackage   = 2 << 30  // of all parts that are read, counting repeated reads
	maxRatio     = 256      // of all parts, as a multiple of the size of the file
	minPackage   = 64 << 20 // allowed for all parts of a small file

	maxXMLDepth   = 400      // nesting of elements
	maxTokenBytes = 16 << 20 // bytes of XML without a tag
	maxBlockBytes = 16 << 20 // bytes of text in a paragraph, a table row or a note
	maxNotesBytes = 32 << 20 // bytes of text in footnotes, endnotes and comments
	maxRelations  = 100_000  // of a part
	maxStyles     = 50_000   // styles, and also list definitions
)

// wordPackage is the archive of a DOCX file.
type wordPackage struct {
	parts    map[string]*zip.File // by lower-case name
	inflated int64                // uncompressed bytes read so far
	limit    int64                // of inflated
	xml      int64                // like inflated, but without repeated reads
	lengths  map[string]int64     // uncompressed bytes read of each part
}

// relation is a reference from a part to another part.
type relation struct {
	kind     string // last segment of the type
	target   string // part name
	external bool
}

func openPackage(f extract.File) (*wordPackage, error) {
	directory := &limitedReaderAt{r: f, left: maxDirectory}
	archive, err := zip.NewReader(directory, f.Size)
	if directory.left < 0 || err == nil && len(archive.File) > maxEntries {
		return nil, fault.Errorf(fault.Invalid, "the Word document has more than %d parts: save it again as PDF, and upload that", maxEntries)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the file is not a Word document, or is damaged: it is not a ZIP archive: save it again, and upload the new file")
	}
	directory.left = 1 << 62 // each part has its own limit
	p := &wordPackage{parts: make(map[string]*zip.File, len(archive.File)), lengths: make(map[string]int64), limit: min(maxPackage, max(minPackage, maxRatio*f.Size))}
	for _, entry := range archive.File {
		name := partName("", entry.Name)
		if p.parts[name] == nil {
			p.parts[name] = entry
		}
	}
	return p, nil
}

// limitedReaderAt fails if more than left bytes are read.
type limitedReaderAt struct {
	r    io.ReaderAt
	left int64
}

func (b *limitedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.r.ReadAt(p, off)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("read the directory of the archive: it is too long")
	}
	return n, err
}

// partName resolves the target of a relation relative to the folder of its part.
func partName(folder, target string) string {
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = folder + "/" + target
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+target), "/"))
}

// open opens a part with a limit of uncompressed bytes. It returns nil if there is no such part.
func (p *wordPackage) open(name string, limit int64) (io.ReadCloser, error) {
	entry := p.parts[name]
	if entry == nil {
		return nil, nil
	}
	r, err := entry.Open()
	if err != nil {
		return nil, damaged(name)
	}
	return &partReader{ReadCloser: r, p: p, name: name, limit: limit, left: limit}, nil
}

func damaged(part string) error {
	return fault.Errorf(fault.Invalid, "the Word document is damaged: its part %s cannot be read: save it again, and upload the new file", part)
}

// partReader uncompresses a part. It enforces the limit of the part and that of the package.
type partReader struct {
	io.ReadCloser
	p     *wordPackage
	name  string
	limit int64
	left  int64
	read  int64
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
		return 0, fault.Errorf(fault.Invalid, "the Word document is too large: its part %s has more than %d MiB uncompressed: split it, and upload the parts", r.name, r.limit>>20)
	}
	if r.p.inflated > r.p.limit {
		return 0, fault.Errorf(fault.Invalid, "the Word document is too large: it has more than %d MiB uncompressed, the limit for a file of its size (reached in part %s): split it, and upload the parts", r.p.limit>>20, r.name)
	}
	if err != nil && err != io.EOF {
		err = damaged(r.name)
	}
	return n, err
}

// relations returns the relations of a part, or of the package if part is "", by id.
func (d *document) relations(part string) (map[string]relation, error) {
	folder, base := path.Split(part)
	rels := map[string]relation{}
	err := d.eachElement(partName("", folder+"_rels/"+base+".rels"), maxPartBytes, "Relationship", func(x *xmlPart, e *element) error {
		if len(rels) >= maxRelations {
			return fault.Errorf(fault.Invalid, "the Word document has more than %d relations in one part: save it again as PDF, and upload that", maxRelations)
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
