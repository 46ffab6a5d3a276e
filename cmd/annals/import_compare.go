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
	what := "this document"
	if n := len(removed); n > 1 {
		what = fmt.Sprintf("these %d documents", n)
	}
	fmt.Fprintf(out, "Remove %s? [y/N] ", what)
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

// checkRemoval returns an error where a folder that is not mounted, or another one,
// would empty that of the service.
func (f *folderImport) checkRemoval(m *comparison) error {
	left := slices.ContainsFunc(m.changes, func(c mirror.Change) bool { return c.Document.ID != "" })
	if len(m.removed) == 0 || f.force || left {
		return nil
	}
	return fmt.Errorf("none of the %d documents in %s has a file in %s, and --delete would remove all of them: is it the right folder, and mounted? --force removes them",
		len(m.removed), printable(f.top), f.tree.dir)
}

// settle does what needs no upload, and returns the files that do.
func (f *folderImport) settle(ctx context.Context, m *comparison) (send []localFile, err error) {
	var removed []planned
	for _, c := range m.removed {
		p := planned{Action: "remove", Document: c.Document.Path}
		if c.Shared {
			p.Note = "another document of this name than the file's, " + c.Document.ID
		}
		removed = append(removed, p)
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
	var retagged []retag
	for _, c := range m.changes {
		file := f.tree.files[c.File]
		tagged := retag{file, c, f.lackingTags(file, c)}
		if f.dryRun && (c.Action != mirror.Leave || !tagged.lacking) {
			f.proposeChange(m, c)
			continue
		}
		switch c.Action {
		case mirror.Fail:
			err = f.fail([]localFile{file}, f.whyNot(m, c))
		case mirror.Leave:
			noted := f.state.done[file.Path]
			there = append(there, fileOutcome{
				localFile: file, Document: c.Document.ID, Outcome: "unchanged", SHA256: c.Document.SHA256, Version: c.Document.Version,
				Tags: noted.Tags, Made: noted.Made && noted.Document == c.Document.ID,
			})
			if !tagged.lacking {
				f.skip(file)
			}
		case mirror.Keep:
			f.keep(file, c.Document, m.paths[c.File])
		case mirror.Rename:
			var done bool
			if done, err = f.rename(ctx, m, c); err == nil && !done {
				tagged.lacking = false
				send = append(send, file)
			}
		case mirror.Update:
			f.replaces[file.Path] = c.Document.Version
			if !c.Shared {
				send = append(send, file)
				break
			}
			var done bool
			done, err = f.replaceOne(ctx, file, c.Document)
			tagged.lacking = done && len(f.tags) > 0
		default:
			send = append(send, file)
		}
		if err != nil {
			return nil, err
		}
		if tagged.lacking {
			retagged = append(retagged, tagged)
		}
	}
	if f.dryRun {
		f.summary.Changes = append(f.summary.Changes, removed...)
		f.summary.Removed += len(removed)
	} else if err := f.noteThere(there); err != nil {
		return nil, err
	}
	return send, f.retagAll(ctx, retagged)
}

// whyNot says why a file cannot be imported.
func (f *folderImport) whyNot(m *comparison, c mirror.Change) string {
	if !errors.Is(c.Err, mirror.ErrConflict) {
		return unwrapPath(c.Err)
	}
	if at := c.Document.Path; at != m.paths[c.File] {
		return fmt.Sprintf("the file was changed since the last import, and its document was renamed at the server, to %s: rename the file, too, or pass --restart to import it under its own name", path.Join(f.top, at))
	}
	return c.Err.Error() + ": make them the same, or pass --restart, which replaces all documents that differ"
}

// noteThere notes files that are at the service, unless that was noted.
func (f *folderImport) noteThere(there []fileOutcome) error {
	there = slices.DeleteFunc(there, func(o fileOutcome) bool {
		noted, ok := f.state.done[o.Path]
		return ok && noted.Error == "" && noted.localFile == o.localFile && noted.Document == o.Document && noted.SHA256 == o.SHA256 && noted.Version == o.Version && noted.Outcome != outcomeForgotten
	})
	for chunk := range slices.Chunk(there, maxBatchFiles) {
		if err := f.state.ended("", chunk); err != nil {
			return err
		}
	}
	return nil
}

func (f *folderImport) keep(file localFile, d mirror.Document, at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wanted, file.Path)
	f.summary.Kept++
	f.meter.add(1)
	if d.Path != at {
		f.meter.say("kept as it is at the server, where it was renamed since: " + printable(file.Path) + ", now " + printable(d.Path))
		return
	}
	f.meter.say("kept as it is at the server, where it was changed since: " + printable(file.Path))
}

// rename gives a document the path of a file. done is false where the service does
// not allow it, or the document or a folder has changed: the file is then sent.
func (f *folderImport) rename(ctx context.Context, m *comparison, c mirror.Change) (done bool, err error) {
	to := m.paths[c.File]
	if there, err := f.isInPlace(ctx, m, dirOf(c.Document.Path)); err != nil || !there {
		return false, err
	}
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
	before := m.made[madeAt{c.Document.ID, c.Document.Path}]
	return true, f.note("", []fileOutcome{
		{localFile: localFile{Path: before}, Outcome: outcomeMoved},
		{
			localFile: file, Document: c.Document.ID, Outcome: outcomeRenamed, SHA256: c.Document.SHA256, Version: c.Document.Version + 1,
			Tags: f.state.done[before].Tags, Made: true,
		},
	})
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

// isInPlace reports whether a folder has its path still: moving one changes no version
// of a document in it.
func (f *folderImport) isInPlace(ctx context.Context, m *comparison, at string) (bool, error) {
	id, found, err := f.vault.folderAt(ctx, path.Join(f.top, at))
	return found && id == m.tree.Folders[at], err
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
		there, err := f.isInPlace(ctx, m, dirOf(c.Document.Path))
		if err == nil && !there {
			f.summary.fail(failure{c.Document.Path, "not removed: its folder was moved or removed meanwhile"})
			continue
		}
		if err == nil {
			err = f.vault.deleteDocument(ctx, c.Document)
		}
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
func (f *folderImport) proposeChange(m *comparison, c mirror.Change) {
	file := f.tree.files[c.File]
	delete(f.wanted, file.Path)
	switch c.Action {
	case mirror.Fail:
		f.summary.fail(failure{file.Path, f.whyNot(m, c)})
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
