package commands

import (
	"context"

	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// HoldImport opens a hold for an upload before its first byte is stored. The error is
// of kind fault.TooLarge or fault.Exhausted if the user has no quota left. Pass the
// hold to AdmitImport or AdmitRevision, and close it afterwards. The hold is nil if the
// user has no limits.
func (h *Handler) HoldImport(ctx context.Context, user events.User) (*quota.Hold, error) {
	if err := h.checkUpload(ctx, user); err != nil {
		return nil, err
	}
	hold, err := h.Quota.Open(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := hold.Room(quota.Bytes, quota.Imports); err != nil { // Documents are not checked, because a file that replaces a document needs no document quota
		hold.Close()
		return nil, err
	}
	return hold, nil
}

// AdmitImport checks the quota for all uploads of a request before their originals are
// committed. It raises the hold to everything that StartImport may use. It marks uploads
// that are refused because of their folder; their originals need not be committed. Its
// errors are those of StartImport.
func (h *Handler) AdmitImport(ctx context.Context, user events.User, hold *quota.Hold, uploads []Upload) error {
	data, err := startImport{user: user, uploads: uploads}.decide()
	if err != nil {
		return err
	}
	h.init()
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if err := t.Accept(user, data); err != nil {
			return err
		}
		for i := range uploads {
			if f, ok := data[i].(events.FileAccepted); ok && f.Refused != "" {
				uploads[i].Refused, uploads[i].SHA256, uploads[i].Size = f.Refused, "", 0
			}
		}
		return nil
	})
	var replaced map[int]bool
	if err == nil && hold != nil {
		replaced, err = h.replaced(ctx, data)
	}
	if err != nil {
		return err
	}
	var takes quota.Limits
	var parts []quota.Part
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		takes, parts, err = t.Takes(data, replaced)
		hold.AddUsage(quota.Folders, t.CreatedFolders(user.Principal))
		return err
	})
	if err != nil {
		return err
	}
	for i := range uploads {
		uploads[i].existing = replaced[i]
	}
	if err := h.checkUpload(ctx, user, data...); err != nil {
		return err
	}
	if hold != nil && len(parts) > maxSpaces {
		return fault.Errorf(fault.TooLarge, "an upload can go to at most %d top-level folders, and this one goes to %d: split it into several uploads", maxSpaces, len(parts))
	}
	return hold.Admit(ctx, takes, parts)
}

// replaced returns the indexes of the accepted files that replace documents known to the
// read models. They need no document quota now. If such a document no longer exists when the
// file is filed, the file becomes a new document, and holdReplacement reserves quota for it
// then.
func (h *Handler) replaced(ctx context.Context, data []events.Data) (map[int]bool, error) {
	var folders []uuid.UUID
	var names []string
	var files []int
	for i, d := range data {
		if f, ok := d.(events.FileAccepted); ok && f.Replace && f.Refused == "" && f.Under != uuid.Nil && f.Rest == "" {
			folders, names, files = append(folders, f.Under), append(names, f.Name), append(files, i)
		}
	}
	if h.Names == nil || len(files) == 0 {
		return nil, nil
	}
	taken, err := h.Names.NamesTaken(ctx, folders, names)
	if err != nil {
		return nil, err
	}
	replaced := make(map[int]bool)
	for i, file := range files {
		if taken[i] {
			replaced[file] = true
		}
	}
	return replaced, nil
}

// maxSpaces limits how many top-level folders one upload may go to, because the usage of
// each must be read from the read models.
const maxSpaces = 256

// withHold runs do, which appends events, and settles the hold if do succeeds. It uses the
// hold in ctx or, if ctx has none, opens one with open.
func (h *Handler) withHold(ctx context.Context, open func() (*quota.Hold, error), do func() (events.Position, error)) error {
	hold := quota.From(ctx)
	if hold == nil {
		var err error
		hold, err = open()
		defer func() { hold.Close() }()
		if err != nil {
			return err
		}
	}
	at, err := do()
	if err == nil {
		hold.Settle(at)
	}
	return err
}

// AdmitRevision is like AdmitImport, for new content of a document.
func (h *Handler) AdmitRevision(ctx context.Context, user events.User, hold *quota.Hold, c ReviseDocument) error {
	if hold == nil {
		return nil
	}
	takes := quota.Limits{quota.Bytes: c.Size, quota.Imports: 1}
	var space quota.Space
	err := h.viewRevision(ctx, user, c.ID, c.Version, func(t *foldertree.Tree, d *document) { space = t.Space(t.Path(d.folder)) })
	if err != nil {
		return err
	}
	return hold.Admit(ctx, takes, []quota.Part{{Space: space, Takes: quota.Limits{quota.Bytes: c.Size}}})
}

