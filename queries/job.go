package queries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/google/uuid"
)

type jobRow struct {
	id, owner                 string
	files, successful, failed int
	finished                  events.Position
}

func (q *Queries) job(ctx context.Context, user events.User, id string) (j jobRow, err error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return j, notFound("job", id)
	}
	if p := q.Models.Jobs.Position(); p < q.Start { // it may not know the job yet
		return j, fault.Errorf(fault.Unavailable, "the jobs are being brought up to date: they are at position %d of %d", p, q.Start)
	}
	j.id = parsed.String()
	err = q.Models.Jobs.DB().QueryRowContext(ctx, `SELECT owner, files, successful, failed, finished FROM jobs WHERE id = $1`, j.id).
		Scan(&j.owner, &j.files, &j.successful, &j.failed, &j.finished)
	if errors.Is(err, sql.ErrNoRows) || err == nil && j.owner != string(user.Principal) && !user.Admin {
		return j, notFound("job", id)
	}
	return j, wrap(err, "job")
}

// fileRow is one file of a job.
type fileRow struct {
	file                                                           int
	name, folder, tags, state, step, message, document, title, err string
	kind, warnings, outcome                                        string
	duplicate                                                      bool
	changed                                                        events.Position
}

func (f *fileRow) fields() []any {
	return []any{&f.file, &f.name, &f.folder, &f.tags, &f.state, &f.step, &f.message, &f.document, &f.title, &f.err, &f.kind, &f.warnings, &f.duplicate, &f.outcome, &f.changed}
}

const fileColumns = `SELECT file, name, folder, tags, state, step, message, document, title, error, kind, warnings, duplicate, outcome, changed FROM files `

// faults are the kinds by which the log says whose fault it is that a file
// failed.
var faults = map[string]fault.Kind{
	"":                         fault.Invalid,
	fault.Conflict.String():    fault.Conflict,
	fault.Forbidden.String():   fault.Forbidden,
	fault.Unavailable.String(): fault.Unavailable,
	fault.Internal.String():    fault.Internal,
}

func (f *fileRow) result() (JobResult, error) {
	r := JobResult{
		Filename: f.name, FolderName: f.folder, Title: f.title, Error: f.err, Duplicate: f.duplicate, Outcome: f.outcome,
		Done: f.state == "imported" || f.state == "failed", Success: f.state == "imported",
	}
	if f.state == "failed" {
		r.Kind = faults[f.kind]
	}
	err := errors.Join(json.Unmarshal([]byte(f.tags), &r.Tags), json.Unmarshal([]byte(f.warnings), &r.Warnings))
	if f.document != "" && err == nil {
		r.Document, err = uuid.Parse(f.document)
	}
	return r, err
}

// readers are the read models that a finished job must have reached before it
// says so: its documents are then listed, readable and found.
func (q *Queries) readers() []*projections.Runner {
	return []*projections.Runner{q.Models.Vault, q.Models.Summaries, q.Models.Passages}
}

// behind returns the first read model that has not passed p yet with documents
// of a job's files, and lets all of them hurry.
func (q *Queries) behind(ctx context.Context, p events.Position, files []fileRow) (late *projections.Runner, err error) {
	for _, m := range q.readers() {
		if m.Position() < p || m.Err() != nil {
			m.Hurry(p)
			if late == nil {
				late = m
			}
		}
	}
	if late == nil {
		waits, err := q.deferred(ctx, p, files)
		if waits || err != nil {
			return q.Models.Passages, err
		}
	}
	return late, nil
}

