package http_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// Searches, questions and summaries accept the folder path in a source as an argument. This
// path does not contain the names of folders that the user may not read.
func TestFolderByShownPath(t *testing.T) {
	s := startStack(t)
	const text = "# Wicks\n\nThe wick of the harbour lamp is trimmed every evening by the keeper.\n"
	s.file("Merger/Target/Notes", "wicks.md", text)
	document := s.file("Merger/Target/Notes/Old", "old.md", strings.ReplaceAll(text, "evening", "morning"))
	_, body := s.do("GET", "/vault/folders/"+s.folderOf(document), "")
	s.share(decode[struct{ ParentFolderID string }](t, body).ParentFolderID, "user:bob", "read")

	ask := func(path, in string) string {
		t.Helper()
		resp, body := s.do("POST", "/core/"+path, in, by("bob")...)
		if resp.StatusCode != 200 || strings.Contains(body, "Merger") || strings.Contains(body, "Target") {
			t.Fatalf("%s %s = %d %s", path, in, resp.StatusCode, body)
		}
		return body
	}
	type source struct{ Folder string }
	seen := map[string]bool{}
	for _, src := range decode[struct{ Sources []source }](t, ask("search", `{"query":"wick of the harbour lamp"}`)).Sources {
		seen[src.Folder] = true
	}
	if len(seen) != 2 || !seen["Notes"] || !seen["Notes/Old"] {
		t.Fatalf("sources for bob are in the folders %v", seen)
	}
	for folder := range seen {
		for _, name := range []string{folder, "Merger/Target/" + folder} {
			in, _ := json.Marshal(map[string]any{"query": "Who trims the wick of the harbour lamp?", "folder_name": name})
			found := decode[struct{ Sources []source }](t, ask("search", string(in))).Sources
			for _, src := range found {
				if !strings.HasPrefix(src.Folder, folder) {
					t.Errorf("search in %s found a passage in %s", name, src.Folder)
				}
			}
			if answer := decode[struct{ Answer string }](t, ask("ask", string(in))).Answer; len(found) == 0 || !strings.Contains(answer, "keeper") {
				t.Errorf("search in %s found %d passages, and the answer is %q", name, len(found), answer)
			}
			resp, body := s.do("GET", "/core/folders/summary?folder_name="+url.QueryEscape(name), "", by("bob")...)
			if sum := decode[struct {
				Status  string
				Summary struct{ Folder, Title string } `json:"folder_summary"`
			}](t, body); resp.StatusCode != 200 || sum.Status != "ok" || sum.Summary.Folder != folder || strings.Contains(body, "Merger") {
				t.Errorf("summary of %s = %d %s", name, resp.StatusCode, body)
			}
		}
	}
	for _, name := range []string{"Notes/Old/x", "Target/Notes", "Old"} {
		in, _ := json.Marshal(map[string]any{"query": "wick", "folder_name": name})
		if _, body := s.do("POST", "/core/search", string(in), by("bob")...); len(decode[struct{ Sources []source }](t, body).Sources) > 0 {
			t.Errorf("search in %s, which does not exist = %s", name, body)
		}
	}
}
