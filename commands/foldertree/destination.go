package foldertree

import (
	"strings"

	"annals/commands/naming"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Destination is the folder that a file goes to.
type Destination struct {
	Path string // path as requested
	// If Under is not uuid.Nil, it is a folder that was on the path at the time of the
	// request, and Rest is the path below it. They override Path, because the folder may
	// have been moved since.
	Under uuid.UUID
	Rest  string
}

// Target is a Destination with a valid path.
type Target struct {
	requested string // the requested path, for messages: the user may not see the current one
	under     uuid.UUID
	names     []string // the path below under
}

// Split splits the path of a destination. The error for an invalid path is fault.Invalid.
func (d Destination) Split() (to Target, err error) {
	to = Target{requested: d.Path, under: d.Under}
	switch {
	case d.Under == uuid.Nil:
		to.names, err = naming.SplitFolder(d.Path)
	case d.Rest != "":
		to.names, err = naming.SplitFolder(d.Rest)
	}
	return to, err
}

// CurrentPath returns the path of a target as of now: its folder may have been moved.
func (t *Tree) CurrentPath(to Target) ([]string, error) {
	above := t.Path(to.under)
	if to.under != uuid.Nil && len(above) == 0 {
		return nil, fault.Errorf(fault.Invalid, "folder %q was deleted before the file was filed in it", to.requested)
	}
	path := append(above, to.names...)
	if len(path) > naming.MaxSegments {
		return nil, fault.Errorf(fault.Invalid, "create folder %q: a folder path may have at most %d names", to.requested, naming.MaxSegments)
	}
	return path, nil
}

// MayFile returns the current path of a target, and an error unless the user may write in
// its folder, or create it. The message is the same whether or not the folder exists.
func (t *Tree) MayFile(user events.User, to Target) ([]string, error) {
	path, err := t.CurrentPath(to)
	if err != nil {
		return nil, err
	}
	deepest, depth := t.Find(path)
	top := t.rules.mayMakeTop(user)
	allowed := depth == 0 && top == nil || t.Access(user, deepest) >= events.Write
	if path[0] == events.Inbox && depth < min(2, len(path)) {
		// Users may only create the inbox and their own folder in it.
		allowed = strings.HasPrefix(strings.Join(path, "/")+"/", naming.InboxFolder(user)+"/")
	}
	switch {
	case allowed:
		return path, nil
	case strings.HasPrefix(to.requested+"/", events.Inbox+"/"):
		return nil, fault.Errorf(fault.Forbidden, "you may not write in folder %q; your own folder there is %q", to.requested, naming.InboxFolder(user))
	}
	if top != nil { // this message does not depend on whether the folder exists
		return nil, fault.Errorf(fault.Forbidden, "you may not write in folder %q, or create it: %w; your own folder is %q", to.requested, top, naming.InboxFolder(user))
	}
	return nil, fault.Errorf(fault.Forbidden, "you may not write in folder %q", to.requested)
}

// Accept returns an error unless a user may file all uploads in their folders. In data it
// records the deepest existing folder of each path, because folders may be renamed or moved
// before the files are filed. If the name of a new folder looks like that of an existing
// folder, only the files for the new folder are refused.
func (t *Tree) Accept(user events.User, data []events.Data) error {
	for i, d := range data {
		f, ok := d.(events.FileAccepted)
		if !ok {
			continue
		}
		to, err := Destination{Path: f.Folder, Under: f.Under, Rest: f.Rest}.Split()
		if err != nil {
			return err
		}
		path, err := t.MayFile(user, to)
		if err != nil {
			if f.Refused != "" {
				continue
			}
			return err
		}
		deepest, depth := t.Find(path)
		if depth > 0 {
			f.Under, f.Rest = deepest, strings.Join(path[depth:], "/")
		}
		if depth < len(path) && f.Refused == "" {
			if err := t.checkAlike(user, uuid.Nil, deepest, path[depth]); err != nil {
				f = Refuse(f, err)
			}
		}
		data[i] = f
	}
	return nil
}

// Refuse returns an accepted file marked as refused, with the reason.
func Refuse(f events.FileAccepted, why error) events.FileAccepted {
	return events.FileAccepted{File: f.File, Name: f.Name, Folder: f.Folder, Under: f.Under, Rest: f.Rest, Refused: why.Error()}
}
