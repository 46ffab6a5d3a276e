package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/commands"
	"annals/events"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pages calls a tool page by page, passes each page to the function each, and returns the
// number of pages.
func pages[T any](a *agent, tool string, in args, each func(T)) (n int) {
	a.Helper()
	for {
		var page struct {
			NextCursor string `json:"next_cursor"`
		}
		var data json.RawMessage
		var content T
		text := a.ok(tool, in, &data)
		if err := errors.Join(json.Unmarshal(data, &page), json.Unmarshal(data, &content)); err != nil {
			a.Fatal(err)
		}
		each(content)
		n++
		if more := "the cursor `" + page.NextCursor + "`"; (page.NextCursor != "") != strings.Contains(text, more) {
			a.Errorf("%s has the next cursor %q, text %q", tool, page.NextCursor, text)
		}
		if page.NextCursor == "" {
			return n
		}
		in["cursor"] = page.NextCursor
	}
}

// addDocuments appends to the log the events of n documents in a new folder of alice. Each
// document has five tags that no other has. It returns the documents' ids in the order of
// their names.
func (s *service) addDocuments(folder string, n int) (ids []string) {
	s.Helper()
	at := uuid.New()
	s.append(events.Folders, events.FolderCreated{Folder: at, Name: folder, Owner: "user:alice"})
	for i := range n {
		tags := []string{"all"}
		for j := range 5 {
			tags = append(tags, fmt.Sprintf("tag %03d", 5*i+j))
		}
		id := uuid.New()
		s.append(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: at, Name: fmt.Sprintf("%03d.txt", i), Tags: tags, Content: events.Content{
			SHA256: fmt.Sprintf("%064x", i), Size: 5, MediaType: "text/plain", Title: fmt.Sprint("Number ", i), TextStream: events.TextStream(id, 0),
		}})
		ids = append(ids, id.String())
	}
	return ids
}

// addFolders appends to the log the events of n folders of alice, in parent or at the top
// level.
func (s *service) addFolders(parent uuid.UUID, n int) {
	s.Helper()
	folders := make([]events.Data, n)
	for i := range folders {
		folders[i] = events.FolderCreated{Folder: uuid.New(), Parent: parent, Name: fmt.Sprintf("folder %03d", i), Owner: "user:alice"}
	}
	s.append(events.Folders, folders...)
}

func (s *service) append(stream string, data ...events.Data) {
	s.Helper()
	added := make([]events.New, len(data))
	for i, d := range data {
		added[i].Data = d
	}
	at, err := s.log.Append(s.Context(), stream, events.AnyRevision, events.Cause{Actor: "user:alice"}, added...)
	if s.last = at.Position; err != nil {
		s.Fatal(err)
	}
}

// refusedJob starts a job of alice with files that are all refused.
func (s *service) refusedJob(files int) string {
	s.Helper()
	uploads := make([]commands.Upload, files)
	for i := range uploads {
		uploads[i] = commands.Upload{Name: fmt.Sprint(i, ".exe"), Folder: "Top", Refused: "it is a program"}
	}
	started, err := s.handler.StartImport(s.Context(), user("alice"), "", uploads)
	if err == nil {
		err = s.options.Queries.AwaitWrite(s.Context(), started.Position)
	}
	if err != nil {
		s.Fatal(err)
	}
	return started.Job.String()
}

// The pages of a listing or resource together contain each entry exactly once and in order.
func TestListingPages(t *testing.T) {
	const many = 110
	s := prepare(t)
	ids := s.addDocuments("Top", many)
	s.addFolders(uuid.Nil, 505)
	s.serve()
	s.wait(s.last, nil)
	s.share("Top", "bob", "read")
	job := s.refusedJob(many)
	a := s.connect("alice")

	type documents struct{ Documents []struct{ ID string } }
	for tool, in := range map[string]args{"list_documents_by_folder": {"folder_name": "Top"}, "list_documents_by_tag": {"tag_name": "all"}} {
		var got []string
		n := pages(a, tool, in, func(page documents) {
			for _, d := range page.Documents {
				got = append(got, d.ID)
			}
		})
		if n != 2 || !slices.Equal(got, ids) {
			t.Errorf("%s: %d documents on %d pages, want %d on 2", tool, len(got), n, many)
		}
	}
	var folders, tags []string
	n := pages(a, "list_folders", args{}, func(page struct{ Folders []string }) { folders = append(folders, page.Folders...) })
	if n != 2 || len(folders) != 506 || !slices.IsSorted(folders) {
		t.Errorf("%d folders on %d pages", len(folders), n)
	}
	n = pages(a, "list_tags", args{}, func(page struct{ Tags []string }) { tags = append(tags, page.Tags...) })
	if n != 2 || len(tags) != 5*many+1 || !slices.IsSorted(tags) {
		t.Errorf("%d tags on %d pages", len(tags), n)
	}
	files := 0
	n = pages(a, "job_status", args{"job_id": job}, func(page struct{ Results []struct{ Filename string } }) { files += len(page.Results) })
	if n != 2 || files != many {
		t.Errorf("%d files on %d pages", files, n)
	}
	for uri, want := range map[string]int{"service://folders": 506, "service://tags": 5*many + 1, "service://folders/Top": many, "service://tags/all": many} {
		if text := a.readAll(uri); strings.Count(text, "\n- ")+strings.Count(text[:2], "- ") != want {
			t.Errorf("%s lists %d things, want %d", uri, strings.Count(text, "\n- "), want)
		}
	}
	if got := a.completions("folder_name", "FOLDER 00"); len(got) != 10 || got[9] != "folder 009" {
		t.Errorf("completions %q", got)
	}
	result, err := a.Complete(t.Context(), &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "service://tags/{tag_name}"}, Argument: sdk.CompleteParamsArgument{Name: "tag_name"},
	})
	if c := result.Completion; err != nil || len(c.Values) != 100 || !c.HasMore || c.Total != 5*many+1 {
		t.Errorf("completions %+v, %v", c, err)
	}
	if got := s.connect("bob").completions("folder_name", "o"); !slices.Equal(got, []string{"Top"}) {
		t.Errorf("completions for bob %q", got)
	}
}

