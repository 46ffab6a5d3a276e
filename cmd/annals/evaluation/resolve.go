package evaluation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"

	"github.com/google/uuid"
)

// maxFolders is the maximum number of folders in which documents are looked up.
const maxFolders = 100_000

// candidate is a document that a name may mean. A name means its path rather than the name of
// a file, and that rather than the name without its extension.
type candidate struct {
	id   string
	kind int // 0 for a path, 1 for a path below the folder, 2 for a file name, 3 for one without its extension
}

// resolver finds the documents that questions name.
type resolver struct {
	vault  *client.Vault
	wanted map[string][]candidate // by name
	begin  string                 // path of the folder to search in, with a slash; or ""
}

// resolve returns the ids of the documents that the questions name, by name. Documents are
// named by id, path or file name. It prints which names it does not find.
func resolve(ctx context.Context, vault *client.Vault, folder client.Folder, named map[string]mention, out io.Writer) (ids map[string]string, err error) {
	ids = make(map[string]string)
	r := &resolver{vault: vault, wanted: make(map[string][]candidate)}
	for name := range named {
		if id, err := uuid.Parse(name); err == nil && len(name) == len(id.String()) {
			ids[name] = id.String()
		} else {
			r.wanted[strings.Trim(name, "/")] = nil
		}
	}
	if len(r.wanted) > 0 {
		if err := r.walk(ctx, folder); err != nil {
			return nil, err
		}
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		found := r.wanted[strings.Trim(name, "/")]
		switch {
		case ids[name] != "":
			continue
		case len(found) == 0:
			missing = append(missing, name)
			continue
		}
		slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id)) })
		if len(found) > 1 && found[1].kind == found[0].kind {
			return nil, fmt.Errorf("%s: several documents are called %q, such as %s and %s: write the path or the id, or limit the folder with --folder", named[name], name, found[0].id, found[1].id)
		}
		ids[name] = found[0].id
	}
	if len(missing) == 0 {
		return ids, nil
	}
	first := fmt.Sprintf("%s: there is no document %q that you may read", named[missing[0]], missing[0])
	if len(missing) == len(named) {
		return nil, fmt.Errorf("%s; none of the %d documents is there", first, len(named))
	}
	terminal.LinePrinter(out)(fmt.Sprintf("annals: warning: %s; %d of %d documents are missing, and count as not found", first, len(missing), len(named)))
	return ids, nil
}

func (m mention) String() string {
	if m.line == 0 {
		return m.file
	}
	return fmt.Sprintf("%s:%d", m.file, m.line)
}

// walk looks for the wanted documents in a folder and all folders below it, or everywhere.
func (r *resolver) walk(ctx context.Context, folder client.Folder) error {
	todo := []client.Folder{folder}
	if folder.ID == "" {
		var err error
		if todo, err = r.vault.Subfolders(ctx, ""); err != nil {
			return err
		}
	} else {
		r.begin = folder.Name + "/"
	}
	for visited := 0; len(todo) > 0; visited++ {
		if visited >= maxFolders {
			return fmt.Errorf("look up documents by name: there are more than %d folders; limit the folder with --folder, or name documents by id", maxFolders)
		}
		at := todo[len(todo)-1] // its Name is the path
		todo = todo[:len(todo)-1]
		documents, err := r.vault.Documents(ctx, at.ID)
		if err != nil {
			return err
		}
		for _, d := range documents {
			r.note(d.ID, at.Name+"/"+d.Name)
		}
		below, err := r.vault.Subfolders(ctx, at.ID)
		if err != nil {
			return err
		}
		for _, f := range below {
			f.Name = at.Name + "/" + f.Name
			todo = append(todo, f)
		}
	}
	return nil
}

// note adds a document to the wanted names that may mean it.
func (r *resolver) note(id, whole string) {
	inside, name := strings.TrimPrefix(whole, r.begin), path.Base(whole)
	for kind, name := range []string{whole, inside, name, strings.TrimSuffix(name, path.Ext(name))} {
		found, ok := r.wanted[name]
		if ok && !slices.ContainsFunc(found, func(c candidate) bool { return c.id == id }) {
			r.wanted[name] = append(found, candidate{id, kind})
		}
	}
}
