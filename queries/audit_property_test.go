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
func (ref *reference) ownsNow(user events.User, id uuid.UUID) bool {
	for ; id != uuid.Nil; id = ref.folders[id].parent {
		f := ref.folders[id]
		if user.Admin || slices.Contains(f.owners, user.Principal) || slices.ContainsFunc(f.list, func(p events.Permission) bool {
			return p.Access == "own" && slices.Contains(user.Principals(), p.Principal)
		}) {
			return true
		}
	}
	return false
}

// After any changes, each user sees all audit entries of the folders that the user owns
// now, and no other entries.
func TestAuditListsOwnedOnly(t *testing.T) {
	f := newFixture(t)
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		ref := newReference(f, r, 1000+runs)
		for range rapid.IntRange(1, 25).Draw(r, "changes") {
			ref.change()
		}
		ref.Settle()
		happened := ref.happened()
		for _, user := range ref.users {
			scope := ref.pick("scope", func(id uuid.UUID) bool { return ref.folders[id] != nil && ref.ownsNow(user, id) })
			filter := audit.Filter{Limit: rapid.IntRange(1, 9).Draw(r, "limit")}
			if scope != uuid.Nil && rapid.Bool().Draw(r, "below a folder") {
				filter.Folder = &scope
			}
			ref.wantListed(user, filter, happened)
		}
	})
}

// happening is an event with the folder or document that it changed.
type happening struct {
	event, thing, place uuid.UUID
	who                 events.Principal // the only user other than administrators who sees the event; "" means all owners of place
}

// happened returns the audited events of this run, the newest first.
func (ref *reference) happened() (all []happening) {
	batch, _, err := ref.Log.Read(ref.t.Context(), 0, 1<<20)
	if err != nil {
		ref.rt.Fatal(err)
	}
	last := make(map[uuid.UUID]uuid.UUID) // last folder of each document
	for _, e := range batch {
		h := happening{event: e.ID, thing: events.StreamID(e.Stream)}
		switch d := e.Data.(type) {
		case events.SectionExtracted:
			continue
		case events.DocumentImported:
			last[h.thing] = d.Folder
		case events.DocumentMoved:
			last[h.thing] = d.Folder
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
		if folder, ok := last[h.thing]; ok {
			all[i].place = folder
		}
	}
	all = slices.DeleteFunc(all, func(h happening) bool { return ref.folders[h.place] == nil && !slices.Contains(ref.principal, h.who) })
	slices.Reverse(all)
	return all
}

// wantListed fails the run if Audit returns other entries than the reference.
func (ref *reference) wantListed(user events.User, filter audit.Filter, happened []happening) {
	var got, want []uuid.UUID
	for _, h := range happened {
		within := filter.Folder == nil
		for id := h.place; id != uuid.Nil && !within; id = ref.folders[id].parent {
			within = id == *filter.Folder
		}
		seen := h.who == user.Principal || user.Admin
		if h.who == "" {
			seen = within && ref.ownsNow(user, h.place)
		} else if filter.Folder != nil {
			seen = false
		}
		if seen {
			want = append(want, h.event)
		}
	}
	for {
		entries, next, err := ref.queries.Audit(ref.t.Context(), user, filter)
		if err != nil {
			ref.rt.Fatal(err)
		}
		for _, e := range entries {
			if slices.ContainsFunc(happened, func(h happening) bool { return h.event == e.ID }) {
				got = append(got, e.ID) // an administrator also sees entries of other runs
			}
			if e.Folder != uuid.Nil && ref.folders[e.Folder] != nil && !ref.ownsNow(user, e.Folder) && e.Type != "FolderInvitationDeclined" {
				ref.rt.Fatalf("Audit for %s shows folder %v of another owner: %+v", user.Principal, e.Folder, e)
			}
		}
		if filter.Cursor = next; next == "" || user.Admin && len(got) == len(want) {
			break
		}
	}
	ref.same(user, "trail", got, want)
}
