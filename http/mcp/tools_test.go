package mcp_test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"annals/http/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// everything returns options that also enable the tools that are off by default, and the
// folder from which files can be imported.
func everything(t testing.TB) (root string, set func(*mcp.Options)) {
	root = t.TempDir()
	return root, func(o *mcp.Options) { o.IngestRoots, o.AllowDelete = []string{root}, true }
}

// An agent that follows the server's instructions can find, read, ask, import and delete.
func TestToolsGoFromFoldersToAnswers(t *testing.T) {
	root, set := everything(t)
	s := start(t, set)
	ids := s.file("alice", paper{"Staff/2026", "handbook.md", handbook, []string{"hr"}}, paper{"Staff", "note.txt", "The office closes at noon on Fridays.\n", nil})
	a := s.connect("alice")

	var folders struct{ Folders []string }
	if text := a.ok("list_folders", nil, &folders); !slices.Equal(folders.Folders, []string{"Staff", "Staff/2026"}) || !strings.Contains(text, "- Staff/2026\n") {
		t.Errorf("folders %q, text %q", folders.Folders, text)
	}
	var tags struct{ Tags []string }
	if a.ok("list_tags", nil, &tags); !slices.Equal(tags.Tags, []string{"hr"}) {
		t.Errorf("tags %q", tags.Tags)
	}
	type listing struct {
		Subfolders []string
		Documents  []struct {
			ID, Title, Name string
			Tags            []string
			FolderName      string `json:"folder_name"`
		}
	}
	var in, tagged listing
	a.ok("list_documents_by_folder", args{"folder_name": " /Staff/ "}, &in)
	if len(in.Documents) != 1 || in.Documents[0].ID != ids[1] || !slices.Equal(in.Subfolders, []string{"Staff/2026"}) {
		t.Errorf("folder Staff = %+v", in)
	}
	text := a.ok("list_documents_by_tag", args{"tag_name": " hr"}, &tagged)
	if len(tagged.Documents) != 1 || tagged.Documents[0].Title != "Handbook" || tagged.Documents[0].FolderName != "Staff/2026" || !strings.Contains(text, "**Handbook** `"+ids[0]+"`") {
		t.Errorf("tagged hr: %+v, text %q", tagged, text)
	}
	var found struct {
		Sources []struct {
			DocID     string `json:"doc_id"`
			LeafTitle string `json:"leaf_title"`
			DeepLink  string `json:"deep_link"`
			StartPage *int   `json:"start_page"`
		}
	}
	text = a.ok("search", args{"query": "How long is the notice period?", "folder_name": "Staff", "tags": []string{"hr", "x"}, "tag_mode": "any"}, &found)
	if len(found.Sources) == 0 || found.Sources[0].DocID != ids[0] || found.Sources[0].StartPage != nil || found.Sources[0].DeepLink != "/documents/"+ids[0]+".md" || !strings.Contains(text, "> ## Notice") {
		t.Errorf("found %+v, text %q", found, text)
	}
	a.ok("search", args{"query": "How long is the notice period?", "document_id": ids[0], "limit": 1}, &found)
	if len(found.Sources) != 1 || found.Sources[0].DocID != ids[0] {
		t.Errorf("found %+v, want one passage of %s", found, ids[0])
	}
	answer := struct {
		Answer, Reasoning string
		Confidence        float64
		Sources           []struct {
			DocID    string `json:"doc_id"`
			DeepLink string `json:"deep_link"`
		}
	}{}
	for _, scope := range []args{{}, {"folder_name": "Staff"}, {"document_id": ids[0]}, {"document_id": ids[0], "folder_name": "Staff"}} {
		scope["query"] = "How long is the notice period?"
		if text := a.ok("ask", scope, &answer); !strings.Contains(answer.Answer, "ninety days") || answer.Confidence < 0.3 || !strings.HasPrefix(text, answer.Answer) ||
			len(answer.Sources) == 0 || answer.Sources[0].DocID != ids[0] || !strings.Contains(text, answer.Sources[0].DeepLink) {
			t.Errorf("ask %v = %+v, text %q", scope, answer, text)
		}
	}
	for _, scope := range []args{{"document_id": ids[1]}, {"folder_name": "Nowhere"}, {"document_id": ids[1], "folder_name": "Staff/2026"}} {
		scope["query"] = "How long is the notice period?"
		if text := a.ok("ask", scope, &answer); answer.Confidence >= 0.3 || len(answer.Sources) > 0 || !strings.Contains(text, "service_search") {
			t.Errorf("ask %v = %+v, text %q", scope, answer, text)
		}
	}
	var document struct {
		Title, Markdown string
		NextCursor      string `json:"next_cursor"`
	}
	if text := a.ok("get_document_markdown", args{"document_id": ids[0], "cursor": nil}, &document); document.Title != "Handbook" || !strings.Contains(document.Markdown, "thirty days") || text != document.Markdown || document.NextCursor != "" {
		t.Errorf("document %+v, text %q", document, text)
	}
	var known struct {
		Title       string
		AccessLevel string `json:"access_level"`
		Tags        []string
		CreatedAt   string `json:"created_at"`
		Size        int
	}
	if a.ok("get_document_metadata", args{"document_id": ids[0]}, &known); known.AccessLevel != "own" || known.Title != "Handbook" || !slices.Equal(known.Tags, []string{"hr"}) || known.CreatedAt == "" || known.Size != len(handbook) {
		t.Errorf("metadata %+v", known)
	}
	var again struct {
		JobID          string `json:"job_id"`
		TotalDocuments int    `json:"total_documents"`
	}
	if a.ok("reread_documents", args{"doc_ids": []string{ids[0], ids[0]}}, &again); again.TotalDocuments != 1 || !slices.Equal(s.finish("alice", again.JobID), ids[:1]) {
		t.Errorf("read again %+v", again)
	}
	a.refused("reread_documents", args{"doc_ids": []string{ids[0], nobody}}, "no document "+nobody, "service_search")
	var health struct{ Status string }
	if a.ok("health", nil, &health); health.Status != "ok" {
		t.Errorf("health %+v", health)
	}
	path := filepath.Join(root, "new.md")
	if err := os.WriteFile(path, []byte("# New\n\nThe canteen opens at eleven.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var job struct {
		JobID string `json:"job_id"`
	}
	a.ok("ingest", args{"file_paths": []string{path}, "file_metadata": []args{{"folder_name": "Staff/Canteen", "tags": []string{"food"}}}}, &job)
	id := s.finish("alice", job.JobID)[0]
	var status struct {
		Done    bool
		Results []struct {
			Success    bool
			DocumentID string `json:"document_id"`
			FolderName string `json:"folder_name"`
		}
	}
	if a.ok("job_status", args{"job_id": job.JobID}, &status); !status.Done || len(status.Results) != 1 || status.Results[0].DocumentID != id || status.Results[0].FolderName != "Staff/Canteen" {
		t.Errorf("job %+v", status)
	}
	var gone struct {
		Results []struct {
			Deleted    bool
			Title      string
			DocumentID string `json:"document_id"`
		}
	}
	a.ok("delete_documents", args{"doc_ids": []string{id, nobody, id}}, &gone)
	if len(gone.Results) != 2 || !gone.Results[0].Deleted || gone.Results[0].Title != "New" || gone.Results[1].Deleted {
		t.Errorf("deleted %+v", gone)
	}
	a.refused("get_document_metadata", args{"document_id": id}, "no document "+id, "service_search")
}

// Every tool and each field of its schemas has a description. The tool's hints match whether
// it writes.
func TestToolsAreDescribed(t *testing.T) {
	_, set := everything(t)
	s := start(t, set)
	session := s.connect("alice")
	writes := map[string]bool{"service_ingest": false, "service_accept_invitation": false, "service_decline_invitation": false, "service_reread_documents": false, "service_delete_documents": true} // whether they delete
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		deletes, written := writes[tool.Name]
		hints := tool.Annotations
		if hints.ReadOnlyHint == written || *hints.DestructiveHint != deletes || *hints.OpenWorldHint || hints.IdempotentHint == slices.Contains([]string{"service_ingest", "service_reread_documents"}, tool.Name) {
			t.Errorf("%s has the hints %+v", tool.Name, hints)
		}
		if tool.Title == "" || len(tool.Description) < 50 {
			t.Errorf("%s has the title %q and the description %q", tool.Name, tool.Title, tool.Description)
		}
		described(t, tool.Name, tool.InputSchema)
		described(t, tool.Name, tool.OutputSchema)
	}
	want := []string{"service_accept_invitation", "service_ask", "service_decline_invitation", "service_delete_documents", "service_get_document_markdown",
		"service_get_document_metadata", "service_health", "service_ingest", "service_job_status", "service_list_documents_by_folder",
		"service_list_documents_by_tag", "service_list_folders", "service_list_invitations", "service_list_tags", "service_reread_documents", "service_search"}
	if !slices.Equal(names, want) {
		t.Errorf("tools %q", names)
	}
	got := session.InitializeResult()
	for _, name := range []string{"service_list_folders", "service_search", "service_ask"} {
		if !strings.Contains(got.Instructions, name) {
			t.Errorf("the instructions do not name %s: %s", name, got.Instructions)
		}
	}
}

