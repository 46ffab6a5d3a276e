package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/projectionstest"
	"annals/queries/audit"

	"github.com/google/uuid"
)

// trailOf returns who did what, the newest first.
func (f *fixture) trailOf(user events.User, filter audit.Filter) (words []string) {
	f.t.Helper()
	f.settle()
	entries, _, err := f.Audit(f.t.Context(), user, filter)
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
		f.t.Errorf("the trail for %s is\n%s\nwant\n%s", user.Principal, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAuditSentences(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	id := f.document(top, "a.md", []string{"x", "y"}, "Text.")
	stream := events.DocumentStream(id)
	f.addAs("user:bob", stream, events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentMoved{Version: 2, Folder: sub})
	f.add(events.Folders, events.FolderRenamed{Folder: sub, Name: "Low"})
	f.add(stream, events.DocumentTagged{Version: 3, Tags: []string{"z"}}, events.DocumentTagged{Version: 4})
	f.revise(id, 5, "More text.")
	f.add(stream, events.DocumentReread{Version: 6, Content: events.Content{SHA256: strings.Repeat("0b", 32), TextStream: events.TextStream(id, 5)}}, events.DocumentDeleted{Version: 7})
	f.share(sub, "group:staff", "read")
	f.add(events.Folders, events.FolderShared{Folder: sub}, events.FolderMoved{Folder: sub, Owner: "user:alice"}, events.FolderMoved{Folder: sub, Parent: top}, events.FolderDeleted{Folder: sub})

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

	entries, _, err := f.Audit(t.Context(), alice, audit.Filter{Document: &id, Actor: "user:bob"})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries (%v), want 2", len(entries), err)
	}
	moved, renamed := entries[0], entries[1]
	if moved.Document != id || moved.Name != "b.md" || moved.Folder != sub || moved.FolderName != "Sub" || moved.Via != "vault" || moved.Correlation != "request-1" || moved.Type != "DocumentMoved" {
		t.Errorf("the move is listed as %+v", moved)
	}
	if renamed.Name != "b.md" || renamed.Folder != top || renamed.FolderName != "Top" || renamed.ID == moved.ID || time.Since(renamed.Time) > time.Hour {
		t.Errorf("the renaming is listed as %+v", renamed)
	}
}

func TestAuditOfFailedFiles(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.addAs("user:bob", events.JobStream(job),
		events.FileAccepted{File: 0, Name: "a.md", SHA256: strings.Repeat("0a", 32), Size: 1},
		events.FileAccepted{File: 1, Name: "virus.exe", Refused: "this type is not supported"},
		events.ImportRequested{Files: 2, User: "user:bob"},
		events.FileStarted{File: 0}, events.FileStepped{File: 0, Step: "reading"},
		events.FileFailed{File: 0, Error: "it is empty"},
		events.JobFinished{Failed: 2})
	want := []string{
		"bob had an upload worked off: 0 imported, 2 failed",
		`bob uploaded "a.md", which could not be imported: it is empty`,
		"bob uploaded 2 files",
		`bob uploaded "virus.exe", which was refused: this type is not supported`,
	}
	f.wantTrail(bob, audit.Filter{}, want...)
	f.wantTrail(admin, audit.Filter{}, want...)
	f.wantTrail(alice, audit.Filter{})
	if entries, _, err := f.Audit(t.Context(), bob, audit.Filter{}); err != nil || entries[0].Job != job || entries[0].Document != uuid.Nil {
		t.Errorf("the job is listed as %+v (%v)", entries, err)
	}
}

// The current owners of a document see all that happened to it, and others do not,
// nothing: not even that it lay in his folder once.
func TestAuditFollowsMovedDocument(t *testing.T) {
	f := newFixture(t)
	secret := f.folder(uuid.Nil, "Secret", "user:eve")
	home := f.folder(uuid.Nil, "Home", "user:alice")
	id := f.document(secret, "a.md", nil, "Text.")
	f.wantTrail(alice, audit.Filter{}, `alice made folder "Home"`)
	f.add(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: home})
	f.wantTrail(alice, audit.Filter{}, `alice moved document "a.md" to folder "Home"`, `alice imported document "a.md"`, `alice made folder "Home"`)
	f.wantTrail(eve, audit.Filter{}, `alice made folder "Secret"`)
	f.wantTrail(admin, audit.Filter{Document: &id}, `alice moved document "a.md" from folder "Secret" to folder "Home"`, `alice imported document "a.md" into folder "Secret"`)
	entries, _, err := f.Audit(t.Context(), alice, audit.Filter{Document: &id})
	if err != nil || entries[1].Folder != uuid.Nil || entries[1].FolderName != "" || entries[0].Folder != home {
		t.Errorf("alice sees the folder that is not hers: %+v (%v)", entries, err)
	}
}

func TestAuditNeedsOwnership(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.share(top, "group:staff", "write")
	live, dead := f.document(top, "live.md", nil, "Text."), f.document(top, "dead.md", nil, "Text.")
	f.add(events.DocumentStream(dead), events.DocumentDeleted{Version: 2})
	gone := f.folder(top, "Gone", "")
	f.add(events.Folders, events.FolderDeleted{Folder: gone})
	nothing := uuid.New()
	summary := events.SummaryID(top)
	f.settle()
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
			entries, _, err := f.Audit(t.Context(), c.user, one.filter)
			switch {
			case one.want == readable && (err != nil || len(entries) == 0):
				t.Errorf("%s of %s: %d entries (%v)", what, c.user.Principal, len(entries), err)
			case one.want != readable && !fault.Is(err, one.want):
				t.Errorf("%s of %s: %d entries (%v), want %v", what, c.user.Principal, len(entries), err, one.want)
			}
		}
	}
	f.wantTrail(alice, audit.Filter{Document: &live, Folder: &gone})
	f.add(events.Folders, events.FolderShared{Folder: top, Permissions: []events.Permission{{Principal: "group:staff", Access: "own"}}})
	f.wantTrail(bob, audit.Filter{Document: &dead}, `alice deleted document "dead.md"`, `alice imported document "dead.md" into folder "Top"`)
}

