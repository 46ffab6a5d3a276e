package commands

import (
	"context"
	"strings"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// HoldImport begins to take what a user uploads, from before the first byte is
// stored. It is an error, of kind fault.TooLarge or fault.Exhausted, where the
// user has no room for anything. The hold is given to AdmitImport, and closed in
// the end. It is nil where nothing is limited.
func (h *Handler) HoldImport(ctx context.Context, user events.User) (*quota.Hold, error) {
	if err := h.checkUpload(ctx, user); err != nil {
		return nil, err
	}
	hold, err := h.Quota.Open(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := hold.Room(quota.Bytes, quota.Imports); err != nil { // files that replace need no room for documents
		hold.Close()
		return nil, err
	}
	return hold, nil
}

// AdmitImport judges uploads as a whole, before their originals are committed,
// and notes which are refused for where they are to go: of those nothing need be
// kept. What it admits no limit refuses any more. Its errors are those of
// StartImport too.
func (h *Handler) AdmitImport(ctx context.Context, user events.User, hold *quota.Hold, uploads []Upload) error {
	data, err := startImport{user: user, uploads: uploads}.decide()
	if err != nil {
		return err
	}
	h.init()
	var takes quota.Limits
	var parts []quota.Part
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		if err := t.accept(user, data); err != nil {
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
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		takes, parts, err = t.takes(data, replaced)
		hold.Have(quota.Folders, t.counts.folders[user.Principal])
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
		return fault.Errorf(fault.TooLarge, "one upload can go to %d folders of the top level at most, and this one goes to %d: send it in several uploads", maxSpaces, len(parts))
	}
	return hold.Admit(ctx, takes, parts)
}

// replaced returns the accepted files, by index, that take the place of documents
// which the read side knows. They take no room for documents; holdReplacement judges
// those that become one all the same, because the name is free when they are filed.
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

// maxSpaces is to how many folders with limits one upload may go: each is looked
// up.
const maxSpaces = 256

// takes returns what accepted files take, in all and of each space they go to; of
// some, by index, it is known that they are no new documents.
func (t *tree) takes(data []events.Data, replaced map[int]bool) (takes quota.Limits, parts []quota.Part, err error) {
	made := make(map[string]bool)
	bySpace := make(map[quota.Space]quota.Limits)
	for i, d := range data {
		f, ok := d.(events.FileAccepted)
		if !ok || f.Refused != "" {
			continue
		}
		documents := int64(1)
		if replaced[i] {
			documents = 0
		}
		to, err := Destination{Path: f.Folder, Under: f.Under, Rest: f.Rest}.split()
		if err != nil {
			return takes, nil, err
		}
		path, err := t.wayTo(to)
		if err != nil {
			return takes, nil, err
		}
		takes[quota.Bytes] += f.Size
		takes[quota.Documents] += documents
		takes[quota.Imports]++
		space := t.space(path)
		in := bySpace[space]
		in[quota.Bytes] += f.Size
		in[quota.Documents] += documents
		bySpace[space] = in
		for _, depth := t.find(path); depth < len(path); depth++ {
			made[strings.Join(path[:depth+1], "/")] = true
		}
	}
	takes[quota.Folders] = int64(len(made))
	for space, in := range bySpace {
		parts = append(parts, quota.Part{Space: space, Takes: in})
	}
	return takes, parts, nil
}

// space returns the folder whose limits hold for a path.
func (t *tree) space(path []string) quota.Space {
	s := quota.Space{Name: events.SpaceName(strings.Join(path, "/"))}
	names := strings.Split(s.Name, "/")
	if id, depth := t.find(names); depth == len(names) {
		s.Folder = id
	}
	return s
}

// holding lets a command append while a hold of a user counts, and settles it
// where it did.
// It is that of the context, or else what open makes.
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

// HoldRevision is HoldImport of one file that is to be a document's new content.
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

// AdmitRevision is AdmitImport of a document's new content.
func (h *Handler) AdmitRevision(ctx context.Context, user events.User, hold *quota.Hold, c ReviseDocument) error {
	if hold == nil {
		return nil
	}
	takes := quota.Limits{quota.Bytes: c.Size, quota.Imports: 1}
	var space quota.Space
	err := h.viewRevision(ctx, user, c.ID, c.Version, func(t *tree, d *document) { space = t.space(t.path(d.folder)) })
	if err != nil {
		return err
	}
	return hold.Admit(ctx, takes, []quota.Part{{Space: space, Takes: quota.Limits{quota.Bytes: c.Size}}})
}

// HoldText takes room for the text of a file that was read, before anything of it
// is appended. Until then how much there is of it is not known, so that it may not
// fit though the file did; then the error is of kind fault.Invalid.
func (h *Handler) HoldText(ctx context.Context, user events.User, d Destination, bytes int64) (*quota.Hold, error) {
	to, err := d.split()
	if err != nil {
		return nil, err
	}
	hold, err := h.Quota.Begin(ctx, user)
	if hold == nil || err != nil {
		return nil, err
	}
	takes := quota.Limits{quota.Bytes: events.TextStored(bytes)}
	var parts []quota.Part
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		if path, err := t.wayTo(to); err == nil && len(path) > 0 { // or it fails by itself
			parts = []quota.Part{{Space: t.space(path), Takes: takes}}
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

// holdReplacement takes room for the document that a file becomes whose place was
// taken when it was accepted, so that none was taken then. What does not fit is of
// kind fault.Invalid: the file fails.
func (h *Handler) holdReplacement(ctx context.Context, f ImportFile, folder uuid.UUID) (*quota.Hold, error) {
	hold, err := h.Quota.Begin(ctx, f.User)
	if hold == nil || err != nil {
		return nil, err
	}
	takes := quota.Limits{quota.Documents: 1}
	var parts []quota.Part
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		if path := t.path(folder); len(path) > 0 { // or it fails by itself
			parts = []quota.Part{{Space: t.space(path), Takes: takes}}
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
		err = fault.Errorf(fault.Invalid, "the document that the file was to replace is no longer there, and there is no room for a new one: %w", err)
	}
	return nil, err
}

// SettleText has what HoldText took count by what is in the log now.
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

// makes is how many folders a user may make besides those he has made: none is
// less than 0 where there is no limit.
type makes struct {
	ledger      *quota.Ledger
	kind        quota.Kind
	user        events.Principal
	limit, more int64 // more: that will be made for files in work
}

// mayMake asks how many folders, or entries of permission lists, a user may
// have.
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

// check judges the making of some more.
func (m makes) check(has, wants int64) error {
	if m.limit == 0 || wants <= 0 || has+m.more+wants <= m.limit {
		return nil
	}
	m.ledger.Refused(m.kind)
	return quota.Refusal(m.kind, has+m.more, wants, m.limit)
}

// limitsMoves reports whether it matters how much a user moves to another folder.
func (h *Handler) limitsMoves(user events.User, to uuid.UUID) bool {
	return h.Quota != nil && h.Quota.Policy.Folder != (quota.Limits{}) && !user.Admin && to != uuid.Nil
}

// holdMove takes room for a document, or a folder with all below it, where it is
// to be moved. Within a space it takes none.
func (h *Handler) holdMove(ctx context.Context, user events.User, from, to uuid.UUID, size func() (quota.Limits, error)) (*quota.Hold, error) {
	var before, after quota.Space
	err := view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		if path := t.path(from); len(path) > 0 {
			before = t.space(path)
		}
		// Whether the folder may be read is judged later: till then nothing of
		// it is told.
		if path := t.path(to); len(path) > 0 && t.access(user, to) >= events.Write {
			after = t.space(path)
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

// counts is what of the tree is counted for each user who made it.
type counts struct {
	folders, shares map[events.Principal]int64 // that are there; entries of permission lists, accepted or not
}

func newCounts() counts {
	return counts{folders: make(map[events.Principal]int64), shares: make(map[events.Principal]int64)}
}

// charge counts a new folder for its maker.
func (t *tree) charge(f *folder, maker events.Principal) {
	f.maker = maker
	t.counts.folders[maker]++
}

// chargeShares counts the entries of a folder's new list for who made them: those
// that were there before keep their makers.
func (t *tree) chargeShares(f *folder, shared events.FolderShared, maker events.Principal) {
	kept := make(map[events.Principal]events.Principal, len(shared.Permissions)+len(shared.Invitations))
	keep := func(p events.Principal) {
		kept[p] = maker
		if before, ok := f.sharers[p]; ok {
			kept[p] = before
		}
	}
	for _, p := range shared.Permissions {
		keep(p.Principal)
	}
	for _, i := range shared.Invitations {
		keep(i.Principal)
	}
	t.dropShares(f)
	for _, by := range kept {
		t.counts.shares[by]++
	}
	f.sharers = kept
}

func (t *tree) dropShares(f *folder) {
	for p := range f.sharers {
		t.dropShare(f, p)
	}
}

func (t *tree) dropShare(f *folder, p events.Principal) {
	if by, ok := f.sharers[p]; ok {
		t.counts.shares[by]--
		delete(f.sharers, p)
	}
}

// release counts a folder, and all below it, no more.
func (t *tree) release(id uuid.UUID) {
	f := t.folders[id]
	if f.released {
		return
	}
	f.released = true
	t.counts.folders[f.maker]--
	t.dropShares(f)
	for _, child := range t.children[id] {
		t.release(child)
	}
}

// newShares returns how many entries a list adds for who sets it.
func (f *folder) newShares(list []events.Permission) (n int64) {
	for _, p := range list {
		if _, ok := f.sharers[p.Principal]; !ok {
			n++
		}
	}
	return n
}
