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

// same fails the run if got differs from want.
func (ref *reference) same(user events.User, what string, got, want []uuid.UUID) {
	ref.rt.Helper()
	if !slices.Equal(got, want) {
		ref.rt.Fatalf("%s for %s: got %v, want %v", what, user.Principal, got, want)
	}
}

// checkReadable fails the run unless err is nil for a readable thing and fault.NotFound
// for an unreadable one. It returns readable.
func (ref *reference) checkReadable(user events.User, what string, id uuid.UUID, err error, readable bool) bool {
	ref.rt.Helper()
	if readable && err != nil || !readable && !fault.Is(err, fault.NotFound) {
		ref.rt.Fatalf("%s of %v for %s: got error %v, want readable %v", what, id, user.Principal, err, readable)
	}
	return readable
}

// own returns the ids of those things in list that belong to this run. Administrators
// also see the things of other runs.
func own[T any](known func(uuid.UUID) bool, list []T, id func(T) uuid.UUID) (ids []uuid.UUID) {
	for _, one := range list {
		if known(id(one)) {
			ids = append(ids, id(one))
		}
	}
	return ids
}

func (ref *reference) folderIDs(list []vault.Folder) []uuid.UUID {
	return own(func(id uuid.UUID) bool { return ref.folders[id] != nil }, list, func(f vault.Folder) uuid.UUID { return f.ID })
}

func documentIDs(list []vault.Document) []uuid.UUID {
	return own(func(uuid.UUID) bool { return true }, list, func(d vault.Document) uuid.UUID { return d.ID })
}

func in(folder uuid.UUID) func(*refDocument) bool {
	return func(d *refDocument) bool { return d.folder == folder }
}

// listings checks the listings of folders that a user gets.
func (ref *reference) listings(user events.User) {
	ctx := ref.t.Context()
	top, err := ref.queries.Folders(ctx, user, nil)
	if err != nil {
		ref.rt.Fatal(err)
	}
	ref.same(user, "top level", ref.folderIDs(top), ref.children(user, uuid.Nil))
	for id, f := range ref.folders {
		readable := ref.reads(user, id)
		docs, _, err := ref.queries.Documents(ctx, user, vault.DocumentFilter{Folder: &id})
		if ref.checkReadable(user, "the listing", id, err, readable) {
			ref.same(user, "documents", documentIDs(docs), ref.readable(user, in(id)))
		}
		detail, err := ref.queries.FolderDetail(ctx, user, id)
		if !ref.checkReadable(user, "the folder", id, err, readable) {
			continue
		}
		path, parent := ref.path(id), f.parent
		path = slices.DeleteFunc(path[:len(path)-1], func(id uuid.UUID) bool { return !ref.reads(user, id) })
		if len(path) == 0 {
			parent = uuid.Nil
		}
		if detail.Parent != parent || detail.Name != f.name || detail.DocFolder != (len(detail.Documents) > 0) {
			ref.rt.Fatalf("FolderDetail for %s: got %+v, want %+v", user.Principal, detail.Folder, f)
		}
		ref.same(user, "ancestors", ref.folderIDs(detail.Ancestors), path)
		ref.same(user, "subfolders", ref.folderIDs(detail.Subfolders), ref.children(user, id))
		ref.same(user, "documents in the folder", documentIDs(detail.Documents), ref.readable(user, in(id)))
		ref.same(user, "documents of the parent", documentIDs(detail.ParentDocuments), ref.readable(user, in(parent)))
	}
}

// summaries checks the folder summaries that a user gets.
func (ref *reference) summaries(user events.User) {
	for id := range ref.folders {
		var want strings.Builder
		if ref.reads(user, id) {
			docs, folders := ref.readable(user, in(id)), ref.children(user, id)
			slices.SortFunc(docs, func(a, b uuid.UUID) int { return strings.Compare(ref.documents[a].title, ref.documents[b].title) })
			slices.SortFunc(folders, func(a, b uuid.UUID) int { return strings.Compare(ref.folders[a].name, ref.folders[b].name) })
			for _, d := range docs {
				fmt.Fprintf(&want, "- **%s** (%s)\n", ref.documents[d].title, ref.documents[d].name)
			}
			for _, f := range folders {
				text := fmt.Sprintf("- **%s/**: a folder with %d documents\n", ref.folders[f].name, len(ref.readable(user, in(f))))
				want.WriteString(strings.NewReplacer(" with 0 documents", "", " 1 documents", " 1 document").Replace(text))
			}
		}
		if ref.path(id) != nil { // another folder may have the path of a deleted one
			s, err := ref.queries.FolderSummary(ref.t.Context(), user, ref.pathName(id))
			if err != nil || s.Content != want.String() || (s.Status == "ok") != (want.Len() > 0) {
				ref.rt.Fatalf("FolderSummary for %s = %+v, %v, want %q", user.Principal, s, err, want.String())
			}
		}
		d, err := ref.queries.Document(ref.t.Context(), user, events.SummaryID(id))
		if ref.checkReadable(user, "the summary", id, err, want.Len() > 0) && !strings.HasSuffix(content(d), want.String()) {
			ref.rt.Fatalf("Document of a summary for %s = %q, want %q", user.Principal, content(d), want.String())
		}
	}
}

