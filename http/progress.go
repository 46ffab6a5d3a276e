package http

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"annals/commands"
	"annals/http/ingest"
	"annals/http/sse"
	"annals/queries/jobs"

	"github.com/google/uuid"
)

// progressEvent is the JSON of one event in a progress stream. Fields that do not apply to the
// event are omitted.
type progressEvent struct {
	EventType       string   `json:"event_type"`
	JobID           string   `json:"job_id"`
	CurrentFile     string   `json:"current_file,omitempty"`
	CurrentStep     string   `json:"current_step,omitempty"`
	Message         string   `json:"message,omitempty"`
	DocumentID      string   `json:"document_id,omitempty"`
	Duplicate       *bool    `json:"duplicate,omitempty"`
	Outcome         string   `json:"outcome,omitempty"`
	Warnings        []string `json:"warnings,omitempty"`
	SuccessfulFiles *int     `json:"successful_files,omitempty"`
	Error           string   `json:"error,omitempty"`
}

// stalled is the error code in the last event of a stream that ends before its job has ended.
const stalled = "stream_stalled"

// progress streams the events of a job until the job ends, the client disconnects, or no event
// happens for s.Stall. Recognising a page may take longer than that, and so may waiting for it: the
// stream then repeats the event of such a file. The job itself continues in any case.
func (s *Server) progress(c *call, started commands.Started, files int) reply {
	job := started.Job.String()
	return func(w http.ResponseWriter, r *http.Request) error {
		out := &eventStream{Stream: sse.New(w), job: job}
		out.first = &progressEvent{EventType: "processing", Message: ingest.FileCount(files) + " accepted"}
		out.Start()
		s.follow(c, started, out)
		return nil
	}
}

// follow sends the events of a job. The first event contains only the job id. It is sent as
// soon as the job can be read, and at the latest after s.Await, because a client that does not
// know the job id would upload the files again.
func (s *Server) follow(c *call, started commands.Started, out *eventStream) {
	ctx, cancel := context.WithCancel(c.Context())
	known, updates, ended := make(chan struct{}), make(chan jobs.Update), make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(known)
		bounded, cancel := context.WithTimeout(ctx, s.Await)
		defer cancel()
		_ = s.Queries.AwaitWrite(bounded, started.Position)
	})
	running.Go(func() {
		ended <- s.Queries.FollowJob(ctx, c.user, out.job, func(u jobs.Update) error {
			select {
			case updates <- u:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	defer running.Wait()
	defer cancel()
	comments := time.NewTicker(s.KeepAlive)
	defer comments.Stop()
	const checks = 2 // in s.Stall
	stall, quiet := time.NewTicker(s.Stall/checks), 0
	defer stall.Stop()
	slow := make(map[int]jobs.Update) // files whose pages are recognised or wait for that
	var steps <-chan jobs.Update      // nil until the first event was sent, so that no update is received before
	stopping := closing(c.Context())
	for out.Err() == nil {
		select {
		case <-known:
			known, steps = nil, updates
			out.begin()
		case u := <-steps:
			out.send(eventOf(u))
			if delete(slow, u.Index); u.Step == "ocr" {
				slow[u.Index] = u
			}
			stall.Reset(s.Stall / checks)
			quiet = 0
		case err := <-ended:
			if err != nil && ctx.Err() == nil {
				s.log(c.Request, fmt.Errorf("follow job %s: %w", out.job, err))
				out.send(progressEvent{EventType: "error", Error: stalled, Message: "the progress cannot be followed now; the import goes on"})
			}
			out.begin()
			return
		case <-stall.C:
			if len(slow) > 0 {
				out.send(eventOf(slow[slices.Min(slices.Collect(maps.Keys(slow)))]))
				continue
			}
			if quiet++; quiet < checks {
				continue
			}
			out.send(progressEvent{EventType: "error", Error: stalled, Message: "nothing happened for " + s.Stall.String() + "; the import goes on"})
			return
		case <-comments.C:
			_ = out.Comment("keep-alive")
		case <-stopping.Done():
			out.send(progressEvent{EventType: "error", Error: stalled, Message: "the server is stopping; the import goes on when it is back"})
			return
		case <-ctx.Done():
			return
		}
	}
}

// eventOf returns the event for an update of a job.
func eventOf(u jobs.Update) progressEvent {
	if j := u.Job; j != nil {
		if j.Status == "error" {
			e := progressEvent{EventType: "error", Error: j.Error, Message: j.Message}
			if e.Error == "" {
				e.Error = j.Message
			}
			return e
		}
		return progressEvent{EventType: "complete", Message: j.Message, SuccessfulFiles: &j.Successful}
	}
	e := progressEvent{EventType: "processing", CurrentFile: u.File, CurrentStep: u.Step, Message: u.Message, Outcome: u.Outcome, Warnings: u.Warnings}
	if u.Document != uuid.Nil {
		e.DocumentID, e.Duplicate = u.Document.String(), &u.Duplicate
	}
	if e.Message == "" {
		e.Message = u.Failed
	}
	return e
}

// eventStream writes the events of a job.
type eventStream struct {
	*sse.Stream
	job   string
	first *progressEvent // nil after it was sent
}

// begin sends the first event, unless it was already sent.
func (s *eventStream) begin() {
	if first := s.first; first != nil {
		s.first = nil
		s.send(*first)
	}
}

// send writes an event. If the first event was not sent yet, it sends that before.
func (s *eventStream) send(e progressEvent) {
	s.begin()
	e.JobID = s.job
	_ = s.Send(e) // follow ends after an error
}
