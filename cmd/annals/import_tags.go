package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"annals/cmd/annals/mirror"
	"annals/commands"
	"annals/events"
	"annals/events/fault"
)

// retag is a document that is to have the import's tags, and gets no content by it.
type retag struct {
	file    localFile
	change  mirror.Change
	lacking bool
}

// lackingTags reports whether a document that is not sent may lack tags: those that
// were given once are not given again, since people take tags from documents.
func (f *folderImport) lackingTags(file localFile, c mirror.Change) bool {
	switch c.Action {
	case mirror.Leave, mirror.Keep, mirror.Rename:
	default:
		return false
	}
	noted := f.state.done[file.Path]
	return slices.ContainsFunc(f.tags, func(tag string) bool {
		return noted.Document != c.Document.ID || !slices.Contains(noted.Tags, tag)
	})
}

// retagAll gives documents the import's tags.
func (f *folderImport) retagAll(ctx context.Context, all []retag) error {
	g, whole := errgroup.WithContext(ctx)
	g.SetLimit(f.parallel)
	for _, r := range all {
		g.Go(func() error { return f.retag(whole, r) })
	}
	return g.Wait()
}

func (f *folderImport) retag(ctx context.Context, r retag) error {
	added, err := f.vault.addTags(ctx, r.change.Document.ID, f.tags, f.dryRun)
	switch {
	case isRefusal(err, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity), fault.Is(err, fault.Invalid):
		return f.failTags(r, err)
	case err != nil:
		return err
	case f.dryRun:
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.wanted, r.file.Path)
		if !added {
			f.summary.Unchanged++
			return nil
		}
		f.summary.Updated++
		f.propose(planned{Action: "tag", File: r.file.Path})
		return nil
	}
	o, _ := f.state.noted(r.file)
	o.Tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Tags, f.tags))))
	if r.change.Action != mirror.Leave { // it is counted already
		return f.state.ended("", []fileOutcome{o})
	}
	o.Version = 0
	if !added {
		if err := f.state.ended("", []fileOutcome{o}); err != nil {
			return err
		}
		f.skip(r.file)
		return nil
	}
	o.Outcome, o.Duplicate = events.OutcomeUpdated, true
	return f.note("", []fileOutcome{o})
}

// failTags notes that a document could not be tagged.
func (f *folderImport) failTags(r retag, err error) error {
	reason := "not tagged: " + err.Error()
	if r.change.Action == mirror.Leave && !f.dryRun {
		return f.fail([]localFile{r.file}, reason)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wanted, r.file.Path)
	f.summary.fail(failure{r.file.Path, reason})
	return nil
}

// addTags adds tags to those of a document, and reports whether it lacked any. With
// dryRun set none is added.
func (c *vaultClient) addTags(ctx context.Context, id string, tags []string, dryRun bool) (added bool, last error) {
	at := "/documents/" + url.PathEscape(id) + "/tags"
	for range 5 { // times that others change it meanwhile
		var now struct{ Tags []string }
		a, err := c.call(ctx, patiently, c.request(ctx, http.MethodGet, at, "", nil))
		if err == nil {
			err = a.decode(&now)
		}
		if err != nil {
			return false, err
		}
		all, err := commands.NormalizeTags(slices.Concat(now.Tags, tags))
		if err != nil {
			return false, err
		}
		if len(all) == len(now.Tags) || dryRun {
			return len(all) > len(now.Tags), nil
		}
		body, err := json.Marshal(map[string]any{"tags": all})
		if err != nil {
			return false, err
		}
		if _, last = c.call(ctx, patiently, c.request(ctx, http.MethodPut, at, a.header.Get("ETag"), body)); !isRefusal(last, http.StatusConflict) {
			return last == nil, last
		}
	}
	return false, last
}
