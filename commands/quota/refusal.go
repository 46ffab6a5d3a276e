package quota

import (
	"cmp"
	"fmt"
	"time"

	"annals/events/fault"
)

// things are what is counted, in the words of a refusal.
var things = [kinds]string{
	Bytes: "stored and in work", Documents: "documents, with files in work", Folders: "folders, with those that files in work are to make",
	Shares: "entries in permission lists of folders", Imports: "files in work",
}

// ways are what to do about it.
var ways = [kinds]string{
	Bytes:     "Delete documents, or ask whoever operates the service for more (annals user quota). What is deleted, and files that failed, count for up to 30 hours",
	Documents: "Delete documents, or ask whoever operates the service for more (annals user quota)",
	Folders:   "Delete folders, or ask whoever operates the service for more (annals user quota)",
	Shares:    "Take entries out of lists, or share with a group; or ask whoever operates the service for more (annals user quota)",
	Imports:   "Send the rest when some are done; whoever operates the service can raise the limit (annals user quota)",
}

// busy is when to try again while too many files are in work.
const busy = 15 * time.Second

func (h *Hold) refuse(k Kind, has, wants int64) error {
	h.refused(k)
	return Refusal(k, has, wants, h.limits[k])
}

// Refusal is the error that a user is told who has some of a kind, and wants
// more than the limit.
func Refusal(k Kind, has, wants, limit int64) error {
	more := "there is no room for more"
	if left := limit - has; left > 0 {
		more = "there is room for " + k.Show(left) + " more, and this takes more than that"
	}
	if k == Imports && wants > limit {
		return fault.Errorf(fault.TooLarge, "more files come at once than the %s of one user that may be in work: send at most %s at once, and the rest when these files in work are done. "+
			"Whoever operates the service can raise the limit (annals user quota)", k.Show(limit), k.Show(limit))
	}
	text := fmt.Sprintf("you have %s %s, and the limit is %s: %s. %s", k.Show(has), things[k], k.Show(limit), more, ways[k])
	if k == Imports && wants <= limit {
		return fault.Later(k.String(), busy, "%s", text)
	}
	return fault.Errorf(fault.TooLarge, "%s", text)
}

// refuseSpace tells only what is in a folder's limits: its user may not see all
// that lies there.
func (h *Hold) refuseSpace(k Kind, p Part) error {
	h.refused(k)
	return fault.Errorf(fault.TooLarge, "there is no room for %s more in folder %q, which may have %s with all below it: "+
		"delete some of what is there, file it elsewhere, or ask whoever operates the service (--quota-folder-%s)",
		amount(k, p.Takes[k]), cmp.Or(p.Name, "there"), amount(k, h.ledger.Policy.Folder[k]), k)
}

func amount(k Kind, n int64) string {
	if k == Bytes {
		return k.Show(n)
	}
	return fmt.Sprintf("%s %s", k.Show(n), k)
}

// refused counts the first refusal of a request alone: what reads an upload may
// ask again after an error.
func (h *Hold) refused(k Kind) {
	if h.over == nil {
		h.ledger.refused(k)
	}
}

func (l *Ledger) refused(k Kind) {
	if l.Refuse != nil {
		l.Refuse(k.String())
	}
}
