package quota

import (
	"cmp"
	"fmt"
	"time"

	"annals/events/fault"
)

// units describe the amounts of each kind in refusals.
var units = [kinds]string{
	Bytes: "stored and in progress", Documents: "documents, including files in progress", Folders: "folders, including those to be created for files in progress",
	Shares: "entries in permission lists of folders", Imports: "files in progress",
}

// remedies are what a user can do about a refusal.
var remedies = [kinds]string{
	Bytes:     "Delete documents, or ask the operator for more (annals user quota). Deleted documents and failed files count for up to 30 more hours",
	Documents: "Delete documents, or ask the operator for more (annals user quota)",
	Folders:   "Delete folders, or ask the operator for more (annals user quota)",
	Shares:    "Remove entries from permission lists, or share with a group; or ask the operator for more (annals user quota)",
	Imports:   "Send the rest when some of them are done; the operator can raise the limit (annals user quota)",
}

// retryImports is when to retry if too many files are in progress.
const retryImports = 15 * time.Second

func (h *Hold) refuse(k Kind, has, wants int64) error {
	h.refused(k)
	return Refusal(k, has, wants, h.limits[k])
}

// Refusal returns the error for a user who has the amount has of a kind, and wants an
// additional amount, which exceeds the limit.
func Refusal(k Kind, has, wants, limit int64) error {
	more := "there is no room for more"
	if left := limit - has; left > 0 {
		more = "there is room for " + k.Show(left) + " more, and this request takes more than that"
	}
	if k == Imports && wants > limit {
		return fault.Errorf(fault.TooLarge, "one user may have at most %s files in progress, and this upload has more: send up to %s, and the rest when those are done. "+
			"The operator can raise the limit (annals user quota)", k.Show(limit), k.Show(limit))
	}
	text := fmt.Sprintf("you have %s %s, and the limit is %s: %s. %s", k.Show(has), units[k], k.Show(limit), more, remedies[k])
	if k == Imports && wants <= limit {
		return fault.Later(k.String(), retryImports, "%s", text)
	}
	return fault.Errorf(fault.TooLarge, "%s", text)
}

// refuseSpace returns the error for a full folder. The message does not contain the folder's
// usage, because the user may not be allowed to read everything in it.
func (h *Hold) refuseSpace(k Kind, p Part) error {
	h.refused(k)
	return fault.Errorf(fault.TooLarge, "there is no room for %s more in folder %q, whose limit is %s including all folders below it: "+
		"delete something in it, use another folder, or ask the operator to raise the limit (--quota-folder-%s)",
		amount(k, p.Takes[k]), cmp.Or(p.Name, "there"), amount(k, h.ledger.Policy.Folder[k]), k)
}

func amount(k Kind, n int64) string {
	if k == Bytes {
		return k.Show(n)
	}
	return fmt.Sprintf("%s %s", k.Show(n), k)
}

// refused counts a refusal in the metrics. Of each hold it counts only the first one,
// because the reader of an upload may read again after an error.
func (h *Hold) refused(k Kind) {
	if h.refusal == nil {
		h.ledger.refused(k)
	}
}

func (l *Ledger) refused(k Kind) {
	if l.Refuse != nil {
		l.Refuse(k.String())
	}
}
