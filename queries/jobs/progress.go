package jobs

import (
	"context"
	"encoding/json"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Update is one step of a job's progress: a step of one file, or the end of the job if
// Job is set.
type Update struct {
	File      string
	Index     int    // of the file in the upload, from 0
	Step      string // reading, ocr, splitting, summarising, filing, indexing; "" if the import of the file has ended
	Message   string
	Document  uuid.UUID
	Duplicate bool
	Outcome   string // see Result
	Failed    string // why the file failed
	Warnings  []string
	Job       *Job // the finished job
	Lagging   bool // some read models do not have the job's documents yet
}

// FollowJob calls each for every step of a job: first for the steps so far, then for
// each new step as it happens. It returns nil after the update with the finished job.
func (q *Jobs) FollowJob(ctx context.Context, user events.User, id string, each func(Update) error) error {
	// The job may have been accepted just now.
	head, err := freshness.AskLog(ctx, q.Models.Jobs.Head)
	if err == nil {
		err = freshness.UntilPassed(ctx, q.Models.Jobs, head)
	}
	if err != nil {
		return err
	}
	var seen events.Position
	for {
		_, moved := q.Models.Jobs.Moved()
		row, err := q.job(ctx, user, id)
		if err != nil {
			return err
		}
		files, err := q.changed(ctx, user, row.id, seen)
		if err != nil {
			return freshness.Wrap(err, "files of job "+row.id)
		}
		for _, f := range files {
			seen = f.changed
			u, ok, err := f.update()
			if err != nil {
				return freshness.Wrap(err, "file of job "+row.id)
			}
			if ok {
				if err := each(u); err != nil {
					return err
				}
			}
		}
		if row.finished > 0 {
			return q.finish(ctx, user, row, each)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// changed returns the files of a job that changed after a position, in order.
func (q *Jobs) changed(ctx context.Context, user events.User, job string, after events.Position) ([]fileRow, error) {
	files, err := projections.List(ctx, q.Models.Jobs.DB(), (*fileRow).fields, fileColumns+`WHERE job = $1 AND changed > $2 ORDER BY changed, file`, job, after)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.filedBefore() { // look up its document, which need not be in the vault yet
			if err := freshness.UntilPassed(ctx, q.Models.Vault, f.changed); err != nil {
				return nil, err
			}
		}
	}
	return files, q.lookUp(ctx, user, files)
}

// waitsForOCR reports whether the pages of a file are to be recognised after those of other files.
func (f *fileRow) waitsForOCR() bool { return f.step == "ocr" && f.message == "" }

const waitsForOCR = "waits until its pages can be recognised"

// update returns a file's state as an Update; ok is false for files that nobody has looked at yet.
func (f *fileRow) update() (u Update, ok bool, err error) {
	u = Update{File: f.name, Index: f.file, Step: f.step, Message: f.message, Duplicate: f.duplicate, Outcome: f.outcome}
	switch {
	case f.waitsForOCR():
		u.Message = f.name + " " + waitsForOCR
	case f.state == "working":
		if u.Message == "" {
			u.Message = f.step + " " + f.name
		}
	case f.state == "imported":
		u.Document, _ = uuid.Parse(f.document) // written by the projection, or removed by lookUp
		err = json.Unmarshal([]byte(f.warnings), &u.Warnings)
		switch {
		case f.outcome == events.OutcomeUpdated:
			u.Message = "updated " + f.name
		case f.duplicate && f.outcome != events.OutcomeCreated: // not for a new document with the bytes of another one
			u.Message = f.name + " was imported before"
		case f.outcome == events.OutcomeUnchanged: // the document already has newer content
			u.Message = f.name + " is unchanged"
		default:
			u.Message = "imported " + f.name
		}
	case f.state == "failed":
		u.Failed, u.Message = f.err, f.name+": "+f.err
	default:
		return u, false, nil
	}
	return u, true, err
}

// finish waits until the job is done, and calls each with the finished job.
func (q *Jobs) finish(ctx context.Context, user events.User, row jobRow, each func(Update) error) error {
	if err := each(Update{Step: "indexing", Message: "bringing the search index up to date"}); err != nil {
		return err
	}
	for _, m := range q.required() {
		if err := freshness.UntilPassed(ctx, m, row.finished); err != nil {
			return err
		}
	}
	// The job is done even if the other read models are behind: do not wait long.
	bounded, cancel := context.WithTimeout(ctx, q.Models.Lag())
	defer cancel()
	lagging := q.Models.AwaitWrite(bounded, row.finished) != nil
	const pollInterval = 200 * time.Millisecond // if another node indexes, this node is not notified of every step
	for {
		_, moved := q.Models.Passages.Moved()
		j, err := q.state(ctx, user, row.id)
		if err != nil {
			return err
		}
		if j.Done {
			return each(Update{Job: &j, Lagging: lagging})
		}
		select {
		case <-moved:
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