// described checks that every field of a schema has a description.
func described(t *testing.T, tool string, schema any) {
	t.Helper()
	s := resolve(t, schema).Schema()
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s: %s has no description", tool, name)
		}
		if len(p.Types) > 0 {
			t.Errorf("%s: %s has the types %q", tool, name, p.Types)
		}
		if p.Items != nil && len(p.Items.Properties) > 0 {
			described(t, tool, p.Items)
		}
	}
	if s.AdditionalProperties == nil {
		t.Errorf("%s: the schema allows unknown fields", tool)
	}
}

// By default no tool imports files from the disk or deletes documents, even for an
// administrator.
func TestWritingToolsAreOffByDefault(t *testing.T) {
	s := start(t)
	a := s.connect("admin")
	if got := slices.Sorted(maps.Keys(a.schemas)); len(got) != 14 || a.schemas["service_ingest"] != nil || a.schemas["service_delete_documents"] != nil {
		t.Errorf("tools %q", got)
	}
	for _, tool := range []string{"service_ingest", "service_delete_documents"} {
		if r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args{}}); err == nil {
			t.Errorf("%s = %+v", tool, r)
		}
	}
}

func TestNamesAreConfigured(t *testing.T) {
	root, set := everything(t)
	s := start(t, set, func(o *mcp.Options) { o.Prefix, o.Scheme = "kb.", "kb" })
	for _, bad := range []mcp.Options{{Prefix: "a b"}, {Scheme: "1x"}, {IngestRoots: []string{filepath.Join(root, "none")}}} {
		bad.URL = s.options.URL
		if _, err := mcp.New(bad); err == nil {
			t.Errorf("New(%+v) succeeded, want an error", bad)
		}
	}
	a := s.connect("alice")
	all := a.InitializeResult().Instructions
	for tool := range a.Tools(t.Context(), nil) {
		if !strings.HasPrefix(tool.Name, "kb.") {
			t.Errorf("tool %s", tool.Name)
		}
		all += tool.Description + string(resolve(t, tool.InputSchema).Schema().String()) + string(resolve(t, tool.OutputSchema).Schema().String())
	}
	for r := range a.Resources(t.Context(), nil) {
		all += r.URI + r.Description
	}
	if strings.Contains(all, "service_") || strings.Contains(all, "service://") || !strings.Contains(all, "kb.search") || !strings.Contains(all, "kb://folders") {
		t.Errorf("the descriptions contain default names: %s", all)
	}
	if text, err := a.read("kb://folders"); err != nil || !strings.Contains(text, "no folders") {
		t.Errorf("kb://folders = %q, %v", text, err)
	}
}

