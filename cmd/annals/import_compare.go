package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"annals/cmd/annals/mirror"
	"annals/commands"
	httpd "annals/http"
)

// planned is a change that an import is about to make, as it is shown.
type planned struct {
	Action   string `json:"action"` // create, update, rename, remove or keep
	File     string `json:"file,omitempty"`
	Document string `json:"document,omitempty"` // its path at the service, without the file's or before a change
}

// String is the line that is printed of it.
func (p planned) String() string {
	switch {
	case p.File == "":
		return fmt.Sprintf("%-6s  %s", p.Action, printable(p.Document))
	case p.Document != "":
		return fmt.Sprintf("%-6s  %s -> %s", p.Action, printable(p.Document), printable(p.File))
	}
	return fmt.Sprintf("%-6s  %s", p.Action, printable(p.File))
}

// fileNote is what comparing found out of a file.
type fileNote struct {
	version int // of the document that it replaces; 0: any
	sha256  string
}

// comparison is a tree beside the documents of the service.
type comparison struct {
	tree    mirror.Tree
	paths   []string // of files, as the service has them
	changes []mirror.Change
	removed []mirror.Change
}

// vaultBeside returns the URL of the vault, "" if it is not known and not needed.
func (c *importConfig) vaultBeside(dataDir string) (string, error) {
	vault, err := c.vault(c.vaultURL, dataDir)
	if err != nil && c.vaultURL == "" && c.server != "" && !c.delete {
		return "", nil
	}
	return vault, err
}

// checkDelete returns an error if nobody could be asked, or where documents can have
// no file.
func (c *importConfig) checkDelete(cmd *cobra.Command, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case !c.replace:
		return errors.New("--delete goes with --replace alone")
	case !info.IsDir():
		return fmt.Errorf("--delete needs a folder to compare with, and %s is a file", name)
	case !c.yes && !c.dryRun && !asksPeople(cmd):
		return errors.New("--delete asks before it removes anything, and there is no terminal: look at what it would remove by --dry-run, and pass --yes")
	}
	return nil
}

func asksPeople(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && isTerminal(cmd.ErrOrStderr())
}

// confirmRemoval shows what is to be removed and asks.
func confirmRemoval(cmd *cobra.Command, removed []planned) error {
	const most = 50
	out := cmd.ErrOrStderr()
	for _, p := range removed[:min(len(removed), most)] {
		fmt.Fprintln(out, p)
	}
	if more := len(removed) - most; more > 0 {
		fmt.Fprintf(out, "and %d more; --dry-run lists them all\n", more)
	}
	what := "this document, which is"
	if n := len(removed); n > 1 {
		what = fmt.Sprintf("these %d documents, which are", n)
	}
	fmt.Fprintf(out, "Remove %s not in the folder? [y/N] ", what)
	var reply string
	_, _ = fmt.Fscanln(cmd.InOrStdin(), &reply)
	if reply = strings.ToLower(reply); reply != "y" && reply != "yes" {
		return errors.New("nothing was changed: leave out --delete to import without removing anything")
	}
	return nil
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
	all, err := mirror.Plan(ctx, files, m.tree.Documents, f.foreign())
	if err != nil {
		return nil, err
	}
	current := f.imported()
	for _, c := range all {
		switch {
		case c.Action != mirror.Remove:
			m.changes = append(m.changes, c)
		case f.delete && !current[c.Document.ID]:
			m.removed = append(m.removed, c)
		}
	}
	return m, f.checkRemoval(m)
}

// servicePath returns the path that a file has at the service, below the folder.
func servicePath(file string) string {
	dir, name := path.Split(file)
	if dir != "" {
		if normal, err := commands.NormalizeFolder(strings.TrimSuffix(dir, "/")); err == nil {
			dir = normal
		}
	}
	return path.Join(dir, httpd.FileName(name))
}

// toCompare is a file with what was noted of it.
func (f *folderImport) toCompare(file localFile, at string, flying bool) mirror.File {
	noted, ok := f.state.done[file.Path]
	ok = ok && noted.Error == ""
	same := ok && noted.localFile == file
	c := mirror.File{Path: at, InWork: flying}
	for _, tag := range f.tags {
		c.Resend = c.Resend || !same || !slices.Contains(noted.Tags, tag)
	}
	if same {
		c.Imported = noted.Document
	}
	c.Hash = func(ctx context.Context) (sum string, err error) {
		if sum = noted.SHA256; !same || sum == "" {
			sum, err = hashFile(ctx, filepath.Join(f.tree.dir, filepath.FromSlash(file.Path)))
		}
		note := f.entries[file.Path]
		note.sha256 = sum
		f.entries[file.Path] = note
		return sum, err
	}
	return c
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
	for _, name := range f.tree.others {
		unknown = append(unknown, servicePath(name))
	}
	for _, fault := range f.tree.faults {
		unknown = append(unknown, servicePath(fault.File))
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
		if noted, ok := f.state.done[file.Path]; ok && noted.Document != "" && noted.localFile == file {
			known[noted.Document] = true
		}
	}
	return known
}

// checkRemoval returns an error where a folder that is not mounted, or another one,
// would empty that of the service.
func (f *folderImport) checkRemoval(m *comparison) error {
	left := slices.ContainsFunc(m.changes, func(c mirror.Change) bool { return c.Document.ID != "" })
	if len(m.removed) == 0 || f.force || f.dryRun || left {
		return nil
	}
	return fmt.Errorf("none of the %d documents in %s has a file in %s, and --delete would remove all of them: is it the right folder, and mounted? --force removes them",
		len(m.removed), printable(f.top), f.tree.dir)
}

