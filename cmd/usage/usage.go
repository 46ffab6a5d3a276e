// Package usage connects quotas with the data that they need. The package
// commands/quota enforces quotas. It cannot import queries, which count what users and
// folders have used, or the accounts, which have the limits of single users. This
// package may import all of them.
package usage

import (
	"context"

	"annals/commands/quota"
	"annals/events"
	"annals/queries"

	"github.com/google/uuid"
)

// Reads implements quota.Usage with queries.Queries.
type Reads struct{ *queries.Queries }

// Limits converts u to the usage of each kind of limit. It includes unfinished imports.
func Limits(u queries.Usage) quota.Limits {
	return quota.Limits{
		quota.Bytes: u.AllBytes(), quota.Documents: u.Documents + u.ImportDocuments,
		quota.Folders: u.Folders + u.ImportFolders, quota.Shares: u.Shares, quota.Imports: u.Imports,
	}
}

// Used returns the usage of a user. It counts events up to the returned position.
func (r Reads) Used(ctx context.Context, user events.Principal) (quota.Limits, events.Position, error) {
	u, at, err := r.UsedBy(ctx, user)
	return Limits(u), at, err
}

// UsedIn returns the usage of a space, a folder with limits, including unfinished
// imports. It counts events up to the returned position.
func (r Reads) UsedIn(ctx context.Context, s quota.Space) (quota.Limits, events.Position, error) {
	bytes, documents, at, err := r.Queries.UsedIn(ctx, s.Folder, s.Name)
	return quota.Limits{quota.Bytes: bytes, quota.Documents: documents}, at, err
}

// UsedBelow returns the usage of a folder and all folders below it.
func (r Reads) UsedBelow(ctx context.Context, folder uuid.UUID) (quota.Limits, error) {
	bytes, documents, err := r.Queries.UsedBelow(ctx, folder)
	return quota.Limits{quota.Bytes: bytes, quota.Documents: documents}, err
}
