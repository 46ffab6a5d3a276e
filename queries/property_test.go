//go:build !race

package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// same fails the run unless got is want, in that order.
func (w *world) same(user events.User, what string, got, want []uuid.UUID) {
	w.r.Helper()
	if !slices.Equal(got, want) {
		w.r.Fatalf("%s gets as %s %v, want %v", user.Principal, what, got, want)
	}
}

// checkReadable fails the run unless an error says fault.NotFound of what may not be
// read, and nothing of what may. It reports whether there is anything to see.
func (w *world) checkReadable(user events.User, what string, id uuid.UUID, err error, readable bool) bool {
	w.r.Helper()
	if readable && err != nil || !readable && !fault.Is(err, fault.NotFound) {
		w.r.Fatalf("%s of %v is shown to %s: %v; he may read it: %v", what, id, user.Principal, err, readable)
	}
	return readable
}

// own returns the ids of things of this world: an admin reads others, too.
func own[T any](known func(uuid.UUID) bool, list []T, id func(T) uuid.UUID) (ids []uuid.UUID) {
	for _, one := range list {
		if known(id(one)) {
			ids = append(ids, id(one))
		}
	}
	return ids
}

func (w *world) folderIDs(list []vault.Folder) []uuid.UUID {
	return own(func(id uuid.UUID) bool { return w.folders[id] != nil }, list, func(f vault.Folder) uuid.UUID { return f.ID })
}

func documentIDs(list []vault.Document) []uuid.UUID {
	return own(func(uuid.UUID) bool { return true }, list, func(d vault.Document) uuid.UUID { return d.ID })
}

func in(folder uuid.UUID) func(*worldDocument) bool {
	return func(d *worldDocument) bool { return d.folder == folder }
}

// listings checks the listings of folders that a user gets.
func (w *world) listings(user events.User) {
	ctx := w.t.Context()
	top, err := w.Folders(ctx, user, nil)
	if err != nil {
		w.r.Fatal(err)
	}
	w.same(user, "top level", w.folderIDs(top), w.children(user, uuid.Nil))
	for id, f := range w.folders {
		readable := w.reads(user, id)
		docs, _, err := w.Documents(ctx, user, vault.DocumentFilter{Folder: &id})
		if w.checkReadable(user, "the listing", id, err, readable) {
			w.same(user, "documents", documentIDs(docs), w.readable(user, in(id)))
		}
		detail, err := w.FolderDetail(ctx, user, id)
		if !w.checkReadable(user, "the folder", id, err, readable) {
			continue
		}
		path, parent := w.path(id), f.parent
		path = slices.DeleteFunc(path[:len(path)-1], func(id uuid.UUID) bool { return !w.reads(user, id) })
		if len(path) == 0 {
			parent = uuid.Nil
		}
		if detail.Parent != parent || detail.Name != f.name || detail.DocFolder != (len(detail.Documents) > 0) {
			w.r.Fatalf("%s gets the folder %+v, want %+v", user.Principal, detail.Folder, f)
		}
		w.same(user, "ancestors", w.folderIDs(detail.Ancestors), path)
		w.same(user, "subfolders", w.folderIDs(detail.Subfolders), w.children(user, id))
		w.same(user, "documents in the folder", documentIDs(detail.Documents), w.readable(user, in(id)))
		w.same(user, "documents of the parent", documentIDs(detail.ParentDocuments), w.readable(user, in(parent)))
	}
}

// summaries checks the folder summaries that a user gets.
func (w *world) summaries(user events.User) {
	for id := range w.folders {
		var want strings.Builder
		if w.reads(user, id) {
			docs, folders := w.readable(user, in(id)), w.children(user, id)
			slices.SortFunc(docs, func(a, b uuid.UUID) int { return strings.Compare(w.documents[a].title, w.documents[b].title) })
			slices.SortFunc(folders, func(a, b uuid.UUID) int { return strings.Compare(w.folders[a].name, w.folders[b].name) })
			for _, d := range docs {
				fmt.Fprintf(&want, "- **%s** (%s)\n", w.documents[d].title, w.documents[d].name)
			}
			for _, f := range folders {
				text := fmt.Sprintf("- **%s/**: a folder with %d documents\n", w.folders[f].name, len(w.readable(user, in(f))))
				want.WriteString(strings.NewReplacer(" with 0 documents", "", " 1 documents", " 1 document").Replace(text))
			}
		}
		if w.path(id) != nil { // another folder may have its path now
			s, err := w.FolderSummary(w.t.Context(), user, w.pathName(id))
			if err != nil || s.Content != want.String() || (s.Status == "ok") != (want.Len() > 0) {
				w.r.Fatalf("%s gets the summary %+v (%v), want %q", user.Principal, s, err, want.String())
			}
		}
		d, err := w.Document(w.t.Context(), user, events.SummaryID(id))
		if w.checkReadable(user, "the summary", id, err, want.Len() > 0) && !strings.HasSuffix(content(d), want.String()) {
			w.r.Fatalf("%s gets the summary %q, want %q", user.Principal, content(d), want.String())
		}
	}
}