func TestAuditPages(t *testing.T) {
	f := newFixture(t)
	var want []string
	for i := range 7 {
		f.document(f.folder(uuid.Nil, fmt.Sprint("Top ", i), "user:alice"), fmt.Sprint(i, ".md"), nil, "Text.")
		want = append(want, fmt.Sprintf(`alice made folder "Top %d"`, i), fmt.Sprintf(`alice imported document "%d.md" into folder "Top %d"`, i, i))
	}
	slices.Reverse(want)
	f.settle()
	for _, user := range []events.User{alice, admin} {
		for _, limit := range []int{1, 3, 14, 100} {
			var got []string
			for filter := (audit.Filter{Limit: limit}); ; {
				entries, next, err := f.Audit(t.Context(), user, filter)
				if err != nil || len(entries) > limit {
					t.Fatalf("a page of %d has %d (%v)", limit, len(entries), err)
				}
				for _, e := range entries {
					got = append(got, "alice "+e.What)
				}
				if filter.Cursor = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("in pages of %d %s gets %q, want %q", limit, user.Principal, got, want)
			}
		}
		entries, _, err := f.Audit(t.Context(), user, audit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		from, to := entries[9], entries[4]
		some, _, err := f.Audit(t.Context(), user, audit.Filter{From: from.Time, To: to.Time})
		if err != nil || slices.ContainsFunc(some, func(e audit.Entry) bool { return e.Time.Before(from.Time) || !e.Time.Before(to.Time) }) || len(some) == 0 {
			t.Errorf("from %v to %v %s gets %v (%v)", from.Time, to.Time, user.Principal, some, err)
		}
	}
	if _, _, err := f.Audit(t.Context(), alice, audit.Filter{Cursor: "?"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a cursor that is none: %v", err)
	}
}

// What was moved out of a folder before a grant is not shown to him, also when the
// audit trail is the last to know that it was.
func TestAuditBehindVaultHidesMovedDocument(t *testing.T) {
	f := newFixture(t)
	home, secret := f.folder(uuid.Nil, "Home", "user:alice"), f.folder(uuid.Nil, "Secret", "user:alice")
	id := f.document(secret, "a.md", nil, "Text.")
	f.settle()
	release := projectionstest.Block(t, f.world.Home, "audit-1")
	vaultPasses := func() {
		if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
			t.Fatal(err)
		}
	}
	f.folder(uuid.Nil, "Another", "user:alice")
	vaultPasses()
	asked, listed := make(chan struct{}), make(chan []audit.Entry)
	go func() {
		close(asked)
		entries, _, err := f.Audit(t.Context(), bob, audit.Filter{})
		if err != nil {
			t.Error(err)
		}
		listed <- entries
	}()
	<-asked
	for range 50 { // he waits for the audit trail by now
		f.folder(uuid.Nil, "Another", "user:alice")
		vaultPasses()
	}
	f.add(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: home})
	vaultPasses()
	f.share(secret, "user:bob", "own")
	vaultPasses()
	release()
	for _, e := range <-listed {
		if e.Document == id {
			t.Errorf("bob, who never owned it, sees the document: %s", e.What)
		}
	}
}

// Invited users see their own answers, though the folder is another's, once and in
// order; owners see nothing twice.
func TestAuditHasOwnAnswersToInvitations(t *testing.T) {
	f := newFixture(t)
	top, other := f.folder(uuid.Nil, "Top", "user:alice"), f.folder(uuid.Nil, "Other", "user:alice")
	invite := func(folder uuid.UUID, access string) {
		f.add(events.Folders, events.FolderShared{Folder: folder, Invitations: []events.Invitation{{Principal: "user:bob", Access: access, By: "user:alice"}}})
	}
	invite(top, "own")
	invite(other, "read")
	f.addAs("user:bob", events.Folders, events.FolderInvitationAccepted{Folder: top, Principal: "user:bob", Access: "own", By: "user:alice"})
	f.addAs("user:bob", events.Folders, events.FolderInvitationAccepted{Folder: other, Principal: "user:bob", Access: "read", By: "user:alice"})
	f.add(events.Folders, events.FolderRenamed{Folder: other, Name: "Hidden"})
	f.addAs("user:bob", events.Folders, events.FolderLeft{Folder: other, Principal: "user:bob"})
	invite(other, "write")
	f.addAs("user:bob", events.Folders, events.FolderInvitationDeclined{Folder: other, Principal: "user:bob", By: "user:alice"}, events.InviterUnblocked{Principal: "user:bob", By: "user:alice"})
	f.add(events.Folders, events.FolderRenamed{Folder: other, Name: "Secret"})

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
		entries, next, err := f.Audit(t.Context(), user, audit.Filter{Limit: 1, Cursor: cursor})
		if err != nil || len(entries) != 1 || entries[0].Actor.Name()+" "+entries[0].What != all[i] || (next == "") != (i == len(all)-1) {
			t.Fatalf("page %d is %+v, %q (%v); want %q", i, entries, next, err, all[i])
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