// Null arguments, at any depth, are treated like missing ones.
func TestNullsCountAsMissing(t *testing.T) {
	root, set := everything(t)
	s := start(t, set)
	path := write(t, filepath.Join(root, "a.md"), "# A")
	for in, want := range map[string]string{
		`null`:                        `missing properties: [\"query\"]`,
		`{"query":null}`:              `missing properties: [\"query\"]`,
		`{"query":"x","tags":[null]}`: `do not fit the input schema`,
		`{"query":"x","tags":null,"folder_name":null}`: `No passages were found`,
	} {
		if resp, reply := s.send("POST", callOf("search", in), "Authorization", alice); resp.StatusCode != 200 || !strings.Contains(reply, want) {
			t.Errorf("search %s = %d %s, want %q", in, resp.StatusCode, reply, want)
		}
	}
	in := fmt.Sprintf(`{"file_paths":[%q],"file_metadata":[{"folder_name":null,"tags":null}]}`, path)
	if _, reply := s.send("POST", callOf("ingest", in), "Authorization", alice); !strings.Contains(reply, `"job_id":`) {
		t.Errorf("ingest %s = %s", in, reply)
	}
}

// callOf returns the JSON-RPC request for a tool call with arguments in JSON.
func callOf(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_%s","arguments":%s}}`, tool, arguments)
}

