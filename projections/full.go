package projections

import (
	"context"

	"annals/events/fault"
)

// revoking are the types of events that may revoke somebody's access.
var revoking = []string{"FolderMoved", "FolderShared", "FolderDeleted", "FolderLeft", "DocumentMoved", "DocumentDeleted"}

// Full returns an error of kind fault.Unavailable while the read model is behind the log
// because its disk is full. Its tables can be read.
func (r *Runner) Full() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

func (r *Runner) fullError(cause error) error {
	return fault.Hide(fault.Unavailable, "the read model "+r.Name()+" cannot be brought up to date: the disk is full", cause)
}

// Revokes reports whether an event that was not applied yet may revoke somebody's access.
// It reads each part of the log only once.
func (r *Runner) Revokes(ctx context.Context) (bool, error) {
	r.mu.Lock()
	after := max(r.applied, r.searched)
	r.mu.Unlock()
	for {
		batch, through, err := r.log.Read(ctx, after, 1, revoking...)
		if len(batch) > 0 || err != nil {
			return true, err
		}
		if through <= after {
			return false, nil
		}
		after = through
		r.mu.Lock()
		r.searched = max(r.searched, after)
		r.mu.Unlock()
	}
}
