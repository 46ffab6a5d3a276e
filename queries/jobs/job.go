// Package jobs reads import jobs: their state, the results of their files, and their
// progress as it happens. It imports projections, events, queries/access,
// queries/freshness and queries/vault.
package jobs

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
	"annals/queries/access"
	"annals/queries/freshness"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Jobs reads import jobs. Its methods are safe for concurrent use.
type Jobs struct {
	Models *freshness.Models
}

// Job is an import job as its user sees it.
type Job struct {
	ID         uuid.UUID
	Status     string // processing, complete or error
	Message    string
	Percent    float64
	Total      int
	Successful int
	Failed     int
	Error      string
	Done       bool
	Results    []Result // one per file, in the upload's order; files in progress have neither Success nor Error
	CreatedAt  time.Time
	FinishedAt time.Time // zero until the last file is finished
}

// Result is the outcome of one file.
type Result struct {
	Filename   string
	Done       bool
	Success    bool
	FolderName string
	Document   uuid.UUID // uuid.Nil before the document exists
	Title      string
	Error      string     // why the import failed
	Kind       fault.Kind // kind of Error; fault.Invalid means that the file is invalid
	Warnings   []string
	Tags       []string
	Duplicate  bool
	Outcome    string // see events.FileImported; "" if the outcome is unknown or the file was not imported
	Step       string // see Update; "" unless the file is in progress
	Message    string // which part of the file the step is about, such as "page 3 of 12"
}

type jobRow struct {
	id, owner                 string
	files, successful, failed int
	finished, requested       events.Position
	createdAt, finishedAt     string
}

func (j *jobRow) fields() []any {
	return []any{&j.id, &j.owner, &j.files, &j.successful, &j.failed, &j.finished, &j.requested, &j.createdAt, &j.finishedAt}
}

const jobColumns = `SELECT id, owner, files, successful, failed, finished, requested, created_at, finished_at FROM jobs `

// job finds a job that the user may see.
func (q *Jobs) job(ctx context.Context, user events.User, id string) (j jobRow, err error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return j, access.NotFound("job", id)
	}
	err = q.row(ctx, parsed, &j)
	if errors.Is(err, sql.ErrNoRows) { // the job may have been accepted just now, perhaps by another node
		if err := q.Models.AwaitHead(ctx, q.Models.Jobs); err != nil {
			return j, err
		}
		err = q.row(ctx, parsed, &j)
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && j.owner != string(user.Principal) && !user.Admin {
		return j, access.NotFound("job", id)
	}
	return j, freshness.Wrap(err, "job")
}

func (q *Jobs) row(ctx context.Context, id uuid.UUID, j *jobRow) error {
	return q.Models.Jobs.DB().QueryRowContext(ctx, jobColumns+`WHERE id = $1`, id.String()).Scan(j.fields()...)
}

// fileRow is one file of a job.
type fileRow struct {
	file                                                           int
	name, folder, tags, state, step, message, document, title, err string
	kind, warnings, outcome                                        string
	duplicate, reread                                              bool
	changed                                                        events.Position
}

func (f *fileRow) fields() []any {
	return []any{&f.file, &f.name, &f.folder, &f.tags, &f.state, &f.step, &f.message, &f.document, &f.title, &f.err, &f.kind, &f.warnings, &f.duplicate, &f.outcome, &f.changed, &f.reread}
}

const fileColumns = `SELECT file, name, folder, tags, state, step, message, document, title, error, kind, warnings, duplicate, outcome, changed, reread FROM files `

// faults maps names of error kinds in events to kinds.
var faults = map[string]fault.Kind{
	"":                         fault.Invalid,
	fault.Conflict.String():    fault.Conflict,
	fault.Forbidden.String():   fault.Forbidden,
	fault.Unavailable.String(): fault.Unavailable,
	fault.Internal.String():    fault.Internal,
}

func (f *fileRow) result() (Result, error) {
	r := Result{
		Filename: f.name, FolderName: f.folder, Title: f.title, Error: f.err, Duplicate: f.duplicate, Outcome: f.outcome,
		Done: f.state == "imported" || f.state == "failed", Success: f.state == "imported",
	}
	switch {
	case f.state == "failed":
		r.Kind = faults[f.kind]
	case !r.Done:
		r.Step, r.Message = f.step, f.message
	}
	err := errors.Join(json.Unmarshal([]byte(f.tags), &r.Tags), json.Unmarshal([]byte(f.warnings), &r.Warnings))
	if f.document != "" && err == nil {
		r.Document, err = uuid.Parse(f.document)
	}
	return r, err
}

// required returns the read models that must have passed the end of a job before the job
// is reported as done. From then on its documents can be listed, read and found.
func (q *Jobs) required() []*projections.Runner {
	return []*projections.Runner{q.Models.Vault, q.Models.Summaries, q.Models.Passages}
}

// behind returns the first read model that has not passed p yet, or that has not indexed
// all documents of a job. It makes all these read models catch up without delay.
func (q *Jobs) behind(ctx context.Context, p events.Position, files []fileRow) (lagging *projections.Runner, err error) {
	for _, m := range q.required() {
		if m.Position() < p || m.Err() != nil {
			m.Hurry(p)
			if lagging == nil {
				lagging = m
			}
		}
	}
	if lagging == nil {
		deferred, err := q.deferred(ctx, p, files)
		if deferred || err != nil {
			return q.Models.Passages, err
		}
	}
	return lagging, nil
}

