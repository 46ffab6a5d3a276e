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

// lookKey is an index key. Folders in the same parent have the same key if their names may
// look alike.
type lookKey struct {
	parent   uuid.UUID
	skeleton string
}

func (f *folder) lookKey() lookKey { return lookKeyOf(f.parent, f.name) }

func lookKeyOf(parent uuid.UUID, name string) lookKey {
	return lookKey{parent, strings.ToLower(lookalike.Skeleton(name))}
}

// alikeFolders is like lookalike.Alike, but also ignores case if the names are of different
// scripts. Names that differ only in case are not alike.
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

// indexLook adds a folder to the index by lookKey.
func (t *Tree) indexLook(id uuid.UUID) {
	key := t.folders[id].lookKey()
	t.byLook[key] = append(t.byLook[key], id)
}

func (t *Tree) unindexLook(id uuid.UUID) {
	key := t.folders[id].lookKey()
	left := slices.DeleteFunc(t.byLook[key], func(other uuid.UUID) bool { return other == id })
	if len(left) == 0 {
		delete(t.byLook, key)
		return
	}
	t.byLook[key] = left
}

// checkAlike returns an error if a sibling of the folder has a name that looks the same.
// The message contains that name only if the user may read the sibling. The inbox and the
// folders in it are exempt, because their names are fixed.
func (t *Tree) checkAlike(user events.User, id, parent uuid.UUID, name string) error {
	if parent == uuid.Nil && name == events.Inbox || t.isInbox(parent) {
		return nil
	}
	if parent == uuid.Nil && likeInbox(name) {
		return LooksLike("folder", name, events.Inbox)
	}
	for _, other := range t.byLook[lookKeyOf(parent, name)] {
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

// likeInbox reports whether a top-level name looks like that of the inbox. Everybody's
// uploads go to the inbox, so this check is stricter than other checks of names: it ignores
// case, and detects ASCII characters that look alike, as in INB0X or lnbox.
func likeInbox(name string) bool {
	return slices.ContainsFunc([]string{name, strings.ToLower(name)}, func(name string) bool {
		return strings.ReplaceAll(strings.ToLower(lookalike.Skeleton(name)), "l", "i") == "inbox"
	})
}

// LooksLike returns the error for a name that looks like a name that is taken. The message
// shows the first characters that differ. what is "file", "document" or "folder".
func LooksLike(what, name, taken string) error {
	mine, other := []rune(name), []rune(taken)
	at := 0
	for at < min(len(mine), len(other)) && mine[at] == other[at] {
		at++
	}
	codePoint := func(name []rune) string {
		if at < len(name) {
			return fmt.Sprintf("%U", name[at])
		}
		return "its end"
	}
	return fault.Errorf(fault.Conflict, "the name %q looks like %q, another %s here: at position %d there is %s, and %s in the other; choose a name that differs more",
		name, taken, what, at+1, codePoint(mine), codePoint(other))
}
