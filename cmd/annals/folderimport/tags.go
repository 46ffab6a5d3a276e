package folderimport

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport/mirror"
	"annals/commands/importer/extract"
	"annals/commands/importer/extract/text"
	"annals/commands/naming"
	"annals/events"
	"annals/events/fault"

	"golang.org/x/sync/errgroup"
)

// tagsOf returns the tags for the document of a file: those of the import and, if they are asked
// for, those in the front matter of Markdown. Tags that no document may have are left out.
func (f *folderImport) tagsOf(file localFile) []string {
	if mediaType, _ := extract.AllFormats().Supports(file.Path); !f.MatterTags || mediaType != extract.Markdown {
		return f.Tags
	}
	opened, err := os.Open(f.tree.path(file))
	if err != nil {
		return f.Tags // the upload reports it
	}
	defer opened.Close()
	head, err := io.ReadAll(io.LimitReader(opened, text.MaxFrontMatter))
	if err != nil {
		return f.Tags
	}
	all := slices.Clone(f.Tags)
	for _, tag := range text.Tags(head) {
		if valid, err := naming.Tags([]string{tag}); err == nil && len(all) < naming.MaxTags && !slices.Contains(all, valid[0]) {
			all = append(all, valid[0])
		}
	}
	return all
}

// retag is a document that needs the tags of the import although its file is not
// uploaded.
type retag struct {
	file   localFile
	change mirror.Change
}

// mayLackTags reports whether a document may lack tags of this import. It ignores tags
// that an earlier import added to the document: if they are missing, a user has removed
// them.
func (f *folderImport) mayLackTags(r retag) bool {
	switch r.change.Action {
	case mirror.Leave, mirror.Keep, mirror.Rename:
	default:
		return false
	}
	noted := f.state.done[r.file.Path]
	return slices.ContainsFunc(f.tagsOf(r.file), func(tag string) bool {
		return noted.Document != r.change.Document.ID || !slices.Contains(noted.Tags, tag)
	})
}

func (f *folderImport) retagAll(ctx context.Context, all []retag) error {
	g, whole := errgroup.WithContext(ctx)
	g.SetLimit(f.Parallel)
	for _, r := range all {
		g.Go(func() error { return f.retag(whole, r) })
	}
	return g.Wait()
}

// retag adds the tags of the import to a document. In a dry run it only checks whether
// the document lacks any of them.
func (f *folderImport) retag(ctx context.Context, r retag) error {
	change := f.vault.AddTags
	if f.DryRun {
		change = f.vault.LacksTags
	}
	tags := f.tagsOf(r.file)
	changed, err := change(ctx, r.change.Document.ID, tags)
	switch {
	case client.IsRefusal(err, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity), fault.Is(err, fault.Invalid):
		return f.failTags(r, err)
	case err != nil:
		return err
	case f.DryRun:
		f.proposeTags(r, changed)
		return nil
	}
	o, _ := f.state.noted(r.file)
	o.Tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Tags, tags))))
	if r.change.Action != mirror.Leave { // for other actions the file is already counted
		return f.state.ended("", []outcome{o})
	}
	o.Version = 0
	if !changed {
		if err := f.state.ended("", []outcome{o}); err != nil {
			return err
		}
		f.skip(r.file)
		return nil
	}
	o.Outcome, o.Duplicate = events.OutcomeUpdated, true
	return f.note("", o)
}

func (f *folderImport) proposeTags(r retag, lacking bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, r.file.Path)
	if !lacking {
		f.summary.Unchanged++
		return
	}
	f.summary.Updated++
	f.propose(PlannedChange{Action: "tag", File: r.file.Path})
}

func (f *folderImport) failTags(r retag, err error) error {
	reason := "not tagged: " + err.Error()
	if r.change.Action == mirror.Leave && !f.DryRun {
		return f.fail(reason, r.file)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, r.file.Path)
	f.summary.fail(Failure{r.file.Path, reason})
	return nil
}
