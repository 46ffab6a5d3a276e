package folderimport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"annals/cmd/annals/client"
	"annals/events"
)

const (
	maxBatchFiles = 100 // maximum number of files in one upload
	maxBatchBytes = 32 << 20
	maxPoll       = 2 * time.Second
	maxUploads    = 3 // maximum number of uploads of the same batch, which is uploaded again if the server does not have its job
)

// cut divides files into batches of limited number and size. A file that is larger than
// maxBytes gets its own batch.
func cut(files []localFile, maxFiles int, maxBytes int64) (all [][]localFile) {
	start, size := 0, int64(0)
	for i, f := range files {
		if i > start && (i-start == maxFiles || size+f.Size > maxBytes) {
			all = append(all, files[start:i:i])
			start, size = i, 0
		}
		size += f.Size
	}
	if start < len(files) {
		all = append(all, files[start:])
	}
	return all
}

// importBatch uploads a batch, unless it is already uploaded, and waits until its job
// has ended.
func (f *folderImport) importBatch(ctx context.Context, b batch) error {
	for range maxUploads {
		if b.job == "" {
			job, sums, err := f.upload(ctx, b.files)
			if err != nil {
				return f.importWithout(ctx, b.files, err)
			}
			if err := f.state.sent(job.ID, b.files, sums); err != nil {
				return err
			}
			b.job = job.ID
		}
		err := f.await(ctx, b)
		if !client.IsRefusal(err, http.StatusNotFound) {
			return err
		}
		if err := f.state.ended(b.job, nil); err != nil {
			return err
		}
		b = batch{"", f.stillPending(b.files)}
		if len(b.files) == 0 {
			return nil
		}
	}
	return fmt.Errorf("import %s and other files: the server lost the job of each of %d uploads: see the log output of the server", b.files[0].Path, maxUploads)
}

func (f *folderImport) upload(ctx context.Context, files []localFile) (client.Job, []string, error) {
	select {
	case f.uploads <- struct{}{}:
		defer func() { <-f.uploads }()
	case <-ctx.Done():
		return client.Job{}, nil, ctx.Err()
	}
	sent := make([]client.File, len(files))
	for i, file := range files {
		sent[i] = client.File{
			Path: f.tree.path(file), Folder: folderOf(f.folder, file), Tags: f.tagsOf(file), Replace: f.Replace, Version: f.replaces[file.Path],
		}
	}
	return f.core.Upload(ctx, sent)
}

// importWithout imports what it can of a batch after the upload failed with err. If a
// file cannot be read, importWithout leaves it out. If the server rejected the upload,
// importWithout uploads the two halves separately, and so on until the rejected file is
// alone.
func (f *folderImport) importWithout(ctx context.Context, files []localFile, err error) error {
	var local *client.FileError
	switch {
	case errors.As(err, &local):
		i := slices.IndexFunc(files, func(file localFile) bool { return f.tree.path(file) == local.Path })
		if i < 0 {
			return err
		}
		rest := slices.Delete(slices.Clone(files), i, i+1)
		if err := f.fail(reasonOf(local.Err), files[i]); err != nil || len(rest) == 0 {
			return err
		}
		return f.importBatch(ctx, batch{"", rest})
	case !client.BlamesRequest(err):
		return err
	case len(files) > 1 && !(client.IsRefusal(err, http.StatusForbidden) && f.inOneFolder(files)):
		half := len(files) / 2
		if err := f.importBatch(ctx, batch{"", files[:half]}); err != nil {
			return err
		}
		return f.importBatch(ctx, batch{"", files[half:]})
	}
	var refused *client.Refusal
	errors.As(err, &refused)
	return f.fail(refused.Error(), files...)
}

// inOneFolder reports whether all files go to the same folder on the server. If write
// access to that folder is missing, it is missing for all files.
func (f *folderImport) inOneFolder(files []localFile) bool {
	return !slices.ContainsFunc(files, func(file localFile) bool { return folderOf(f.folder, file) != folderOf(f.folder, files[0]) })
}

// await waits until the job of a batch has ended, and records the outcomes of its
// files. Then it waits until search finds the files, but at most for Patience, because
// the search engine may be down. If the server does not have the job, the error is a
// Refusal with status 404.
func (f *folderImport) await(ctx context.Context, b batch) error {
	shown := 0
	var ended time.Time // time when all files of the job had ended
	show := func(n int) {
		n = min(n, len(f.stillPending(b.files))) // the other files of the batch are already counted
		f.meter.add(n - shown)
		shown = n
	}
	for wait := f.Poll; ; wait = min(wait*3/2, maxPoll) {
		job, err := f.core.Job(ctx, b.job)
		if err != nil {
			show(0)
			return err
		}
		if ended.IsZero() && job.Successful+job.Failed >= len(b.files) {
			ended = time.Now()
		}
		if job.Finished() || !ended.IsZero() && time.Since(ended) > f.Patience {
			show(0)
			if !job.Finished() {
				f.meter.Waiting("search does not find the imported files yet: " + job.Message)
			}
			return f.noteResults(b, job)
		}
		show(min(job.Successful+job.Failed, len(b.files)))
		f.meter.Doing(job.Doing())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noteResults records the results of a job that has ended.
func (f *folderImport) noteResults(b batch, job client.Job) error {
	if len(job.Results) != len(b.files) {
		return fmt.Errorf("read the results of job %s: got %d results for %d files: %s", b.job, len(job.Results), len(b.files), job.Message)
	}
	outcomes := make([]outcome, len(b.files))
	for i, r := range job.Results {
		outcomes[i] = f.outcomeOf(b.files[i], r)
		if !r.Success {
			outcomes[i].Error = cmp.Or(r.Error, "the server gives no reason")
		}
	}
	return f.note(b.job, outcomes...)
}

func (f *folderImport) outcomeOf(file localFile, r client.FileResult) outcome {
	before, sum := f.state.noted(file)
	o := outcome{localFile: file, Document: r.Document, Duplicate: r.Duplicate, Outcome: r.Outcome, SHA256: sum, Tags: f.tagsOf(file), Warnings: r.Warnings}
	o.Made = before.Made && before.Document == r.Document
	replaced := f.replaces[file.Path]
	switch {
	case r.Outcome == events.OutcomeCreated, r.Outcome == "" && !r.Duplicate: // servers of older versions send no outcome
		o.Made, o.Version = true, 1
	case r.Outcome == events.OutcomeUpdated && replaced > 0:
		o.Version = replaced + 1
	}
	return o
}
