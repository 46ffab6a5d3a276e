package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/eventstest"
	"annals/queries/audit"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Ids and users in the released log.
var (
	annualReport  = uuid.MustParse("c0c52d60-9a12-5db1-8bfa-4a00b81286df")
	firstJob      = "b1a5c3d2-0e4f-4a6b-8c7d-9e0f1a2b3c4d"
	lateJob       = "d3c7e5f4-2a6b-4c8d-ae9f-1a2b3c4d5e6f"
	bobOfKeycloak = events.User{Principal: "user:keycloak/bob"}
)

// The queries can read the released log, which has every event type that was ever
// released.
func TestReleasedLog(t *testing.T) {
	f := newFixture(t)
	f.At = eventstest.AppendReleased(t, f.Driver)
	f.Settle()
	t.Run("parks nothing", f.releasedParksNothing)
	t.Run("listing", f.releasedListing)
	t.Run("search", f.releasedSearch)
	t.Run("jobs", f.releasedJobs)
	t.Run("audit", f.releasedAudit)
	t.Run("permissions", f.releasedPermissions)
}

func (f *fixture) releasedParksNothing(t *testing.T) {
	all, err := f.queries.Status(t.Context())
	if err != nil || len(all) == 0 {
		t.Fatalf("Status: %d read models, %v", len(all), err)
	}
	for _, m := range all {
		if m.Parked > 0 {
			t.Errorf("%s has parked %d events", m.Name, m.Parked)
		}
	}
}

func (f *fixture) releasedListing(t *testing.T) {
	for _, c := range []struct {
		user events.User
		path string
		want []string // documents, each with version and tags
	}{
		{alice, "Inbox/alice", []string{"Notes.md 1 []"}},
		{alice, "Reports", []string{"Annual report 2025.pdf 5 [finance board]", "Lighthouse log.pdf 5 []"}},
		{bobOfKeycloak, "Reports", []string{"Annual report 2025.pdf 5 [finance board]", "Lighthouse log.pdf 5 []"}},
		{alice, "Archive", nil},
		{alice, "Archive/2025", nil},
	} {
		folder, found, err := f.queries.FolderAt(t.Context(), c.user, c.path)
		if err != nil || !found {
			t.Errorf("FolderAt(%s, %s): found is %t, %v", c.user.Principal, c.path, found, err)
			continue
		}
		docs, _, err := f.queries.Documents(t.Context(), c.user, vault.DocumentFilter{Folder: &folder.ID})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range docs {
			got = append(got, fmt.Sprint(d.Name, " ", d.Version, " ", d.Tags))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s sees %q in %s, want %q", c.user.Principal, got, c.path, c.want)
		}
	}
	if _, found, err := f.queries.FolderAt(t.Context(), alice, "Reports/Drafts"); err != nil || found {
		t.Errorf("FolderAt of a deleted folder: found is %t, %v", found, err)
	}
	versions, err := f.queries.Versions(t.Context(), alice, annualReport)
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	for _, v := range versions {
		changes = append(changes, fmt.Sprint(v.Change, " by ", v.CreatedBy))
	}
	want := []string{"imported by user:alice", "renamed, tagged by user:alice", "moved by user:keycloak/bob", "revised by user:alice", "reread by "}
	if !slices.Equal(changes, want) {
		t.Errorf("Versions: got %q, want %q", changes, want)
	}
}

