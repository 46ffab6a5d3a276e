package http

import (
	"time"

	"annals/http/form"
	"annals/http/problem"
	"annals/queries/jobs"

	"github.com/google/uuid"
)

// jobState is a job without the results of its files.
type jobState struct {
	JobID           string  `json:"job_id"`
	Status          string  `json:"status"`
	Message         string  `json:"message"`
	ProgressPercent float64 `json:"progress_percent"`
	TotalFiles      int     `json:"total_files"`
	Successful      int     `json:"successful"`
	Failed          int     `json:"failed"`
	Error           *string `json:"error"`
	Done            bool    `json:"done"`
}

type job struct {
	jobState
	Results []jobResult `json:"results"`
}

// listedJob is an entry of the list of jobs.
type listedJob struct {
	jobState
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

type jobResult struct {
	Filename   string   `json:"filename"`
	Success    bool     `json:"success"`
	FolderName string   `json:"folder_name"`
	DocumentID *string  `json:"document_id"`
	Title      *string  `json:"title"`
	Error      *string  `json:"error"`
	Warnings   []string `json:"warnings"`
	Tags       []string `json:"tags"`
	Duplicate  bool     `json:"duplicate"`
	Outcome    *string  `json:"outcome"`
	// Only while the file is in progress.
	Step    string `json:"current_step,omitempty"`
	Message string `json:"message,omitempty"`
}

// job handles GET /jobs/{job_id}.
func (s *Server) job(c *call) (any, error) {
	j, err := s.Queries.Job(c.Context(), c.user, c.path("job_id"))
	return jobBody(j), err
}

// jobs handles GET /jobs.
func (s *Server) jobs(c *call) (any, error) {
	var found problem.Fields
	limit := form.QueryInt(c.Request, "limit", jobs.DefaultListed, jobs.MaxListed, &found)
	before := form.QueryID(c.Request, "cursor", &found)
	if err := found.Err(); err != nil {
		return nil, err
	}
	list, next, err := s.Queries.JobList(c.Context(), c.user, before, limit)
	return struct {
		Jobs []listedJob `json:"jobs"`
		Next *string     `json:"next_cursor"`
	}{each(list, listedJobBody), idOrNull(next)}, err
}

func listedJobBody(j jobs.Job) listedJob {
	out := listedJob{stateOf(j), j.CreatedAt, nil}
	if !j.FinishedAt.IsZero() {
		out.FinishedAt = &j.FinishedAt
	}
	return out
}

func stateOf(j jobs.Job) jobState {
	return jobState{
		JobID: j.ID.String(), Status: j.Status, Message: j.Message, ProgressPercent: j.Percent,
		TotalFiles: j.Total, Successful: j.Successful, Failed: j.Failed,
		Error: orNull(j.Error), Done: j.Done,
	}
}

func jobBody(j jobs.Job) job {
	out := job{stateOf(j), make([]jobResult, len(j.Results))}
	for i, r := range j.Results {
		out.Results[i] = jobResult{
			Filename: r.Filename, Success: r.Success, FolderName: r.FolderName, DocumentID: idOrNull(r.Document),
			Title: orNull(r.Title), Error: orNull(r.Error), Warnings: orEmpty(r.Warnings), Tags: orEmpty(r.Tags), Duplicate: r.Duplicate,
			Outcome: orNull(r.Outcome), Step: r.Step, Message: r.Message,
		}
	}
	return out
}

// orNull returns nil for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// idOrNull returns nil for no id.
func idOrNull(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	s := id.String()
	return &s
}

// orEmpty returns a list that is never null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
