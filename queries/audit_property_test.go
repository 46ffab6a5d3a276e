//go:build !race

package queries_test

import (
	"slices"
	"testing"

	"annals/events"
	"annals/queries/audit"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// ownsNow reports whether a user owns a folder, deleted or not.
func (w *world) ownsNow(user events.User, id uuid.UUID) bool {
	for ; id != uuid.Nil; id = w.folders[id].parent {
		f := w.folders[id]
		if user.Admin || slices.Contains(f.owners, user.Principal) || slices.ContainsFunc(f.list, func(p events.Permission) bool {
			return p.Access == "own" && slices.Contains(user.Principals(), p.Principal)
		}) {
			return true
		}
	}
	return false
}

// Whatever was changed, users see what happened to what they own now, all of it, and of
// nothing else.
func TestAuditHidesWhatCallerDoesNotOwn(t *testing.T) {
	f := newFixture(t)
	worlds := 0
	rapid.Check(t, func(r *rapid.T) {
		worlds++
		w := newWorld(f, r, 1000+worlds)
		for range rapid.IntRange(1, 25).Draw(r, "changes") {
			w.change()
		}
		w.settle()
		happened := w.happened()
		for _, user := range w.users {
			scope := w.pick("scope", func(id uuid.UUID) bool { return w.folders[id] != nil && w.ownsNow(user, id) })
			filter := audit.Filter{Limit: rapid.IntRange(1, 9).Draw(r, "limit")}
			if scope != uuid.Nil && rapid.Bool().Draw(r, "below a folder") {
				filter.Folder = &scope
			}
			w.wantListed(user, filter, happened)
		}
	})
}

// happening is an event with the folder or document that it happened to.
type happening struct {
	event, thing, place uuid.UUID
	who                 events.Principal // who sees it besides administrators
}

// happened returns what the log says of this world, the newest first.
func (w *world) happened() (all []happening) {
	batch, _, err := w.world.Log.Read(w.t.Context(), 0, 1<<20)
	if err != nil {
		w.r.Fatal(err)
	}
	lies := make(map[uuid.UUID]uuid.UUID) // documents, where they were last
	for _, e := range batch {
		h := happening{event: e.ID, thing: events.StreamID(e.Stream)}
		switch d := e.Data.(type) {
		case events.SectionExtracted:
			continue
		case events.DocumentImported:
			lies[h.thing] = d.Folder
		case events.DocumentMoved:
			lies[h.thing] = d.Folder
		case events.FolderCreated:
			h.thing = d.Folder
		case events.FolderRenamed:
			h.thing = d.Folder
		case events.FolderMoved:
			h.thing = d.Folder
		case events.FolderShared:
			h.thing = d.Folder
		case events.FolderDeleted:
			h.thing = d.Folder
		case events.FolderInvitationAccepted:
			h.thing = d.Folder
		case events.FolderLeft:
			h.thing = d.Folder
		case events.FolderInvitationDeclined:
			h.thing, h.who = d.Folder, d.Principal
		case events.InviterUnblocked:
			h.who = d.Principal
		}
		all = append(all, h)
	}
	for i, h := range all {
		all[i].place = h.thing
		if folder, ok := lies[h.thing]; ok {
			all[i].place = folder
		}
	}
	all = slices.DeleteFunc(all, func(h happening) bool { return w.folders[h.place] == nil && !slices.Contains(w.principal, h.who) })
	slices.Reverse(all)
	return all
}

// wantListed fails the run unless a user gets what a filter asks for.
func (w *world) wantListed(user events.User, filter audit.Filter, happened []happening) {
	var got, want []uuid.UUID
	for _, h := range happened {
		within := filter.Folder == nil
		for id := h.place; id != uuid.Nil && !within; id = w.folders[id].parent {
			within = id == *filter.Folder
		}
		seen := h.who == user.Principal || user.Admin
		if h.who == "" {
			seen = within && w.ownsNow(user, h.place)
		} else if filter.Folder != nil {
			seen = false
		}
		if seen {
			want = append(want, h.event)
		}
	}
	for {
		entries, next, err := w.Audit(w.t.Context(), user, filter)
		if err != nil {
			w.r.Fatal(err)
		}
		for _, e := range entries {
			if slices.ContainsFunc(happened, func(h happening) bool { return h.event == e.ID }) {
				got = append(got, e.ID) // an administrator sees other worlds too
			}
			if e.Folder != uuid.Nil && w.folders[e.Folder] != nil && !w.ownsNow(user, e.Folder) && e.Type != "FolderInvitationDeclined" {
				w.r.Fatalf("%s sees folder %v: %+v", user.Principal, e.Folder, e)
			}
		}
		if filter.Cursor = next; next == "" || user.Admin && len(got) == len(want) {
			break
		}
	}
	w.same(user, "trail", got, want)
}
