package commands

import (
	"context"

	"annals/events"
)

type viaKey struct{}

// Through returns a context whose commands are recorded in the log as having come
// through a part of the program other than the REST interface.
func Through(ctx context.Context, part string) context.Context {
	return context.WithValue(ctx, viaKey{}, part)
}

// via returns the part of the program that a user's command came through, usual unless the
// context names another one, with the token that it was sent with, if any.
func via(ctx context.Context, user events.User, usual string) string {
	if part, ok := ctx.Value(viaKey{}).(string); ok {
		usual = part
	}
	return user.Via(usual)
}
