package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"annals/cmd/annals/mirror"
	"annals/events"
)

// replaceOne gives a document the content of a file by its id: an upload would reach
// the newest of those that share its name. done is false if the file failed.
func (f *folderImport) replaceOne(ctx context.Context, file localFile, d mirror.Document) (done bool, err error) {
	job, sum, err := f.vault.revise(ctx, filepath.Join(f.tree.dir, filepath.FromSlash(file.Path)), d)
	var refused *refusal
	var local *fileError
	switch {
	case errors.As(err, &refused) && refused.blamesFiles(), isRefusal(err, http.StatusNotFound), errors.As(err, &local):
		return false, f.fail([]localFile{file}, unwrapPath(err))
	case err != nil:
		return false, fmt.Errorf("replace document %s: %w", printable(d.Path), err)
	}
	if job != "" {
		if err := f.state.sent(job, []localFile{file}, []string{sum}); err != nil {
			return false, err
		}
		return true, f.follow(ctx, task{job, []localFile{file}})
	}
	noted, _ := f.state.noted(file)
	return true, f.note("", []fileOutcome{{
		localFile: file, Document: d.ID, Outcome: events.OutcomeUpdated, SHA256: sum, Version: d.Version + 1, Tags: noted.Tags,
		Made: noted.Made && noted.Document == d.ID,
	}})
}

// revise gives a document the content of a file, if it is at its version still, and
// returns the SHA-256 of that. The job is not "" if it goes on. A reply that was lost
// is made good.
func (c *vaultClient) revise(ctx context.Context, name string, d mirror.Document) (job, sum string, err error) {
	at := "/documents/" + url.PathEscape(d.ID)
	if sum, err = hashFile(ctx, name); err != nil {
		return "", "", &fileError{localFile{Path: d.Path}, err}
	}
	a, err := c.call(ctx, patiently, func() (*http.Request, error) {
		in, err := os.Open(name)
		if err != nil {
			return nil, &fileError{localFile{Path: d.Path}, err}
		}
		info, err := in.Stat()
		if err != nil {
			return nil, errors.Join(&fileError{localFile{Path: d.Path}, err}, in.Close())
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.url+at+"/content", in) // which closes it
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		r.ContentLength = info.Size()
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Header.Set("If-Match", quotedVersion(d))
		return r, nil
	})
	if isRefusal(err, http.StatusConflict) {
		var now struct{ SHA256 string }
		if errNow := c.get(ctx, at, &now); errNow == nil && now.SHA256 == sum {
			return "", sum, nil
		}
	}
	if err != nil {
		return "", "", err
	}
	var reply struct {
		Job string `json:"job_id"`
	}
	err = a.decode(&reply)
	return reply.Job, sum, err
}