// deferred reports whether the indexing of one of a job's documents was deferred at
// position at or earlier.
func (q *Jobs) deferred(ctx context.Context, at events.Position, files []fileRow) (deferred bool, err error) {
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
	err = q.Models.Passages.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deferred WHERE position <= $2 AND document IN (SELECT value FROM json_each($1)))`, string(list), int64(at)).Scan(&deferred)
	return deferred, freshness.Wrap(err, "documents whose indexing was deferred")
}

// Job returns the state of one of the user's import jobs. The error is fault.NotFound
// if the job does not exist or belongs to another user.
func (q *Jobs) Job(ctx context.Context, user events.User, id string) (Job, error) {
	if err := q.Models.Usable(ctx, q.Models.Jobs); err != nil {
		return Job{}, err
	}
	return q.state(ctx, user, id)
}

// state is like Job, but also returns the last known state while the read model of jobs
// has stopped.
func (q *Jobs) state(ctx context.Context, user events.User, id string) (Job, error) {
	row, err := q.job(ctx, user, id)
	if err != nil {
		return Job{}, err
	}
	files, err := q.files(ctx, row.id)
	if err != nil {
		return Job{}, freshness.Wrap(err, "files of job "+row.id)
	}
	var lagging *projections.Runner
	if row.finished > 0 {
		if lagging, err = q.behind(ctx, row.finished, files); err != nil {
			return Job{}, err
		}
	}
	// Look up documents only after calling behind: if it returns no lagging read model,
	// the documents are in the vault.
	if err := q.lookUp(ctx, user, files); err != nil {
		return Job{}, freshness.Wrap(err, "documents of job "+row.id)
	}
	return row.job(files, lagging)
}

// job returns the state of a job. files are all of its files, or those that say something of its state. lagging is a
// read model that has not passed the end of the job, or nil if all have.
func (row jobRow) job(files []fileRow, lagging *projections.Runner) (j Job, err error) {
	j = Job{Status: "processing", Total: row.files, Successful: row.successful, Failed: row.failed, Results: make([]Result, 0, len(files))}
	if j.ID, err = uuid.Parse(row.id); err != nil {
		return j, err
	}
	if j.CreatedAt, err = time.Parse(time.RFC3339Nano, row.createdAt); err != nil {
		return j, err
	}
	if row.finishedAt != "" {
		if j.FinishedAt, err = time.Parse(time.RFC3339Nano, row.finishedAt); err != nil {
			return j, err
		}
	}
	working, reread := "", false
	for _, f := range files {
		reread = f.reread // the same for all files of a job
		r, err := f.result()
		if err != nil {
			return j, freshness.Wrap(err, "file of job "+row.id)
		}
		j.Results = append(j.Results, r)
		switch {
		case f.waitsForOCR():
			if working == "" {
				working = f.name + " " + waitsForOCR
			}
		case f.state != "working":
		case f.step == "ocr" && f.message != "":
			working = "recognising " + f.message + " of " + f.name
		default:
			working = "working on " + f.name
		}
	}
	j.conclude(row, reread, lagging, working)
	return j, nil
}

// files returns all files of a job.
func (q *Jobs) files(ctx context.Context, job string) ([]fileRow, error) {
	return projections.List(ctx, q.Models.Jobs.DB(), (*fileRow).fields, fileColumns+`WHERE job = $1 ORDER BY file`, job)
}

// filedBefore reports whether the document may have existed before the file was
// imported.
func (f *fileRow) filedBefore() bool {
	return f.duplicate || f.outcome == events.OutcomeUpdated || f.outcome == events.OutcomeUnchanged
}

// lookUp sets the tags of documents that may have existed before their files were imported.
// It removes documents that the user may no longer read.
func (q *Jobs) lookUp(ctx context.Context, user events.User, files []fileRow) error {
	var ids []string
	for _, f := range files {
		if f.filedBefore() {
			ids = append(ids, f.document)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	v, err := access.New(ctx, q.Models, user)
	if err != nil {
		return err
	}
	docs, err := vault.ByID(ctx, v, ids)
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

// conclude sets the state of the whole job. lagging is a read model that has not passed
// the end of the job, or nil if all have. reread means that the job reads documents again.
func (j *Job) conclude(row jobRow, reread bool, lagging *projections.Runner, working string) {
	ended := j.Successful + j.Failed
	if j.Total > 0 {
		j.Percent = float64(int(1000*float64(ended)/float64(j.Total))) / 10
	}
	if row.finished == 0 {
		j.Message = fmt.Sprintf("%d of %d files done", ended, j.Total)
		if working != "" {
			j.Message += "; " + working
		}
		return
	}
	if lagging != nil {
		j.Message = "all files are read; waiting for the read model " + lagging.Name()
		switch err := lagging.Unreachable(); {
		case lagging.Err() != nil:
			j.Message += ", which is not available at the moment"
		case err != nil:
			j.Message += ": " + err.Error()
		}
		return
	}
	j.Done, j.Percent = true, 100
	none, some := "no file was imported", "files imported"
	if reread {
		none, some = "no document was read again", "documents read again"
	}
	if j.Successful == 0 {
		j.Status = "error"
		j.Message = none
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
	j.Message = fmt.Sprintf("%d of %d %s", j.Successful, j.Total, some)
	if j.Failed > 0 {
		j.Message += fmt.Sprintf("; %d failed", j.Failed)
	}
}
