package http_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Deleting a document offers to undo it: after the deletion, in the history, and at the address
// of the document, to those who may.
func TestDeletionsAreUndone(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff", "<b>a.md", handbook, "hr")
	s.share(s.folderOf(id), "user:bob", "write")
	page := s.page("alice", "/documents/"+id+"/change?do=delete")
	s.contains(page, "restore the last version for 24 hours")
	resp, page := s.sendForm("alice", page, "do", "delete")
	s.contains(page, "&lt;b&gt;a.md</bdi> was deleted", "can be restored until <time", ">Undo</button>")
	s.lacks(page, "<b>a.md")
	after := resp.Header.Get("Location")
	s.lacks(s.page("bob", after), ">Undo</button>", "a.md")
	s.contains(s.page("alice", "/history"), `<a href="/documents/`+id+`">Restore…</a>`)
	address := "/documents/" + id
	for _, path := range []string{address, address + "/history", address + "/change?do=name"} {
		for user, want := range map[string]int{"alice": 410, "bob": 404, "carol": 404} {
			resp, body := s.visit(user, "GET", path, nil)
			if resp.StatusCode != want || strings.Contains(body, "a.md") != (want == 410) || strings.Contains(body, ">Restore it</button>") != (want == 410) {
				t.Errorf("GET %s of %s = %d %s, want %d", path, user, resp.StatusCode, body, want)
			}
		}
	}
	if resp, body := s.visit("alice", "POST", address+"/restore", nil); resp.StatusCode != 403 {
		t.Errorf("restore without the form's token = %d %s, want 403", resp.StatusCode, body)
	}

	_, open := s.visit("alice", "GET", address, nil)
	resp, _ = s.sendForm("alice", open, "csrf", "token")
	job, found := strings.CutPrefix(resp.Header.Get("Location"), "/import/")
	if resp.StatusCode != http.StatusSeeOther || !found {
		t.Fatalf("restore = %d to %q, want the page of the import", resp.StatusCode, resp.Header.Get("Location"))
	}
	restored := s.finish(job).Results[0].DocumentID
	s.contains(s.page("alice", "/import/"+job), "/documents/"+restored)
	s.contains(s.page("alice", "/documents/"+restored), "ninety days")
	_, body := s.visit("alice", "GET", address, nil)
	s.contains(body, `href="/documents/`+restored+`"`)
	s.lacks(body, ">Restore it</button>")
}

// What is gone for good is told so to those who could delete it.
func TestDeletedForGoodIsTold(t *testing.T) {
	s := startConsole(t)
	id := s.file("Staff", "a.md", handbook)
	_, _ = s.submit("alice", "/documents/"+id+"/change?do=delete", "do", "delete")
	files, err := filepath.Glob(filepath.Join(s.originals, "*", "*", strings.Repeat("?", 64)))
	if err != nil || len(files) != 1 {
		t.Fatalf("originals %q, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"alice": "deleted for good", "carol": "There is no such page"} {
		_, body := s.visit(user, "GET", "/documents/"+id, nil)
		s.contains(body, want)
	}
	s.lacks(s.page("alice", "/folders?done=delete&deleted="+id), ">Undo</button>")
}