// singles checks what a user gets for documents by their ids.
func (w *world) singles(user events.User) {
	ctx := w.t.Context()
	var ids, want []uuid.UUID
	for _, id := range w.order {
		if w.folders[id] != nil {
			continue
		}
		d := w.documents[id] // nil once it was removed
		ids = append(ids, id)
		readable := d != nil && w.reads(user, d.folder)
		versions, err := w.Versions(ctx, user, id)
		if !w.checkReadable(user, "the history", id, err, readable) {
			continue
		}
		if len(versions) != d.version {
			w.r.Fatalf("%s gets %d versions of %v, want %d", user.Principal, len(versions), id, d.version)
		}
		want = append(want, id)
		got, err := w.Describe(ctx, user, id)
		if err != nil || !slices.Equal(got.Tags, d.tags) {
			w.r.Fatalf("%s gets the tags %v (%v), want %v", user.Principal, got.Tags, err, d.tags)
		}
	}
	batch, err := w.DocumentBatch(ctx, user, ids)
	if err != nil {
		w.r.Fatal(err)
	}
	w.same(user, "batch", documentIDs(batch), want)
	for _, got := range batch {
		if d := w.documents[got.ID]; got.Name != d.name || got.Title != d.title || got.Folder != d.folder || got.FolderPath != w.pathName(d.folder) || got.Version != d.version {
			w.r.Fatalf("%s gets %+v, want %+v in %s", user.Principal, got, d, w.pathName(d.folder))
		}
	}
}

// everywhere checks what a user gets for documents in all folders.
func (w *world) everywhere(user events.User) {
	ctx := w.t.Context()
	var want []string
	for _, tag := range w.tags {
		docs, _, err := w.Documents(ctx, user, vault.DocumentFilter{Tag: tag})
		if err != nil {
			w.r.Fatal(err)
		}
		tagged := w.readable(user, func(d *worldDocument) bool { return slices.Contains(d.tags, tag) })
		w.same(user, "documents tagged "+tag, documentIDs(docs), tagged)
		if len(tagged) > 0 {
			want = append(want, tag)
		}
	}
	tags, err := w.VisibleTags(ctx, user)
	tags = slices.DeleteFunc(tags, func(tag string) bool { return !slices.Contains(w.tags, tag) })
	if err != nil || !slices.Equal(tags, want) {
		w.r.Fatalf("%s sees the tags %v (%v), want %v", user.Principal, tags, err, want)
	}
	sha256, folder := w.bytes(), w.pick("near", w.liveFolder)
	copies := w.readable(user, func(d *worldDocument) bool { return d.sha256 == sha256 })
	if near := slices.DeleteFunc(slices.Clone(copies), func(id uuid.UUID) bool { return w.documents[id].folder != folder }); len(near) > 0 {
		copies = near
	}
	if id, known, err := w.DuplicateOf(ctx, user, folder, sha256); err != nil || known != (len(copies) > 0) || known && !slices.Contains(copies, id) {
		w.r.Fatalf("%s sees the duplicate %v, %v (%v), want one of %v", user.Principal, id, known, err, copies)
	}
}

