package readmodel_test

import (
	"strings"
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

const versionRow = ` || ' ' || version || ' ' || change || ' ' || name || ' ' || title || ' ' || tags || ' ' || sha256 || ' ' || content || ' ' || text_stream`

func TestEachChangeKeepsEarlierVersion(t *testing.T) {
	log := projectionstest.NewLog(t)
	a, b, doc := uuid.New(), uuid.New(), uuid.New()
	stream := events.DocumentStream(doc)
	projectionstest.AppendAs(t, log, "user:alice", events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"})
	projectionstest.AppendAs(t, log, "user:alice", stream, events.DocumentImported{Version: 1, Folder: a, Name: "a.md", Tags: []string{"x"},
		Content: events.Content{Title: "A", SHA256: "aa", TextStream: "text-1"}})
	projectionstest.AppendAs(t, log, "user:bob", stream, events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentMoved{Version: 2, Folder: b})
	projectionstest.AppendAs(t, log, "user:carol", stream, events.DocumentTagged{Version: 3, Tags: []string{"y", "z"}})
	projectionstest.AppendAs(t, log, "user:dave", stream, events.DocumentRevised{Version: 4, Content: events.Content{Title: "D", SHA256: "dd", TextStream: "text-4"}})
	m := projectionstest.Fold(t, log, readmodel.Vault{})

	want := strings.Join([]string{
		`user:alice 1 imported a.md A ["x"] aa 1 text-1`,
		`user:bob 2 renamed, moved b.md A ["x"] aa 1 text-1`,
		`user:carol 3 tagged b.md A ["y","z"] aa 1 text-1`,
	}, "\n")
	if got := projectionstest.Rows(t, m.DB(), `SELECT created_by`+versionRow+` FROM versions ORDER BY version`); got != want {
		t.Errorf("the earlier versions are\n%s\nwant\n%s", got, want)
	}
	if got, want := projectionstest.Rows(t, m.DB(), `SELECT changed_by`+versionRow+` FROM documents`), `user:dave 4 revised b.md D ["y","z"] dd 4 text-4`; got != want {
		t.Errorf("the document is %s, want %s", got, want)
	}
	if got, want := projectionstest.Rows(t, m.DB(), `SELECT folder FROM versions ORDER BY version`), strings.Join([]string{a.String(), b.String(), b.String()}, "\n"); got != want {
		t.Errorf("the folders of the earlier versions are\n%s\nwant\n%s", got, want)
	}
	if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM versions v JOIN documents d ON d.id = v.document WHERE v.version = 1 AND v.created_at = d.created_at`); n != 1 {
		t.Error("the creation times of the document and of its version 1 differ")
	}

	projectionstest.AppendAs(t, log, "user:dave", stream, events.DocumentDeleted{Version: 5})
	m.ApplyAll()
	if n := projectionstest.Number(t, m.DB(), `SELECT (SELECT count(*) FROM versions) + (SELECT count(*) FROM documents) + (SELECT count(*) FROM tags)`); n != 0 {
		t.Errorf("the deleted document has %d rows, want none", n)
	}
}

func TestFolderVersionAndOwners(t *testing.T) {
	log := projectionstest.NewLog(t)
	a, b := uuid.New(), uuid.New()
	shared := []events.Permission{{Principal: "user:bob", Access: "own"}, {Principal: "group:g", Access: "read"}}
	projectionstest.Append(t, log, events.Folders,
		events.FolderCreated{Folder: a, Name: "A", Owner: "user:alice"},
		events.FolderCreated{Folder: b, Parent: a, Name: "B"},
		events.FolderShared{Folder: b, Permissions: shared},
		events.FolderRenamed{Folder: a, Name: "C"},
	)
	moved := projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: b, Owner: "user:carol"})
	projectionstest.Append(t, log, events.Folders, events.FolderShared{Folder: b, Permissions: shared[1:]})
	m := projectionstest.Fold(t, log, readmodel.Vault{})

	if got, want := projectionstest.Rows(t, m.DB(), `SELECT name || ' ' || version || ' ' || parent FROM folders ORDER BY name`), "B 4 \nC 2 "; got != want {
		t.Errorf("the folders are\n%s\nwant\n%s", got, want)
	}
	if n := projectionstest.Number(t, m.DB(), `SELECT position FROM moved WHERE folder = $1`, b.String()); events.Position(n) != moved {
		t.Errorf("the position of the last move of B is %d, want %d", n, moved)
	}
	got := projectionstest.Rows(t, m.DB(), `SELECT principal || ' ' || access || ' ' || owner FROM permissions WHERE folder = $1 ORDER BY principal`, b.String())
	if want := "group:g 1 0\nuser:carol 3 1"; got != want {
		t.Errorf("the permissions of B are\n%s\nwant\n%s", got, want)
	}
}

func TestDeletedFolderKeepsNoDocuments(t *testing.T) {
	log := projectionstest.NewLog(t)
	top, below, other := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: top, Name: "top"}, events.FolderCreated{Folder: below, Parent: top, Name: "below"},
		events.FolderCreated{Folder: other, Name: "other"}, events.FolderMoved{Folder: below, Parent: top})
	file := func(folder uuid.UUID) uuid.UUID {
		doc := uuid.New()
		d := projectionstest.Imported(folder, "a.md")
		d.Tags = []string{"t"}
		projectionstest.Append(t, log, events.DocumentStream(doc), d, events.DocumentRenamed{Version: 2, Name: "b.md"})
		return doc
	}
	file(top)
	file(below)
	kept, late := file(other), file(other)
	projectionstest.Append(t, log, events.Folders, events.FolderDeleted{Folder: top})
	arriving := file(below)
	projectionstest.Append(t, log, events.DocumentStream(late), events.DocumentMoved{Version: 3, Folder: below})
	projectionstest.Append(t, log, events.DocumentStream(arriving), events.DocumentTagged{Version: 3, Tags: []string{"u"}})
	for _, p := range []readmodel.Projection{readmodel.Vault{}, readmodel.Summaries{}, readmodel.Usage{}} {
		m := projectionstest.Fold(t, log, p)
		if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM folders WHERE deleted = 1`); n != 2 {
			t.Errorf("%s: %d folders are marked as deleted, want 2", p.Name(), n)
		}
		if _, ok := p.(readmodel.Vault); !ok {
			continue
		}
		for _, table := range []string{`id FROM documents`, `document FROM versions`, `document FROM tags`} {
			if got := projectionstest.Rows(t, m.DB(), `SELECT `+table); got != kept.String() {
				t.Errorf("after the deletion, SELECT %s returns\n%s\nwant %s", table, got, kept)
			}
		}
		if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM moved`); n != 0 {
			t.Errorf("%d moves of deleted folders are kept, want none", n)
		}
	}
}

func TestDeletedFolderHidesDocumentsUntilRemoval(t *testing.T) {
	log := projectionstest.NewLog(t)
	gone, other, doc := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: gone, Name: "gone"}, events.FolderCreated{Folder: other, Name: "other"})
	projectionstest.Append(t, log, events.DocumentStream(doc), projectionstest.Imported(gone, "a.md"))
	projectionstest.Append(t, log, events.Folders, events.FolderDeleted{Folder: gone})
	projectionstest.Append(t, log, events.DocumentStream(doc), events.DocumentMoved{Version: 2, Folder: other})
	m := projectionstest.OpenModel(t, log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()))
	m.StepOnce()
	if got := projectionstest.Rows(t, m.DB(), `SELECT folder FROM documents`); got != gone.String() {
		t.Errorf("before the removal the document is in %q, want %s", got, gone)
	}
	m.DoAllDeferred()
	if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM documents`); n != 0 {
		t.Errorf("after the removal %d documents are left, want none", n)
	}
}

