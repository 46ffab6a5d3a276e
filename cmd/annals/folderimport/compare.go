package folderimport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport/mirror"
	"annals/commands/naming"
	"annals/http/ingest"
)

// comparison is the result of comparing the local directory with the folder on the
// server.
type comparison struct {
	tree    mirror.Tree
	paths   []string // path of each local file, with names as the server stores them
	changes []mirror.Change
	removed []mirror.Change
	made    map[madeAt]string // maps documents that imports created to the paths of their files, if those no longer exist
}

// madeAt is the id of a document that an import created, and the document's path at
// that time.
type madeAt struct{ document, path string }

// compare compares the local directory with the folder on the server. If the URL of the
// vault is unknown or wrong, it returns nil. inFlight has the files that are already
// being imported.
func (f *folderImport) compare(ctx context.Context, inFlight map[localFile]bool) (*comparison, error) {
	if f.vault == nil {
		return nil, nil
	}
	c := new(comparison)
	top, found, err := f.vault.FolderAt(ctx, f.folder)
	if client.IsRefusal(err, http.StatusNotFound) && !f.Delete {
		f.meter.Print("cannot compare with the server, because there is no vault at " + f.vault.URL + ": uploading all files that the state file does not list; pass the URL of the vault as --vault-url")
		return nil, nil
	}
	if err == nil && found {
		c.tree, err = mirror.List(ctx, lister{f.vault}, top.ID, f.Parallel)
	}
	if err != nil {
		return nil, fmt.Errorf("list the folder %s on the server: %w", f.folder, err)
	}
	files := make([]mirror.File, len(f.tree.files))
	c.paths = make([]string, len(files))
	for i, file := range f.tree.files {
		c.paths[i] = serverPath(file.Path)
		files[i] = f.mirrorFile(file, c.paths[i], inFlight[file])
	}
	c.made = f.made()
	made := func(d mirror.Document) bool {
		_, ok := c.made[madeAt{d.ID, d.Path}]
		return ok
	}
	all, err := mirror.Plan(ctx, files, c.tree.Documents, made, f.excluded())
	if err != nil {
		return nil, err
	}
	shared := 0
	for _, change := range all {
		switch {
		case change.Action != mirror.Remove:
			c.changes = append(c.changes, change)
		case !f.Delete:
		case change.Shared && f.Yes: // nobody can be asked whether this document belongs to the file
			shared++
		default:
			c.removed = append(c.removed, change)
		}
	}
	if shared > 0 {
		f.meter.Print(fmt.Sprintf("documents kept, because a file has the same name but belongs to another document: %d; --delete without --yes asks whether to remove them", shared))
	}
	return c, f.checkRemoval(c)
}

// lister implements mirror.Lister with the vault.
type lister struct{ vault *client.Vault }

func (l lister) Subfolders(ctx context.Context, folder string) (all []mirror.Folder, err error) {
	list, err := l.vault.Subfolders(ctx, folder)
	for _, f := range list {
		all = append(all, mirror.Folder{ID: f.ID, Name: f.Name})
	}
	return all, err
}

func (l lister) Documents(ctx context.Context, folder string) (all []mirror.Document, err error) {
	list, err := l.vault.Documents(ctx, folder)
	for _, d := range list {
		all = append(all, mirror.Document{ID: d.ID, Path: d.Name, SHA256: d.SHA256, Version: d.Version, CreatedAt: d.CreatedAt})
	}
	return all, err
}

// made returns the documents that imports created from files that no longer exist, with
// the paths of those files.
func (f *folderImport) made() map[madeAt]string {
	present := make(map[string]bool, len(f.tree.files))
	for _, file := range f.tree.files {
		present[file.Path] = true
	}
	made := make(map[madeAt]string)
	for name, noted := range f.state.done {
		if noted.Made && !present[name] {
			made[madeAt{noted.Document, serverPath(name)}] = name
		}
	}
	return made
}

// serverPath returns the path of a file's document relative to the folder of the
// import. It changes the names as the server does.
func serverPath(file string) string {
	dir, name := path.Split(file)
	return path.Join(serverFolder(strings.TrimSuffix(dir, "/")), ingest.FileName(name))
}

// serverFolder returns the path of a directory's folder on the server, relative to the
// folder of the import.
func serverFolder(dir string) string {
	if normal, err := naming.Folder(dir); err == nil {
		return normal
	}
	return dir
}

// mirrorFile returns a file, and its record in the state file, in the form that
// mirror.Plan needs.
func (f *folderImport) mirrorFile(file localFile, at string, inFlight bool) mirror.File {
	noted := f.state.done[file.Path]
	same := f.state.finished(file)
	return mirror.File{
		Path: at, InFlight: inFlight, Same: same,
		Noted: mirror.Noted{
			Document: noted.Document, SHA256: noted.SHA256, Version: noted.Version, Made: noted.Made,
			Replace: noted.Outcome == outcomeForgotten,
		},
		Hash: func(ctx context.Context) (string, error) {
			if same && noted.SHA256 != "" {
				return noted.SHA256, nil
			}
			return hashFile(ctx, f.tree.path(file))
		},
	}
}

// hashFile returns the SHA-256 of a file.
func hashFile(ctx context.Context, name string) (string, error) {
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h, block := sha256.New(), make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := in.Read(block)
		h.Write(block[:n])
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// excluded returns a function that reports whether the document at a path must not be
// renamed or removed. That is so if imports do not create documents with such a path,
// or if the document's file may be in a directory that could not be read.
func (f *folderImport) excluded() func(at string) bool {
	var unknown []string
	add := func(name string) { // it is unknown whether name is a file or a directory
		unknown = append(unknown, serverPath(name), serverFolder(name))
	}
	for _, name := range f.tree.others {
		add(name)
	}
	for _, fault := range f.tree.faults {
		add(fault.File)
	}
	return func(at string) bool {
		if f.tree.single || !f.tree.isImportable(at) || strings.HasPrefix(at, ".") || strings.Contains(at, "/.") {
			return true
		}
		return slices.ContainsFunc(unknown, func(name string) bool { return at == name || strings.HasPrefix(at, name+"/") })
	}
}