// invitations checks the invitations that a user gets, and owners of whom they wait
// for.
func (w *world) invitations(user events.User) {
	ctx := w.t.Context()
	all, err := w.Invitations(ctx, user)
	if err != nil {
		w.r.Fatal(err)
	}
	shown := make(map[uuid.UUID]vault.Invitation)
	for _, i := range all {
		shown[i.Folder] = i
	}
	for id, f := range w.folders {
		want, waits := w.seesInvitation(user, id)
		if got, ok := shown[id]; ok != waits || waits && (got.Name != f.name || got.By != want.By || got.Access.String() != want.Access) {
			w.r.Fatalf("%s sees the invitation %+v to %v, want %+v: %v", user.Principal, got, id, want, waits)
		}
		delete(shown, id)
		p, err := w.Permissions(ctx, user, id)
		if len(w.path(id)) == 0 || !w.ownsNow(user, id) {
			if err == nil {
				w.r.Fatalf("%s, who does not own %v, gets %+v", user.Principal, id, p)
			}
			continue
		}
		list := slices.SortedFunc(slices.Values(f.list), func(a, b events.Permission) int { return strings.Compare(string(a.Principal), string(b.Principal)) })
		var invited []events.Permission
		for _, i := range f.invited {
			invited = append(invited, events.Permission{Principal: i.Principal, Access: i.Access})
		}
		if err != nil || !slices.Equal(p.List, list) || !slices.Equal(p.Invited, invited) {
			w.r.Fatalf("%s gets %+v (%v) of %v, want %v and %v", user.Principal, p, err, id, list, invited)
		}
	}
	if len(shown) > 0 {
		w.r.Fatalf("%s sees invitations that there are not: %v", user.Principal, shown)
	}
	blocked, err := w.BlockedInviters(ctx, user)
	if err != nil {
		w.r.Fatal(err)
	}
	for _, b := range blocked {
		if !w.blocked[[2]events.Principal{user.Principal, b.By}] {
			w.r.Fatalf("%s has not blocked %s", user.Principal, b.By)
		}
	}
	for pair := range w.blocked {
		if pair[0] == user.Principal && !slices.ContainsFunc(blocked, func(b vault.Blocked) bool { return b.By == pair[1] }) {
			w.r.Fatalf("%s does not see that %s is blocked", user.Principal, pair[1])
		}
	}
}

// searches checks what a user finds; where the index has caught up, that is all
// that he may.
func (w *world) searches(user events.User, caughtUp bool) {
	s := search.Query{Query: fmt.Sprint("heron", w.number), Limit: 100, Tags: w.drawTags(), AnyTag: rapid.Bool().Draw(w.r, "any tag")}
	scope := w.pick("scope", w.liveFolder)
	if rapid.Bool().Draw(w.r, "everywhere") {
		scope = uuid.Nil
	}
	s.Folder = w.pathName(scope)
	sources, err := w.Search(w.t.Context(), user, s)
	if err != nil {
		w.r.Fatal(err)
	}
	has := func(d *worldDocument) func(string) bool {
		return func(tag string) bool { return slices.Contains(d.tags, tag) }
	}
	want := w.readable(user, func(d *worldDocument) bool {
		count := len(slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool { return !has(d)(tag) }))
		tagged := count == len(s.Tags) || s.AnyTag && count > 0
		return tagged && (scope == uuid.Nil || w.reads(user, scope) && slices.Contains(w.path(d.folder), scope))
	})
	got := found(sources)
	for _, id := range got {
		if !slices.Contains(want, id) {
			w.r.Fatalf("%s, asking %+v, finds %v, which is none of %v", user.Principal, s, id, want)
		}
	}
	if !caughtUp {
		return
	}
	if len(got) != len(want) {
		w.r.Fatalf("%s, asking %+v, finds %v, want %v", user.Principal, s, got, want)
	}
	for _, one := range sources {
		if one.Title != w.documents[one.Document].title {
			w.r.Fatalf("%s finds %q, want the title %q", user.Principal, one.Title, w.documents[one.Document].title)
		}
	}
}

// Whatever is changed, every way of reading gives every user what he may read
// and nothing else, as soon as the vault has passed the change; and a search
// gives all of it once the index has.
func TestReadsGiveReadableOnly(t *testing.T) {
	f := newFixture(t)
	worlds := 0
	rapid.Check(t, func(r *rapid.T) {
		worlds++
		w := newWorld(f, r, worlds)
		for range rapid.IntRange(1, 12).Draw(r, "changes") {
			w.change()
			if err := w.Models.Vault.Wait(t.Context(), w.at); err != nil {
				r.Fatal(err)
			}
			for _, user := range w.users {
				w.searches(user, false)
			}
			user := rapid.SampledFrom(w.users).Draw(r, "user")
			w.listings(user)
			w.summaries(user)
			w.singles(user)
			w.everywhere(user)
			w.invitations(user)
			if rapid.IntRange(0, 3).Draw(r, "let the index catch up") == 0 {
				w.settle()
				w.searches(user, true)
			}
		}
	})
}
