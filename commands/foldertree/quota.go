package foldertree

import (
	"strings"

	"annals/commands/quota"
	"annals/events"

	"github.com/google/uuid"
)

// Takes returns how much quota accepted files take, in total and by space. replaced has
// the indexes of files that do not become new documents.
func (t *Tree) Takes(data []events.Data, replaced map[int]bool) (takes quota.Limits, parts []quota.Part, err error) {
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
		to, err := Destination{Path: f.Folder, Under: f.Under, Rest: f.Rest}.Split()
		if err != nil {
			return takes, nil, err
		}
		path, err := t.WayTo(to)
		if err != nil {
			return takes, nil, err
		}
		takes[quota.Bytes] += f.Size
		takes[quota.Documents] += documents
		takes[quota.Imports]++
		space := t.Space(path)
		in := bySpace[space]
		in[quota.Bytes] += f.Size
		in[quota.Documents] += documents
		bySpace[space] = in
		for _, depth := t.Find(path); depth < len(path); depth++ {
			made[strings.Join(path[:depth+1], "/")] = true
		}
	}
	takes[quota.Folders] = int64(len(made))
	for space, in := range bySpace {
		parts = append(parts, quota.Part{Space: space, Takes: in})
	}
	return takes, parts, nil
}

// Space returns the folder whose limits apply to a path.
func (t *Tree) Space(path []string) quota.Space {
	s := quota.Space{Name: events.SpaceName(strings.Join(path, "/"))}
	names := strings.Split(s.Name, "/")
	if id, depth := t.Find(names); depth == len(names) {
		s.Folder = id
	}
	return s
}

// counts has the number of folders and shares that each user created.
type counts struct {
	folders, shares map[events.Principal]int64 // existing folders; entries of permission lists, accepted or not
}

func newCounts() counts {
	return counts{folders: make(map[events.Principal]int64), shares: make(map[events.Principal]int64)}
}

// charge counts a new folder for its maker.
func (t *Tree) charge(f *folder, maker events.Principal) {
	f.maker = maker
	t.counts.folders[maker]++
}

// chargeShares counts the entries of a folder's new list for the users who made them.
// Entries that were in the list before stay counted for the same user.
func (t *Tree) chargeShares(f *folder, shared events.FolderShared, maker events.Principal) {
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

func (t *Tree) dropShares(f *folder) {
	for p := range f.sharers {
		t.dropShare(f, p)
	}
}

func (t *Tree) dropShare(f *folder, p events.Principal) {
	if by, ok := f.sharers[p]; ok {
		t.counts.shares[by]--
		delete(f.sharers, p)
	}
}

// release stops counting a folder and all below it.
func (t *Tree) release(id uuid.UUID) {
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

// newShares returns how many entries a list adds to the folder's.
func (f *folder) newShares(list []events.Permission) (n int64) {
	for _, p := range list {
		if _, ok := f.sharers[p.Principal]; !ok {
			n++
		}
	}
	return n
}

// MadeFolders returns how many of the existing folders a user created.
func (t *Tree) MadeFolders(user events.Principal) int64 { return t.counts.folders[user] }

// MadeShares returns how many entries of permission lists a user made.
func (t *Tree) MadeShares(user events.Principal) int64 { return t.counts.shares[user] }

// NewShares returns how many entries a command adds to a folder's list.
func (t *Tree) NewShares(c ShareFolder) int64 { return t.folders[c.ID].newShares(c.Permissions) }
