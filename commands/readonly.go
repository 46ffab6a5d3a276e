package commands

import (
	"context"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
)

// ErrReadOnly is of a change that was asked for with a token that may only read.
// The interfaces refuse such requests before they get here, each in its own form;
// commands hold to it too, so that a route that forgets it changes nothing.
var ErrReadOnly = fault.Errorf(fault.Forbidden, "the token may only read: its scope is read, and this takes one with the scope write")

// charge opens the account that a user's change is charged to.
func (h *Handler) charge(ctx context.Context, user events.User) (*quota.Budget, error) {
	if user.ReadOnly {
		return nil, ErrReadOnly
	}
	return h.Changes.Open(ctx, user)
}
