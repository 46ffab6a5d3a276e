// Package progress streams the progress of import jobs as server-sent events. It imports
// events, events/fault, http/sse and queries/jobs.
package progress

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/http/sse"
	"annals/queries/jobs"

	"github.com/google/uuid"
)

// Queries are the queries that a Follower needs.
type Queries interface {
	AwaitWrite(ctx context.Context, at events.Position) error
	FollowJob(ctx context.Context, user events.User, id string, each func(jobs.Update) error) error
}

// Follower streams the events of jobs.
type Follower struct {
	Queries   Queries
	KeepAlive time.Duration   // interval of comments
	Stall     time.Duration   // a stream ends if nothing happens for this time
	Await     time.Duration   // how long the first event waits until the job can be read
	Stopping  <-chan struct{} // closed when the server begins to stop
	Log       func(error)     // for errors of which clients learn only that they happened
}

// Job is a job to follow.
type Job struct {
	ID    string
	At    events.Position // of the event that created it; 0 if it can be read already
	First string          // message of the first event
}

// event is the JSON of one event. Fields that do not apply to the event are omitted.
type event struct {
	EventType       string   `json:"event_type"`
	JobID           string   `json:"job_id"`
	CurrentFile     string   `json:"current_file,omitempty"`
	FileIndex       *int     `json:"file_index,omitempty"`
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

// Stream streams the events of a job until the job ends, the client disconnects, or no event
// happens for f.Stall. Recognising a page may take longer than that, and so may waiting for it: the
// stream then repeats the event of such a file. The job itself continues in any case.
func (f *Follower) Stream(ctx context.Context, w http.ResponseWriter, user events.User, job Job) {
	out := &eventStream{Stream: sse.New(w), job: job.ID}
	out.first = &event{EventType: "processing", Message: job.First}
	out.Start()
	f.follow(ctx, user, job, out)
}

// follow sends the events of a job. The first event contains only the job id. It is sent as
// soon as the job can be read, and at the latest after f.Await, because a client that does not
// know the job id would upload the files again.
func (f *Follower) follow(ctx context.Context, user events.User, job Job, out *eventStream) {
	ctx, cancel := context.WithCancel(ctx)
	known, updates, ended := make(chan struct{}), make(chan jobs.Update), make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(known)
		bounded, cancel := context.WithTimeout(ctx, f.Await)
		defer cancel()
		_ = f.Queries.AwaitWrite(bounded, job.At)
	})
	running.Go(func() {
		ended <- f.Queries.FollowJob(ctx, user, out.job, func(u jobs.Update) error {
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
	comments := time.NewTicker(f.KeepAlive)
	defer comments.Stop()
	const checks = 2 // in f.Stall
	stall, quiet := time.NewTicker(f.Stall/checks), 0
	defer stall.Stop()
	slow := make(map[int]jobs.Update) // files whose pages are recognised or wait for that
	var steps <-chan jobs.Update      // nil until the first event was sent, so that no update is received before
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
			stall.Reset(f.Stall / checks)
			quiet = 0
		case err := <-ended:
			if err != nil && ctx.Err() == nil {
				f.Log(fmt.Errorf("follow job %s: %w", out.job, err))
				out.send(event{EventType: "error", Error: stalled, Message: "the progress cannot be followed now; the import goes on"})
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
			out.send(event{EventType: "error", Error: stalled, Message: "nothing happened for " + f.Stall.String() + "; the import goes on"})
			return
		case <-comments.C:
			_ = out.Comment("keep-alive")
		case <-f.Stopping:
			out.send(event{EventType: "error", Error: stalled, Message: "the server is stopping; the import goes on when it is back"})
			return
		case <-ctx.Done():
			return
		}
	}
}

// eventOf returns the event for an update of a job.
func eventOf(u jobs.Update) event {
	if j := u.Job; j != nil {
		if j.Status == "error" {
			e := event{EventType: "error", Error: j.Error, Message: j.Message}
			if e.Error == "" {
				e.Error = j.Message
			}
			return e
		}
		return event{EventType: "complete", Message: j.Message, SuccessfulFiles: &j.Successful}
	}
	e := event{EventType: "processing", CurrentFile: u.File, CurrentStep: u.Step, Message: u.Message, Outcome: u.Outcome, Warnings: u.Warnings}
	if u.File != "" {
		e.FileIndex = &u.Index
	}
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
	first *event // nil after it was sent
}

// begin sends the first event, unless it was already sent.
func (s *eventStream) begin() {
	if first := s.first; first != nil {
		s.first = nil
		s.send(*first)
	}
}

// send writes an event. If the first event was not sent yet, it sends that before.
func (s *eventStream) send(e event) {
	s.begin()
	e.JobID = s.job
	_ = s.Send(e) // follow ends after an error
}

// Places bounds how many streams a user may have open at once. The zero value has places for
// everybody. Its methods are safe for concurrent use.
type Places struct {
	mu    sync.Mutex
	taken map[events.Principal]int
}

// maxStreams is the maximum number of streams of one user.
const maxStreams = 64

// Take takes a place for a stream. The error is fault.Exhausted if the user has too many. The
// caller must call leave when the stream has ended.
func (p *Places) Take(user events.Principal) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[user] >= maxStreams {
		return nil, fault.Later("streams", time.Second, "you are following %d imports already; close one of these streams first", maxStreams)
	}
	if p.taken == nil {
		p.taken = make(map[events.Principal]int)
	}
	p.taken[user]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[user]--; p.taken[user] == 0 {
			delete(p.taken, user)
		}
	}, nil
}
