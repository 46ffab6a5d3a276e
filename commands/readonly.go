package commands

import (
	"context"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
)

// ErrReadOnly is returned for a change with a token that may only read. The interfaces
// refuse such requests themselves; this check is for a route that forgets to.
var ErrReadOnly = fault.Errorf(fault.Forbidden, "the token may only read: its scope is read, and this request needs one with the scope write")

// charge opens the budget that a user's change is charged to.
func (h *Handler) charge(ctx context.Context, user events.User) (*quota.Budget, error) {
	if user.ReadOnly {
		return nil, ErrReadOnly
	}
	return h.Changes.Open(ctx, user)
}