// settle does what needs no upload, and returns the files that do.
func (f *folderImport) settle(ctx context.Context, m *comparison) (send []localFile, err error) {
	var removed []planned
	for _, c := range m.removed {
		removed = append(removed, planned{Action: "remove", Document: c.Document.Path})
	}
	if len(removed) > 0 && f.confirm != nil && !f.dryRun {
		if err := f.confirm(removed); err != nil {
			return nil, err
		}
	}
	if f.begin != nil {
		f.begin()
	}
	var there []fileOutcome
	for _, c := range m.changes {
		file := f.tree.files[c.File]
		if f.dryRun {
			f.proposeChange(c, file)
			continue
		}
		switch c.Action {
		case mirror.Fail:
			err = f.fail([]localFile{file}, unwrapPath(c.Err))
		case mirror.Leave:
			there = append(there, fileOutcome{localFile: file, Document: c.Document.ID, Outcome: "unchanged", SHA256: c.Document.SHA256, Tags: f.state.done[file.Path].Tags})
			f.skip(file)
		case mirror.Keep:
			f.keep(file)
		case mirror.Rename:
			var done bool
			if done, err = f.rename(ctx, m, c); err == nil && (!done || len(f.tags) > 0) {
				send = append(send, file)
			}
		default:
			note := f.entries[file.Path]
			note.version = c.Document.Version
			f.entries[file.Path] = note
			send = append(send, file)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.dryRun {
		f.summary.Changes = append(f.summary.Changes, removed...)
		f.summary.Removed += len(removed)
	}
	return send, f.noteThere(there)
}

// noteThere notes files that are at the service, unless that was noted.
func (f *folderImport) noteThere(there []fileOutcome) error {
	there = slices.DeleteFunc(there, func(o fileOutcome) bool {
		noted, ok := f.state.done[o.Path]
		return ok && noted.Error == "" && noted.localFile == o.localFile && noted.Document == o.Document && noted.SHA256 == o.SHA256
	})
	for chunk := range slices.Chunk(there, maxBatchFiles) {
		if err := f.state.ended("", chunk); err != nil {
			return err
		}
	}
	return nil
}

func (f *folderImport) keep(file localFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wanted, file.Path)
	f.summary.Kept++
	f.meter.add(1)
	f.meter.say("kept as it is at the server, where it was changed since: " + printable(file.Path))
}

// rename gives a document the path of a file. done is false where the service does
// not allow it, or the document has changed: the file is then sent.
func (f *folderImport) rename(ctx context.Context, m *comparison, c mirror.Change) (done bool, err error) {
	to := m.paths[c.File]
	folder, err := f.ensureFolder(ctx, m, dirOf(to))
	if err == nil {
		err = f.vault.moveDocument(ctx, c.Document, path.Base(to), folder)
	}
	if isRefusal(err, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("rename document %s to %s: %w", printable(c.Document.Path), printable(to), err)
	}
	file := f.tree.files[c.File]
	outcome := fileOutcome{localFile: file, Document: c.Document.ID, Outcome: outcomeRenamed, SHA256: c.Document.SHA256}
	if len(f.tags) > 0 { // it is sent for its tags, too
		f.mu.Lock()
		defer f.mu.Unlock()
		f.summary.Renamed++
		return true, nil
	}
	return true, f.note("", []fileOutcome{outcome})
}

// dirOf is path.Dir, "" for what has none.
func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// ensureFolder returns the folder of a path below the import's, made where it is
// missing.
func (f *folderImport) ensureFolder(ctx context.Context, m *comparison, at string) (id string, err error) {
	if id, ok := m.tree.Folders[at]; ok {
		return id, nil
	}
	parent, err := f.ensureFolder(ctx, m, dirOf(at))
	if err == nil {
		id, err = f.vault.makeFolder(ctx, parent, path.Base(at), path.Join(f.top, at))
	}
	if err == nil {
		m.tree.Folders[at] = id
	}
	return id, err
}

// remove removes the documents that have no file, once everything else went well.
func (f *folderImport) remove(ctx context.Context, m *comparison) error {
	if m == nil || len(m.removed) == 0 {
		return nil
	}
	if f.summary.Failed > 0 || f.summary.Left > 0 {
		f.meter.say(fmt.Sprintf("nothing was removed, since files failed; %d documents are left that have no file", len(m.removed)))
		return nil
	}
	current := f.imported() // by now
	for _, c := range m.removed {
		if current[c.Document.ID] {
			continue
		}
		err := f.vault.deleteDocument(ctx, c.Document)
		switch {
		case isRefusal(err, http.StatusConflict, http.StatusForbidden):
			f.summary.fail(failure{c.Document.Path, "not removed: " + err.Error()})
		case err != nil:
			return fmt.Errorf("remove document %s: %w", printable(c.Document.Path), err)
		default:
			f.summary.Removed++
		}
	}
	return nil
}

// proposeChange notes what a dry run finds, in place of doing it.
func (f *folderImport) proposeChange(c mirror.Change, file localFile) {
	delete(f.wanted, file.Path)
	switch c.Action {
	case mirror.Fail:
		f.summary.fail(failure{file.Path, unwrapPath(c.Err)})
	case mirror.Leave:
		f.summary.Unchanged++
	case mirror.Keep:
		f.summary.Kept++
		f.propose(planned{Action: "keep", File: file.Path})
	case mirror.Rename:
		f.summary.Renamed++
		f.propose(planned{Action: "rename", File: file.Path, Document: c.Document.Path})
	case mirror.Update:
		f.summary.Updated++
		f.propose(planned{Action: "update", File: file.Path})
	default:
		f.summary.Created++
		f.propose(planned{Action: "create", File: file.Path})
	}
}

func (f *folderImport) propose(p planned) { f.summary.Changes = append(f.summary.Changes, p) }