// singles checks what a user gets for documents by their ids.
func (ref *reference) singles(user events.User) {
	ctx := ref.t.Context()
	var ids, want []uuid.UUID
	for _, id := range ref.order {
		if ref.folders[id] != nil {
			continue
		}
		d := ref.documents[id] // nil if it was deleted
		ids = append(ids, id)
		readable := d != nil && ref.reads(user, d.folder)
		versions, err := ref.queries.Versions(ctx, user, id)
		if !ref.checkReadable(user, "the history", id, err, readable) {
			continue
		}
		if len(versions) != d.version {
			ref.rt.Fatalf("Versions for %s: got %d of %v, want %d", user.Principal, len(versions), id, d.version)
		}
		want = append(want, id)
		got, err := ref.queries.Describe(ctx, user, id)
		if err != nil || !slices.Equal(got.Tags, d.tags) {
			ref.rt.Fatalf("Describe for %s: got tags %v (%v), want %v", user.Principal, got.Tags, err, d.tags)
		}
	}
	batch, err := ref.queries.DocumentBatch(ctx, user, ids)
	if err != nil {
		ref.rt.Fatal(err)
	}
	ref.same(user, "batch", documentIDs(batch), want)
	for _, got := range batch {
		if d := ref.documents[got.ID]; got.Name != d.name || got.Title != d.title || got.Folder != d.folder || got.FolderPath != ref.pathName(d.folder) || got.Version != d.version {
			ref.rt.Fatalf("DocumentBatch for %s: got %+v, want %+v in %s", user.Principal, got, d, ref.pathName(d.folder))
		}
	}
}

// everywhere checks what a user gets for documents in all folders.
func (ref *reference) everywhere(user events.User) {
	ctx := ref.t.Context()
	var want []string
	for _, tag := range ref.tags {
		docs, _, err := ref.queries.Documents(ctx, user, vault.DocumentFilter{Tag: tag})
		if err != nil {
			ref.rt.Fatal(err)
		}
		tagged := ref.readable(user, func(d *refDocument) bool { return slices.Contains(d.tags, tag) })
		ref.same(user, "documents tagged "+tag, documentIDs(docs), tagged)
		if len(tagged) > 0 {
			want = append(want, tag)
		}
	}
	tags, err := ref.queries.VisibleTags(ctx, user)
	tags = slices.DeleteFunc(tags, func(tag string) bool { return !slices.Contains(ref.tags, tag) })
	if err != nil || !slices.Equal(tags, want) {
		ref.rt.Fatalf("VisibleTags for %s = %v, %v, want %v", user.Principal, tags, err, want)
	}
	sha256, folder := ref.bytes(), ref.pick("near", ref.liveFolder)
	copies := ref.readable(user, func(d *refDocument) bool { return d.sha256 == sha256 })
	if near := slices.DeleteFunc(slices.Clone(copies), func(id uuid.UUID) bool { return ref.documents[id].folder != folder }); len(near) > 0 {
		copies = near
	}
	if id, known, err := ref.queries.DuplicateOf(ctx, user, folder, sha256); err != nil || known != (len(copies) > 0) || known && !slices.Contains(copies, id) {
		ref.rt.Fatalf("DuplicateOf for %s = %v, %v, %v, want one of %v", user.Principal, id, known, err, copies)
	}
}

