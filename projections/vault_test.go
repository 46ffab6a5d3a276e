package projections

import (
	"strings"
	"testing"

	"annals/events"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// rows writes the rows of a query of text columns, joined by " | ".
func rows(t *testing.T, r *Runner, query string, args ...any) string {
	t.Helper()
	all, err := Column(t.Context(), r.DB(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

const versionRow = ` || ' ' || version || ' ' || change || ' ' || name || ' ' || title || ' ' || tags || ' ' || sha256 || ' ' || content || ' ' || text_stream`

func TestEachChangeKeepsEarlierVersion(t *testing.T) {
	log := newLog(t)
	a, b, doc := uuid.New(), uuid.New(), uuid.New()
	stream := events.DocumentStream(doc)
	addBy(t, log, "user:alice", events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"})
	addBy(t, log, "user:alice", stream, events.DocumentImported{Version: 1, Folder: a, Name: "a.md", Tags: []string{"x"},
		Content: events.Content{Title: "A", SHA256: "aa", TextStream: "text-1"}})
	addBy(t, log, "user:bob", stream, events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentMoved{Version: 2, Folder: b})
	addBy(t, log, "user:carol", stream, events.DocumentTagged{Version: 3, Tags: []string{"y", "z"}})
	last := addBy(t, log, "user:dave", stream, events.DocumentRevised{Version: 4, Content: events.Content{Title: "D", SHA256: "dd", TextStream: "text-4"}})
	r := started(t, log, readmodel.Vault{})
	wait(t, r, last)

	want := strings.Join([]string{
		`user:alice 1 imported a.md A ["x"] aa 1 text-1`,
		`user:bob 2 renamed, moved b.md A ["x"] aa 1 text-1`,
		`user:carol 3 tagged b.md A ["y","z"] aa 1 text-1`,
	}, "\n")
	if got := rows(t, r, `SELECT created_by`+versionRow+` FROM versions ORDER BY version`); got != want {
		t.Errorf("earlier versions are\n%s\nwant\n%s", got, want)
	}
	if got, want := rows(t, r, `SELECT changed_by`+versionRow+` FROM documents`), `user:dave 4 revised b.md D ["y","z"] dd 4 text-4`; got != want {
		t.Errorf("the document is %s, want %s", got, want)
	}
	if got, want := rows(t, r, `SELECT folder FROM versions ORDER BY version`), strings.Join([]string{a.String(), b.String(), b.String()}, "\n"); got != want {
		t.Errorf("it was in the folders\n%s\nwant\n%s", got, want)
	}
	if n := number(t, r, `SELECT count(*) FROM versions v JOIN documents d ON d.id = v.document WHERE v.version = 1 AND v.created_at = d.created_at`); n != 1 {
		t.Error("the first version was not made when the document was")
	}

	wait(t, r, addBy(t, log, "user:dave", stream, events.DocumentDeleted{Version: 5}))
	if n := number(t, r, `SELECT (SELECT count(*) FROM versions) + (SELECT count(*) FROM documents) + (SELECT count(*) FROM tags)`); n != 0 {
		t.Errorf("a deleted document leaves %d rows", n)
	}
}

func TestFolderVersionAndOwners(t *testing.T) {
	log := newLog(t)
	a, b := uuid.New(), uuid.New()
	shared := []events.Permission{{Principal: "user:bob", Access: "own"}, {Principal: "group:g", Access: "read"}}
	add(t, log, events.Folders,
		events.FolderCreated{Folder: a, Name: "A", Owner: "user:alice"},
		events.FolderCreated{Folder: b, Parent: a, Name: "B"},
		events.FolderShared{Folder: b, Permissions: shared},
		events.FolderRenamed{Folder: a, Name: "C"},
	)
	moved := add(t, log, events.Folders, events.FolderMoved{Folder: b, Owner: "user:carol"})
	last := add(t, log, events.Folders, events.FolderShared{Folder: b, Permissions: shared[1:]})
	r := started(t, log, readmodel.Vault{})
	wait(t, r, last)

	if got, want := rows(t, r, `SELECT name || ' ' || version || ' ' || parent FROM folders ORDER BY name`), "B 4 \nC 2 "; got != want {
		t.Errorf("the folders are\n%s\nwant\n%s", got, want)
	}
	if n := number(t, r, `SELECT position FROM moved WHERE folder = $1`, b.String()); events.Position(n) != moved {
		t.Errorf("B was moved at %d, want %d", n, moved)
	}
	got := rows(t, r, `SELECT principal || ' ' || access || ' ' || owner FROM permissions WHERE folder = $1 ORDER BY principal`, b.String())
	if want := "group:g 1 0\nuser:carol 3 1"; got != want {
		t.Errorf("B is open to\n%s\nwant\n%s", got, want)
	}
}

func TestDeletedFolderKeepsNoPassages(t *testing.T) {
	log := newLog(t)
	top, below, other := uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: top, Name: "top"}, events.FolderCreated{Folder: below, Parent: top, Name: "below"},
		events.FolderCreated{Folder: other, Name: "other"}, events.FolderMoved{Folder: below, Parent: top})
	file := func(folder uuid.UUID) uuid.UUID {
		doc := uuid.New()
		d := imported(folder, "a.md")
		d.Tags = []string{"t"}
		add(t, log, events.DocumentStream(doc), d, events.DocumentRenamed{Version: 2, Name: "b.md"})
		return doc
	}
	file(top)
	file(below)
	kept, late := file(other), file(other)
	add(t, log, events.Folders, events.FolderDeleted{Folder: top})
	arriving := file(below)
	add(t, log, events.DocumentStream(late), events.DocumentMoved{Version: 3, Folder: below})
	last := add(t, log, events.DocumentStream(arriving), events.DocumentTagged{Version: 3, Tags: []string{"u"}})
	for _, p := range []readmodel.Projection{readmodel.Vault{}, readmodel.Summaries{}, readmodel.Usage{}} {
		r := started(t, log, p)
		wait(t, r, last)
		if n := number(t, r, `SELECT count(*) FROM folders WHERE deleted = 1`); n != 2 {
			t.Errorf("%s: %d folders are marked as deleted, want 2", p.Name(), n)
		}
		if _, ok := p.(readmodel.Vault); !ok {
			continue
		}
		emptied(t, r)
		for _, table := range []string{`id FROM documents`, `document FROM versions`, `document FROM tags`} {
			if got := rows(t, r, `SELECT `+table); got != kept.String() {
				t.Errorf("after the folder's deletion: SELECT %s gives\n%s\nwant %s", table, got, kept)
			}
		}
		if n := number(t, r, `SELECT count(*) FROM moved`); n != 0 {
			t.Errorf("%d moves are kept of folders that are gone", n)
		}
	}
}

// emptied returns once the documents of deleted folders are removed.
func emptied(t *testing.T, r *Runner) {
	t.Helper()
	for {
		_, moved := r.Moved()
		if number(t, r, `SELECT count(*) FROM emptied`) == 0 {
			return
		}
		<-moved
	}
}

// finish does what waits behind everything new, of a runner that does not run.
func finish(t *testing.T, r *Runner) {
	t.Helper()
	for {
		if more, err := r.doDeferred(t.Context()); err != nil {
			t.Fatal(err)
		} else if !more {
			return
		}
	}
}

func TestDeletedFolderHidesDocumentsUntilRemoval(t *testing.T) {
	log := newLog(t)
	gone, other, doc := uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: gone, Name: "gone"}, events.FolderCreated{Folder: other, Name: "other"})
	add(t, log, events.DocumentStream(doc), imported(gone, "a.md"))
	add(t, log, events.Folders, events.FolderDeleted{Folder: gone})
	add(t, log, events.DocumentStream(doc), events.DocumentMoved{Version: 2, Folder: other})
	r, err := runnerOver(t.Context(), log, readmodel.Vault{}, homeIn(t, t.TempDir()), "vault", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if _, err := r.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, r, `SELECT folder FROM documents`); got != gone.String() {
		t.Errorf("it is in %q, want %s", got, gone)
	}
	finish(t, r)
	if n := number(t, r, `SELECT count(*) FROM documents`); n != 0 {
		t.Errorf("%d documents are left", n)
	}
}

func TestApplyingChangesAgainChangesNothing(t *testing.T) {
	log := newLog(t)
	document := revised(t, log)
	gone := uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: gone, Name: "gone"})
	through := uuid.New()
	add(t, log, events.DocumentStream(through), imported(gone, "passing.md"))
	add(t, log, events.DocumentStream(document), events.DocumentMoved{Version: 6, Folder: gone}, events.DocumentRenamed{Version: 6, Name: "z.md"})
	kept := uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: kept, Name: "kept"})
	add(t, log, events.DocumentStream(document), events.DocumentMoved{Version: 7, Folder: kept})
	add(t, log, events.Folders, events.FolderMoved{Folder: kept, Owner: "user:alice"}, events.FolderDeleted{Folder: gone})
	r, err := runnerOver(t.Context(), log, readmodel.Vault{}, homeIn(t, t.TempDir()), "vault", quiet)
	if err != nil {
		t.Fatal(err)
	}
	batch, last, err := log.Read(t.Context(), 0, 100, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	var before string
	for range 2 {
		if err := r.serving.ApplyBatch(t.Context(), batch, last); err != nil {
			t.Fatal(err)
		}
		finish(t, r)
		after := dump(t, r)
		if before != "" && after != before {
			t.Errorf("after a second time:\n%s\nbefore:\n%s", after, before)
		}
		before = after
	}
	if got, want := rows(t, r, `SELECT id || ' ' || version || ' ' || folder FROM documents`), document.String()+" 7 "+kept.String(); got != want {
		t.Errorf("the vault holds %s, want %s", got, want)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// What stands in the log of invitations gives the same tables however often it
// is applied.
func TestInvitationsApartFromGrants(t *testing.T) {
	log := newLog(t)
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	invite := func(folder uuid.UUID, by events.Principal, access string, who ...events.Principal) events.FolderShared {
		s := events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "group:g", Access: "own"}}}
		for _, p := range who {
			s.Invitations = append(s.Invitations, events.Invitation{Principal: p, Access: access, By: by, Through: "group:g"})
		}
		return s
	}
	add(t, log, events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"}, events.FolderCreated{Folder: c, Parent: b, Name: "C"})
	add(t, log, events.Folders, invite(a, "user:eve", "write", "user:bob", "user:carol", "user:dave", "user:erin"))
	add(t, log, events.Folders, events.FolderInvitationDeclined{Folder: a, Principal: "user:bob", By: "user:eve"},
		events.FolderInvitationDeclined{Folder: a, Principal: "user:dave", By: "user:eve"})
	last := add(t, log, events.Folders,
		events.FolderInvitationAccepted{Folder: a, Principal: "user:carol", Access: "write", By: "user:eve"},
		events.FolderInvitationAccepted{Folder: a, Principal: "user:erin", Access: "write", By: "user:eve"},
		events.FolderLeft{Folder: a, Principal: "user:erin"},
		events.InviterUnblocked{Principal: "user:dave", By: "user:eve"},
		invite(b, "user:eve", "read", "user:bob", "user:dave"),
		invite(c, "user:eve", "own", "user:carol"),
		events.FolderDeleted{Folder: c},
		invite(b, "user:eve", "read", "user:bob", "user:dave", "user:zoe"),
		invite(b, "user:mallory", "read", "user:bob", "user:dave"),
	)
	r, err := runnerOver(t.Context(), log, readmodel.Vault{}, homeIn(t, t.TempDir()), "vault", quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close() })
	batch, _, err := log.Read(t.Context(), 0, 100, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.serving.ApplyBatch(t.Context(), batch, last); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]string{
			`SELECT f.name || ' ' || principal || ' ' || access FROM permissions p JOIN folders f ON f.id = p.folder WHERE principal <> 'group:g' ORDER BY 1`: "A user:carol 2",
			`SELECT f.name || ' ' || principal || ' ' || access || ' ' || inviter || ' ' || through FROM invitations i JOIN folders f ON f.id = i.folder ORDER BY 1`: "A user:bob 2 user:eve group:g\n" +
				"A user:dave 2 user:eve group:g\nB user:bob 1 user:mallory group:g\nB user:dave 1 user:mallory group:g",
			`SELECT principal || ' ' || inviter FROM blocked`:                         "user:bob user:eve",
			`SELECT name || ' ' || version FROM folders WHERE deleted = 0 ORDER BY 1`: "A 5\nB 4",
		} {
			if got := rows(t, r, query); got != want {
				t.Errorf("%s\n%s\nwant\n%s", query, got, want)
			}
		}
	}
}
