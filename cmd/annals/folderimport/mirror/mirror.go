// Package mirror plans how to make a folder on the server equal to a local directory.
// It finds the files that are new, changed or renamed, and the documents that no longer
// have a file. It reads no files, sends no requests, and imports no other package of
// this module.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// File is a local file.
type File struct {
	// Path is the path that the file's document has, or would have, relative to the
	// folder on the server. Its elements are names as the server stores them, separated
	// by slashes.
	Path string
	// Hash returns the SHA-256 of the file in hex. Plan calls it only if it needs the
	// hash.
	Hash func(context.Context) (string, error)
	// Noted is the record of the last import of the file.
	Noted Noted
	// Same is true if the file has not changed since that import.
	Same bool
	// InFlight is true if the file is already being imported. It then needs no action.
	InFlight bool
}

// Noted is the record of the last import of a file.
type Noted struct {
	// Document is the id of the file's document; "" if it is unknown.
	Document string
	// SHA256 and Version are those that the document had after the import. They are ""
	// and 0 if they are unknown.
	SHA256  string
	Version int
	// Made is true if an import created the document, and it was at the path of this
	// file.
	Made bool
	// Replace is true if the content of the document is to be replaced even if another
	// user has changed it since the import.
	Replace bool
}

// Document is a document in the folder on the server or in a folder below it.
type Document struct {
	ID, Path, SHA256 string
	Version          int
	CreatedAt        string // in a format that sorts by time
}

// Action says what to do with a file or a document.
type Action int

// The actions.
const (
	Create Action = iota // create a document from the file
	Update               // replace the content of the document
	Leave                // do nothing: the document has the content of the file
	Keep                 // do nothing: since the import the document was changed or renamed, but the file was not
	Rename               // move a document to the path of this file: an import created the document from another file, of the same content, that no longer exists
	Remove               // remove the document, because it has no file
	Fail                 // report Err: the file cannot be imported
)

// Change is an action for one file or document.
type Change struct {
	Action   Action
	File     int // index of the file in the argument of Plan; -1 for Remove
	Document Document
	// Shared is true if the document's path is also that of other documents. For Remove
	// it is true if there is a file at that path, which belongs to another document.
	Shared bool
	Err    error
}

// ErrConflict is the error of a Change if both the file and its document were changed
// since the last import.
var ErrConflict = errors.New("the file and its document on the server were both changed since the last import")

// Plan compares files with documents. It returns first the changes of files, in the
// order of files, and then the removals, in the order of paths. If several documents
// have the path of a file, the one in the record of the file belongs to it, or else the
// newest.
//
// made reports whether an import created a document at the document's current path;
// only such documents are renamed. excluded reports whether the document at a path must
// not be renamed or removed. A document in the record of an existing file is not renamed
// or removed either, even if the document was moved to another path. Plan returns an
// error only if ctx ends.
func Plan(ctx context.Context, files []File, documents []Document, made func(Document) bool, excluded func(path string) bool) ([]Change, error) {
	p := planner{
		files: files, taken: make(map[string]int), at: make(map[string][]Document), byID: make(map[string]Document),
		changes: make([]*Change, len(files)),
	}
	noted := make(map[string]bool) // documents in the records of existing files
	for i, f := range files {
		if _, ok := p.taken[f.Path]; !ok {
			p.taken[f.Path] = i
		}
		noted[f.Noted.Document] = true
	}
	documents = slices.Clone(documents)
	slices.SortFunc(documents, func(a, b Document) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	for _, d := range documents {
		p.at[d.Path] = append(p.at[d.Path], d)
		p.byID[d.ID] = d
	}
	var movable []Document
	var removed []Change
	for _, d := range documents {
		i, wanted := p.taken[d.Path]
		switch {
		case wanted && d.ID != p.of(i).ID:
			removed = append(removed, Change{Action: Remove, File: -1, Document: d, Shared: true})
		case !wanted && !noted[d.ID] && !excluded(d.Path):
			removed = append(removed, Change{Action: Remove, File: -1, Document: d})
			if made(d) {
				movable = append(movable, d)
			}
		}
	}
	for i := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.changes[i] = p.compare(ctx, i)
	}
	renamed, err := p.renames(ctx, movable)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, c := range p.changes {
		if c != nil {
			all = append(all, *c)
		}
	}
	removed = slices.DeleteFunc(removed, func(c Change) bool { return renamed[c.Document.ID] })
	return append(all, removed...), nil
}

