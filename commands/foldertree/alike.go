package foldertree

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

// look is the same for folders of one parent whose names look alike.
type look struct {
	parent   uuid.UUID
	skeleton string
}

func (f *folder) look() look { return lookOf(f.parent, f.name) }

func lookOf(parent uuid.UUID, name string) look {
	return look{parent, strings.ToLower(lookalike.Skeleton(name))}
}

// alikeFolders is like lookalike.Alike, but ignores case between scripts. Names that only
// differ in case are not alike.
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

// show adds a folder to those that new names are compared with.
func (t *Tree) show(id uuid.UUID) {
	l := t.folders[id].look()
	t.looks[l] = append(t.looks[l], id)
}

func (t *Tree) unshow(id uuid.UUID) {
	l := t.folders[id].look()
	left := slices.DeleteFunc(t.looks[l], func(other uuid.UUID) bool { return other == id })
	if len(left) == 0 {
		delete(t.looks, l)
		return
	}
	t.looks[l] = left
}

// unlike returns an error if a sibling of the folder has a name that looks the same. The
// error has that name only if the user may read the sibling. The inbox and its folders
// are exempt, because their names are fixed.
func (t *Tree) unlike(user events.User, id, parent uuid.UUID, name string) error {
	if parent == uuid.Nil && name == events.Inbox || t.isInbox(parent) {
		return nil
	}
	if parent == uuid.Nil && likeInbox(name) {
		return LooksLike("folder", name, events.Inbox)
	}
	for _, other := range t.looks[lookOf(parent, name)] {
		taken := t.folders[other].name
		switch {
		case other == id || !alikeFolders(name, taken):
		case t.Access(user, other) >= events.Read:
			return LooksLike("folder", name, taken)
		default:
			return fault.Errorf(fault.Conflict, "the name %q looks like one that is taken here: choose a name that differs more", name)
		}
	}
	return nil
}

// likeInbox reports whether a name at the top level looks like the inbox. It is stricter
// than the check of other names, because everybody files there: it ignores case, and
// detects ASCII digits and letters that look alike, as in INB0X or lnbox.
func likeInbox(name string) bool {
	return slices.ContainsFunc([]string{name, strings.ToLower(name)}, func(name string) bool {
		return strings.ReplaceAll(strings.ToLower(lookalike.Skeleton(name)), "l", "i") == "inbox"
	})
}

// LooksLike returns the error for a name that looks like another one. It shows the
// characters in which they differ.
func LooksLike(what, name, taken string) error {
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
