// Package rereading implements the command reread: it lets a running server read the stored
// files of documents again, and shows the progress. It calls the server only through the
// client package.
package rereading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"
	"annals/events"

	"github.com/google/uuid"
)

// Options says which documents are read again, and how to reach the server.
type Options struct {
	Core  *client.Core
	Vault *client.Vault

	IDs               []string // documents; if there are none, the other fields choose them
	Folder            string   // path or id; "" means all folders
	Scanned, Outdated bool

	DryRun bool // only list the documents
	JSON   bool // print the summary as one JSON object
	Out    io.Writer
	Err    io.Writer     // for the progress and failures
	Poll   time.Duration // first pause between two reads of a job
}

// Check returns an error unless the options choose documents.
func (o *Options) Check() error {
	filtered := o.Folder != "" || o.Scanned || o.Outdated
	for _, id := range o.IDs {
		if _, err := uuid.Parse(id); err != nil || len(id) != len(uuid.Nil.String()) {
			return fmt.Errorf("%q is not the id of a document: the vault and search results show the ids; --folder takes the path of a folder", id)
		}
	}
	switch {
	case len(o.IDs) > 0 && (filtered || o.DryRun):
		return errors.New("ids of documents exclude --folder, --scanned, --outdated and --dry-run: pass either")
	case len(o.IDs) == 0 && !filtered:
		return errors.New("say which documents to read again: pass their ids, --folder, --scanned or --outdated")
	}
	return nil
}

// Summary counts the documents of a run.
type Summary struct {
	Documents int `json:"documents"`
	Updated   int `json:"updated"`   // have another text or metadata
	Unchanged int `json:"unchanged"` // would have the same, or got new content meanwhile
	Failed    int `json:"failed"`
}

// run is one run of the command.
type run struct {
	Options
	progress *terminal.Progress
	Summary
	warnings []*warning // the first different ones
	others   int        // further warnings
}

// warning is a warning with the documents that have it.
type warning struct {
	text  string
	named []string // the first documents
	count int      // of all documents
}

const (
	maxPoll     = 2 * time.Second
	maxWarnings = 20 // different warnings that are printed
	maxNamed    = 5  // documents that are named with a warning
)

// Run reads documents again, and waits until search finds their new texts. The error says how
// many failed.
func Run(ctx context.Context, o Options) (err error) {
	r := &run{Options: o}
	requests, err := r.requests(ctx)
	if err != nil {
		return err
	}
	if o.DryRun {
		return r.list(ctx, requests[0])
	}
	r.progress = terminal.NewProgress(o.Err, "documents", terminal.Is(o.Err))
	r.progress.Begin("reading again", 0, 0)
	for _, which := range requests {
		if err = r.all(ctx, which); err != nil {
			break
		}
	}
	r.progress.End()
	r.printWarnings()
	if errPrint := r.print(); err == nil {
		err = errPrint
	}
	if err == nil && r.Failed > 0 {
		err = fmt.Errorf("%d of %d documents could not be read again", r.Failed, r.Documents)
	}
	return err
}

// requests returns the requests to send; each may have several pages.
func (r *run) requests(ctx context.Context) (all []client.Reread, err error) {
	for ids := range slices.Chunk(r.IDs, client.MaxReread) {
		all = append(all, client.Reread{IDs: ids})
	}
	if len(all) > 0 {
		return all, nil
	}
	which := client.Reread{Scanned: r.Scanned, Outdated: r.Outdated, DryRun: r.DryRun}
	if r.Folder != "" {
		folder, err := r.Vault.FindFolder(ctx, r.Folder)
		if err != nil {
			return nil, err
		}
		which.FolderID = folder.ID
	}
	return []client.Reread{which}, nil
}

// list prints the documents that would be read again.
func (r *run) list(ctx context.Context, which client.Reread) error {
	for {
		page, err := r.Vault.Reread(ctx, which)
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			r.Documents++
			if !r.JSON {
				fmt.Fprintf(r.Out, "%s  %s\n", d.ID, terminal.Printable(d.Name))
			}
		}
		if which.Cursor = page.NextCursor; which.Cursor == "" {
			break
		}
	}
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(r.Summary)
	}
	_, err := fmt.Fprintf(r.Out, "documents that would be read again: %d\n", r.Documents)
	return err
}

// all sends all pages of a request, one after the other.
func (r *run) all(ctx context.Context, which client.Reread) error {
	for {
		page, err := r.Vault.Reread(ctx, which)
		switch {
		case client.IsRefusal(err, http.StatusNotFound) && len(which.IDs) == 1:
			return fmt.Errorf("there is no document %s that you may read", which.IDs[0])
		case client.IsRefusal(err, http.StatusNotFound) && len(which.IDs) > 1:
			return fmt.Errorf("one of the %d documents does not exist, or you may not read it: none of them is read again", len(which.IDs))
		case err != nil:
			return err
		}
		if page.Job != nil {
			if err := r.await(ctx, page.Job.ID); err != nil {
				return err
			}
		}
		if which.Cursor = page.NextCursor; which.Cursor == "" {
			return nil
		}
	}
}

// await waits until a job has ended, and counts its results.
func (r *run) await(ctx context.Context, id string) error {
	for wait := r.Poll; ; wait = min(wait*3/2, maxPoll) {
		job, err := r.Core.Job(ctx, id)
		if err != nil {
			return err
		}
		r.progress.Set(int64(r.Documents+job.Successful+job.Failed), int64(r.Documents+len(job.Results)))
		if job.Finished() {
			for _, result := range job.Results {
				r.count(result)
			}
			return nil
		}
		r.progress.Doing(job.Doing())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *run) count(result client.FileResult) {
	r.Documents++
	switch {
	case !result.Success:
		r.Failed++
		r.progress.Print(fmt.Sprintf("%s could not be read again: %s", result.Filename, result.Error))
	case result.Outcome == events.OutcomeUpdated:
		r.Updated++
	default:
		r.Unchanged++
	}
	for i, text := range result.Warnings {
		if !slices.Contains(result.Warnings[:i], text) {
			r.warn(result.Filename, text)
		}
	}
}

// warn records a warning of a document.
func (r *run) warn(document, text string) {
	at := slices.IndexFunc(r.warnings, func(w *warning) bool { return w.text == text })
	if at < 0 && len(r.warnings) == maxWarnings {
		r.others++
		return
	}
	if at < 0 {
		at, r.warnings = len(r.warnings), append(r.warnings, &warning{text: text})
	}
	w := r.warnings[at]
	if w.count++; len(w.named) < maxNamed {
		w.named = append(w.named, document)
	}
}

// printWarnings prints each warning with the documents that have it.
func (r *run) printWarnings() {
	for _, w := range r.warnings {
		documents := strings.Join(w.named, ", ")
		if more := w.count - len(w.named); more > 0 {
			documents += fmt.Sprintf(" and %d more", more)
		}
		r.progress.Print(documents + ": " + w.text)
	}
	if r.others > 0 {
		r.progress.Print(fmt.Sprintf("and %d other warnings, which the vault has with each document", r.others))
	}
}

func (r *run) print() error {
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(r.Summary)
	}
	_, err := fmt.Fprintf(r.Out, "documents read again: %d (%d updated, %d unchanged, %d failed)\n", r.Documents, r.Updated, r.Unchanged, r.Failed)
	return err
}