type planner struct {
	files   []File
	taken   map[string]int        // index of the first file at each path
	at      map[string][]Document // documents at each path, newest first
	byID    map[string]Document
	changes []*Change // change of each file; nil for none
}

// of returns the document that belongs to file i. There must be at least one document
// at the path of the file.
func (p *planner) of(i int) Document {
	same := p.at[p.files[i].Path]
	return same[max(0, slices.IndexFunc(same, func(d Document) bool { return d.ID == p.files[i].Noted.Document }))]
}

// compare returns the change for file i, or nil if none is needed. It does not look for
// renames.
func (p *planner) compare(ctx context.Context, i int) *Change {
	f := p.files[i]
	same := p.at[f.Path]
	switch {
	case p.taken[f.Path] != i:
		return &Change{Action: Fail, File: i, Err: fmt.Errorf("the server would store it under the same name as another file, %q: rename one of them", f.Path)}
	case f.InFlight:
		return nil
	}
	c := &Change{Action: Update, File: i, Shared: len(same) > 1}
	if len(same) > 0 {
		c.Document = p.of(i)
	} else if c.Document = p.moved(f); c.Document.ID == "" {
		c.Action = Create
		return c
	}
	sum, err := f.Hash(ctx)
	unchanged := f.Same || sum != "" && sum == f.Noted.SHA256
	here := len(same) > 0
	switch {
	case err != nil:
		c.Action, c.Err = Fail, err
	case here && sum == c.Document.SHA256:
		c.Action = Leave
	case here && (f.Noted.Document == "" || f.Noted.Replace || f.Noted.isOf(c.Document)):
		c.Action = Update
	case unchanged || sum == c.Document.SHA256:
		c.Action = Keep
	default:
		c.Action, c.Err = Fail, ErrConflict
	}
	return c
}

// isOf reports whether the content of a document is still that of the record.
func (n Noted) isOf(d Document) bool {
	if n.SHA256 != "" && d.SHA256 != "" {
		return n.SHA256 == d.SHA256
	}
	return n.Document == d.ID && n.Version == d.Version
}

// moved returns the document that an import created from file f, if the document was
// moved on the server to a path where there is no file.
func (p *planner) moved(f File) Document {
	d := p.byID[f.Noted.Document]
	if _, taken := p.taken[d.Path]; taken || !f.Noted.Made || f.Noted.Replace {
		return Document{}
	}
	return d
}

// renames turns Create into Rename for each new file whose content equals that of a
// document in movable. It returns the ids of the renamed documents.
func (p *planner) renames(ctx context.Context, movable []Document) (renamed map[string]bool, err error) {
	byHash := make(map[string][]Document)
	for _, d := range movable {
		if d.SHA256 != "" {
			byHash[d.SHA256] = append(byHash[d.SHA256], d)
		}
	}
	renamed = make(map[string]bool)
	for _, c := range p.changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c == nil || c.Action != Create || len(byHash) == 0 {
			continue
		}
		f := p.files[c.File]
		sum, err := f.Hash(ctx)
		if err != nil {
			c.Action, c.Err = Fail, err
			continue
		}
		same := byHash[sum]
		if len(same) == 0 {
			continue
		}
		// Of several documents with this content, prefer one of the same name: its file
		// was probably moved to another directory.
		n := max(0, slices.IndexFunc(same, func(d Document) bool { return path.Base(d.Path) == path.Base(f.Path) }))
		c.Action, c.Document = Rename, same[n]
		renamed[same[n].ID] = true
		byHash[sum] = slices.Delete(same, n, n+1)
	}
	return renamed, nil
}
