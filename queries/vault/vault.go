// Package vault reads folders and documents, their versions, tags, texts and summaries.
// Each user sees only what they may read. It imports projections, events,
// queries/access, queries/freshness and queries/pagemark.
package vault

import (
	"context"
	"strings"
	"time"

	"annals/events"
	"annals/queries/access"
	"annals/queries/describe"
	"annals/queries/freshness"
)

// Vault reads folders and documents. Its methods are safe for concurrent use.
type Vault struct {
	Models *freshness.Models
	// Describer lets a language model describe the documents in summaries of folders. If it is nil,
	// they show what the import wrote.
	Describer *describe.Describer
}

// viewer reads on behalf of one user, within one request.
type viewer struct{ *access.Viewer }

func (q *Vault) viewer(ctx context.Context, user events.User) (*viewer, error) {
	v, err := access.New(ctx, q.Models, user)
	return &viewer{v}, err
}

// parseTime parses a time from a table. It returns the zero time for any other string.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s))
	if err != nil {
		return time.Time{}
	}
	return t
}