// invitations checks the user's own invitations, the invitations shown to folder owners,
// and the inviters that the user has blocked.
func (ref *reference) invitations(user events.User) {
	ctx := ref.t.Context()
	all, err := ref.queries.Invitations(ctx, user)
	if err != nil {
		ref.rt.Fatal(err)
	}
	shown := make(map[uuid.UUID]vault.Invitation)
	for _, i := range all {
		shown[i.Folder] = i
	}
	for id, f := range ref.folders {
		want, waits := ref.seesInvitation(user, id)
		if got, ok := shown[id]; ok != waits || waits && (got.Name != f.name || got.By != want.By || got.Access.String() != want.Access) {
			ref.rt.Fatalf("Invitations for %s: got %+v to %v, want %+v (exists: %v)", user.Principal, got, id, want, waits)
		}
		delete(shown, id)
		p, err := ref.queries.Permissions(ctx, user, id)
		if len(ref.path(id)) == 0 || !ref.ownsNow(user, id) {
			if err == nil {
				ref.rt.Fatalf("Permissions for %s, who does not own %v: got %+v, want an error", user.Principal, id, p)
			}
			continue
		}
		list := slices.SortedFunc(slices.Values(f.list), func(a, b events.Permission) int { return strings.Compare(string(a.Principal), string(b.Principal)) })
		var invited []events.Permission
		for _, i := range f.invited {
			invited = append(invited, events.Permission{Principal: i.Principal, Access: i.Access})
		}
		if err != nil || !slices.Equal(p.List, list) || !slices.Equal(p.Invited, invited) {
			ref.rt.Fatalf("Permissions for %s = %+v, %v of %v, want list %v and invited %v", user.Principal, p, err, id, list, invited)
		}
	}
	if len(shown) > 0 {
		ref.rt.Fatalf("Invitations for %s: got %v, which do not exist", user.Principal, shown)
	}
	blocked, err := ref.queries.BlockedInviters(ctx, user)
	if err != nil {
		ref.rt.Fatal(err)
	}
	for _, b := range blocked {
		if !ref.blocked[[2]events.Principal{user.Principal, b.By}] {
			ref.rt.Fatalf("BlockedInviters for %s: got %s, who is not blocked", user.Principal, b.By)
		}
	}
	for pair := range ref.blocked {
		if pair[0] == user.Principal && !slices.ContainsFunc(blocked, func(b vault.Blocked) bool { return b.By == pair[1] }) {
			ref.rt.Fatalf("BlockedInviters for %s: got none by %s, want one", user.Principal, pair[1])
		}
	}
}

// searches checks that a user finds only readable documents, and that the user finds all
// matching ones if the index has caught up.
func (ref *reference) searches(user events.User, caughtUp bool) {
	s := search.Query{Query: fmt.Sprint("heron", ref.number), Limit: 100, Tags: ref.drawTags(), AnyTag: rapid.Bool().Draw(ref.rt, "any tag")}
	scope := ref.pick("scope", ref.liveFolder)
	if rapid.Bool().Draw(ref.rt, "everywhere") {
		scope = uuid.Nil
	}
	s.Folder = ref.pathName(scope)
	sources, err := ref.queries.Search(ref.t.Context(), user, s)
	if err != nil {
		ref.rt.Fatal(err)
	}
	has := func(d *refDocument) func(string) bool {
		return func(tag string) bool { return slices.Contains(d.tags, tag) }
	}
	want := ref.readable(user, func(d *refDocument) bool {
		count := len(slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool { return !has(d)(tag) }))
		tagged := count == len(s.Tags) || s.AnyTag && count > 0
		return tagged && (scope == uuid.Nil || ref.reads(user, scope) && slices.Contains(ref.path(d.folder), scope))
	})
	got := found(sources)
	for _, id := range got {
		if !slices.Contains(want, id) {
			ref.rt.Fatalf("Search for %s by %+v: got %v, want only %v", user.Principal, s, id, want)
		}
	}
	if !caughtUp {
		return
	}
	if len(got) != len(want) {
		ref.rt.Fatalf("Search for %s by %+v: got %v, want %v", user.Principal, s, got, want)
	}
	for _, one := range sources {
		if one.Title != ref.documents[one.Document].title {
			ref.rt.Fatalf("Search for %s: got title %q, want %q", user.Principal, one.Title, ref.documents[one.Document].title)
		}
	}
}

// After any changes, every query returns to each user exactly what the user may read, as
// soon as the vault has applied the changes. A search never returns more than that; it
// is complete after the index has applied the changes, too.
func TestReadsReturnReadableOnly(t *testing.T) {
	f := newFixture(t)
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		ref := newReference(f, r, runs)
		for range rapid.IntRange(1, 12).Draw(r, "changes") {
			ref.change()
			ref.Await(ref.Models.Vault)
			for _, user := range ref.users {
				ref.searches(user, false)
			}
			user := rapid.SampledFrom(ref.users).Draw(r, "user")
			ref.listings(user)
			ref.summaries(user)
			ref.singles(user)
			ref.everywhere(user)
			ref.invitations(user)
			if rapid.IntRange(0, 3).Draw(r, "let the index catch up") == 0 {
				ref.Settle()
				ref.searches(user, true)
			}
		}
	})
}

func content(d vault.Document) string {
	if d.Content == nil {
		return ""
	}
	return *d.Content
}
