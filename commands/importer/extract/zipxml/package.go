// Package zipxml reads files that are ZIP archives of XML parts, such as Office documents, within
// limits: entries, uncompressed bytes of a part and of all parts, nesting of elements, and bytes of a
// token. Names of entries are only keys: nothing is written to disk, and nothing is fetched. It imports
// extract and events/fault.
package zipxml

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"annals/commands/importer/extract"
	"annals/events/fault"
)

// Limits of an archive. Sizes are counted while uncompressing, because those declared by the
// archive may be wrong.
const (
	maxDirectory = 8 << 20 // bytes of the archive's directory
	maxEntries   = 20_000  // files in the archive
	// Uncompressed bytes:
	SmallPart = 16 << 20 // limit for a part that is kept in memory, such as styles or relations
	AnyPart   = 1 << 62  // limit for a part that is not kept in memory: only that of all parts applies

	MaxToken = 16 << 20 // bytes of XML without a tag
)

// Package is an open archive. The name of a part is its path in lower case with "/" as separator.
type Package struct {
	ctx      context.Context
	kind     string               // what the file is called in errors, such as "Word document"
	parts    map[string]*zip.File // by lower-case name
	size     int64                // of the file
	limits   extract.Limits       // of the file
	inflated int64                // uncompressed bytes of all parts read so far, counting repeated reads
	xml      int64                // like inflated, but without repeated reads
	lengths  map[string]int64     // uncompressed bytes read of each part
}

// Open opens an archive. kind is what the file is called in errors, such as "Word document".
func Open(ctx context.Context, f extract.File, kind string) (*Package, error) {
	directory := &limitedReaderAt{r: f, left: maxDirectory}
	archive, err := zip.NewReader(directory, f.Size)
	if directory.left < 0 || err == nil && len(archive.File) > maxEntries {
		return nil, fault.Errorf(fault.Invalid, "the %s has more than %d parts: save it again as PDF, and upload that", kind, maxEntries)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the file is not %s, or is damaged: it is not a ZIP archive: save it again, and upload the new file", withArticle(kind))
	}
	directory.left = 1 << 62 // each part has its own limit
	p := &Package{ctx: ctx, kind: kind, size: f.Size, limits: f.Limits.OrDefault(), parts: make(map[string]*zip.File, len(archive.File)), lengths: make(map[string]int64)}
	for _, entry := range archive.File {
		name := Name("", entry.Name)
		if p.parts[name] == nil {
			p.parts[name] = entry
		}
	}
	return p, nil
}

// withArticle returns a noun with its article.
func withArticle(noun string) string {
	if strings.ContainsAny(noun[:1], "AEIOUaeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// OtherKind returns the error for an archive whose main part is missing.
func (p *Package) OtherKind() error {
	return fault.Errorf(fault.Invalid, "the file is not %s, but another kind of ZIP archive: upload its files instead", withArticle(p.kind))
}

// Kind returns what the file is called in errors.
func (p *Package) Kind() string { return p.kind }

// Has reports whether there is a part with this name.
func (p *Package) Has(name string) bool { return p.parts[name] != nil }

// XML returns the uncompressed bytes that were read so far, without repeated reads. It is at most
// extract.MaxXML of the file.
func (p *Package) XML() int64 { return min(p.xml, extract.MaxXML(p.size)) }

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

// Name returns the name of the part that target refers to, relative to the folder of the part with
// the reference.
func Name(folder, target string) string {
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = folder + "/" + target
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+target), "/"))
}

// Read opens a part with a limit of uncompressed bytes. It returns nil if there is no such part.
func (p *Package) Read(name string, limit int64) (io.ReadCloser, error) {
	entry := p.parts[name]
	if entry == nil {
		return nil, nil
	}
	r, err := entry.Open()
	if err != nil {
		return nil, p.Damaged(name)
	}
	return &partReader{ReadCloser: r, p: p, name: name, limit: limit, left: limit}, nil
}

// Damaged returns the error for a part that cannot be read.
func (p *Package) Damaged(part string) error {
	return fault.Errorf(fault.Invalid, "the %s is damaged: its part %s cannot be read: save it again, and upload the new file", p.kind, part)
}

// tooLarge returns an error if the parts that were read have too many bytes. part is the last one.
func (p *Package) tooLarge(part string) error {
	// Some parts are read twice. Reading parts again and again has to end, too.
	inflated := max(p.xml, p.inflated/4)
	if inflated > p.limits.Inflated {
		return fault.Errorf(fault.Invalid, "the %s is too large: it has more than %s uncompressed (--max-inflated-bytes, reached in part %s): split it and upload the parts, or ask the operator for more", p.kind, size(p.limits.Inflated), part)
	}
	if inflated > extract.LeastInflated && inflated/int64(p.limits.Inflation) > p.size {
		return fault.Errorf(fault.Invalid, "the %s is too large: it has more than %d MiB uncompressed, and more than %d times the size of the file (--max-inflation, reached in part %s): split it and upload the parts, or ask the operator for more",
			p.kind, extract.LeastInflated>>20, p.limits.Inflation, part)
	}
	return nil
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// partReader uncompresses a part. It enforces the limit of the part and that of the package.
type partReader struct {
	io.ReadCloser
	p     *Package
	name  string
	limit int64
	left  int64
	read  int64
}

func (r *partReader) Read(b []byte) (int, error) {
	if err := r.p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.ReadCloser.Read(b)
	r.left -= int64(n)
	r.p.inflated += int64(n)
	r.read += int64(n)
	if more := r.read - r.p.lengths[r.name]; more > 0 {
		r.p.xml += more
		r.p.lengths[r.name] = r.read
	}
	if r.left < 0 {
		return 0, fault.Errorf(fault.Invalid, "the %s is too large: its part %s has more than %d MiB uncompressed: split it, and upload the parts", r.p.kind, r.name, r.limit>>20)
	}
	if err := r.p.tooLarge(r.name); err != nil {
		return 0, err
	}
	if err != nil && err != io.EOF {
		err = r.p.Damaged(r.name)
	}
	return n, err
}
