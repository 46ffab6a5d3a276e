package folderimport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport/mirror"
	"annals/cmd/annals/terminal"
)

// makeChanges makes the changes that need no upload, and returns the files to upload.
// In a dry run it makes no change and records all of them in the summary instead.
func (f *folderImport) makeChanges(ctx context.Context, c *comparison) (send []localFile, err error) {
	removed := plannedRemovals(c)
	if len(removed) > 0 && !f.Yes && !f.DryRun {
		if err := f.confirmRemoval(removed); err != nil {
			return nil, err
		}
	}
	if f.Delete && !f.Yes && !f.DryRun && !f.Quiet {
		f.meter.begin()
	}
	var unchanged []outcome
	var retags []retag
	for _, change := range c.changes {
		file := f.tree.files[change.File]
		tags := retag{file, change}
		lacking := f.mayLackTags(tags)
		if f.DryRun {
			if change.Action == mirror.Leave && lacking {
				retags = append(retags, tags)
			} else {
				f.proposeChange(c, change)
			}
			continue
		}
		switch change.Action {
		case mirror.Fail:
			err = f.fail(f.whyNot(c, change), file)
		case mirror.Leave:
			unchanged = append(unchanged, f.unchanged(file, change.Document))
			if !lacking {
				f.skip(file)
			}
		case mirror.Keep:
			f.keep(file, change.Document, c.paths[change.File])
		case mirror.Rename:
			var done bool
			if done, err = f.rename(ctx, c, change); err == nil && !done {
				lacking = false
				send = append(send, file)
			}
		case mirror.Update:
			f.replaces[file.Path] = change.Document.Version
			if !change.Shared {
				send = append(send, file)
				break
			}
			var done bool
			done, err = f.replaceByID(ctx, file, change.Document)
			lacking = done && len(f.tagsOf(file)) > 0
		default:
			send = append(send, file)
		}
		if err != nil {
			return nil, err
		}
		if lacking {
			retags = append(retags, tags)
		}
	}
	if f.DryRun {
		f.summary.Changes = append(f.summary.Changes, removed...)
		f.summary.Removed += len(removed)
	}
	if err := f.noteUnchanged(unchanged); err != nil {
		return nil, err
	}
	return send, f.retagAll(ctx, retags)
}

func plannedRemovals(c *comparison) (removed []PlannedChange) {
	for _, change := range c.removed {
		p := PlannedChange{Action: "remove", Document: change.Document.Path}
		if change.Shared {
			p.Note = "not the document of the file of this name; its id is " + change.Document.ID
		}
		removed = append(removed, p)
	}
	return removed
}

// whyNot returns the reason why the file of change cannot be imported.
func (f *folderImport) whyNot(c *comparison, change mirror.Change) string {
	if !errors.Is(change.Err, mirror.ErrConflict) {
		return reasonOf(change.Err)
	}
	if at := change.Document.Path; at != c.paths[change.File] {
		return fmt.Sprintf("since the last import the file was changed, and its document was renamed to %s on the server: rename the file too, or pass --restart to import it as a new document", path.Join(f.folder, at))
	}
	return change.Err.Error() + ": make them equal, or pass --restart to replace every document that differs from its file"
}

func (f *folderImport) unchanged(file localFile, d mirror.Document) outcome {
	noted := f.state.done[file.Path]
	return outcome{
		localFile: file, Document: d.ID, Outcome: "unchanged", SHA256: d.SHA256, Version: d.Version,
		Tags: noted.Tags, Made: noted.Made && noted.Document == d.ID,
	}
}

// noteUnchanged records in the state file that the server already has some files,
// unless the state file lists them already.
func (f *folderImport) noteUnchanged(all []outcome) error {
	all = slices.DeleteFunc(all, func(o outcome) bool {
		noted, ok := f.state.done[o.Path]
		return ok && noted.Error == "" && noted.localFile == o.localFile && noted.Document == o.Document && noted.SHA256 == o.SHA256 && noted.Version == o.Version && noted.Outcome != outcomeForgotten
	})
	for chunk := range slices.Chunk(all, maxBatchFiles) {
		if err := f.state.ended("", chunk); err != nil {
			return err
		}
	}
	return nil
}

