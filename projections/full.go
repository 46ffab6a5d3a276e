package projections

import (
	"context"

	"annals/events/fault"
)

// withdrawing are the events of the vault after which somebody may read less
// than before.
var withdrawing = []string{"FolderMoved", "FolderShared", "FolderDeleted", "FolderLeft", "DocumentMoved", "DocumentDeleted"}

// Full returns an error of kind fault.Unavailable while the read model cannot be
// brought up to date because its disk is full. What it holds can still be read.
func (r *Runner) Full() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

func (r *Runner) fullError(cause error) error {
	return fault.Hide(fault.Unavailable, "the read model "+r.Name()+" cannot be brought up to date: the disk is full", cause)
}

// Withdraws reports whether the log holds anything, beyond what the read model
// has passed, after which somebody may read less than the read model says. Each
// part of the log is looked at once.
func (r *Runner) Withdraws(ctx context.Context) (bool, error) {
	r.mu.Lock()
	after := max(r.applied, r.harmless)
	r.mu.Unlock()
	for {
		batch, through, err := r.log.Read(ctx, after, 1, withdrawing...)
		if len(batch) > 0 || err != nil {
			return true, err
		}
		if through <= after {
			return false, nil
		}
		after = through
		r.mu.Lock()
		r.harmless = max(r.harmless, after)
		r.mu.Unlock()
	}
}
