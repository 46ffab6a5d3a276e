package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"

	"annals/cmd/annals/mirror"
)

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
