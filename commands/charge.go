package commands

import (
	"context"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
)

// ErrReadOnly is returned for a change by a user whose token has only the scope read. The
// HTTP and MCP interfaces check the scope first; this check covers routes that do not.
var ErrReadOnly = fault.Errorf(fault.Forbidden, "the token may only read: send the request with a token that has the scope write")

// charge opens the budget that a user's changes are charged to.
func (h *Handler) charge(ctx context.Context, user events.User) (*quota.Budget, error) {
	if user.ReadOnly {
		return nil, ErrReadOnly
	}
	return h.Changes.Open(ctx, user)
}

// freeShare is a number of bytes, enough for a name, a path and some tags. An event that
// accepts a file is free of charge up to this size, because the document quota already
// limits the number of such files.
const freeShare = 1 << 10

// uploadCost returns the bytes that a new job is charged when it starts: the full size of
// the events of its refused files, and the part above freeShare of the events of its
// accepted files.
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

// checkUpload returns an error if a new job would exceed its user's current budget.
func (h *Handler) checkUpload(ctx context.Context, user events.User, data ...events.Data) error {
	budget, err := h.charge(ctx, user)
	if err != nil {
		return err
	}
	defer budget.Close()
	return budget.Check(uploadCost(data))
}

// chargeFile charges the user for a file that did not become a new document: it failed, is a
// duplicate, or is a new version of a document. The quotas of stored bytes and documents do
// not limit such uploads. The events of the file are in the log already, so they may
// overdraw the budget; the user's next upload is then refused until the budget has
// recovered.
func (h *Handler) chargeFile(ctx context.Context, f ImportFile, outcome events.Data) {
	budget, err := h.Changes.Open(ctx, f.User)
	if err != nil {
		h.Logger.WarnContext(ctx, "cannot charge a user for a file that did not become a new document", "job", f.Job, "file", f.Accepted.File, "error", err)
		return
	}
	defer budget.Close()
	budget.Charge(min(freeShare, quota.Cost(f.Accepted)) + quota.Cost(outcome))
}
