package commands

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/events"
	"annals/events/fault"
	"annals/events/lookalike"

	"github.com/google/uuid"
)

// look is what folders beside each other have in common whose names look alike.
type look struct {
	parent   uuid.UUID
	skeleton string
}

func (f *folder) look() look { return lookOf(f.parent, f.name) }

func lookOf(parent uuid.UUID, name string) look {
	return look{parent, strings.ToLower(lookalike.Skeleton(name))}
}

// alikeFolders is lookalike.Alike where letters of another script are in a name in
// whatever case. Case alone does not make names alike.
func alikeFolders(a, b string) bool {
	switch skeletonA, skeletonB := lookalike.Skeleton(a), lookalike.Skeleton(b); {
	case lookalike.Alike(a, b):
		return true
	case strings.EqualFold(a, b), len(a) == utf8.RuneCountInString(a) && len(b) == utf8.RuneCountInString(b): // ASCII
		return false
	default:
		return strings.EqualFold(skeletonA, skeletonB)
	}
}

// show adds a folder to those that its name is compared with.
func (t *tree) show(id uuid.UUID) {
	l := t.folders[id].look()
	t.looks[l] = append(t.looks[l], id)
}

func (t *tree) unshow(id uuid.UUID) {
	l := t.folders[id].look()
	left := slices.DeleteFunc(t.looks[l], func(other uuid.UUID) bool { return other == id })
	if len(left) == 0 {
		delete(t.looks, l)
		return
	}
	t.looks[l] = left
}

// unlike returns an error where a folder would stand beside another one whose
// name people would take for its own. The other one is named if the user may
// see it. The inbox, and what it holds, keep the names that they have to have.
func (t *tree) unlike(user events.User, id, parent uuid.UUID, name string) error {
	if parent == uuid.Nil && name == inbox || t.isInbox(parent) {
		return nil
	}
	if parent == uuid.Nil && likeInbox(name) {
		return looksLike("folder", name, inbox)
	}
	for _, other := range t.looks[lookOf(parent, name)] {
		taken := t.folders[other].name
		switch {
		case other == id || !alikeFolders(name, taken):
		case t.access(user, other) >= events.Read:
			return looksLike("folder", name, taken)
		default:
			return fault.Errorf(fault.Conflict, "the name %q looks like one that is taken here: choose a name that differs more", name)
		}
	}
	return nil
}

// likeInbox reports whether people would take a name at the top level for the inbox.
// That is judged more strictly than of other names, since everybody files there: in
// any case, and with letters and digits of plain ASCII, as in INB0X or lnbox.
func likeInbox(name string) bool {
	return slices.ContainsFunc([]string{name, strings.ToLower(name)}, func(name string) bool {
		return strings.ReplaceAll(strings.ToLower(lookalike.Skeleton(name)), "l", "i") == "inbox"
	})
}

// looksLike says that a name would be taken for another one, and by which
// characters they differ all the same.
func looksLike(what, name, taken string) error {
	mine, other := []rune(name), []rune(taken)
	at := 0
	for at < min(len(mine), len(other)) && mine[at] == other[at] {
		at++
	}
	number := func(name []rune) string {
		if at < len(name) {
			return fmt.Sprintf("%U", name[at])
		}
		return "its end"
	}
	return fault.Errorf(fault.Conflict, "the name %q looks like %q, another %s here: at position %d there is %s, and %s in the other; choose a name that differs more",
		name, taken, what, at+1, number(mine), number(other))
}
