// Package mirror decides how a folder of the service is brought up to date with
// local files: which of them are new, changed or renamed, and which documents no
// longer have one. It neither reads files nor speaks to the service.
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
	// Path is where its document belongs, below the folder: names as the service
	// keeps them, separated by slashes.
	Path string
	// Hash returns the SHA-256 of the file, in hex. It is asked for if it matters.
	Hash func(context.Context) (string, error)
	// Noted is what an earlier import noted of the file.
	Noted Noted
	// Same says that the file is as it was then.
	Same bool
	// InWork says that the file is being imported: nothing is to be done about it.
	InWork bool
}

// Noted is what an earlier import noted of a path.
type Noted struct {
	// Document is the id of the document that the file became, "" if none is known.
	Document string
	// SHA256 is of the content that the document had then, and Version is the
	// document's; "" and 0 if they are not known.
	SHA256  string
	Version int
	// Made says that the import made the document, at this path.
	Made bool
	// Replace says that the document is to be replaced whatever became of it since.
	Replace bool
}

// Document is a document below the folder.
type Document struct {
	ID, Path, SHA256 string
	Version          int
	Created          string // when; of two the later one sorts behind
}

// Action is what is to be done about a file or a document.
type Action int

// The actions.
const (
	Create Action = iota // a document of the file
	Update               // the document, by the file
	Leave                // the file is in the document
	Keep                 // the document, which was changed or renamed since the file was imported, and the file was not
	Rename               // the document, to the file's path: the import made it, it has the same bytes, and its own file is gone
	Remove               // the document has no file
	Fail                 // the file cannot be imported, for the reason in Err
)

// Change is what is to be done.
type Change struct {
	Action   Action
	File     int // index, -1 for Remove
	Document Document
	// Shared says that other documents have the path of the document; of one to remove,
	// that the path has a file, which is in another document.
	Shared bool
	Err    error
}

// ErrConflict is the error of a file that has changed, as its document has at the
// service.
var ErrConflict = errors.New("the file and its document at the server were both changed since the last import")

// Plan compares files with documents. It renames those alone for which made returns
// true: what the import itself put at a path that no longer has a file. Those for
// which foreign returns true are neither renamed nor removed, nor those that were
// noted of a file, whatever path they have by now. Of several documents
// with one path the one that was noted counts, or else the newest. Changes come in
// the order of the files, then in that of the documents' paths. An error is that of
// ctx alone.
func Plan(ctx context.Context, files []File, documents []Document, made func(Document) bool, foreign func(path string) bool) ([]Change, error) {
	p := planner{
		files: files, taken: make(map[string]int), at: make(map[string][]Document), byID: make(map[string]Document),
		changes: make([]*Change, len(files)),
	}
	noted := make(map[string]bool) // documents of files that there are
	for i, f := range files {
		if _, ok := p.taken[f.Path]; !ok {
			p.taken[f.Path] = i
		}
		noted[f.Noted.Document] = true
	}
	documents = slices.Clone(documents)
	slices.SortFunc(documents, func(a, b Document) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(b.Created, a.Created), strings.Compare(a.ID, b.ID))
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
		case !wanted && !noted[d.ID] && !foreign(d.Path):
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
	taken   map[string]int        // the first file of each path
	at      map[string][]Document // of each path, the newest first
	byID    map[string]Document
	changes []*Change // of each file
}

// of returns the document of a file, among those of its path.
func (p *planner) of(i int) Document {
	same := p.at[p.files[i].Path]
	return same[max(0, slices.IndexFunc(same, func(d Document) bool { return d.ID == p.files[i].Noted.Document }))]
}

// compare looks at the file and the document of the same path; nil says that
// nothing is to be done.
func (p *planner) compare(ctx context.Context, i int) *Change {
	f := p.files[i]
	same := p.at[f.Path]
	switch {
	case p.taken[f.Path] != i:
		return &Change{Action: Fail, File: i, Err: fmt.Errorf("to the service its name is that of another file: both are %q", f.Path)}
	case f.InWork:
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

// isOf reports whether a document has the content that was noted.
func (n Noted) isOf(d Document) bool {
	if n.SHA256 != "" && d.SHA256 != "" {
		return n.SHA256 == d.SHA256
	}
	return n.Document == d.ID && n.Version == d.Version
}

// moved returns the document that an import made of a file and that somebody gave
// another path, at which there is no file.
func (p *planner) moved(f File) Document {
	d := p.byID[f.Noted.Document]
	if _, taken := p.taken[d.Path]; taken || !f.Noted.Made || f.Noted.Replace {
		return Document{}
	}
	return d
}

// renames finds new files that have the bytes of a document that may be renamed,
// and returns the ids of those documents.
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
		// One of the same name was moved rather than renamed.
		n := max(0, slices.IndexFunc(same, func(d Document) bool { return path.Base(d.Path) == path.Base(f.Path) }))
		c.Action, c.Document = Rename, same[n]
		renamed[same[n].ID] = true
		byHash[sum] = slices.Delete(same, n, n+1)
	}
	return renamed, nil
}
