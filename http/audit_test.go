package http_test

import (
	"mime/multipart"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

type auditReply struct {
	ID, Actor, Via, CorrelationID, Type, What string
	DocumentID, DocumentName, FolderID, JobID *string
	Time                                      time.Time
}

// trail reads a page of the audit trail as alice, unless headers contain the token of another
// user.
func (s *service) trail(query string, headers ...string) (entries []auditReply, what []string, next string) {
	s.Helper()
	resp, body := s.do("GET", "/vault/audit"+query, "", headers...)
	if resp.StatusCode != 200 {
		s.Fatalf("audit%s = %d %s", query, resp.StatusCode, body)
	}
	entries = decode[[]auditReply](s.T, body)
	for _, e := range entries {
		what = append(what, e.Actor+" "+e.What)
	}
	if link := regexp.MustCompile(`^<([^>]*)>; rel="next"$`).FindStringSubmatch(resp.Header.Get("Link")); link != nil {
		u, err := url.Parse(link[1])
		if err != nil || u.Path != "/vault/audit" {
			s.Fatalf("link %q", link[1])
		}
		next = "?" + u.RawQuery
	}
	return entries, what, next
}

// As soon as a change is confirmed, the owner of the folder can read in the audit trail who
// made it and in which request.
func TestAuditTrail(t *testing.T) {
	s := startStack(t)
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Staff","tags":["hr"]},{"folder_name":"Staff"}]`)
		addFile(w, "a.md", handbook)
		addFile(w, "virus.exe", "MZ")
	})
	if resp.StatusCode != 200 {
		t.Fatalf("import = %d %s", resp.StatusCode, body)
	}
	j := s.finish(decode[jobReply](t, body).JobID)
	document := j.Results[0].DocumentID
	folder := s.folderOf(document)
	s.share(folder, "user:bob", "write")
	bob := []string{"Authorization", "Bearer bob"}
	if resp, body := s.do("PATCH", "/vault/documents/"+document, `{"name":"b.md"}`, append(bob, "If-Match", `"1"`, "X-Request-Id", "rename-by-bob")...); resp.StatusCode != 200 {
		t.Fatalf("rename = %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("DELETE", "/vault/documents/"+document+"?version=2", ""); resp.StatusCode != 204 {
		t.Fatalf("delete = %d %s", resp.StatusCode, body)
	}

	entries, what, next := s.trail("?document=" + document)
	want := []string{
		`user:alice deleted document "b.md"`,
		`user:bob renamed document "a.md" to "b.md"`,
		`user:alice imported document "a.md" into folder "Staff", tagged "hr"`,
	}
	if !slices.Equal(what, want) || next != "" {
		t.Fatalf("the document's trail is %q, want %q; next %q", what, want, next)
	}
	if e := entries[1]; e.CorrelationID != "rename-by-bob" || e.Via != "vault" || *e.DocumentID != document || *e.DocumentName != "b.md" || *e.FolderID != folder || e.JobID != nil {
		t.Errorf("entry of bob's change = %+v", e)
	}
	_, what, _ = s.trail("?folder=" + folder)
	accepted := `user:bob accepted the invitation to folder "Staff" by user:alice (write)`
	want = append(slices.Clone(want[:2]), accepted, `user:alice shared folder "Staff" with user:bob (write, invited)`, want[2], `user:alice made folder "Staff"`)
	if !slices.Equal(what, want) {
		t.Errorf("the folder's trail is %q, want %q", what, want)
	}
	if _, what, _ = s.trail("?actor=user:bob"); !slices.Equal(what, want[1:3]) {
		t.Errorf("bob's trail is %q, want %q", what, want[1:3])
	}
	if _, what, _ = s.trail("?to=2020-01-01"); len(what) > 0 {
		t.Errorf("the trail until 2020 is %q, want none", what)
	}
	if _, what, _ = s.trail("", bob...); !slices.Equal(what, []string{accepted}) {
		t.Errorf("the trail of bob, who owns nothing, is %q", what)
	}
	for query, want := range map[string]int{"?document=" + document: 404, "?folder=" + folder: 403} {
		if resp, body := s.do("GET", "/vault/audit"+query, "", bob...); resp.StatusCode != want {
			t.Errorf("audit%s for bob = %d %s, want %d", query, resp.StatusCode, body, want)
		}
	}

	_, all, next := s.trail("")
	if next != "" || !slices.ContainsFunc(all, func(what string) bool {
		return strings.HasPrefix(what, `user:alice uploaded "virus.exe", which was refused: `)
	}) {
		t.Errorf("alice's trail is %q, next %q", all, next)
	}
	var paged []string
	for query := "?limit=2&from=2020-01-01T00:00:00Z"; query != ""; query = next {
		_, what, next = s.trail(query)
		if len(what) > 2 {
			t.Fatalf("a page of 2 has %q", what)
		}
		paged = append(paged, what...)
	}
	if !slices.Equal(paged, all) {
		t.Errorf("in pages the trail is %q, want %q", paged, all)
	}
}

func TestTimeWithoutZoneIsUTC(t *testing.T) {
	s := startStack(t)
	s.do("POST", "/vault/folders", `{"name": "Reports"}`)
	for ago, want := range map[time.Duration]int{time.Hour: 1, -time.Hour: 0} {
		from := time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000")
		if entries, _, _ := s.trail("?from=" + from); len(entries) != want {
			t.Errorf("audit?from=%s = %d entries, want %d", from, len(entries), want)
		}
	}
}

func TestAuditRejectsInvalidQuery(t *testing.T) {
	s := startStack(t)
	for query, want := range map[string]string{
		"?document=x":               "document must be a UUID",
		"?folder=x":                 "folder must be a UUID",
		"?actor=":                   "actor should not be empty",
		"?actor=bob":                "actor must be the principal of a user, such as user:alice",
		"?actor=group:staff":        "actor must be the principal of a user, such as user:alice",
		"?from=yesterday":           "from must be a valid ISO 8601 date string",
		"?to=":                      "to must be a valid ISO 8601 date string",
		"?to=2026-01-01&to=2026-02": "to must be a valid ISO 8601 date string",
		"?limit=1001":               "limit must not be greater than 1000",
		"?limit=0":                  "limit must not be less than 1",
		"?cursor=x":                 "cursor must come from a Link header of this listing",
	} {
		resp, body := s.do("GET", "/vault/audit"+query, "")
		if resp.StatusCode != 422 || !strings.Contains(body, want) {
			t.Errorf("audit%s = %d %s, want 422 and %q", query, resp.StatusCode, body, want)
		}
	}
}
