package http

import (
	"context"
	"fmt"
	"net/http"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	"annals/http/form"
	"annals/http/ingest"
	"annals/http/problem"

	"github.com/google/uuid"
)

// ingest handles POST /ingest. Before the reply begins, the upload is durable in the log. If
// it fails earlier, it has no effect.
func (s *Server) ingest(c *call) (any, error) {
	u := &ingest.Upload{
		Request: c.Request, User: c.user, Commands: s.Commands,
		Intake: ingest.Intake{Store: s.Originals, FileBytes: s.Limits.FileBytes, Formats: s.Limits.Formats, Correlation: Correlation(c.Context())},
		Limits: ingest.Limits{Files: s.Limits.Files, UploadBytes: s.Limits.UploadBytes, MetadataBytes: s.Limits.MetadataBytes},
	}
	u.PlaceOf = func(path string) (uuid.UUID, string, error) { return s.shownPlace(c, path) }
	defer func() {
		if err := u.Discard(); err != nil {
			s.log(c.Request, fmt.Errorf("discard an upload: %w", err))
		}
	}()
	stream := form.QueryBool(c.Request, "stream", &u.Query)
	started, err := u.Receive()
	if err != nil {
		return nil, err
	}
	if stream {
		return s.progress(c, started, len(u.Files)), nil
	}
	return s.accepted(c, started, len(u.Files)), nil
}

// shownPlace looks up a path that begins at a folder shared with the caller rather than at the
// top level. It returns uuid.Nil for other paths.
func (s *Server) shownPlace(c *call, path string) (under uuid.UUID, rest string, err error) {
	place, err := s.Queries.PlaceOf(c.Context(), c.user, path)
	if err != nil || !place.Shown || place.Near == uuid.Nil {
		return uuid.Nil, "", err
	}
	level, err := s.Queries.Access(c.Context(), c.user, place.Near)
	if err == nil && level < events.Write {
		err = fault.Errorf(fault.Forbidden, "you may not write in folder %q", path)
	}
	return place.Near, place.Rest, err
}

// accepted returns the reply to an accepted upload: its job, or 202 if the job cannot be read
// in time.
func (s *Server) accepted(c *call, started commands.Started, files int) any {
	now, known := s.jobNow(c, started, files)
	if !known {
		return withStatus(problem.Core, http.StatusAccepted, now)
	}
	return now
}

// jobNow returns the state of a job that was just accepted. If the read model takes longer
// than Await, known is false and the job has no results. Errors are logged but not returned: a
// client that received an error would repeat the upload.
func (s *Server) jobNow(c *call, started commands.Started, files int) (now job, known bool) {
	ctx, cancel := context.WithTimeout(c.Context(), s.Await)
	defer cancel()
	err := s.Queries.AwaitWrite(ctx, started.Position)
	if err == nil {
		j, err := s.Queries.Job(ctx, c.user, started.Job.String())
		if err == nil {
			return jobBody(j), true
		}
		s.log(c.Request, fmt.Errorf("read job %s after accepting it: %w", started.Job, err))
	} else if !fault.Is(err, fault.Canceled) {
		s.log(c.Request, fmt.Errorf("wait for job %s after accepting it: %w", started.Job, err))
	}
	return job{jobState: jobState{
		JobID: started.Job.String(), Status: "processing", TotalFiles: files,
		Message: fmt.Sprintf("%s accepted, waiting to be read", ingest.FileCount(files)),
	}}, false
}
