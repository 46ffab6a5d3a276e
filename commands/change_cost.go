package commands

import (
	"context"
	"encoding/json"
	"fmt"

	"annals/commands/quota"
	"annals/events"
)

// cost is what events of a change are charged at.
func cost(data ...events.Data) (n int64) {
	for _, d := range data {
		b, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("commands: %T cannot be encoded: %v", d, err)) // plain structs always can
		}
		n += max(quota.MinChange, int64(len(b)))
	}
	return n
}

// refusedCost is what is charged of a new job: its files that are refused. Those
// that are accepted are bounded by how much a user may store.
func refusedCost(data []events.Data) (n int64) {
	for _, d := range data {
		if f, ok := d.(events.FileAccepted); ok && f.Refused != "" {
			n += cost(f)
		}
	}
	return n
}

// checkRefused returns an error where the files of a new job that are refused
// are more than a user may add to the log at the moment.
func (h *Handler) checkRefused(ctx context.Context, user events.User, data []events.Data) error {
	budget, err := h.Changes.Open(ctx, user)
	if err != nil {
		return err
	}
	defer budget.Close()
	return budget.Check(refusedCost(data))
}