func TestArgumentsAreChecked(t *testing.T) {
	_, set := everything(t)
	a := start(t, set).connect("alice")
	long := strings.Repeat("x", 100_001)
	for _, c := range []struct {
		tool string
		in   args
		want string
	}{
		{"search", args{}, `missing properties: ["query"]`},
		{"search", args{"query": nil}, `missing properties: ["query"]`},
		{"search", args{"query": ""}, "minLength"},
		{"search", args{"query": long}, "maxLength"},
		{"search", args{"query": 1}, "string"},
		{"search", args{"query": "x", "tag_mode": "some"}, "tag_mode"},
		{"search", args{"query": "x", "tags": slices.Repeat([]string{"x"}, 65)}, "maxItems"},
		{"search", args{"query": "x", "top": 3}, "top"},
		{"search", args{"query": "x", "limit": 0}, "minimum"},
		{"search", args{"query": "x", "limit": 101}, "maximum"},
		{"search", args{"query": "x", "document_id": nobody}, "service_list_documents_by_folder"},
		{"ask", args{"query": long}, "maxLength"},
		{"ask", args{"query": "x", "document_id": "7"}, "service_list_documents_by_folder"},
		{"list_documents_by_folder", args{"folder_name": "Nowhere"}, "service_list_folders"},
		{"list_documents_by_folder", args{"folder_name": ""}, "service_list_folders"},
		{"get_document_markdown", args{"document_id": nobody}, "service_search"},
		{"get_document_markdown", args{"document_id": nobody, "cursor": "x"}, "leave it out"},
		{"list_folders", args{"cursor": "x"}, "leave it out"},
		{"list_tags", args{"cursor": "x"}, "leave it out"},
		{"list_documents_by_tag", args{"tag_name": "x", "cursor": "%"}, "leave it out"},
		{"job_status", args{"job_id": nobody}, "jobs that you started"},
		{"delete_documents", args{"doc_ids": []string{}}, "minItems"},
		{"delete_documents", args{"doc_ids": slices.Repeat([]string{nobody}, 101)}, "maxItems"},
		{"ingest", args{"file_paths": []string{}}, "minItems"},
		{"ingest", args{"file_paths": []string{"/x"}, "file_metadata": []args{{}, {}}}, "one for each"},
		{"ingest", args{"file_paths": []string{"/x"}, "file_metadata": []args{{"folder_name": "a//b"}}}, "file_metadata[0].folder_name"},
		{"ingest", args{"file_paths": []string{"/x"}, "file_metadata": []args{{"tags": []string{""}}}}, "file_metadata[0].tags"},
	} {
		a.refused(c.tool, c.in, c.want)
	}
	if text := a.ok("search", args{"query": "  ", "tags": nil}, nil); !strings.Contains(text, "service_list_tags") {
		t.Errorf("search for blanks = %q, want advice", text)
	}
	if text := a.ok("list_documents_by_tag", args{"tag_name": "nothing"}, nil); !strings.Contains(text, "service_list_tags") {
		t.Errorf("list_documents_by_tag with an unknown tag = %q, want advice", text)
	}
}

// Sources have a URL that people can open in a browser, and the instructions tell agents to
// cite it.
func TestAgentsCiteURLs(t *testing.T) {
	s := start(t, func(o *mcp.Options) { o.LinkURL = &url.URL{Scheme: "https", Host: "annals.example"} })
	ids := s.file("alice", paper{"Staff", "handbook.md", handbook, nil})
	a := s.connect("alice")
	want := "https://annals.example/documents/" + ids[0] + ".md"
	for tool, in := range map[string]args{
		"search": {"query": "notice period"}, "ask": {"query": "How long is the notice period?"}, "get_document_metadata": {"document_id": ids[0]},
	} {
		var out struct {
			URL     string
			Sources []struct{ URL string }
		}
		text := a.ok(tool, in, &out)
		if !strings.Contains(text, want) || out.URL != want && (len(out.Sources) == 0 || out.Sources[0].URL != want) {
			t.Errorf("%s = %s, %+v; want the URL %s", tool, text, out, want)
		}
	}
	if got := a.InitializeResult().Instructions; !strings.Contains(got, "page and url") {
		t.Errorf("the instructions do not say what to cite: %s", got)
	}
}
