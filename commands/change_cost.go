package commands

import (
	"context"

	"annals/commands/quota"
	"annals/events"
)

// freeShare is how many bytes an accepted file may add to the log without charge: a name,
// a path and some tags. The quota of documents already limits files that become
// documents.
const freeShare = 1 << 10

// uploadCost returns the bytes that are charged for a new job when it starts: all of its
// refused files, and what exceeds the free share for accepted ones.
func uploadCost(data []events.Data) (n int64) {
	for _, d := range data {
		f, ok := d.(events.FileAccepted)
		switch {
		case ok && f.Refused != "":
			n += quota.Cost(f)
		case ok:
			n += max(0, quota.Cost(f)-freeShare)
		}
	}
	return n
}

// checkUpload returns an error if a new job would add more to the log than its user's
// budget allows at the moment.
func (h *Handler) checkUpload(ctx context.Context, user events.User, data ...events.Data) error {
	budget, err := h.charge(ctx, user)
	if err != nil {
		return err
	}
	defer budget.Close()
	return budget.Check(uploadCost(data))
}

// chargeFile charges the user for a file that did not become a new document, because it
// failed, is a duplicate, or is another version of a document. Quotas of stored bytes and
// documents do not limit such uploads. The events are in the log already, so they are
// charged even if the budget is used up; the next upload then has to wait.
func (h *Handler) chargeFile(ctx context.Context, f ImportFile, outcome events.Data) {
	budget, err := h.Changes.Open(ctx, f.User)
	if err != nil {
		h.Logger.WarnContext(ctx, "cannot charge a file that became no document to its user", "job", f.Job, "file", f.Accepted.File, "error", err)
		return
	}
	defer budget.Close()
	budget.Charge(min(freeShare, quota.Cost(f.Accepted)) + quota.Cost(outcome))
}
