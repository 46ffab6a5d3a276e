package mcp

import (
	"fmt"
	"strconv"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/queries/jobs"

	"github.com/google/uuid"
)

var jobTool = tool{
	name: "job_status", title: "Show an import job", free: true,
	about: `Shows the progress of an import job and, for each file, whether it was imported and the document's id. Call it again every few seconds until done is true; ` +
		`the documents can then be listed, read and searched. Jobs are visible to those who started them.`,
}

type jobIn struct {
	JobID  string `json:"job_id" jsonschema:"id of the job, from service_ingest, service_reread_documents or POST /ingest"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the last page of files; leave it out for the first"`
}

type jobOut struct {
	JobID           string      `json:"job_id" jsonschema:"id of the job"`
	Status          string      `json:"status" jsonschema:"processing, complete or error"`
	Message         string      `json:"message" jsonschema:"its progress, as a sentence"`
	Done            bool        `json:"done" jsonschema:"whether the job has ended"`
	ProgressPercent float64     `json:"progress_percent" jsonschema:"from 0 to 100"`
	TotalFiles      int         `json:"total_files" jsonschema:"number of files"`
	Successful      int         `json:"successful" jsonschema:"number of files that were imported"`
	Failed          int         `json:"failed" jsonschema:"number of files that failed"`
	Error           string      `json:"error,omitempty" jsonschema:"why the job failed"`
	Results         []jobResult `json:"results" jsonschema:"the files in their order"`
	more
}

type jobResult struct {
	Filename   string   `json:"filename" jsonschema:"name of the file"`
	Success    bool     `json:"success" jsonschema:"whether it was imported"`
	FolderName string   `json:"folder_name" jsonschema:"path of the folder for the document"`
	DocumentID string   `json:"document_id,omitempty" jsonschema:"id of the document, if there is one yet"`
	Title      string   `json:"title,omitempty" jsonschema:"title of the document"`
	Error      string   `json:"error,omitempty" jsonschema:"why it was not imported"`
	Warnings   []string `json:"warnings,omitempty" jsonschema:"which parts of it could not be read"`
	Tags       []string `json:"tags" jsonschema:"tags of the document"`
	Duplicate  bool     `json:"duplicate" jsonschema:"whether there was a document with the same bytes that you may read"`
	Outcome    string   `json:"outcome,omitempty" jsonschema:"created, updated or unchanged; absent until the file is imported"`

	done bool
}

func (h *Handler) jobStatus(c call, in jobIn) (out jobOut, err error) {
	j, err := h.Queries.Job(c, c.user, in.JobID)
	if err != nil {
		return out, h.advise(err, fault.NotFound, "You can only see jobs that you started, by the job_id that was returned then.")
	}
	first, m, err := filePage(len(j.Results), in.Cursor)
	if err != nil {
		return out, err
	}
	out = jobOut{
		JobID: j.ID.String(), Status: j.Status, Message: j.Message, Done: j.Done, ProgressPercent: j.Percent,
		TotalFiles: j.Total, Successful: j.Successful, Failed: j.Failed, Error: j.Error, Results: []jobResult{}, more: m,
	}
	page := j.Results[first:min(len(j.Results), first+documentsPage)]
	folders := make([]string, len(page))
	for i, r := range page {
		folders[i] = r.FolderName
	}
	if folders, err = h.Queries.ShownPaths(c, c.user, folders); err != nil {
		return out, err
	}
	for i, r := range page {
		r.FolderName = folders[i]
		out.Results = append(out.Results, fileResult(r))
	}
	return out, nil
}

// filePage parses the cursor after, and returns the index of the first file on the page of a
// job's files. m has the cursor of the next page.
func filePage(files int, after string) (first int, m more, err error) {
	at, err := parseCursor("files", after)
	if err != nil {
		return 0, m, err
	}
	if at != "" {
		if first, err = strconv.Atoi(at); err != nil || first < 0 || first > files {
			return 0, m, errCursor
		}
	}
	if first+documentsPage < files {
		m.NextCursor = cursor("files", strconv.Itoa(first+documentsPage))
	}
	return first, m, nil
}

func fileResult(r jobs.Result) jobResult {
	out := jobResult{
		Filename: r.Filename, Success: r.Success, FolderName: r.FolderName, Title: r.Title, Error: r.Error,
		Warnings: r.Warnings, Tags: orEmpty(r.Tags), Duplicate: r.Duplicate, Outcome: r.Outcome, done: r.Done,
	}
	if r.Document != uuid.Nil {
		out.DocumentID = r.Document.String()
	}
	return out
}

func (o jobOut) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Job `%s`: **%s**, %.0f %%. %s\n\n", o.JobID, o.Status, o.ProgressPercent, o.Message)
	for _, r := range o.Results {
		fmt.Fprintf(&b, "- %s → “%s”: %s\n", inLine(r.Filename), inLine(r.FolderName), r.outcome())
	}
	return b.String()
}

func (r jobResult) outcome() string {
	switch {
	case r.Success && r.Outcome == events.OutcomeUpdated:
		return "updated, document `" + r.DocumentID + "`"
	case r.Success && (r.Outcome == events.OutcomeUnchanged || r.Outcome == "" && r.Duplicate):
		return "was there before, document `" + r.DocumentID + "`"
	case r.Success:
		return "imported, document `" + r.DocumentID + "`"
	case r.done:
		return "failed: " + inLine(r.Error)
	}
	return "in progress"
}
