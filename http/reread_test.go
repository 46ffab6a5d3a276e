package http_test

import (
	"context"
	"fmt"
	"mime/multipart"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"annals/commands/importer/extract"
	"annals/events"
	httpd "annals/http"
	"annals/projections/generation"
	"annals/queries/vault"
)

// scanner is a reader of files that are scanned. It recognises words only once able is set.
type scanner struct{ able atomic.Bool }

func (s *scanner) Read(_ context.Context, _, name string, emit func(extract.Section) error, _ extract.Progress) (extract.Info, error) {
	info := extract.Info{MediaType: "application/pdf", Title: name, Pages: 2, OCRPages: 1, Confidence: 0.96, UnreadPages: 1}
	if err := emit(extract.Section{Title: "Deed", Level: 1, Path: []string{"Deed"}, StartPage: 1, EndPage: 1, Text: "The parties met.", OCR: true, Confidence: 0.96}); err != nil || !s.able.Load() {
		return info, err
	}
	info.OCRPages, info.Confidence, info.UnreadPages = 2, 0.91, 0
	return info, emit(extract.Section{Index: 1, StartPage: 2, EndPage: 2, Text: "The lighthouse keeper signed at dusk.", OCR: true, Confidence: 0.874})
}

func (s *scanner) Close() error { return nil }

// metadata is that of a document or a passage.
type metadata struct {
	OCR         bool
	Confidence  float64
	OCRPages    int
	UnreadPages int
}

type rereadReply struct {
	Job        *jobReply
	Documents  []struct{ ID, Name string }
	NextCursor *string
}

// A scanned file is imported without the text of a page. Once its words can be recognised, it
// is read again, and then found by them.
func TestRereadScanned(t *testing.T) {
	files := new(scanner)
	var server *httpd.Server
	s := startStackWith(t, files, func(*generation.Options) {}, func(h *httpd.Server) { server = h })
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Deeds/Old"}]`)
		addFile(w, "deed.pdf", "%PDF-1.7")
	})
	if resp.StatusCode != 200 {
		t.Fatalf("import = %d %s", resp.StatusCode, body)
	}
	document := s.finish(decode[jobReply](t, body).JobID).Results[0].DocumentID
	shown := func(path string) metadata {
		_, body := s.do("GET", path, "")
		return decode[struct{ Metadata metadata }](t, body).Metadata
	}
	if got, want := shown("/vault/documents/"+document), (metadata{true, 0.96, 1, 1}); got != want {
		t.Errorf("metadata before = %+v, want %+v", got, want)
	}
	reread := func(body string) rereadReply {
		resp, reply := s.do("POST", "/vault/documents/reread", body)
		if resp.StatusCode != 200 {
			t.Fatalf("reread %s = %d %s", body, resp.StatusCode, reply)
		}
		return decode[rereadReply](t, reply)
	}
	if r := reread(`{"scanned":true,"dryRun":true}`); r.Job != nil || len(r.Documents) != 1 || r.Documents[0].ID != document || r.NextCursor != nil {
		t.Errorf("dry run = %+v, want the document", r)
	}
	if r := reread(`{"outdated":true,"dryRun":true}`); len(r.Documents) > 0 {
		t.Errorf("outdated documents = %+v, want none", r.Documents)
	}
	server.Unrecognised = "install Tesseract"
	for _, filter := range []string{`{"scanned":true}`, `{"scanned":true,"outdated":true}`} {
		if resp, body := s.do("POST", "/vault/documents/reread", filter); resp.StatusCode != 422 || !strings.Contains(body, "does not recognise text in pictures: install Tesseract") {
			t.Errorf("reread %s without recognition = %d %s, want 422", filter, resp.StatusCode, body)
		}
	}
	if r := reread(`{"scanned":true,"dryRun":true}`); len(r.Documents) != 1 {
		t.Errorf("dry run without recognition = %+v, want the document", r)
	}
	server.Unrecognised = ""
	files.able.Store(true)
	r := reread(`{"scanned":true}`)
	if r.Job == nil || len(r.Documents) > 0 {
		t.Fatalf("reread = %+v, want a job", r)
	}
	if done := s.finish(r.Job.JobID); done.Message != "1 of 1 documents read again" || done.Results[0].DocumentID != document {
		t.Errorf("job = %+v", done)
	}
	if got, want := shown("/vault/documents/"+document), (metadata{true, 0.91, 2, 0}); got != want {
		t.Errorf("metadata after = %+v, want %+v", got, want)
	}
	if got, want := shown("/vault/documents/"+document+"/versions/1"), (metadata{true, 0.96, 1, 1}); got != want {
		t.Errorf("metadata of version 1 = %+v, want %+v", got, want)
	}
	if _, body := s.do("GET", "/vault/documents/"+document+"/versions", ""); !strings.Contains(body, `"change":"reread"`) {
		t.Errorf("versions = %s", body)
	}
	_, body = s.do("POST", "/core/search", `{"query":"lighthouse keeper"}`)
	found := decode[struct {
		Sources []struct {
			DocID     string `json:"doc_id"`
			StartPage int    `json:"start_page"`
			Metadata  metadata
		}
	}](t, body).Sources
	if len(found) != 1 || found[0].DocID != document || found[0].StartPage != 2 || found[0].Metadata != (metadata{OCR: true, Confidence: 0.874}) {
		t.Errorf("search = %s", body)
	}
	_, body = s.do("GET", "/vault/documents/"+document+"/markdown", "")
	const want = "---\ntype: document\ntitle: \"deed.pdf\"\nocr_pages: 2\nconfidence: 0.910\n---\n\n" +
		"<!-- page 1 -->\n<!-- recognised in a picture of page 1, confidence 0.960 -->\n# Deed\n\nThe parties met.\n\n" +
		"<!-- page 2 -->\n<!-- recognised in a picture of page 2, confidence 0.874 -->\nThe lighthouse keeper signed at dusk."
	if body != want {
		t.Errorf("Markdown is\n%s\nwant\n%s", body, want)
	}
	_, body = s.do("GET", "/vault/audit", "")
	for _, what := range []string{"asked to have 1 document read again", `had document \"deed.pdf\" read again`, "finished having documents read again: 1 imported, 0 failed"} {
		if !strings.Contains(body, what) {
			t.Errorf("the audit trail lacks %q: %s", what, body)
		}
	}
	if r := reread(`{"scanned":true}`); r.Job != nil {
		t.Errorf("a second reread started %+v, want nothing", r.Job)
	}
}

