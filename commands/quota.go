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
// hold to AdmitImport, and close it afterwards. It is nil if nothing is limited.
func (h *Handler) HoldImport(ctx context.Context, user events.User) (*quota.Hold, error) {
	if err := h.checkUpload(ctx, user); err != nil {
		return nil, err
	}
	hold, err := h.Quota.Open(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := hold.Room(quota.Bytes, quota.Imports); err != nil { // not Documents: a file that replaces a document adds none
		hold.Close()
		return nil, err
	}
	return hold, nil
}

// AdmitImport checks all uploads together before their originals are committed. It marks
// those that are refused because of their folder: their originals need not be kept. What
// it admits is not refused by a limit later. StartImport returns the same errors.
func (h *Handler) AdmitImport(ctx context.Context, user events.User, hold *quota.Hold, uploads []Upload) error {
	data, err := startImport{user: user, uploads: uploads}.decide()
	if err != nil {
		return err
	}
	h.init()
	var takes quota.Limits
	var parts []quota.Part
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
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		takes, parts, err = t.Takes(data, replaced)
		hold.Have(quota.Folders, t.MadeFolders(user.Principal))
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
// read side. They need no quota for documents. If the document no longer exists when the
// file is filed, it becomes a new one, for which holdReplacement holds quota.
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

// maxSpaces is the most folders with limits that one upload may go to, because each is
// looked up.
const maxSpaces = 256

// holding runs do, which appends, under a user's hold, and settles the hold if do
// succeeds. The hold is that of the context, or else one returned by open.
func (h *Handler) holding(ctx context.Context, open func() (*quota.Hold, error), do func() (events.Position, error)) error {
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

// HoldRevision is like HoldImport, but for new content of a document.
func (h *Handler) HoldRevision(ctx context.Context, user events.User) (*quota.Hold, error) {
	if err := h.checkUpload(ctx, user); err != nil {
		return nil, err
	}
	hold, err := h.Quota.Open(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := hold.Room(quota.Bytes, quota.Imports); err != nil {
		hold.Close()
		return nil, err
	}
	return hold, nil
}

// AdmitRevision is like AdmitImport, but for new content of a document.
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

// HoldText holds quota for the text of a file after it was read and before any of it is
// appended. If the text exceeds the quota, although the file did not, the error is of
// kind fault.Invalid.
func (h *Handler) HoldText(ctx context.Context, user events.User, d foldertree.Destination, bytes int64) (*quota.Hold, error) {
	to, err := d.Split()
	if err != nil {
		return nil, err
	}
	hold, err := h.Quota.Begin(ctx, user)
	if hold == nil || err != nil {
		return nil, err
	}
	takes := quota.Limits{quota.Bytes: events.TextStored(bytes)}
	var parts []quota.Part
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if path, err := t.WayTo(to); err == nil && len(path) > 0 { // otherwise filing reports the error
			parts = []quota.Part{{Space: t.Space(path), Takes: takes}}
		}
		return nil
	})
	if err == nil {
		err = hold.Admit(ctx, takes, parts)
	}
	if err != nil {
		hold.Close()
	}
	if fault.Is(err, fault.TooLarge) {
		return nil, fault.Errorf(fault.Invalid, "there is no room for the file's text, of which %s are kept: %w", quota.Bytes.Show(takes[quota.Bytes]), err)
	}
	return hold, err
}

// holdReplacement holds quota for a file that becomes a new document because the one
// that it was to replace no longer exists. If the user has no quota left, the error is
// of kind fault.Invalid: the file fails.
func (h *Handler) holdReplacement(ctx context.Context, f ImportFile, folder uuid.UUID) (*quota.Hold, error) {
	hold, err := h.Quota.Begin(ctx, f.User)
	if hold == nil || err != nil {
		return nil, err
	}
	takes := quota.Limits{quota.Documents: 1}
	var parts []quota.Part
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if path := t.Path(folder); len(path) > 0 { // otherwise filing reports the error
			parts = []quota.Part{{Space: t.Space(path), Takes: takes}}
		}
		return nil
	})
	if err == nil {
		err = hold.Admit(ctx, takes, parts)
	}
	if err == nil {
		return hold, nil
	}
	hold.Close()
	if fault.Is(err, fault.TooLarge) {
		err = fault.Errorf(fault.Invalid, "the document that the file was to replace no longer exists, and there is no room for a new one: %w", err)
	}
	return nil, err
}

// SettleText settles the hold of HoldText at the head of the log.
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

// makes checks how many folders or shares a user may create.
type makes struct {
	ledger      *quota.Ledger
	kind        quota.Kind
	user        events.Principal
	limit, more int64 // more: folders that will be created for files in progress
}

// mayMake reads how many folders, or entries in permission lists, a user may have.
func (h *Handler) mayMake(ctx context.Context, user events.User, kind quota.Kind) (m makes, err error) {
	m = makes{ledger: h.Quota, kind: kind, user: user.Principal}
	limits, err := h.Quota.Of(ctx, user)
	if m.limit = limits[kind]; err != nil || m.limit == 0 || kind != quota.Folders {
		return m, err
	}
	used, _, err := h.Quota.Usage.Used(ctx, user.Principal)
	m.more = used[kind]
	return m, err
}

// check returns an error if a user who has already created some may not create as many
// more as wanted.
func (m makes) check(has, wants int64) error {
	if m.limit == 0 || wants <= 0 || has+m.more+wants <= m.limit {
		return nil
	}
	m.ledger.Refused(m.kind)
	return quota.Refusal(m.kind, has+m.more, wants, m.limit)
}

// limitsMoves reports whether a user's moves to a folder are subject to quotas.
func (h *Handler) limitsMoves(user events.User, to uuid.UUID) bool {
	return h.Quota != nil && h.Quota.Policy.Folder != (quota.Limits{}) && !user.Admin && to != uuid.Nil
}

// holdMove holds quota in the target folder for a document, or a folder with all below
// it, that is moved there. A move within a space needs none.
func (h *Handler) holdMove(ctx context.Context, user events.User, from, to uuid.UUID, size func() (quota.Limits, error)) (*quota.Hold, error) {
	var before, after quota.Space
	err := h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		if path := t.Path(from); len(path) > 0 {
			before = t.Space(path)
		}
		// Access is checked later. Until then a refusal must not reveal anything
		// about the target folder.
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
