package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"annals/cmd/annals/mirror"
	"annals/commands"
	httpd "annals/http"
)

// planned is a change that an import is about to make, as it is shown.
type planned struct {
	Action   string `json:"action"` // create, update, tag, rename, remove or keep
	File     string `json:"file,omitempty"`
	Document string `json:"document,omitempty"` // its path at the service, without the file's or before a change
	Note     string `json:"note,omitempty"`
}

// String is the line that is printed of it.
func (p planned) String() string {
	switch {
	case p.Note != "":
		return fmt.Sprintf("%-6s  %s (%s)", p.Action, printable(p.Document), printable(p.Note))
	case p.File == "":
		return fmt.Sprintf("%-6s  %s", p.Action, printable(p.Document))
	case p.Document != "":
		return fmt.Sprintf("%-6s  %s -> %s", p.Action, printable(p.Document), printable(p.File))
	}
	return fmt.Sprintf("%-6s  %s", p.Action, printable(p.File))
}

// comparison is a tree beside the documents of the service.
type comparison struct {
	tree    mirror.Tree
	paths   []string // of files, as the service has them
	changes []mirror.Change
	removed []mirror.Change
	made    map[madeAt]string // paths of files that are gone, by what the import made of them
}

// madeAt is a document and the path at which an import made it.
type madeAt struct{ document, path string }

// vaultBeside returns the URL of the vault, "" if it is not known and not needed.
func (c *importConfig) vaultBeside(dataDir string) (string, error) {
	vault, err := c.vault(c.vaultURL, dataDir)
	if err != nil && c.vaultURL == "" && c.server != "" && !c.delete {
		return "", nil
	}
	return vault, err
}

// compare compares the tree with what lies in its folder at the service. It is nil
// where there is no vault to ask.
func (f *folderImport) compare(ctx context.Context, flying map[localFile]bool) (*comparison, error) {
	if f.vault == nil {
		return nil, nil
	}
	m := new(comparison)
	id, found, err := f.vault.folderAt(ctx, f.top)
	if isRefusal(err, http.StatusNotFound) && !f.delete {
		f.meter.say("there is no vault at " + f.vault.url + " to compare with, so that every file is sent that was not noted: name it by --vault-url")
		return nil, nil
	}
	if err == nil && found {
		m.tree, err = mirror.List(ctx, f.vault, id, f.parallel)
	}
	if err != nil {
		return nil, fmt.Errorf("list what the service has: %w", err)
	}
	files := make([]mirror.File, len(f.tree.files))
	m.paths = make([]string, len(files))
	for i, file := range f.tree.files {
		m.paths[i] = servicePath(file.Path)
		files[i] = f.toCompare(file, m.paths[i], flying[file])
	}
	m.made = f.made()
	made := func(d mirror.Document) bool {
		_, ok := m.made[madeAt{d.ID, d.Path}]
		return ok
	}
	all, err := mirror.Plan(ctx, files, m.tree.Documents, made, f.foreign())
	if err != nil {
		return nil, err
	}
	shared := 0
	for _, c := range all {
		switch {
		case c.Action != mirror.Remove:
			m.changes = append(m.changes, c)
		case !f.delete:
		case c.Shared && f.confirm == nil: // nobody sees that it is not the one of the file
			shared++
		default:
			m.removed = append(m.removed, c)
		}
	}
	if shared > 0 {
		f.meter.say(fmt.Sprintf("not removed, since another document of the same name has the file: %d; --delete without --yes asks about them", shared))
	}
	return m, f.checkRemoval(m)
}

// made returns what the import made of files that are gone.
func (f *folderImport) made() map[madeAt]string {
	there := make(map[string]bool, len(f.tree.files))
	for _, file := range f.tree.files {
		there[file.Path] = true
	}
	made := make(map[madeAt]string)
	for name, noted := range f.state.done {
		if noted.Made && !there[name] {
			made[madeAt{noted.Document, servicePath(name)}] = name
		}
	}
	return made
}

// servicePath returns the path that a file has at the service, below the folder.
func servicePath(file string) string {
	dir, name := path.Split(file)
	return path.Join(folderPath(strings.TrimSuffix(dir, "/")), httpd.FileName(name))
}

// folderPath returns the path that a folder has at the service, below the folder.
func folderPath(dir string) string {
	if normal, err := commands.NormalizeFolder(dir); err == nil {
		return normal
	}
	return dir
}

// toCompare is a file with what was noted of it.
func (f *folderImport) toCompare(file localFile, at string, flying bool) mirror.File {
	noted := f.state.done[file.Path]
	same := f.state.finished(file)
	return mirror.File{
		Path: at, InWork: flying, Same: same,
		Noted: mirror.Noted{
			Document: noted.Document, SHA256: noted.SHA256, Version: noted.Version, Made: noted.Made,
			Replace: noted.Outcome == outcomeForgotten,
		},
		Hash: func(ctx context.Context) (string, error) {
			if same && noted.SHA256 != "" {
				return noted.SHA256, nil
			}
			return hashFile(ctx, filepath.Join(f.tree.dir, filepath.FromSlash(file.Path)))
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

// foreign returns what reports whether a document is none that an import of the
// folder makes, or whether it is not known that its file is gone.
func (f *folderImport) foreign() func(at string) bool {
	var unknown []string
	add := func(name string) { // a file or a folder, whose names the service keeps in different ways
		unknown = append(unknown, servicePath(name), folderPath(name))
	}
	for _, name := range f.tree.others {
		add(name)
	}
	for _, fault := range f.tree.faults {
		add(fault.File)
	}
	return func(at string) bool {
		if f.tree.single || !isImportable(at) || strings.HasPrefix(at, ".") || strings.Contains(at, "/.") {
			return true
		}
		return slices.ContainsFunc(unknown, func(name string) bool { return at == name || strings.HasPrefix(at, name+"/") })
	}
}

// imported returns the documents that are known to be of files that there are,
// whatever names they have at the service.
func (f *folderImport) imported() map[string]bool {
	known := make(map[string]bool)
	for _, file := range f.tree.files {
		if noted := f.state.done[file.Path]; noted.Document != "" {
			known[noted.Document] = true
		}
	}
	return known
}