func TestRereadFilters(t *testing.T) {
	s := startStack(t)
	a, b := s.file("A/B", "a.md", "Text one."), s.file("C", "b.md", "Text two.")
	dry := func(user, filter string) (ids []string) {
		resp, body := s.do("POST", "/vault/documents/reread", filter, "Authorization", "Bearer "+user)
		if resp.StatusCode != 200 {
			return []string{fmt.Sprint(resp.StatusCode)}
		}
		for _, d := range decode[rereadReply](t, body).Documents {
			ids = append(ids, d.ID)
		}
		return ids
	}
	_, body := s.do("GET", "/vault/folders?path=A", "")
	top := decode[[]struct{ ID string }](t, body)[0].ID
	inTop := `{"folderId":"` + top + `","dryRun":true}`
	if got := dry("alice", inTop); !slices.Equal(got, []string{a}) {
		t.Errorf("documents in A = %v, want %s", got, a)
	}
	s.share(top, "user:bob", "read")
	if got := dry("bob", inTop); len(got) > 0 {
		t.Errorf("a reader can have %v read again, want none", got)
	}
	if got := dry("carol", inTop); !slices.Equal(got, []string{"404"}) {
		t.Errorf("a stranger gets %v, want 404", got)
	}
	if got := dry("carol", `{"outdated":true,"dryRun":true}`); len(got) > 0 {
		t.Errorf("a stranger can have %v read again, want none", got)
	}

	// All documents are on exactly one page.
	alice := events.User{Principal: "user:alice"}
	var pages []string
	for filter := (vault.RereadFilter{Limit: 1, Before: extract.Version + 1}); ; {
		docs, next, err := s.stack.Queries.DocumentsToReread(t.Context(), alice, filter)
		if err != nil || len(docs) != 1 {
			t.Fatalf("DocumentsToReread(%+v) = %d documents, %v", filter, len(docs), err)
		}
		if pages = append(pages, docs[0].ID.String()); next == "" {
			break
		}
		filter.Cursor = next
	}
	want := []string{a, b}
	if slices.Sort(want); !slices.Equal(pages, want) {
		t.Errorf("pages = %v, want %v", pages, want)
	}
	for body, wrong := range map[string]string{
		`{}`:                                   "ids, folderId, scanned or outdated should be given",
		`{"dryRun":true}`:                      "ids, folderId, scanned or outdated should be given",
		`{"ids":["` + a + `"],"scanned":true}`: "ids should not be given with other fields",
		`{"ids":[]}`:                           "ids",
		`{"ids":[1]}`:                          "each value in ids must be a UUID",
		`{"scanned":true,"cursor":"x"}`:        "cursor must come from an earlier reply",
		`{"scaned":true}`:                      "did you mean scanned",
		`{"ids":["` + strings.ToUpper(a) + `x"]}`: "each value in ids must be a UUID",
	} {
		if resp, reply := s.do("POST", "/vault/documents/reread", body); resp.StatusCode != 422 || !strings.Contains(reply, wrong) {
			t.Errorf("reread %s = %d %s, want 422 with %q", body, resp.StatusCode, reply, wrong)
		}
	}
}
