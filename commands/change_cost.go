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

// freeShare is what the acceptance of a file may add to the log without being
// charged: a name, a path and some tags, so that large imports are not hindered
// whose files become documents, of which a user has a limit already.
const freeShare = 1 << 10

// uploadCost is what is charged of a new job at once: its files that are refused,
// and of those that are accepted what is beyond their free share.
func uploadCost(data []events.Data) (n int64) {
	for _, d := range data {
		f, ok := d.(events.FileAccepted)
		switch {
		case ok && f.Refused != "":
			n += cost(f)
		case ok:
			n += max(0, cost(f)-freeShare)
		}
	}
	return n
}

// checkUpload returns an error where a new job adds more than a user may add to
// the log at the moment.
func (h *Handler) checkUpload(ctx context.Context, user events.User, data ...events.Data) error {
	budget, err := h.charge(ctx, user)
	if err != nil {
		return err
	}
	defer budget.Close()
	return budget.Check(uploadCost(data))
}

// chargeFile charges the user of a file that no new document came of: one that
// failed, that was there already, or that is another version of a document. The
// same bytes can be uploaded again and again, and are stored once at most. What
// is in the log already is charged in any case, and the next upload waits.
func (h *Handler) chargeFile(ctx context.Context, f ImportFile, outcome events.Data) {
	budget, err := h.Changes.Open(ctx, f.User)
	if err != nil {
		h.Logger.WarnContext(ctx, "a file that came to nothing is not charged to its user", "job", f.Job, "file", f.Accepted.File, "error", err)
		return
	}
	defer budget.Close()
	budget.Charge(min(freeShare, cost(f.Accepted)) + cost(outcome))
}
