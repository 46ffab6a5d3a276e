// Package mirror decides how a folder of the service is brought up to date with
// local files: which of them are new, changed or renamed, and which documents have
// none any more. It neither reads files nor speaks to the service.
package mirror

import (
	"cmp"
	"context"
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
	// Imported is the id of the document that an earlier import made of the file
	// as it is now, "" if none is known.
	Imported string
	// InWork says that the file is being imported: nothing is to be done about it.
	InWork bool
	// Resend says that it is to be sent whatever the service has, for its tags.
	Resend bool
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
	Keep                 // the document has changed since the file was imported, and the file has not
	Rename               // the document, to the file's path: it has the same bytes, and its own file is gone
	Remove               // the document has no file
	Fail                 // the file cannot be imported, for the reason in Err
)

// Change is what is to be done. A Version of 0 in Document says that any will do.
type Change struct {
	Action   Action
	File     int // index, -1 for Remove
	Document Document
	Err      error
}

// Plan compares files with documents. Those documents are neither renamed nor
// removed for which foreign returns true. Of several documents with one path the
// newest counts, and the others are to be removed. Changes come in the order of the
// files, then in that of the documents' paths. An error is that of ctx alone.
func Plan(ctx context.Context, files []File, documents []Document, foreign func(path string) bool) ([]Change, error) {
	p := planner{files: files, taken: make(map[string]int), at: make(map[string][]Document), changes: make([]*Change, len(files))}
	for i, f := range files {
		if _, ok := p.taken[f.Path]; !ok {
			p.taken[f.Path] = i
		}
	}
	documents = slices.Clone(documents)
	slices.SortFunc(documents, func(a, b Document) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(b.Created, a.Created), strings.Compare(a.ID, b.ID))
	})
	for _, d := range documents {
		p.at[d.Path] = append(p.at[d.Path], d)
	}
	var gone, surplus []Document // without a file; beside the one that the file is of
	for _, d := range documents {
		_, wanted := p.taken[d.Path]
		switch {
		case wanted && d.ID != p.at[d.Path][0].ID:
			surplus = append(surplus, d)
		case !wanted && !foreign(d.Path):
			gone = append(gone, d)
		}
	}
	for i := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.changes[i] = p.compare(ctx, i)
	}
	gone, err := p.renames(ctx, gone)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, c := range p.changes {
		if c != nil {
			all = append(all, *c)
		}
	}
	gone = append(gone, surplus...)
	slices.SortStableFunc(gone, func(a, b Document) int { return strings.Compare(a.Path, b.Path) })
	for _, d := range gone {
		all = append(all, Change{Action: Remove, File: -1, Document: d})
	}
	return all, nil
}

type planner struct {
	files   []File
	taken   map[string]int        // the first file of each path
	at      map[string][]Document // of each path, the newest first
	changes []*Change             // of each file
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
	case len(same) == 0:
		return &Change{Action: Create, File: i}
	}
	c := &Change{Action: Update, File: i, Document: same[0]}
	if len(same) > 1 || f.Resend {
		c.Document.Version = 0 // which one is replaced is the service's to say
	}
	if f.Resend {
		return c
	}
	sum, err := f.Hash(ctx)
	switch {
	case err != nil:
		c.Action, c.Err = Fail, err
	case sum == c.Document.SHA256:
		c.Action = Leave
	case f.Imported == c.Document.ID:
		c.Action = Keep
	}
	return c
}

// renames finds new files that have the bytes of a document without a file, and
// returns the documents that are left.
func (p *planner) renames(ctx context.Context, gone []Document) (left []Document, err error) {
	byHash := make(map[string][]Document)
	for _, d := range gone {
		if d.SHA256 != "" {
			byHash[d.SHA256] = append(byHash[d.SHA256], d)
		}
	}
	used := make(map[string]bool)
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
		used[same[n].ID] = true
		byHash[sum] = slices.Delete(same, n, n+1)
	}
	return slices.DeleteFunc(gone, func(d Document) bool { return used[d.ID] }), nil
}
