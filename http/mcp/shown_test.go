package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/http/mcp"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// No tool, resource or completion reveals the names of the folders above a shared folder. As
// arguments, tools accept paths as the user sees them and paths from the top level.
func TestHiddenNamesAreNotShown(t *testing.T) {
	root := t.TempDir()
	s := start(t, func(o *mcp.Options) { o.IngestRoots, o.AllowDelete = []string{root}, true })
	ids := s.file("alice",
		paper{folder: "Merger/Target-Corp/Notes", name: "a.md", text: handbook, tags: []string{"hr"}},
		paper{folder: "Merger/Target-Corp/Notes/Sub", name: "b.md", text: "# B\n\nThe zebra crossing was painted in 1949.\n"},
		paper{folder: "Merger/Secret", name: "c.md", text: "# C\n\nNobody reads this.\n"},
	)
	s.share("Merger/Target-Corp/Notes", "bob", "write")
	bob := s.connect("bob")
	all := ""
	note := func(text string, data any) {
		b, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		all += text + string(b)
	}
	for _, call := range []struct {
		tool string
		in   args
	}{
		{"list_folders", args{}}, {"list_documents_by_folder", args{"folder_name": "Notes"}}, {"list_documents_by_folder", args{"folder_name": "Notes/Sub"}},
		{"list_documents_by_tag", args{"tag_name": "hr"}}, {"search", args{"query": "zebra crossing"}}, {"ask", args{"query": "When was the zebra crossing painted?"}},
		{"get_document_metadata", args{"document_id": ids[0]}}, {"get_document_markdown", args{"document_id": ids[0]}},
		{"get_document_metadata", args{"document_id": events.SummaryID(s.folderID("Merger/Target-Corp/Notes")).String()}},
		{"get_document_markdown", args{"document_id": events.SummaryID(s.folderID("Merger/Target-Corp/Notes")).String()}},
	} {
		text, data, failed := bob.try(call.tool, call.in)
		if failed {
			t.Errorf("%s %v: %s", call.tool, call.in, text)
		}
		note(text, data)
	}
	for _, uri := range []string{"service://folders", "service://folders/Notes", "service://folders/Notes%2FSub", "service://tags/hr"} {
		text, err := bob.read(uri)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		all += text
	}
	completed, err := bob.Complete(t.Context(), &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "service://folders/{folder_name}"}, Argument: sdk.CompleteParamsArgument{Name: "folder_name"},
	})
	if err != nil || !slices.Equal(completed.Completion.Values, []string{"Notes", "Notes/Sub"}) {
		t.Errorf("completions %+v, %v", completed, err)
	}
	// A file can be imported to a path as the user sees it. The result reports the same path.
	path := filepath.Join(root, "d.md")
	if err := os.WriteFile(path, []byte("# D\n\nA new one.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var job struct {
		JobID string `json:"job_id"`
	}
	bob.ok("ingest", args{"file_paths": []string{path}, "file_metadata": []args{{"folder_name": "Notes/New"}}}, &job)
	added := s.finish("bob", job.JobID)
	text, data, _ := bob.try("job_status", args{"job_id": job.JobID})
	note(text, data)
	if _, found, err := s.queries.FolderAt(t.Context(), user("alice"), "Merger/Target-Corp/Notes/New"); !found || err != nil {
		t.Errorf("the folder was not created at the shown path: %v", err)
	}
	text, data, _ = bob.try("get_document_metadata", args{"document_id": added[0]})
	note(text, data)
	if !strings.Contains(text, "“Notes/New”") {
		t.Errorf("the new document is in %s, want Notes/New", text)
	}
	s.share("Merger/Target-Corp/Notes", "bob", "read")
	text, data, failed := bob.try("ingest", args{"file_paths": []string{path}, "file_metadata": []args{{"folder_name": "Notes/New"}}})
	note(text, data)
	if !failed || !strings.Contains(text, `"Notes/New"`) {
		t.Errorf("ingest by a reader = %s, want an error", text)
	}
	for _, name := range []string{"Merger", "Target-Corp", "Secret"} {
		if strings.Contains(all, name) {
			t.Errorf("bob's replies reveal %s: %s", name, all)
		}
	}
	var found struct{ Sources []struct{ Folder string } }
	for _, scope := range []string{"Notes/Sub", "Merger/Target-Corp/Notes/Sub", "Notes"} {
		bob.ok("search", args{"query": "zebra crossing", "folder_name": scope}, &found)
		if len(found.Sources) != 1 || found.Sources[0].Folder != "Notes/Sub" {
			t.Errorf("search in %q = %+v", scope, found)
		}
	}
	var listed struct{ Folders []string }
	s.connect("alice").ok("list_folders", args{}, &listed)
	if !slices.Contains(listed.Folders, "Merger/Target-Corp/Notes/Sub") {
		t.Errorf("folders of the owner = %q", listed.Folders)
	}
}

// Two shared folders with the same name have different paths for the user, and each path leads
// to its own folder.
func TestSharedFoldersOfOneName(t *testing.T) {
	s := start(t)
	papers := []paper{
		{folder: "A/Notes", name: "1.md", text: "# One\n\nFirst.\n"}, {folder: "B/Notes", name: "2.md", text: "# Two\n\nSecond.\n"},
		{folder: "Notes", name: "3.md", text: "# Three\n\nThird.\n"}, {folder: "C/Plain", name: "4.md", text: "# Four\n\nFourth.\n"},
		{folder: "Plain/x/D", name: "5.md", text: "# Five\n\nFifth.\n"}, {folder: "E/F (0123abcd)", name: "6.md", text: "# Six\n\nSixth.\n"},
	}
	s.file("alice", papers...)
	for _, p := range papers {
		s.share(p.folder, "bob", "read")
	}
	bob := s.connect("bob")
	var listed struct{ Folders []string }
	bob.ok("list_folders", args{}, &listed)
	if len(listed.Folders) != len(papers) || len(slices.Compact(slices.Sorted(slices.Values(listed.Folders)))) != len(papers) || !slices.Contains(listed.Folders, "Notes") || !slices.Contains(listed.Folders, "D") {
		t.Errorf("folders %q", listed.Folders)
	}
	seen := map[string]string{}
	for _, folder := range listed.Folders {
		var in struct {
			Documents []struct {
				Name       string
				FolderName string `json:"folder_name"`
			}
		}
		bob.ok("list_documents_by_folder", args{"folder_name": folder}, &in)
		if len(in.Documents) != 1 || in.Documents[0].FolderName != folder || seen[in.Documents[0].Name] != "" {
			t.Errorf("documents in %q = %+v", folder, in.Documents)
			continue
		}
		seen[in.Documents[0].Name] = folder
	}
	if seen["3.md"] != "Notes" || seen["5.md"] != "D" || !strings.HasPrefix(seen["1.md"], "Notes (") || !strings.HasPrefix(seen["4.md"], "Plain (") || seen["6.md"] == "F (0123abcd)" {
		t.Errorf("shown as %v", seen)
	}
	// A path that begins at the top level takes precedence over an equal path that begins at a
	// shared folder.
	if p, err := s.options.Queries.PlaceOf(t.Context(), user("bob"), "Plain/x/D"); err != nil || p.Shown || p.Rest != "" {
		t.Errorf("Plain/x/D leads to %+v, %v", p, err)
	}
}

func (s *service) folderID(path string) uuid.UUID {
	s.Helper()
	f, found, err := s.queries.FolderAt(s.Context(), user("alice"), path)
	if err != nil || !found {
		s.Fatalf("folder %s: %v %v", path, found, err)
	}
	return f.ID
}
