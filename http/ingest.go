package http

import (
	"context"
	"fmt"
	"net/http"

	"annals/commands"
	"annals/events/fault"
)

// ingest answers POST /ingest: once the reply begins, the upload is in the
// log and survives whatever happens to this process; before that, nothing of
// it counts.
func (s *Server) ingest(c *call) (any, error) {
	u := &upload{Server: s, call: c, Intake: Intake{Store: s.Originals, FileBytes: s.Limits.FileBytes}}
	u.Replaces = func(file int) bool { return !u.given || file < len(u.metadata) && u.metadata[file].replace } // unknown before file_metadata
	defer u.discard()
	stream := queryBool(c.Request, "stream", &u.inQuery)
	if err := u.recognise(); err != nil {
		return nil, err
	}
	var err error
	if u.before == nil {
		u.Hold, err = s.Commands.HoldImport(c.Context(), c.user)
	} else {
		u.place, err = s.Commands.HoldRepeat(c.Context(), c.user)
	}
	if err != nil {
		return nil, err
	}
	if err := u.read(); err != nil {
		return nil, err
	}
	if err := u.check(); err != nil {
		return nil, err
	}
	started, err := u.start()
	if err != nil {
		return nil, err
	}
	if stream {
		return s.progress(c, started, len(u.Files)), nil
	}
	return s.accepted(c, started, len(u.Files)), nil
}

// accepted answers with the job.
func (s *Server) accepted(c *call, started commands.Started, files int) any {
	now, known := s.jobNow(c, started, files)
	if !known {
		return coreDialect.withStatus(http.StatusAccepted, now)
	}
	return now
}

// jobNow returns a job that was just accepted, or what is known of it where
// the read model takes too long; known tells which. From here on no fault may
// look as if the upload had failed, or the client would send it again.
func (s *Server) jobNow(c *call, started commands.Started, files int) (now job, known bool) {
	ctx, cancel := context.WithTimeout(c.Context(), s.Await)
	defer cancel()
	err := s.Queries.WaitJob(ctx, started.Position)
	if err == nil {
		j, err := s.Queries.Job(ctx, c.user, started.Job.String())
		if err == nil {
			return jobBody(j), true
		}
		s.log(c.Request, fmt.Errorf("read job %s after accepting it: %w", started.Job, err))
	} else if !fault.Is(err, fault.Canceled) {
		s.log(c.Request, fmt.Errorf("wait for job %s after accepting it: %w", started.Job, err))
	}
	return job{
		JobID: started.Job.String(), Status: "processing", TotalFiles: files,
		Message: fmt.Sprintf("%s accepted, waiting to be read", count(files, "file")),
	}, false
}

// count names a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
