package freshness

import (
	"context"
	"time"

	"annals/events/fault"
)

// logTimeout bounds queries for the log's head: a health probe must soon report that
// the log is unreachable.
const logTimeout = 2 * time.Second

// AskLog queries the log. The error is of kind fault.Unavailable if the log does not
// respond within 2 s.
func AskLog[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	answer, err := ask(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fault.Hide(fault.Unavailable, "the log does not answer at the moment", err)
	}
	return answer, err
}
