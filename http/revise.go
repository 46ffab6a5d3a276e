package http

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"annals/commands"
	"annals/commands/quota"
	"annals/events/fault"
	"annals/events/originals"
	"annals/http/conditional"
	"annals/http/ingest"
	"annals/http/problem"
	"annals/queries/jobs"

	"github.com/google/uuid"
)

// Errors for request bodies that are not the bytes of one whole file.
var (
	errForm  = &problem.Error{Status: http.StatusUnsupportedMediaType, Text: "the body must be the file itself, not a form"}
	errCoded = &problem.Error{Status: http.StatusUnsupportedMediaType, Text: "the body must be the file itself, without a Content-Encoding"}
	errPart  = &problem.Error{Status: http.StatusBadRequest, Text: "the body must be the whole file, not the part of it that Content-Range names"}
)

// wholeFile returns an error if the headers of a request say that its body is not the bytes of
// one whole file.
func (c *call) wholeFile() error {
	media, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type"))
	coding := c.Header.Get("Content-Encoding")
	switch {
	case strings.HasPrefix(media, "multipart/"):
		return errForm
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return errCoded
	case c.Header.Get("Content-Range") != "":
		return errPart
	}
	return nil
}

// reviseDocument handles PUT /documents/{id}/content. It stores the body as an original and
// starts a job that imports it. The document keeps its old content until the job is done.
func (s *Server) reviseDocument(c *call) (any, error) {
	revision, err := s.checkRevision(c)
	if err != nil {
		return nil, err
	}
	hold, err := s.Commands.HoldImport(c.Context(), c.user)
	if err != nil {
		return nil, err
	}
	defer hold.Close()
	staged, err := s.stageRevision(c, hold)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := staged.Discard(); err != nil {
			s.log(c.Request, fmt.Errorf("discard an upload: %w", err))
		}
	}()
	revision.SHA256, revision.Size = staged.SHA256(), staged.Size()
	started, err := s.acceptRevision(c, hold, staged, revision)
	if err != nil {
		return nil, err
	}
	return s.revised(c, started, revision)
}

// checkRevision checks everything that can be checked before the body is read.
func (s *Server) checkRevision(c *call) (r commands.ReviseDocument, err error) {
	if r.ID, err = c.pathID(); err != nil {
		return r, err
	}
	if err := c.wholeFile(); err != nil {
		return r, err
	}
	var wrong problem.Rejected
	version, sum := conditional.ContentVersion(c.Header, &wrong)
	if c.ContentLength == 0 {
		wrong = append(wrong, emptyBody)
	}
	if len(wrong) > 0 {
		return r, wrong
	}
	if c.ContentLength > s.Limits.FileBytes {
		return r, s.tooLarge()
	}
	if r.Version = version; sum != "" {
		if r.Version, err = s.versionOfFile(c, r.ID, sum); err != nil {
			return r, err
		}
	}
	return r, s.Commands.CheckRevision(c.Context(), c.user, r.ID, r.Version)
}

// versionOfFile returns the current version of a document if sum is the SHA-256 of its
// original. Otherwise the error is a conflict, unless the caller lacks write access, which is
// reported first.
func (s *Server) versionOfFile(c *call, id uuid.UUID, sum string) (int, error) {
	d, err := s.Queries.Describe(c.Context(), c.user, id)
	if err != nil || d.SHA256 == sum {
		return d.Version, err
	}
	if err := s.Commands.CheckRevision(c.Context(), c.user, id, d.Version); err != nil {
		return 0, err
	}
	return 0, fault.Errorf(fault.Conflict, "document %q is at version %d, whose file is not the one that If-Match names", d.Name, d.Version)
}

const emptyBody = "body should not be empty"

func (s *Server) tooLarge() error {
	return fault.Errorf(fault.TooLarge, "a file may have at most %d bytes", s.Limits.FileBytes)
}

