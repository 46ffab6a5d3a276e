package http

import (
	"testing"

	"annals/events/fault"
	"annals/http/problem"
	"annals/queries/jobs"
)

// If the import of new content fails, the kind of the error decides the status of the reply.
func TestRefusal(t *testing.T) {
	for kind, want := range map[fault.Kind]int{
		fault.Invalid: 422, fault.Conflict: 409, fault.Forbidden: 403, fault.Unavailable: 503, fault.Internal: 503,
	} {
		status, text := problem.Describe(refusal(jobs.Result{Kind: kind, Error: "because"}))
		if status != want || text != "because" {
			t.Errorf("refusal of kind %s = %d %q, want %d", kind, status, text, want)
		}
	}
}
