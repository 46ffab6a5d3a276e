package http

import (
	"context"
	"fmt"
	"net/http"

	"annals/events"
	"annals/events/fault"
	"annals/http/problem"

	"github.com/google/uuid"
)

// made replies to a write. It waits until all read models that the caller may read next have
// applied the write, and replies with the result of show. It replies 202 if the read models
// take longer than Await, or if the caller may no longer read the result. It never replies
// with an error, because the write has succeeded.
func (s *Server) made(c *call, at events.Position, id uuid.UUID, show func(context.Context) (reply, error)) reply {
	ctx, cancel := context.WithTimeout(c.Context(), s.Await)
	defer cancel()
	err := s.Queries.AwaitWrite(ctx, at)
	if err == nil {
		var shown reply
		if shown, err = show(ctx); err == nil {
			return shown
		}
	}
	switch fault.KindOf(err) {
	case fault.Canceled, fault.NotFound, fault.Forbidden:
	default:
		s.log(c.Request, fmt.Errorf("show %s after changing it: %w", id, err))
	}
	return withStatus(problem.Vault, http.StatusAccepted, struct {
		StatusCode int       `json:"statusCode"`
		Message    string    `json:"message"`
		ID         uuid.UUID `json:"id"`
	}{http.StatusAccepted, "accepted", id})
}

// gone replies 204, without a body.
func gone(context.Context) (reply, error) {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}, nil
}

// located adds a Location header to a reply.
func located(address string, answer reply) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Location", address)
		return answer(w, r)
	}
}
