package folderimport

import (
	"context"
	"net/http"
	"slices"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport/mirror"
	"annals/events"
	"annals/events/fault"

	"golang.org/x/sync/errgroup"
)

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
	return slices.ContainsFunc(f.Tags, func(tag string) bool {
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
	changed, err := change(ctx, r.change.Document.ID, f.Tags)
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
	o.Tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Tags, f.Tags))))
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