func (f *fixture) releasedSearch(t *testing.T) {
	for query, want := range map[string]string{
		"lanterns sold in Zürich": "Revenue rose by 9 %",
		"glassworks":              "The seventh page, once unread",
		"evening tide":            "The ferry leaves the harbour",
		"whale oil":               "", // only in a replaced text
		"nobody draft":            "", // in a deleted folder
	} {
		sources, err := f.queries.Search(t.Context(), alice, search.Query{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		hit := func(s search.Source) bool { return strings.Contains(s.Text, want) }
		if want == "" && len(sources) > 0 || want != "" && !slices.ContainsFunc(sources, hit) {
			t.Errorf("Search(%q) = %+v, want %q", query, sources, want)
		}
	}
}

func (f *fixture) releasedJobs(t *testing.T) {
	for id, want := range map[string][]string{
		firstJob: {"Annual report.pdf ok", "Budget.xlsx: files of type .xlsx cannot be read", "Notes.md ok", "Broken.pdf: the file is no PDF, or is damaged"},
		lateJob:  {"Annual report 2025.pdf: document " + annualReport.String() + " is at version 4, not 3"},
	} {
		job, err := f.queries.Job(t.Context(), admin, id)
		if err != nil || !job.Done {
			t.Errorf("Job(%s) = %+v, %v, want it done", id, job, err)
			continue
		}
		var got []string
		for _, r := range job.Results {
			if r.Success {
				got = append(got, r.Filename+" ok")
			} else {
				got = append(got, r.Filename+": "+r.Error)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("Job(%s): got results %q, want %q", id, got, want)
		}
	}
	backlog, err := f.queries.Backlog(t.Context())
	if err != nil || backlog.Files != 0 {
		t.Errorf("Backlog = %+v, %v, want no files", backlog, err)
	}
}

func (f *fixture) releasedAudit(t *testing.T) {
	entries, _, err := f.queries.Audit(t.Context(), alice, audit.Filter{Document: &annualReport})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range slices.Backward(entries) {
		types = append(types, e.Type)
	}
	want := []string{"DocumentImported", "DocumentRenamed", "DocumentTagged", "DocumentMoved", "DocumentRevised", "DocumentReread"}
	if !slices.Equal(types, want) {
		t.Errorf("Audit of the report: got %q, want %q", types, want)
	}
	summary, err := f.queries.FolderSummary(t.Context(), alice, "Reports")
	if err != nil || summary.Status != "ok" || !strings.Contains(summary.Content, "How the year went, corrected.") {
		t.Errorf("FolderSummary = %+v, %v, want the new description of the report", summary, err)
	}
}

// Permissions granted before the first release with invitations are in force. Later ones
// are in force only if they were accepted.
func (f *fixture) releasedPermissions(t *testing.T) {
	archive := uuid.MustParse("7d2a1e63-a5c8-4e4f-9b37-2f8ca1d5a4e9")
	user := func(name string, groups ...events.Principal) events.User {
		return events.User{Principal: events.Principal("user:" + name), Groups: groups}
	}
	reports := uuid.MustParse("5a6f0c9d-3e41-4b7a-8f16-2c9d0e1b3a47")
	for _, c := range []struct {
		user   events.User
		folder uuid.UUID
		want   events.Access
	}{
		{bobOfKeycloak, reports, events.Write}, {user("zoe", "group:board"), reports, events.Read},
		{alice, archive, events.Own}, {user("zoe", "group:board"), archive, events.Own}, {user("carol"), archive, events.Read},
		{bobOfKeycloak, archive, events.NoAccess}, {user("dave"), archive, events.NoAccess}, {user("frank"), archive, events.NoAccess},
	} {
		if got, err := f.queries.Access(t.Context(), c.user, c.folder); got != c.want || (err == nil) != (c.want > events.NoAccess) {
			t.Errorf("Access(%s, %v) = %v, %v, want %v", c.user.Principal, c.folder, got, err, c.want)
		}
	}
	for name, want := range map[string]int{"dave": 1, "keycloak/bob": 0, "carol": 0, "frank": 0} {
		if got, err := f.queries.Invitations(t.Context(), user(name)); err != nil || len(got) != want {
			t.Errorf("Invitations(%s) = %+v, %v, want %d", name, got, err, want)
		}
	}
	p, err := f.queries.Permissions(t.Context(), alice, archive)
	if err != nil || fmt.Sprint(p.List, p.Invited) != "[{group:board own} {user:carol read}] [{user:dave write} {user:keycloak/bob read}]" {
		t.Errorf("Permissions of the archive: got list %v and invited %v (%v)", p.List, p.Invited, err)
	}
}