func TestVaultApplyIsIdempotent(t *testing.T) {
	log := projectionstest.NewLog(t)
	document := projectionstest.ReviseDocument(t, log)
	gone := uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: gone, Name: "gone"})
	through := uuid.New()
	projectionstest.Append(t, log, events.DocumentStream(through), projectionstest.Imported(gone, "passing.md"))
	projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentMoved{Version: 6, Folder: gone}, events.DocumentRenamed{Version: 6, Name: "z.md"})
	kept := uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: kept, Name: "kept"})
	projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentMoved{Version: 7, Folder: kept})
	projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: kept, Owner: "user:alice"}, events.FolderDeleted{Folder: gone})
	m := projectionstest.OpenModel(t, log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()))
	batch, last := m.EventsAfter(0)
	var before string
	for range 2 {
		m.ApplyEvents(batch, last)
		m.DoAllDeferred()
		after := projectionstest.Dump(t, m.DB())
		if before != "" && after != before {
			t.Errorf("applied twice, the tables are\n%s\nwant\n%s", after, before)
		}
		before = after
	}
	if got, want := projectionstest.Rows(t, m.DB(), `SELECT id || ' ' || version || ' ' || folder FROM documents`), document.String()+" 7 "+kept.String(); got != want {
		t.Errorf("the vault contains %s, want %s", got, want)
	}
}

// An invitation must not be a permission until it is accepted. Applying the events twice
// must change nothing.
func TestInvitationsAreNoPermissions(t *testing.T) {
	log := projectionstest.NewLog(t)
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	invite := func(folder uuid.UUID, by events.Principal, access string, who ...events.Principal) events.FolderShared {
		s := events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "group:g", Access: "own"}}}
		for _, p := range who {
			s.Invitations = append(s.Invitations, events.Invitation{Principal: p, Access: access, By: by, Through: "group:g"})
		}
		return s
	}
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"}, events.FolderCreated{Folder: c, Parent: b, Name: "C"})
	projectionstest.Append(t, log, events.Folders, invite(a, "user:eve", "write", "user:bob", "user:carol", "user:dave", "user:erin"))
	projectionstest.Append(t, log, events.Folders, events.FolderInvitationDeclined{Folder: a, Principal: "user:bob", By: "user:eve"},
		events.FolderInvitationDeclined{Folder: a, Principal: "user:dave", By: "user:eve"})
	last := projectionstest.Append(t, log, events.Folders,
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
	m := projectionstest.OpenModel(t, log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()))
	batch, _ := m.EventsAfter(0)
	for range 2 {
		m.ApplyEvents(batch, last)
		for query, want := range map[string]string{
			`SELECT f.name || ' ' || principal || ' ' || access FROM permissions p JOIN folders f ON f.id = p.folder WHERE principal <> 'group:g' ORDER BY 1`: "A user:carol 2",
			`SELECT f.name || ' ' || principal || ' ' || access || ' ' || inviter || ' ' || through FROM invitations i JOIN folders f ON f.id = i.folder ORDER BY 1`: "A user:bob 2 user:eve group:g\n" +
				"A user:dave 2 user:eve group:g\nB user:bob 1 user:mallory group:g\nB user:dave 1 user:mallory group:g",
			`SELECT principal || ' ' || inviter FROM blocked`:                         "user:bob user:eve",
			`SELECT name || ' ' || version FROM folders WHERE deleted = 0 ORDER BY 1`: "A 5\nB 4",
		} {
			if got := projectionstest.Rows(t, m.DB(), query); got != want {
				t.Errorf("%s returns\n%s\nwant\n%s", query, got, want)
			}
		}
	}
}
