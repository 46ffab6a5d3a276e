package foldertree

import (
	"strings"

	"annals/commands/quota"
	"annals/events"

	"github.com/google/uuid"
)

// Takes returns how much quota accepted files take, in total and for each quota.Space.
// replaced has the indexes of the files that replace a document, and therefore do not count
// as new documents.
func (t *Tree) Takes(data []events.Data, replaced map[int]bool) (takes quota.Limits, parts []quota.Part, err error) {
	newFolders := make(map[string]bool)
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
		path, err := t.CurrentPath(to)
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
			newFolders[strings.Join(path[:depth+1], "/")] = true
		}
	}
	takes[quota.Folders] = int64(len(newFolders))
	for space, in := range bySpace {
		parts = append(parts, quota.Part{Space: space, Takes: in})
	}
	return takes, parts, nil
}

// Space returns the quota.Space that a path belongs to: the folder on the path whose limits
// apply to it.
func (t *Tree) Space(path []string) quota.Space {
	s := quota.Space{Name: events.SpaceName(strings.Join(path, "/"))}
	names := strings.Split(s.Name, "/")
	if id, depth := t.Find(names); depth == len(names) {
		s.Folder = id
	}
	return s
}

// counts are the numbers of folders and shares that each user created.
type counts struct {
	folders map[events.Principal]int64 // of the existing folders
	shares  map[events.Principal]int64 // of entries in permission lists and invitations
}

func newCounts() counts {
	return counts{folders: make(map[events.Principal]int64), shares: make(map[events.Principal]int64)}
}

// countFolder counts a new folder for its creator.
func (t *Tree) countFolder(f *folder, creator events.Principal) {
	f.creator = creator
	t.counts.folders[creator]++
}

// countShares counts each new entry of a folder's list for the user who added it. Entries
// that were in the list before still count for the user who added them first.
func (t *Tree) countShares(f *folder, shared events.FolderShared, user events.Principal) {
	sharers := make(map[events.Principal]events.Principal, len(shared.Permissions)+len(shared.Invitations))
	add := func(p events.Principal) {
		sharers[p] = user
		if before, ok := f.sharers[p]; ok {
			sharers[p] = before
		}
	}
	for _, p := range shared.Permissions {
		add(p.Principal)
	}
	for _, i := range shared.Invitations {
		add(i.Principal)
	}
	t.uncountShares(f)
	for _, by := range sharers {
		t.counts.shares[by]++
	}
	f.sharers = sharers
}

func (t *Tree) uncountShares(f *folder) {
	for p := range f.sharers {
		t.uncountShare(f, p)
	}
}

func (t *Tree) uncountShare(f *folder, p events.Principal) {
	if by, ok := f.sharers[p]; ok {
		t.counts.shares[by]--
		delete(f.sharers, p)
	}
}

// uncount stops counting a folder and all folders below it.
func (t *Tree) uncount(id uuid.UUID) {
	f := t.folders[id]
	if f.uncounted {
		return
	}
	f.uncounted = true
	t.counts.folders[f.creator]--
	t.uncountShares(f)
	for _, child := range t.children[id] {
		t.uncount(child)
	}
}

// CreatedFolders returns how many of the existing folders a user created.
func (t *Tree) CreatedFolders(user events.Principal) int64 { return t.counts.folders[user] }

// CreatedShares returns how many entries of permission lists a user added.
func (t *Tree) CreatedShares(user events.Principal) int64 { return t.counts.shares[user] }

// NewShares returns how many entries a command adds to a folder's permission list.
func (t *Tree) NewShares(c ShareFolder) (n int64) {
	for _, p := range c.Permissions {
		if _, ok := t.folders[c.ID].sharers[p.Principal]; !ok {
			n++
		}
	}
	return n
}
