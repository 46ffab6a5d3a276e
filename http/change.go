package http

import (
	"context"
	"fmt"
	"net/http"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// made answers a write once the caller can see it: with what show returns, or
// with 202 where that takes too long, or where he may not see it any more.
// From here on no fault may look as if the write had failed.
func (s *Server) made(c *call, at events.Position, id uuid.UUID, show func(context.Context) (reply, error)) reply {
	ctx, cancel := context.WithTimeout(c.Context(), s.Await)
	defer cancel()
	err := s.Queries.WaitVault(ctx, at)
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
	return vaultDialect.withStatus(http.StatusAccepted, struct {
		StatusCode int       `json:"statusCode"`
		Message    string    `json:"message"`
		ID         uuid.UUID `json:"id"`
	}{http.StatusAccepted, "accepted", id})
}

// gone is what there is to show of a thing that was deleted.
func gone(context.Context) (reply, error) {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}, nil
}

// located adds the address of what a reply tells of.
func located(address string, answer reply) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Location", address)
		return answer(w, r)
	}
}
