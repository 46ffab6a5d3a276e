package commands

import (
	"strings"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Destination is the folder that a file goes to.
type Destination struct {
	Path string // as it was asked for
	// Under is a folder that was on the path then, and Rest the path from it:
	// it is found wherever it is now. uuid.Nil: the path alone counts.
	Under uuid.UUID
	Rest  string
}

// destination is a Destination as the tree is asked for it.
type destination struct {
	shown string // the path; what is told of it, since another may be none of the user's business
	under uuid.UUID
	names []string // from there
}

func (d Destination) split() (to destination, err error) {
	to = destination{shown: d.Path, under: d.Under}
	switch {
	case d.Under == uuid.Nil:
		to.names, err = splitPath(d.Path)
	case d.Rest != "":
		to.names, err = splitPath(d.Rest)
	}
	return to, err
}

// wayTo returns the path of a destination, as it is now.
func (t *tree) wayTo(to destination) ([]string, error) {
	above := t.path(to.under)
	if to.under != uuid.Nil && len(above) == 0 {
		return nil, fault.Errorf(fault.Invalid, "folder %q was deleted before the file was filed in it", to.shown)
	}
	path := append(above, to.names...)
	if len(path) > MaxSegments {
		return nil, fault.Errorf(fault.Invalid, "folder %q cannot be made where it is now: a folder path has at most %d names", to.shown, MaxSegments)
	}
	return path, nil
}

// mayFile returns the path of a destination, and an error unless the user may
// write in its folder, or make it. The sentence is the same whatever exists,
// so that it tells nothing.
func (t *tree) mayFile(user events.User, to destination) ([]string, error) {
	path, err := t.wayTo(to)
	if err != nil {
		return nil, err
	}
	deepest, depth := t.find(path)
	top := t.rules.mayMakeTop(user)
	allowed := depth == 0 && top == nil || t.access(user, deepest) >= events.Write
	if path[0] == inbox && depth < min(2, len(path)) {
		// The inbox and the folders in it are made for their users alone.
		allowed = strings.HasPrefix(strings.Join(path, "/")+"/", InboxFolder(user)+"/")
	}
	switch {
	case allowed:
		return path, nil
	case strings.HasPrefix(to.shown+"/", inbox+"/"):
		return nil, fault.Errorf(fault.Forbidden, "you may not write in folder %q; your own folder there is %q", to.shown, InboxFolder(user))
	}
	if top != nil { // said of folders that exist, too
		return nil, fault.Errorf(fault.Forbidden, "you may not write in folder %q, or make it: %w; your own folder is %q", to.shown, top, InboxFolder(user))
	}
	return nil, fault.Errorf(fault.Forbidden, "you may not write in folder %q", to.shown)
}

// accept judges whether a user may file what he uploads where he asks for,
// and notes the deepest folder there that exists: it may be renamed or moved
// before the files are filed. A file is refused, alone, whose folder would have
// to be made beside one that it would be taken for. One that is refused already
// goes nowhere.
func (t *tree) accept(user events.User, data []events.Data) error {
	for i, d := range data {
		f, ok := d.(events.FileAccepted)
		if !ok {
			continue
		}
		to, err := Destination{Path: f.Folder, Under: f.Under, Rest: f.Rest}.split()
		if err != nil {
			return err
		}
		path, err := t.mayFile(user, to)
		if err != nil {
			if f.Refused != "" {
				continue
			}
			return err
		}
		deepest, depth := t.find(path)
		if depth > 0 {
			f.Under, f.Rest = deepest, strings.Join(path[depth:], "/")
		}
		if depth < len(path) && f.Refused == "" {
			if err := t.unlike(user, uuid.Nil, deepest, path[depth]); err != nil {
				f = refuse(f, err)
			}
		}
		data[i] = f
	}
	return nil
}