// deferred reports whether the search index takes documents of a job's files
// behind everything else, which it had at a position, and still lacks some.
func (q *Queries) deferred(ctx context.Context, at events.Position, files []fileRow) (waits bool, err error) {
	var documents []string
	for _, f := range files {
		if f.document != "" {
			documents = append(documents, f.document)
		}
	}
	list, err := json.Marshal(documents)
	if err != nil || len(documents) == 0 {
		return false, err
	}
	err = q.Models.Passages.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deferred WHERE position <= $2 AND document IN (SELECT value FROM json_each($1)))`, string(list), int64(at)).Scan(&waits)
	return waits, wrap(err, "documents that wait for the search index")
}

// Job returns an import job of the user's, as far as it is. One that is
// unknown, or another user's, is fault.NotFound.
func (q *Queries) Job(ctx context.Context, user events.User, id string) (Job, error) {
	row, err := q.job(ctx, user, id)
	if err != nil {
		return Job{}, err
	}
	files, err := projections.List(ctx, q.Models.Jobs.DB(), (*fileRow).fields, fileColumns+`WHERE job = $1 ORDER BY file`, row.id)
	if err != nil {
		return Job{}, wrap(err, "files of job "+row.id)
	}
	var late *projections.Runner
	if row.finished > 0 {
		if late, err = q.behind(ctx, row.finished, files); err != nil {
			return Job{}, err
		}
	}
	// What is looked up comes after that: a job that is done has its documents.
	if err := q.lookUp(ctx, user, files); err != nil {
		return Job{}, wrap(err, "documents of job "+row.id)
	}
	j := Job{Status: "processing", Total: row.files, Successful: row.successful, Failed: row.failed, Results: make([]JobResult, 0, len(files))}
	if j.ID, err = uuid.Parse(row.id); err != nil {
		return j, err
	}
	working := ""
	for _, f := range files {
		r, err := f.result()
		if err != nil {
			return j, wrap(err, "file of job "+row.id)
		}
		j.Results = append(j.Results, r)
		if f.state == "working" {
			working = f.name
		}
	}
	j.conclude(row, late, working)
	return j, nil
}

// filedBefore reports whether the file's document may have been there without it.
func (f *fileRow) filedBefore() bool {
	return f.duplicate || f.outcome == events.OutcomeUpdated || f.outcome == events.OutcomeUnchanged
}

// lookUp adds the tags of documents that were there before their files. It adds nothing
// of a document that the user may no longer read.
func (q *Queries) lookUp(ctx context.Context, user events.User, files []fileRow) error {
	var ids []string
	for _, f := range files {
		if f.filedBefore() {
			ids = append(ids, f.document)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	v, err := q.viewer(ctx, user)
	if err != nil {
		return err
	}
	docs, err := v.documentsByID(ctx, ids)
	if err != nil {
		return err
	}
	for i := range files {
		f := &files[i]
		if !f.filedBefore() {
			continue
		}
		d, ok := docs[f.document]
		if !ok {
			f.document, f.title = "", ""
			continue
		}
		tags, err := json.Marshal(d.Tags)
		if err != nil {
			return err
		}
		f.tags = string(tags)
	}
	return nil
}

// conclude fills in what the whole of a job's files comes to; late is a read
// model that has not passed its end.
func (j *Job) conclude(row jobRow, late *projections.Runner, working string) {
	ended := j.Successful + j.Failed
	if j.Total > 0 {
		j.Percent = float64(int(1000*float64(ended)/float64(j.Total))) / 10
	}
	if row.finished == 0 {
		j.Message = fmt.Sprintf("%d of %d files done", ended, j.Total)
		if working != "" {
			j.Message += "; working on " + working
		}
		return
	}
	if late != nil {
		j.Message = "all files are read; waiting for the read model " + late.Name()
		switch away := late.Away(); {
		case late.Err() != nil:
			j.Message += ", which is not available at the moment"
		case away != nil:
			j.Message += ": " + away.Error()
		}
		return
	}
	j.Done, j.Percent = true, 100
	if j.Successful == 0 {
		j.Status = "error"
		j.Message = "no file was imported"
		j.Error = j.Message
		for _, r := range j.Results {
			if r.Error != "" {
				j.Error = r.Filename + ": " + r.Error
				break
			}
		}
		return
	}
	j.Status = "complete"
	j.Message = fmt.Sprintf("%d of %d files imported", j.Successful, j.Total)
	if j.Failed > 0 {
		j.Message += fmt.Sprintf("; %d failed", j.Failed)
	}
}

// FollowJob calls each with every step of a job as it happens, from its
// beginning, and returns nil after the update that carries the finished job.
func (q *Queries) FollowJob(ctx context.Context, user events.User, id string, each func(JobUpdate) error) error {
	var seen events.Position
	for {
		_, moved := q.Models.Jobs.Moved()
		row, err := q.job(ctx, user, id)
		if err != nil {
			return err
		}
		files, err := q.changed(ctx, user, row.id, seen)
		if err != nil {
			return wrap(err, "files of job "+row.id)
		}
		for _, f := range files {
			seen = f.changed
			if u, tell := f.update(); tell {
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
func (q *Queries) changed(ctx context.Context, user events.User, job string, after events.Position) ([]fileRow, error) {
	files, err := projections.List(ctx, q.Models.Jobs.DB(), (*fileRow).fields, fileColumns+`WHERE job = $1 AND changed > $2 ORDER BY changed, file`, job, after)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.filedBefore() { // of a document that the vault may not know yet
			if err := untilPassed(ctx, q.Models.Vault, f.changed); err != nil {
				return nil, err
			}
		}
	}
	return files, q.lookUp(ctx, user, files)
}

// update tells a file's state as a step; those that wait have none.
func (f *fileRow) update() (u JobUpdate, tell bool) {
	u = JobUpdate{File: f.name, Step: f.step, Message: f.message, Duplicate: f.duplicate, Outcome: f.outcome}
	switch f.state {
	case "working":
		if u.Message == "" {
			u.Message = f.step + " " + f.name
		}
	case "imported":
		u.Document, _ = uuid.Parse(f.document) // the projection wrote it, or lookUp took it away
		switch {
		case f.outcome == events.OutcomeUpdated:
			u.Message = "updated " + f.name
		case f.duplicate && f.outcome != events.OutcomeCreated: // what was created may have the bytes of another document
			u.Message = f.name + " was imported before"
		case f.outcome == events.OutcomeUnchanged: // for newer content
			u.Message = f.name + " is unchanged"
		default:
			u.Message = "imported " + f.name
		}
	case "failed":
		u.Failed, u.Message = f.err, f.name+": "+f.err
	default:
		return u, false
	}
	return u, true
}

// finish waits until what the job made can be read, and tells its end.
func (q *Queries) finish(ctx context.Context, user events.User, row jobRow, each func(JobUpdate) error) error {
	if err := each(JobUpdate{Step: "indexing", Message: "bringing the search index up to date"}); err != nil {
		return err
	}
	for _, m := range q.readers() {
		if err := untilPassed(ctx, m, row.finished); err != nil {
			return err
		}
	}
	const look = 200 * time.Millisecond // another node may be at it, which says nothing of pieces
	for {
		_, moved := q.Models.Passages.Moved()
		j, err := q.Job(ctx, user, row.id)
		if err != nil {
			return err
		}
		if j.Done {
			return each(JobUpdate{Job: &j})
		}
		select {
		case <-moved:
		case <-time.After(look):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// untilPassed waits until a read model has passed p, however long it takes and
// whatever goes wrong on the way.
func untilPassed(ctx context.Context, m *projections.Runner, p events.Position) error {
	for {
		position, moved := m.Moved()
		if position >= p && m.Err() == nil {
			return nil
		}
		m.Hurry(p)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
