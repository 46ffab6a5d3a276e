package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Core is a client of the core, the service at /core, which imports files.
type Core struct{ Client }

// Job is the status of an import job.
type Job struct {
	ID         string       `json:"job_id"`
	Status     string       `json:"status"`
	Message    string       `json:"message"`
	Successful int          `json:"successful"`
	Failed     int          `json:"failed"`
	Done       bool         `json:"done"`
	Results    []FileResult `json:"results"`
}

// FileResult is the result for one file of a job.
type FileResult struct {
	Filename  string   `json:"filename"`
	Success   bool     `json:"success"`
	Document  string   `json:"document_id"`
	Error     string   `json:"error"`
	Duplicate bool     `json:"duplicate"`
	Outcome   string   `json:"outcome"`
	Warnings  []string `json:"warnings"`
}

// Finished reports whether the job has ended and search finds its documents.
func (j Job) Finished() bool { return j.Done || j.Status == "complete" }

// Doing returns what the server does with a running job, such as "recognising page 3 of
// 12 of a.pdf", or "". In the message it follows the number of files that are done.
func (j Job) Doing() string {
	_, doing, _ := strings.Cut(j.Message, "; ")
	return doing
}

// Job returns the status of a job.
func (c *Core) Job(ctx context.Context, id string) (Job, error) {
	return readJob(c.Do(ctx, c.jobRequest(ctx, id)))
}

// Knows reports whether a job with the given id exists on the server. If the server is
// starting, Knows waits. If the server is unreachable or rejects the credential, Knows
// returns an error. The id "" never exists; it can be used to check the server.
func (c *Core) Knows(ctx context.Context, id string) (bool, error) {
	if id == "" {
		id = uuid.Nil.String()
	}
	_, err := readJob(c.Probe(ctx, c.jobRequest(ctx, id)))
	if IsRefusal(err, http.StatusNotFound, http.StatusUnprocessableEntity) {
		return false, nil
	}
	return err == nil, err
}

// Formats returns the extensions of the files that the server imports, with the dot.
func (c *Core) Formats(ctx context.Context) ([]string, error) {
	reply, err := c.Do(ctx, c.Request(ctx, http.MethodGet, "/formats", "", nil))
	if err != nil {
		return nil, err
	}
	var list struct {
		Formats []struct {
			Extension string `json:"extension"`
		} `json:"formats"`
	}
	if err := reply.Decode(&list); err != nil {
		return nil, err
	}
	extensions := make([]string, len(list.Formats))
	for i, f := range list.Formats {
		extensions[i] = f.Extension
	}
	return extensions, nil
}

func (c *Core) jobRequest(ctx context.Context, id string) func() (*http.Request, error) {
	return c.Request(ctx, http.MethodGet, "/jobs/"+url.PathEscape(id), "", nil)
}

func readJob(reply *Reply, err error) (job Job, _ error) {
	if IsRefusal(err, http.StatusNotFound) {
		err = fmt.Errorf("%w; --server is the URL of the core, such as http://127.0.0.1:8080/core", err)
	}
	if err == nil {
		err = reply.Decode(&job)
	}
	if err == nil && job.ID == "" {
		err = fmt.Errorf("the reply from %s has no job id: --server must be the URL of the core", reply.url)
	}
	return job, err
}
