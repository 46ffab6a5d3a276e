// Package usage connects quotas, which the write side enforces, with their data:
// what users and folders have used, which the read side counts, and the limits that
// settings and accounts give. Write and read side do not import each other.
package usage

import (
	"context"

	"annals/commands/quota"
	"annals/events"
	"annals/queries"

	"github.com/google/uuid"
)

// Reads is a quota.Usage over queries.
type Reads struct{ *queries.Queries }

// Limits returns a user's usage in the terms of limits: of everything that
// counts, what is stored and what is in work.
func Limits(u queries.Usage) quota.Limits {
	return quota.Limits{
		quota.Bytes: u.AllBytes(), quota.Documents: u.Documents + u.ImportDocuments,
		quota.Folders: u.Folders + u.ImportFolders, quota.Shares: u.Shares, quota.Imports: u.Imports,
	}
}

// Used is that of quota.Usage.
func (r Reads) Used(ctx context.Context, user events.Principal) (quota.Limits, events.Position, error) {
	u, at, err := r.UsedBy(ctx, user)
	return Limits(u), at, err
}

// UsedIn is that of quota.Usage.
func (r Reads) UsedIn(ctx context.Context, s quota.Space) (quota.Limits, events.Position, error) {
	bytes, documents, at, err := r.Queries.UsedIn(ctx, s.Folder, s.Name)
	return quota.Limits{quota.Bytes: bytes, quota.Documents: documents}, at, err
}

// UsedBelow is that of quota.Usage.
func (r Reads) UsedBelow(ctx context.Context, folder uuid.UUID) (quota.Limits, error) {
	bytes, documents, err := r.Queries.UsedBelow(ctx, folder)
	return quota.Limits{quota.Bytes: bytes, quota.Documents: documents}, err
}
