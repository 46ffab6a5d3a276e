package commands

import "context"

type viaKey struct{}

// Through returns a context whose commands are told in the log as having come
// through a part of the program other than the REST interface.
func Through(ctx context.Context, part string) context.Context {
	return context.WithValue(ctx, viaKey{}, part)
}

// via names the part that a command came through: usual, unless the context
// says otherwise.
func via(ctx context.Context, usual string) string {
	if part, ok := ctx.Value(viaKey{}).(string); ok {
		return part
	}
	return usual
}
