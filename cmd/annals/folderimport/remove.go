package folderimport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport/mirror"
	"annals/cmd/annals/terminal"
)

// checkDelete returns an error if --delete contradicts other options, or if it needs a
// confirmation but standard input is not a terminal.
func (o *Options) checkDelete(t tree) error {
	switch {
	case !o.Replace:
		return errors.New("--delete needs --replace: otherwise it would remove the documents of changed files")
	case t.single:
		return fmt.Errorf("--delete needs a directory to compare with, but %s is a file", o.Path)
	case !o.Yes && !o.DryRun && !(terminal.Is(o.In) && terminal.Is(o.Err)):
		return errors.New("--delete asks before it removes documents, but there is no terminal: check with --dry-run what it would remove, and pass --yes")
	}
	return nil
}

// confirmRemoval lists the documents to remove and asks the user for confirmation.
func (o *Options) confirmRemoval(removed []PlannedChange) error {
	const maxShown = 50
	for _, p := range removed[:min(len(removed), maxShown)] {
		fmt.Fprintln(o.Err, p)
	}
	if more := len(removed) - maxShown; more > 0 {
		fmt.Fprintf(o.Err, "and %d more; --dry-run lists them all\n", more)
	}
	what := "this document"
	if n := len(removed); n > 1 {
		what = fmt.Sprintf("these %d documents", n)
	}
	fmt.Fprintf(o.Err, "Remove %s? [y/N] ", what)
	var reply string
	_, _ = fmt.Fscanln(o.In, &reply)
	if reply = strings.ToLower(reply); reply != "y" && reply != "yes" {
		return errors.New("nothing was changed: to import without removing documents, leave out --delete")
	}
	return nil
}

// checkRemoval returns an error if --delete would remove every document, because the
// directory is then probably a wrong one or not mounted.
func (f *folderImport) checkRemoval(c *comparison) error {
	left := slices.ContainsFunc(c.changes, func(change mirror.Change) bool { return change.Document.ID != "" })
	if len(c.removed) == 0 || f.Force || left {
		return nil
	}
	return fmt.Errorf("--delete would remove all %d documents in %s, because none has a file in %s: check that this is the right directory and that it is mounted, or pass --force",
		len(c.removed), terminal.Printable(f.folder), f.tree.dir)
}

// remove removes the documents whose files no longer exist. It is called after all
// uploads. If a file failed, it removes nothing.
func (f *folderImport) remove(ctx context.Context, c *comparison) error {
	if c == nil || len(c.removed) == 0 {
		return nil
	}
	if f.summary.Failed > 0 || f.summary.Left > 0 {
		f.meter.Print(fmt.Sprintf("no document was removed, because files failed: %d documents without a file remain", len(c.removed)))
		return nil
	}
	ofFiles := f.documentsOfFiles() // only now, because the uploads may have created documents
	for _, change := range c.removed {
		d := change.Document
		if ofFiles[d.ID] {
			continue
		}
		inPlace, err := f.isInPlace(ctx, c, dirOf(d.Path))
		if err == nil && !inPlace {
			f.summary.fail(Failure{d.Path, "not removed: its folder was moved or removed meanwhile"})
			continue
		}
		if err == nil {
			err = f.vault.DeleteDocument(ctx, d.ID, d.Version)
		}
		switch {
		case client.IsRefusal(err, http.StatusConflict, http.StatusForbidden):
			f.summary.fail(Failure{d.Path, "not removed: " + err.Error()})
		case err != nil:
			return fmt.Errorf("remove document %s: %w", terminal.Printable(d.Path), err)
		default:
			f.summary.Removed++
		}
	}
	return nil
}

// documentsOfFiles returns the ids of the documents that belong to files in the
// directory, even if the documents were renamed on the server.
func (f *folderImport) documentsOfFiles() map[string]bool {
	ids := make(map[string]bool)
	for _, file := range f.tree.files {
		if noted := f.state.done[file.Path]; noted.Document != "" {
			ids[noted.Document] = true
		}
	}
	return ids
}