func (f *folderImport) keep(file localFile, d mirror.Document, at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, file.Path)
	f.summary.Kept++
	f.meter.add(1)
	if d.Path != at {
		f.meter.Print("document kept, because it was renamed on the server: " + file.Path + ", now " + d.Path)
		return
	}
	f.meter.Print("document kept, because it was changed on the server: " + file.Path)
}

// rename moves a document to the path of a file. done is false if the server rejects
// the change, or if the folder of the document was moved since it was listed; the
// caller then uploads the file.
func (f *folderImport) rename(ctx context.Context, c *comparison, change mirror.Change) (done bool, err error) {
	d, to := change.Document, c.paths[change.File]
	if inPlace, err := f.isInPlace(ctx, c, dirOf(d.Path)); err != nil || !inPlace {
		return false, err
	}
	folder, err := f.ensureFolder(ctx, c, dirOf(to))
	if err == nil {
		err = f.vault.MoveDocument(ctx, d.ID, d.Version, path.Base(to), folder)
	}
	if client.IsRefusal(err, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("rename document %s to %s: %w", terminal.Printable(d.Path), terminal.Printable(to), err)
	}
	before := c.made[madeAt{d.ID, d.Path}]
	return true, f.note("",
		outcome{localFile: localFile{Path: before}, Outcome: outcomeMoved},
		outcome{
			localFile: f.tree.files[change.File], Document: d.ID, Outcome: outcomeRenamed, SHA256: d.SHA256, Version: d.Version + 1,
			Tags: f.state.done[before].Tags, Made: true,
		})
}

// dirOf is path.Dir, but returns "" instead of ".".
func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// ensureFolder returns the id of the folder at the path at, which is relative to the
// folder of the import. If the folder does not exist, ensureFolder creates it.
func (f *folderImport) ensureFolder(ctx context.Context, c *comparison, at string) (id string, err error) {
	if id, ok := c.tree.Folders[at]; ok {
		return id, nil
	}
	parent, err := f.ensureFolder(ctx, c, dirOf(at))
	if err == nil {
		id, err = f.vault.CreateFolder(ctx, parent, path.Base(at), path.Join(f.folder, at))
	}
	if err == nil {
		c.tree.Folders[at] = id
	}
	return id, err
}

// isInPlace reports whether the folder that was listed at a path is still there.
// Required versions of documents do not protect against a moved folder, because moving
// a folder does not change them.
func (f *folderImport) isInPlace(ctx context.Context, c *comparison, at string) (bool, error) {
	folder, found, err := f.vault.FolderAt(ctx, path.Join(f.folder, at))
	return found && folder.ID == c.tree.Folders[at], err
}

// proposeChange records a change in the summary of a dry run.
func (f *folderImport) proposeChange(c *comparison, change mirror.Change) {
	file := f.tree.files[change.File]
	delete(f.pending, file.Path)
	switch change.Action {
	case mirror.Fail:
		f.summary.fail(Failure{file.Path, f.whyNot(c, change)})
	case mirror.Leave:
		f.summary.Unchanged++
	case mirror.Keep:
		f.summary.Kept++
		f.propose(PlannedChange{Action: "keep", File: file.Path})
	case mirror.Rename:
		f.summary.Renamed++
		f.propose(PlannedChange{Action: "rename", File: file.Path, Document: change.Document.Path})
	case mirror.Update:
		f.summary.Updated++
		f.propose(PlannedChange{Action: "update", File: file.Path})
	default:
		f.summary.Created++
		f.propose(PlannedChange{Action: "create", File: file.Path})
	}
}

func (f *folderImport) propose(p PlannedChange) { f.summary.Changes = append(f.summary.Changes, p) }
