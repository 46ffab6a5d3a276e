package http_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events/originals"
)

// restorableReply is the reply to POST /vault/documents/{id}/restore?dryRun=true.
type restorableReply struct {
	Name, FolderID       string
	DeletedAt, KeptUntil time.Time
	RestoredAs           *string
}

// A deleted document comes back with its last name, tags and text, for those who could delete
// it, as long as its file is kept.
func TestRestoreDocument(t *testing.T) {
	s := startStack(t)
	old := s.file("Staff/Terms", "a.md", handbook, "hr")
	folder := s.folderOf(old)
	s.share(folder, "user:bob", "write")
	path := "/vault/documents/" + old + "/restore"
	restore := func(user, query string, status int, text string) string {
		t.Helper()
		resp, body := s.do("POST", path+query, "", "Authorization", "Bearer "+user)
		if resp.StatusCode != status || !strings.Contains(body, text) {
			t.Errorf("restore%s by %s = %d %s, want %d with %q", query, user, resp.StatusCode, body, status, text)
		}
		return body
	}
	restore("alice", "", 409, `document \"a.md\" is not deleted`)
	restore("alice", "?dryRun=true", 409, "is not deleted")
	if resp, body := s.do("PATCH", "/vault/documents/"+old, `{"name":"terms.md","version":1}`); resp.StatusCode != 200 {
		t.Fatalf("PATCH = %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("DELETE", "/vault/documents/"+old+"?version=2", ""); resp.StatusCode != 204 {
		t.Fatalf("DELETE = %d %s", resp.StatusCode, body)
	}
	restore("bob", "", 403, "needs own access")
	restore("carol", "", 404, "not_found")
	restore("alice", "?dryrun=true", 422, "dryrun")
	r := decode[restorableReply](t, restore("alice", "?dryRun=true", 200, ""))
	if r.Name != "terms.md" || r.FolderID != folder || time.Since(r.DeletedAt) > time.Hour || r.KeptUntil.Sub(r.DeletedAt) != originals.KeptDeleted || r.RestoredAs != nil {
		t.Errorf("dry run = %+v", r)
	}
	if _, jobs := s.accepted(); jobs != 1 {
		t.Errorf("%d jobs after a dry run, want the upload alone", jobs)
	}

	job := decode[jobReply](t, restore("alice", "", 202, "terms.md")).JobID
	done := s.finish(job)
	if again := decode[jobReply](t, restore("alice", "", 202, "terms.md")).JobID; again != job {
		t.Errorf("the second request started job %s, want %s again", again, job)
	}
	if done.Successful != 1 || done.Results[0].FolderName != "Staff/Terms" || done.Results[0].DocumentID == old {
		t.Fatalf("job = %+v", done)
	}
	restored := done.Results[0].DocumentID
	_, body := s.do("GET", "/vault/documents/"+restored, "")
	if d := decode[struct{ Name, FolderID, Content string }](t, body); d.Name != "terms.md" || d.FolderID != folder || !strings.Contains(d.Content, "ninety days") {
		t.Errorf("restored %s", body)
	}
	if _, body := s.do("GET", "/vault/documents/"+restored+"/tags", ""); !strings.Contains(body, `["hr"]`) {
		t.Errorf("tags = %s", body)
	}
	if resp, _ := s.do("GET", "/vault/documents/"+old, ""); resp.StatusCode != 404 {
		t.Errorf("GET of the deleted document = %d, want 404", resp.StatusCode)
	}
	if r := decode[restorableReply](t, restore("alice", "?dryRun=true", 200, "")); r.RestoredAs == nil || *r.RestoredAs != restored {
		t.Errorf("dry run after the restore = %+v", r)
	}
	if _, what, _ := s.trail("?document=" + old); !slices.Contains(what, `user:alice restored deleted document "terms.md" as document `+restored) {
		t.Errorf("the trail of the deleted document is %q", what)
	}
}

// Once the file is gone, the document cannot be restored.
func TestRestoreOfSweptDocumentIsGone(t *testing.T) {
	s := startStack(t)
	id := s.file("Staff", "a.md", handbook)
	if resp, body := s.do("DELETE", "/vault/documents/"+id+"?version=1", ""); resp.StatusCode != 204 {
		t.Fatalf("DELETE = %d %s", resp.StatusCode, body)
	}
	files, err := filepath.Glob(filepath.Join(s.originals, "*", "*", strings.Repeat("?", 64)))
	if err != nil || len(files) != 1 {
		t.Fatalf("originals %q, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "?dryRun=true"} {
		if resp, body := s.do("POST", "/vault/documents/"+id+"/restore"+query, ""); resp.StatusCode != 410 || !strings.Contains(body, "deleted for good") {
			t.Errorf("restore%s = %d %s, want 410", query, resp.StatusCode, body)
		}
	}
	if _, jobs := s.accepted(); jobs != 1 {
		t.Errorf("%d jobs, want the upload alone", jobs)
	}
}