// stageRevision stores the body in the staging area of the originals.
func (s *Server) stageRevision(c *call, hold *quota.Hold) (originals.Staged, error) {
	// Check the announced size before the body arrives.
	if err := hold.Take(quota.Bytes, max(0, c.ContentLength)); err != nil {
		return nil, err
	}
	_ = hold.Take(quota.Bytes, -max(0, c.ContentLength))
	content := &ingest.BodyReader{R: c.Body}
	staged, err := s.Originals.Stage(c.Context(), hold.Reader(content), s.Limits.FileBytes)
	switch {
	case err != nil && hold.Over() != nil:
		return nil, hold.Over()
	case content.Err() != nil:
		err = &problem.Error{Status: http.StatusBadRequest, Text: "the body could not be read to its end"}
	case fault.Is(err, fault.TooLarge):
		return nil, s.tooLarge()
	case err != nil:
		return nil, fmt.Errorf("store new content: %w", err)
	case staged.Size() == 0:
		err = problem.Rejected{emptyBody}
	}
	if err != nil && staged != nil {
		err = errors.Join(err, staged.Discard())
	}
	return staged, err
}

// acceptRevision commits the original and starts the job that imports it. The job survives a
// crash. If the client disconnects meanwhile, acceptRevision continues, because the whole body
// was received.
func (s *Server) acceptRevision(c *call, hold *quota.Hold, staged originals.Staged, r commands.ReviseDocument) (commands.Started, error) {
	if err := c.Context().Err(); err != nil {
		return commands.Started{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), ingest.AcceptTimeout)
	defer cancel()
	if err := s.Commands.AdmitRevision(ctx, c.user, hold, r); err != nil {
		return commands.Started{}, err
	}
	if err := staged.Commit(ctx); err != nil {
		return commands.Started{}, fmt.Errorf("commit new content: %w", err)
	}
	return s.Commands.StartRevision(quota.With(ctx, hold), c.user, Correlation(ctx), r)
}

// revised waits for the job and replies with the document. If the job takes longer than
// s.Revise, or the server is stopping, it replies with the job instead.
func (s *Server) revised(c *call, started commands.Started, r commands.ReviseDocument) (any, error) {
	ctx, cancel := context.WithTimeout(c.Context(), s.Revise)
	defer cancel()
	defer context.AfterFunc(closing(c.Context()), cancel)()
	end, err := s.followed(ctx, c, started)
	switch {
	case err != nil:
	case end.Job.Successful == 0:
		return nil, refusal(end.Job.Results[0]) // the job has a single file
	case end.Lagging:
		return s.revising(started, jobBody(*end.Job)), nil
	default:
		var shown reply
		if shown, err = s.showItem(ctx, c, r.ID); err == nil {
			return shown, nil
		}
	}
	if ctx.Err() == nil {
		s.log(c.Request, fmt.Errorf("follow job %s, which revises document %s: %w", started.Job, r.ID, err))
	}
	now, _ := s.jobNow(c, started, 1)
	return s.revising(started, now), nil
}

// revising replies 202 with the job. Reads may not show the new content yet.
func (s *Server) revising(started commands.Started, now job) reply {
	address := s.CoreURL.JoinPath("jobs", started.Job.String()).String()
	return located(address, withStatus(problem.Vault, http.StatusAccepted, now))
}

// followed waits until a job ends, and returns its last update.
func (s *Server) followed(ctx context.Context, c *call, started commands.Started) (end jobs.Update, err error) {
	err = s.Queries.FollowJob(ctx, c.user, started.Job.String(), func(u jobs.Update) error {
		end = u
		return nil
	})
	return end, err
}

// refusal returns the error to reply with if the job failed to import the new content.
func refusal(failed jobs.Result) error {
	switch failed.Kind {
	case fault.Conflict, fault.Forbidden:
		return fault.Errorf(failed.Kind, "%s", failed.Error)
	case fault.Unavailable, fault.Internal:
		return fault.Errorf(fault.Unavailable, "%s", failed.Error)
	}
	return problem.Rejected{failed.Error}
}