// HoldText reserves quota for the text of a file that was extracted but whose text is not
// appended yet. If the text exceeds the quota, the error is of kind fault.Invalid.
func (h *Handler) HoldText(ctx context.Context, user events.User, d foldertree.Destination, bytes int64) (*quota.Hold, error) {
	to, err := d.Split()
	if err != nil {
		return nil, err
	}
	takes := quota.Limits{quota.Bytes: events.TextStored(bytes)}
	hold, err := h.holdIn(ctx, user, takes, func(t *foldertree.Tree) []string {
		path, _ := t.CurrentPath(to)
		return path
	})
	if fault.Is(err, fault.TooLarge) {
		err = fault.Errorf(fault.Invalid, "there is no room for the file's text, which takes %s: %w", quota.Bytes.Show(takes[quota.Bytes]), err)
	}
	return hold, err
}

// holdReplacement reserves quota for a file that becomes a new document, because the
// document to be replaced no longer exists. If the user has no quota left, the error is of
// kind fault.Invalid, so that the file fails and is not retried.
func (h *Handler) holdReplacement(ctx context.Context, f ImportFile, folder uuid.UUID) (*quota.Hold, error) {
	hold, err := h.holdIn(ctx, f.User, quota.Limits{quota.Documents: 1}, func(t *foldertree.Tree) []string { return t.Path(folder) })
	if fault.Is(err, fault.TooLarge) {
		err = fault.Errorf(fault.Invalid, "the document that the file was to replace no longer exists, and there is no room for a new one: %w", err)
	}
	return hold, err
}

// holdIn reserves quota for events that the service itself appends, in the folder whose path
// the function path returns. A nil path means that the folder does not exist. Then only the
// user's own quota is checked, and filing reports the missing folder later.
func (h *Handler) holdIn(ctx context.Context, user events.User, takes quota.Limits, path func(*foldertree.Tree) []string) (*quota.Hold, error) {
	hold, err := h.Quota.OpenInternal(ctx, user)
	if hold == nil || err != nil {
		return nil, err
	}
	var parts []quota.Part
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if path := path(t); len(path) > 0 {
			parts = []quota.Part{{Space: t.Space(path), Takes: takes}}
		}
		return nil
	})
	if err == nil {
		err = hold.Admit(ctx, takes, parts)
	}
	if err != nil {
		hold.Close()
		return nil, err
	}
	return hold, nil
}

// SettleText settles a hold that HoldText returned: the hold counts until the read models
// have applied the log up to its current head.
func (h *Handler) SettleText(ctx context.Context, hold *quota.Hold) error {
	if hold == nil {
		return nil
	}
	head, err := h.Log.Head(ctx)
	if err == nil {
		hold.Settle(head)
	}
	return err
}

// creationQuota limits how many folders or shares a user may create.
type creationQuota struct {
	ledger   *quota.Ledger
	kind     quota.Kind
	limit    int64
	reserved int64 // folders to be created for files in progress
}

// creationQuota returns a user's quota of folders or shares.
func (h *Handler) creationQuota(ctx context.Context, user events.User, kind quota.Kind) (q creationQuota, err error) {
	q = creationQuota{ledger: h.Quota, kind: kind}
	limits, err := h.Quota.Of(ctx, user)
	if q.limit = limits[kind]; err != nil || q.limit == 0 || kind != quota.Folders {
		return q, err
	}
	used, _, err := h.Quota.Usage.Used(ctx, user.Principal)
	q.reserved = used[kind]
	return q, err
}

// check returns an error if a user who has created that many folders or shares may not
// create more of them; more is their number.
func (q creationQuota) check(created, more int64) error {
	if q.limit == 0 || more <= 0 || created+q.reserved+more <= q.limit {
		return nil
	}
	q.ledger.Refused(q.kind)
	return quota.Refusal(q.kind, created+q.reserved, more, q.limit)
}

// movesLimited reports whether moving something to a folder needs quota.
func (h *Handler) movesLimited(user events.User, to uuid.UUID) bool {
	return h.Quota != nil && h.Quota.Policy.Folder != (quota.Limits{}) && !user.Admin && to != uuid.Nil
}

// holdMove reserves quota in the target folder for a document, or a folder with everything
// below it, that is moved there. A move within the same top-level folder needs none.
func (h *Handler) holdMove(ctx context.Context, user events.User, from, to uuid.UUID, size func() (quota.Limits, error)) (*quota.Hold, error) {
	var before, after quota.Space
	err := h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if path := t.Path(from); len(path) > 0 {
			before = t.Space(path)
		}
		// The move checks access later. A quota error for a folder that the user
		// may not write in would reveal that the folder exists.
		if path := t.Path(to); len(path) > 0 && t.Access(user, to) >= events.Write {
			after = t.Space(path)
		}
		return nil
	})
	if err != nil || after.Folder == uuid.Nil || before == after {
		return nil, err
	}
	takes, err := size()
	if err != nil {
		return nil, err
	}
	hold, err := h.Quota.Open(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := hold.Admit(ctx, quota.Limits{}, []quota.Part{{Space: after, Takes: takes}}); err != nil {
		hold.Close()
		return nil, err
	}
	return hold, nil
}
