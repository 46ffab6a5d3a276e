package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstest"
	"annals/events/fault"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/queries/audit"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

// fixture is a log with read models, and the Auditor that reads them.
type fixture struct {
	*queriestest.World
	audit *audit.Auditor
	t     testing.TB
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := queriestest.Open(t)
	return &fixture{w, &audit.Auditor{Models: w.Models}, t}
}

var (
	admin = queriestest.Admin
	alice = queriestest.Alice
	bob   = queriestest.Bob
	eve   = queriestest.Eve
)

// trailOf returns the actor and sentence of each entry, the newest first.
func (f *fixture) trailOf(user events.User, filter audit.Filter) (words []string) {
	f.t.Helper()
	f.Settle()
	entries, _, err := f.audit.Audit(f.t.Context(), user, filter)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		words = append(words, e.Actor.Name()+" "+e.What)
	}
	return words
}

func (f *fixture) wantTrail(user events.User, filter audit.Filter, want ...string) {
	f.t.Helper()
	if got := f.trailOf(user, filter); !slices.Equal(got, want) {
		f.t.Errorf("Audit(%s) =\n%s\nwant\n%s", user.Principal, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAuditSentences(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	id := f.AddDocument(top, "a.md", []string{"x", "y"}, "Text.")
	stream := events.DocumentStream(id)
	f.AppendAs("user:bob", stream, events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentMoved{Version: 2, Folder: sub})
	f.Append(events.Folders, events.FolderRenamed{Folder: sub, Name: "Low"})
	f.Append(stream, events.DocumentTagged{Version: 3, Tags: []string{"z"}}, events.DocumentTagged{Version: 4})
	f.Revise(id, 5, "More text.")
	f.Append(stream, events.DocumentReread{Version: 6, Content: events.Content{SHA256: strings.Repeat("0b", 32), TextStream: events.TextStream(id, 5)}}, events.DocumentDeleted{Version: 7})
	f.Share(sub, "group:staff", "read")
	f.Append(events.Folders, events.FolderShared{Folder: sub}, events.FolderMoved{Folder: sub, Owner: "user:alice"}, events.FolderMoved{Folder: sub, Parent: top}, events.FolderDeleted{Folder: sub})

	f.wantTrail(alice, audit.Filter{Folder: &top},
		`alice deleted folder "Low" and all that was in it`,
		`alice moved folder "Low" to folder "Top"`,
		`alice moved folder "Low" from folder "Top" to the top level`,
		`alice shared folder "Low" with nobody else`,
		`alice shared folder "Low" with group:staff (read)`,
		`alice deleted document "b.md"`,
		`alice had document "b.md" read again`,
		`alice gave document "b.md" new content`,
		`alice removed all tags of document "b.md"`,
		`alice set the tags of document "b.md" to "z"`,
		`alice renamed folder "Sub" to "Low"`,
		`bob moved document "b.md" from folder "Top" to folder "Sub"`,
		`bob renamed document "a.md" to "b.md"`,
		`alice imported document "a.md" into folder "Top", tagged "x", "y"`,
		`alice made folder "Sub" in folder "Top"`,
		`alice made folder "Top"`)
	f.wantTrail(alice, audit.Filter{Actor: "user:bob", Limit: 1}, `bob moved document "b.md" from folder "Top" to folder "Sub"`)

	entries, _, err := f.audit.Audit(t.Context(), alice, audit.Filter{Document: &id, Actor: "user:bob"})
	if err != nil || len(entries) != 2 {
		t.Fatalf("Audit: got %d entries (%v), want 2", len(entries), err)
	}
	moved, renamed := entries[0], entries[1]
	if moved.Document != id || moved.Name != "b.md" || moved.Folder != sub || moved.FolderName != "Sub" || moved.Via != "vault" || moved.Correlation != "request-1" || moved.Type != "DocumentMoved" {
		t.Errorf("Audit: got entry %+v of the move", moved)
	}
	if renamed.Name != "b.md" || renamed.Folder != top || renamed.FolderName != "Top" || renamed.ID == moved.ID || time.Since(renamed.Time) > time.Hour {
		t.Errorf("Audit: got entry %+v of the renaming", renamed)
	}
}

// The trail of a deleted document says as what it was restored, and that of the new document
// what it was before.
func TestAuditOfRestoredDocuments(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	old := f.AddDocument(top, "a.md", nil, "Text.")
	f.Append(events.DocumentStream(old), events.DocumentDeleted{Version: 2})
	jobs, sha256, restored := events.RestoreJobs(old), strings.Repeat("0a", 32), uuid.New()
	appendVia := func(stream string, data ...events.Data) {
		t.Helper()
		all := make([]events.New, len(data))
		for i, d := range data {
			all[i].Data = d
		}
		at, err := f.Log.Append(t.Context(), stream, events.AnyRevision, events.Cause{Actor: "user:alice", Via: events.ViaRestore(old)}, all...)
		if err != nil {
			t.Fatal(err)
		}
		f.At = at.Position
	}
	accepted := events.FileAccepted{Name: "a.md", Folder: "Top", SHA256: sha256, Size: 1}
	requested := events.ImportRequested{Files: 1, User: "user:alice"}
	appendVia(events.JobStream(jobs[0]), accepted, requested, events.FileFailed{Error: "the disk is full"}, events.JobFinished{Failed: 1})
	appendVia(events.JobStream(jobs[1]), accepted, requested)
	f.wantTrail(alice, audit.Filter{Document: &old, Limit: 1}, `alice asked to restore deleted document "a.md"`)
	appendVia(events.DocumentStream(restored), events.DocumentImported{Version: 1, Folder: top, Name: "a.md", Content: events.Content{SHA256: sha256, TextStream: events.TextStream(restored, 1)}})
	appendVia(events.JobStream(jobs[1]), events.FileImported{Document: restored, Outcome: events.OutcomeCreated}, events.JobFinished{Successful: 1})
	f.wantTrail(alice, audit.Filter{Document: &old},
		`alice finished restoring deleted document "a.md"`,
		`alice restored deleted document "a.md" as document `+restored.String(),
		`alice finished restoring deleted document "a.md"`,
		`alice asked to restore deleted document "a.md", which failed: the disk is full`,
		`alice asked to restore deleted document "a.md"`,
		`alice deleted document "a.md"`,
		`alice imported document "a.md" into folder "Top"`)
	f.wantTrail(alice, audit.Filter{Document: &restored}, `alice restored document "a.md" in folder "Top", which was document `+old.String()+` before it was deleted`)
	f.wantTrail(bob, audit.Filter{})
}

func TestAuditOfFailedFiles(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.AppendAs("user:bob", events.JobStream(job),
		events.FileAccepted{File: 0, Name: "a.md", SHA256: strings.Repeat("0a", 32), Size: 1},
		events.FileAccepted{File: 1, Name: "virus.exe", Refused: "this type is not supported"},
		events.ImportRequested{Files: 2, User: "user:bob"},
		events.FileStarted{File: 0}, events.FileStepped{File: 0, Step: "reading"},
		events.FileFailed{File: 0, Error: "it is empty"},
		events.JobFinished{Failed: 2})
	want := []string{
		"bob finished an upload: 0 imported, 2 failed",
		`bob uploaded "a.md", which could not be imported: it is empty`,
		"bob uploaded 2 files",
		`bob uploaded "virus.exe", which was refused: this type is not supported`,
	}
	f.wantTrail(bob, audit.Filter{}, want...)
	f.wantTrail(admin, audit.Filter{}, want...)
	f.wantTrail(alice, audit.Filter{})
	if entries, _, err := f.audit.Audit(t.Context(), bob, audit.Filter{}); err != nil || entries[0].Job != job || entries[0].Document != uuid.Nil {
		t.Errorf("Audit: got entries %+v (%v) of the job", entries, err)
	}
}

// The current owners of a document see its whole history; the owners of its previous
// folders see nothing of it.
func TestAuditFollowsMovedDocument(t *testing.T) {
	f := newFixture(t)
	secret := f.AddFolder(uuid.Nil, "Secret", "user:eve")
	home := f.AddFolder(uuid.Nil, "Home", "user:alice")
	id := f.AddDocument(secret, "a.md", nil, "Text.")
	f.wantTrail(alice, audit.Filter{}, `alice made folder "Home"`)
	f.Append(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: home})
	f.wantTrail(alice, audit.Filter{}, `alice moved document "a.md" to folder "Home"`, `alice imported document "a.md"`, `alice made folder "Home"`)
	f.wantTrail(eve, audit.Filter{}, `alice made folder "Secret"`)
	f.wantTrail(admin, audit.Filter{Document: &id}, `alice moved document "a.md" from folder "Secret" to folder "Home"`, `alice imported document "a.md" into folder "Secret"`)
	entries, _, err := f.audit.Audit(t.Context(), alice, audit.Filter{Document: &id})
	if err != nil || entries[1].Folder != uuid.Nil || entries[1].FolderName != "" || entries[0].Folder != home {
		t.Errorf("Audit(alice) = %+v, %v, want entries without the folder of another owner", entries, err)
	}
}

func TestAuditRequiresOwnership(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Share(top, "group:staff", "write")
	live, dead := f.AddDocument(top, "live.md", nil, "Text."), f.AddDocument(top, "dead.md", nil, "Text.")
	f.Append(events.DocumentStream(dead), events.DocumentDeleted{Version: 2})
	gone := f.AddFolder(top, "Gone", "")
	f.Append(events.Folders, events.FolderDeleted{Folder: gone})
	nothing := uuid.New()
	summary := events.SummaryID(top)
	f.Settle()
	const readable = fault.Kind(255) // no fault
	for _, c := range []struct {
		user                  events.User
		live, dead, top, gone fault.Kind
	}{
		{admin, readable, readable, readable, readable},
		{alice, readable, readable, readable, readable},
		{bob, fault.Forbidden, fault.NotFound, fault.Forbidden, fault.NotFound},
		{eve, fault.NotFound, fault.NotFound, fault.NotFound, fault.NotFound},
	} {
		for what, one := range map[string]struct {
			filter audit.Filter
			want   fault.Kind
		}{
			"a document":                  {audit.Filter{Document: &live}, c.live},
			"a deleted document":          {audit.Filter{Document: &dead}, c.dead},
			"a folder":                    {audit.Filter{Folder: &top}, c.top},
			"a deleted folder":            {audit.Filter{Folder: &gone}, c.gone},
			"no document":                 {audit.Filter{Document: &nothing}, fault.NotFound},
			"no folder":                   {audit.Filter{Folder: &nothing}, fault.NotFound},
			"a summary":                   {audit.Filter{Document: &summary}, fault.NotFound},
			"a folder as a document":      {audit.Filter{Document: &top}, fault.NotFound},
			"a document as a folder":      {audit.Filter{Folder: &live}, fault.NotFound},
			"a document that is in there": {audit.Filter{Document: &live, Folder: &top}, c.top},
		} {
			entries, _, err := f.audit.Audit(t.Context(), c.user, one.filter)
			switch {
			case one.want == readable && (err != nil || len(entries) == 0):
				t.Errorf("Audit(%s) of %s: got %d entries (%v), want some", c.user.Principal, what, len(entries), err)
			case one.want != readable && !fault.Is(err, one.want):
				t.Errorf("Audit(%s) of %s: got %d entries (%v), want %v", c.user.Principal, what, len(entries), err, one.want)
			}
		}
	}
	f.wantTrail(alice, audit.Filter{Document: &live, Folder: &gone})
	f.Append(events.Folders, events.FolderShared{Folder: top, Permissions: []events.Permission{{Principal: "group:staff", Access: "own"}}})
	f.wantTrail(bob, audit.Filter{Document: &dead}, `alice deleted document "dead.md"`, `alice imported document "dead.md" into folder "Top"`)
}

func TestAuditPages(t *testing.T) {
	f := newFixture(t)
	var want []string
	for i := range 7 {
		f.AddDocument(f.AddFolder(uuid.Nil, fmt.Sprint("Top ", i), "user:alice"), fmt.Sprint(i, ".md"), nil, "Text.")
		want = append(want, fmt.Sprintf(`alice made folder "Top %d"`, i), fmt.Sprintf(`alice imported document "%d.md" into folder "Top %d"`, i, i))
	}
	slices.Reverse(want)
	f.Settle()
	for _, user := range []events.User{alice, admin} {
		for _, limit := range []int{1, 3, 14, 100} {
			var got []string
			for filter := (audit.Filter{Limit: limit}); ; {
				entries, next, err := f.audit.Audit(t.Context(), user, filter)
				if err != nil || len(entries) > limit {
					t.Fatalf("Audit with limit %d: got %d entries (%v)", limit, len(entries), err)
				}
				for _, e := range entries {
					got = append(got, "alice "+e.What)
				}
				if filter.Cursor = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("Audit(%s) with limit %d: got %q, want %q", user.Principal, limit, got, want)
			}
		}
		entries, _, err := f.audit.Audit(t.Context(), user, audit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		from, to := entries[9], entries[4]
		some, _, err := f.audit.Audit(t.Context(), user, audit.Filter{From: from.Time, To: to.Time})
		if err != nil || slices.ContainsFunc(some, func(e audit.Entry) bool { return e.Time.Before(from.Time) || !e.Time.Before(to.Time) }) || len(some) == 0 {
			t.Errorf("Audit from %v to %v for %s: got %v (%v)", from.Time, to.Time, user.Principal, some, err)
		}
	}
	if _, _, err := f.audit.Audit(t.Context(), alice, audit.Filter{Cursor: "?"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("Audit with an invalid cursor: %v, want fault.Invalid", err)
	}
}

// A document that was moved out of a folder before bob became the folder's owner is not
// shown to him, even if the audit trail applies the move last.
func TestAuditAwaitsVaultPosition(t *testing.T) {
	f := newFixture(t)
	home, secret := f.AddFolder(uuid.Nil, "Home", "user:alice"), f.AddFolder(uuid.Nil, "Secret", "user:alice")
	id := f.AddDocument(secret, "a.md", nil, "Text.")
	f.Settle()
	release := projectionstest.Block(t, f.Home, "audit-1")
	vaultPasses := func() {
		f.Await(f.Models.Vault)
	}
	f.AddFolder(uuid.Nil, "Another", "user:alice")
	vaultPasses()
	started, listed := make(chan struct{}), make(chan []audit.Entry)
	go func() {
		close(started)
		entries, _, err := f.audit.Audit(t.Context(), bob, audit.Filter{})
		if err != nil {
			t.Error(err)
		}
		listed <- entries
	}()
	<-started
	for range 50 { // gives Audit time to start waiting for the audit trail
		f.AddFolder(uuid.Nil, "Another", "user:alice")
		vaultPasses()
	}
	f.Append(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: home})
	vaultPasses()
	f.Share(secret, "user:bob", "own")
	vaultPasses()
	release()
	for _, e := range <-listed {
		if e.Document == id {
			t.Errorf("Audit(bob) has an entry of a document that he never owned: %s", e.What)
		}
	}
}

// Users see their own replies to invitations, although others own the folders. A user
// who also owns the folder sees each entry only one time.
func TestAuditListsOwnInvitationReplies(t *testing.T) {
	f := newFixture(t)
	top, other := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Other", "user:alice")
	invite := func(folder uuid.UUID, access string) {
		f.Append(events.Folders, events.FolderShared{Folder: folder, Invitations: []events.Invitation{{Principal: "user:bob", Access: access, By: "user:alice"}}})
	}
	invite(top, "own")
	invite(other, "read")
	f.AppendAs("user:bob", events.Folders, events.FolderInvitationAccepted{Folder: top, Principal: "user:bob", Access: "own", By: "user:alice"})
	f.AppendAs("user:bob", events.Folders, events.FolderInvitationAccepted{Folder: other, Principal: "user:bob", Access: "read", By: "user:alice"})
	f.Append(events.Folders, events.FolderRenamed{Folder: other, Name: "Hidden"})
	f.AppendAs("user:bob", events.Folders, events.FolderLeft{Folder: other, Principal: "user:bob"})
	invite(other, "write")
	f.AppendAs("user:bob", events.Folders, events.FolderInvitationDeclined{Folder: other, Principal: "user:bob", By: "user:alice"}, events.InviterUnblocked{Principal: "user:bob", By: "user:alice"})
	f.Append(events.Folders, events.FolderRenamed{Folder: other, Name: "Secret"})

	own := []string{
		`bob unblocked invitations by user:alice`,
		`bob declined the invitation to folder "Hidden" by user:alice`,
		`bob left folder "Hidden"`,
		`bob accepted the invitation to folder "Other" by user:alice (read)`,
		`bob accepted the invitation to folder "Top" by user:alice (own)`,
	}
	all := append(slices.Clone(own), `alice shared folder "Top" with user:bob (own, invited)`, `alice made folder "Top"`)
	user := events.User{Principal: "user:bob"}
	f.wantTrail(user, audit.Filter{}, all...)
	f.wantTrail(user, audit.Filter{Actor: "user:bob"}, own...)
	f.wantTrail(user, audit.Filter{Actor: "user:alice"}, all[5:]...)
	f.wantTrail(user, audit.Filter{Folder: &top}, all[4:]...)
	f.wantTrail(eve, audit.Filter{})
	for i, cursor := 0, ""; i < len(all); i++ {
		entries, next, err := f.audit.Audit(t.Context(), user, audit.Filter{Limit: 1, Cursor: cursor})
		if err != nil || len(entries) != 1 || entries[0].Actor.Name()+" "+entries[0].What != all[i] || (next == "") != (i == len(all)-1) {
			t.Fatalf("Audit, page %d: got %+v, %q (%v), want %q", i, entries, next, err, all[i])
		}
		cursor = next
	}
	f.wantTrail(alice, audit.Filter{Folder: &other},
		`alice renamed folder "Hidden" to "Secret"`,
		`alice shared folder "Hidden" with user:bob (write, invited)`,
		`bob left folder "Hidden"`,
		`alice renamed folder "Other" to "Hidden"`,
		`bob accepted the invitation to folder "Other" by user:alice (read)`,
		`alice shared folder "Other" with user:bob (read, invited)`,
		`alice made folder "Other"`)
}

// The released log has every type of event.
func TestAuditDescribesEveryEvent(t *testing.T) {
	f := newFixture(t)
	f.At = eventstest.AppendReleased(t, f.Driver)
	f.Settle()
	described := make(map[string]bool)
	filter := audit.Filter{Limit: 200}
	for {
		entries, next, err := f.audit.Audit(t.Context(), admin, filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			described[e.Type] = described[e.Type] || e.What != e.Type
		}
		if filter.Cursor = next; next == "" {
			break
		}
	}
	for _, k := range events.Kinds() {
		_, exempt := readmodel.NotAudited[k.Type]
		described, listed := described[k.Type]
		switch {
		case exempt && listed:
			t.Errorf("%s is in the audit trail although NotAudited in projections/readmodel/audit.go exempts it", k.Type)
		case !exempt && !listed:
			t.Errorf("%s of the released log is not in the audit trail: add the type to Types and recordOf in projections/readmodel/audit.go, or to NotAudited there with a reason", k.Type)
		case !exempt && !described:
			t.Errorf("the audit trail has no words for %s: add a case to words in queries/audit/sentence.go", k.Type)
		}
	}
}

func TestAuditOfStoppedReadModelIsUnavailable(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	f.Stop(f.Models.Audit)
	f.AddDocument(top, "a.md", nil, "Text.")
	f.AwaitStop(f.Models.Audit)
	f.Await(f.Models.Vault)
	for what, filter := range map[string]audit.Filter{"all": {}, "a folder": {Folder: &top}, "accesses": {Kind: audit.Everything}} {
		if entries, _, err := f.audit.Audit(t.Context(), alice, filter); !fault.Is(err, fault.Unavailable) {
			t.Errorf("Audit of %s = %+v, %v, want fault.Unavailable", what, entries, err)
		}
	}
}

// Find fails if the read model of jobs has stopped. If it returned no error, the access
// log would take a new job for one that does not exist, and not record a denied request
// to it.
func TestFindRequiresJobs(t *testing.T) {
	f := newFixture(t)
	f.Settle()
	f.Stop(f.Models.Jobs)
	job := events.JobStream(uuid.New())
	f.Append(job, events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"})
	f.AwaitStop(f.Models.Jobs)
	if found, err := f.audit.Find(t.Context(), []string{job}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Find = %v, %v, want fault.Unavailable", found, err)
	}
	if found, err := f.audit.Find(t.Context(), []string{events.DocumentStream(uuid.New())}); err != nil || len(found) != 0 {
		t.Errorf("Find = %v, %v, want nothing", found, err)
	}
}