// A listing of subfolders has up to 500 entries, and states how many more subfolders there
// are.
func TestSubfoldersAreLimited(t *testing.T) {
	s := prepare(t)
	top := uuid.New()
	s.append(events.Folders, events.FolderCreated{Folder: top, Name: "Top", Owner: "user:alice"})
	s.addFolders(top, 503)
	s.serve()
	s.wait(s.last, nil)
	var in struct {
		Subfolders     []string
		MoreSubfolders int `json:"more_subfolders"`
	}
	text := s.connect("alice").ok("list_documents_by_folder", args{"folder_name": "Top"}, &in)
	if len(in.Subfolders) != 500 || in.Subfolders[499] != "Top/folder 499" || in.MoreSubfolders != 3 || !strings.Contains(text, "and 3 more: service_list_folders") {
		t.Errorf("%d folders and %d more; the text ends with %q", len(in.Subfolders), in.MoreSubfolders, text[len(text)-100:])
	}
}

// readAll reads all pages of a resource and returns their text.
func (a *agent) readAll(uri string) (all string) {
	a.Helper()
	for {
		text, err := a.read(uri)
		if err != nil {
			a.Fatalf("%s: %v", uri, err)
		}
		before, next, found := strings.Cut(text, "\n\n[There is more: read ")
		if all += before; !found {
			return all
		}
		all += "\n"
		uri, _, _ = strings.Cut(next, "]")
	}
}

// The pages of a long text end at line ends. Together they are the whole text of one version,
// even if the document changes between two pages.
func TestMarkdownPages(t *testing.T) {
	s := start(t)
	var b strings.Builder
	b.WriteString("# Long\n\n")
	for i := range 2500 {
		fmt.Fprintf(&b, "Line %d says nothing of änything at all, at some length.\n", i)
	}
	unbroken := strings.Repeat("ü", 50_000)
	ids := s.file("alice", paper{"L", "long.md", b.String(), nil}, paper{"L", "unbroken.txt", unbroken, nil})
	a := s.connect("alice")

	type page struct {
		Markdown   string
		NextCursor string `json:"next_cursor"`
	}
	var got []string
	n := pages(a, "get_document_markdown", args{"document_id": ids[0]}, func(p page) { got = append(got, p.Markdown) })
	if want := "---\ntype: document\ntitle: \"Long\"\n---\n\n" + strings.TrimSpace(b.String()); n < 4 || strings.TrimSpace(strings.Join(got, "")) != want {
		t.Errorf("%d pages with %d bytes, want %d bytes", n, len(strings.Join(got, "")), len(want))
	}
	for _, p := range got[:len(got)-1] {
		if len(p) > 40_000 || len(p) < 39_000 || !strings.HasSuffix(p, "\n") {
			t.Errorf("a page has %d bytes and ends with %q", len(p), p[len(p)-10:])
		}
	}
	if text := a.readAll("service://documents/" + ids[0] + "/content"); !strings.Contains(text, "Line 2499 says") || strings.Count(text, "Line ") != 2500 {
		t.Errorf("the resource has %d lines, want 2500", strings.Count(text, "Line "))
	}
	var whole string
	pages(a, "get_document_markdown", args{"document_id": ids[1]}, func(p page) { whole += p.Markdown })
	if strings.Count(whole, "ü") != 50_000 || strings.Contains(whole, "\uFFFD") {
		t.Errorf("the pages of a text without line ends have %d characters, want 50,000", strings.Count(whole, "ü"))
	}

	var first page
	a.ok("get_document_markdown", args{"document_id": ids[0]}, &first)
	tags := []string{"new"}
	at, err := s.handler.ChangeDocument(t.Context(), user("alice"), "", commands.ChangeDocument{ID: uuid.MustParse(ids[0]), Version: 1, Tags: &tags})
	s.wait(at, err)
	a.refused("get_document_markdown", args{"document_id": ids[0], "cursor": first.NextCursor}, "has changed", "leave the cursor out")
	a.refused("get_document_markdown", args{"document_id": ids[1], "cursor": first.NextCursor}, "cursor", "leave it out")
}

// The URI of a resource may have its path percent-encoded or not. Unknown URIs are errors.
func TestResourceURIs(t *testing.T) {
	s := start(t)
	ids := s.file("alice", paper{"Nord & Süd/50%", "a.md", handbook, []string{"a/b?"}})
	a := s.connect("alice")
	for _, uri := range []string{
		"service://folders/Nord%20%26%20S%C3%BCd%2F50%25", "service://folders/Nord & Süd/50%25", "service://tags/a%2Fb%3F", "service://tags/a/b%3F",
	} {
		if text, err := a.read(uri); err != nil || !strings.Contains(text, "**Handbook** `"+ids[0]+"`") {
			t.Errorf("%s = %q, %v", uri, text, err)
		}
	}
	for _, uri := range []string{
		"service://folders/50%", "service://nothing", "service://documents/" + ids[0], "service://documents/x/content", "service://documents/" + nobody + "/content",
		"service://folders/Nowhere", "other://folders", "service://folders?cursor=x", "file:///etc/passwd", "",
	} {
		if text, err := a.read(uri); err == nil {
			t.Errorf("%s = %q", uri, text)
		}
	}
}
