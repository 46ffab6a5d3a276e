package http

import (
	"net/http"

	"annals/commands"
	"annals/http/ingest"
	"annals/http/progress"
)

// progress streams the progress of a job that was just accepted.
func (s *Server) progress(c *call, started commands.Started, files int) reply {
	return s.stream(c, progress.Job{ID: started.Job.String(), At: started.Position, First: ingest.FileCount(files) + " accepted"})
}

// jobEvents handles GET /jobs/{job_id}/events. It streams the progress of a job from its
// beginning, so that clients can follow a job that another connection started.
func (s *Server) jobEvents(c *call) (any, error) {
	j, err := s.Queries.Job(c.Context(), c.user, c.path("job_id"))
	if err != nil {
		return nil, err
	}
	leave, err := s.streams.Take(c.user.Principal)
	if err != nil {
		return nil, err
	}
	follow := s.stream(c, progress.Job{ID: j.ID.String(), First: j.Message})
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		defer leave()
		return follow(w, r)
	}), nil
}

func (s *Server) stream(c *call, job progress.Job) reply {
	return func(w http.ResponseWriter, _ *http.Request) error {
		f := &progress.Follower{
			Queries: s.Queries, KeepAlive: s.KeepAlive, Stall: s.Stall, Await: s.Await,
			Stopping: closing(c.Context()).Done(), Log: func(err error) { s.log(c.Request, err) },
		}
		f.Stream(c.Context(), w, c.user, job)
		return nil
	}
}
