package http_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	httpd "annals/http"
	"annals/queries/vault"

	"github.com/google/uuid"
)

func sortFolders(list []vault.Folder) {
	slices.SortFunc(list, func(a, b vault.Folder) int {
		return strings.Compare(strings.ToLower(a.Name)+a.ID.String(), strings.ToLower(b.Name)+b.ID.String())
	})
}

const notFound = `{"statusCode":404,"message":"not_found","error":"Not Found"}`

var at = time.Date(2026, 11, 20, 9, 15, 3, 120_999_000, time.FixedZone("", 3600))

func (s *service) addFolder(name string, parent uuid.UUID) uuid.UUID {
	id := uuid.New()
	s.library.folders[id] = vault.Folder{ID: id, Name: name, Parent: parent, DocFolder: parent != uuid.Nil, CreatedAt: at, UpdatedAt: at}
	return id
}

// addDocument adds a document with the given bytes as its original to the fake of the queries.
func (s *service) addDocument(name, media, bytes string, content *string) vault.Document {
	s.Helper()
	d := vault.Document{ID: uuid.New(), Name: name, MediaType: media, Size: int64(len(bytes)), Folder: uuid.New(), Version: 1, Content: content, CreatedAt: at, UpdatedAt: at}
	staged, err := s.server.Originals.Stage(s.Context(), strings.NewReader(bytes), 1<<20)
	if err != nil {
		s.Fatal(err)
	}
	if err := staged.Commit(s.Context()); err != nil {
		s.Fatal(err)
	}
	d.SHA256 = staged.SHA256()
	s.library.docs = append(s.library.docs, d)
	return d
}

func TestFolders(t *testing.T) {
	s := start(t, nil)
	resp, body := s.do("GET", "/vault/folders", "")
	s.want(resp, body, 200, `[]`)
	top := s.addFolder("Top", uuid.Nil)
	sub := s.addFolder("Sub", top)
	item := `{"id":"` + top.String() + `","name":"Top","parentFolderId":null,"docFolder":false,"createdAt":"2026-11-20T08:15:03.120Z","updatedAt":"2026-11-20T08:15:03.120Z"}`
	inTop := `{"id":"` + sub.String() + `","name":"Sub","parentFolderId":"` + top.String() + `","docFolder":true,"createdAt":"2026-11-20T08:15:03.120Z","updatedAt":"2026-11-20T08:15:03.120Z"`
	resp, body = s.do("GET", "/vault/folders", "")
	s.want(resp, body, 200, `[`+item+`]`)
	resp, body = s.do("GET", "/vault/folders?parentFolderId="+top.String(), "")
	s.want(resp, body, 200, `[`+inTop+`}]`)
	resp, body = s.do("GET", "/vault/folders/"+sub.String(), "")
	s.want(resp, body, 200, inTop+`}`)
	resp, body = s.do("GET", "/vault/folders/"+sub.String()+"?include=true", "")
	s.want(resp, body, 200, inTop+`,"ancestors":[{"id":"`+top.String()+`","name":"Top"}],"documents":[],"subfolders":[],"parentDocuments":[]}`)
	resp, body = s.do("GET", "/vault/folders/"+sub.String(), "", "Authorization", "Bearer bob")
	s.want(resp, body, 404, notFound)
	for path, message := range map[string]string{
		"/vault/folders?parentFolderId=x":                                    "parentFolderId must be a UUID",
		"/vault/folders?parentFolderId=":                                     "parentFolderId must be a UUID",
		"/vault/folders?parentFolderId={" + top.String() + "}":               "parentFolderId must be a UUID",
		"/vault/folders?parentFolderId=" + top.String() + "&parentFolderId=": "parentFolderId must be a UUID",
		"/vault/folders/" + sub.String() + "?include=false":                  "include must be one of the following values: true",
		"/vault/folders?limit=x":                                             "limit must be an integer number",
		"/vault/folders?limit=0":                                             "limit must not be less than 1",
		"/vault/folders?limit=1001":                                          "limit must not be greater than 1000",
		"/vault/folders?limit=99999999999999999999":                          "limit must not be greater than 1000",
		"/vault/folders?cursor=x":                                            "cursor must come from a Link header of this listing",
	} {
		resp, body := s.do("GET", path, "")
		s.want(resp, body, 422, `{"statusCode":422,"message":["`+message+`"],"error":"Unprocessable Entity"}`)
	}
	for _, path := range []string{"/vault/folders/x", "/vault/folders/" + uuid.NewString(), "/vault/folders?parentFolderId=" + uuid.NewString(), "/vault/nothing", "/vault"} {
		resp, body := s.do("GET", path, "")
		s.want(resp, body, 404, notFound)
	}
}

// The pages of a listing together contain each folder exactly once, even if the last folder of
// a page is deleted before the next page is read.
func TestFolderPages(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.CoreURL, h.VaultURL = mustURL(t, "https://files.example/core"), mustURL(t, "https://files.example/vault")
	})
	var ids []uuid.UUID
	for _, name := range []string{"a", "B", "c", "c", "D e", "é"} {
		ids = append(ids, s.addFolder(name, uuid.Nil))
	}
	path, seen := "/vault/folders?limit=2", ""
	for pages := 0; path != ""; pages++ {
		resp, body := s.do("GET", path, "")
		if resp.StatusCode != 200 || pages > 3 {
			t.Fatalf("page %d: %d %s", pages, resp.StatusCode, body)
		}
		seen += body
		link := resp.Header.Get("Link")
		path = ""
		if link != "" {
			address, ok := strings.CutSuffix(strings.TrimPrefix(link, "<https://files.example"), `>; rel="next"`)
			if !ok || !strings.Contains(address, "limit=2") {
				t.Fatalf("Link %q", link)
			}
			path = address
		}
		if pages == 0 {
			delete(s.library.folders, ids[1]) // the last folder on the page that was just read
		}
	}
	for _, id := range ids {
		if strings.Count(seen, `"id":"`+id.String()) != 1 {
			t.Errorf("folder %s is not listed exactly one time: %s", id, seen)
		}
	}
}

func TestDocuments(t *testing.T) {
	s := start(t, nil)
	folder := s.addFolder("F", uuid.Nil)
	text := "---\ntitle: A\n---\n"
	a, b := s.addDocument("a.md", "text/markdown", "# A", &text), s.addDocument("b.pdf", "application/pdf", "%PDF", nil)
	s.library.markdown = text
	resp, body := s.do("GET", "/vault/documents?folderId="+folder.String()+"&tag=x", "")
	if resp.StatusCode != 200 || strings.Count(body, `"size":0`) != 2 || strings.Contains(body, `"content"`) {
		t.Errorf("listing = %d %s", resp.StatusCode, body)
	}
	resp, _ = s.do("GET", "/vault/documents?limit=1&tag=x", "")
	if got, want := resp.Header.Get("Link"), `</vault/documents?cursor=next+%26+more&limit=1&tag=x>; rel="next"`; got != want {
		t.Errorf("Link %s, want %s", got, want)
	}
	wantA := `{"id":"` + a.ID.String() + `","name":"a.md","contentType":"text/markdown","size":3,"folderId":"` + a.Folder.String() + `","version":1,"createdAt":"2026-11-20T08:15:03.120Z","updatedAt":"2026-11-20T08:15:03.120Z","sha256":"` + a.SHA256 + `","title":"","pages":0,"metadata":{"ocr":false,"confidence":null,"ocrPages":0,"unreadPages":0},"content":"---\ntitle: A\n---\n"}`
	resp, body = s.do("GET", "/vault/documents/"+a.ID.String(), "")
	s.want(resp, body, 200, wantA)
	resp, body = s.do("GET", "/vault/documents/"+b.ID.String(), "")
	if resp.StatusCode != 200 || strings.Contains(body, `"content"`) {
		t.Errorf("PDF = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("POST", "/vault/documents/batch", `{"ids":["`+a.ID.String()+`","`+uuid.NewString()+`"]}`)
	s.want(resp, body, 200, "["+wantA+"]")
	resp, body = s.do("GET", "/vault/documents/"+a.ID.String()+"/tags", "")
	s.want(resp, body, 200, `{"tags":[]}`)
	resp, body = s.do("GET", "/vault/tags", "")
	s.want(resp, body, 200, `{"tags":[]}`)
	resp, body = s.do("GET", "/vault/documents/"+b.ID.String()+"/markdown", "")
	if resp.StatusCode != 200 || body != text || resp.Header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("markdown = %d %s %v", resp.StatusCode, body, resp.Header)
	}
	resp, body = s.do("GET", "/vault/documents?cursor=bad", "")
	s.want(resp, body, 422, `{"statusCode":422,"message":["invalid cursor \"bad\""],"error":"Unprocessable Entity"}`)
	for _, path := range []string{"", "/content", "/markdown", "/tags", ".pdf"} {
		for _, id := range []string{"x", uuid.NewString(), strings.ReplaceAll(a.ID.String(), "-", "")} {
			resp, body := s.do("GET", "/vault/documents/"+id+path, "")
			s.want(resp, body, 404, notFound)
		}
	}
}

func TestBatchBody(t *testing.T) {
	s := start(t, nil)
	many := strings.TrimSuffix(strings.Repeat(`"`+uuid.NewString()+`",`, 101), ",")
	for body, message := range map[string]string{
		``:                                   "body must be a JSON object",
		`{`:                                  "body must be a JSON object",
		`[]`:                                 "body must be a JSON object",
		`{} x`:                               "body must be a JSON object",
		`{}`:                                 "ids must be an array",
		`{"ids":null}`:                       "ids must be an array",
		`{"ids":"` + uuid.NewString() + `"}`: "ids must be an array",
		`{"ids":[]}`:                         "ids must contain at least 1 elements",
		`{"ids":[` + many + `]}`:             "ids must contain no more than 100 elements",
		`{"ids":["x"]}`:                      "each value in ids must be a UUID",
		`{"ids":[null]}`:                     "each value in ids must be a UUID",
		`{"ids":[1]}`:                        "each value in ids must be a UUID",
	} {
		resp, got := s.do("POST", "/vault/documents/batch", body)
		s.want(resp, got, 422, `{"statusCode":422,"message":["`+message+`"],"error":"Unprocessable Entity"}`)
	}
}

func TestContent(t *testing.T) {
	s := start(t, nil)
	pdf := s.addDocument("Bericht äöü \"1\".PDF", "application/pdf", "%PDF-1.7 bytes", nil)
	text := "<script>alert(1)</script>"
	md := s.addDocument("x.markdown", "text/markdown", text, &text)
	for _, path := range []string{"/vault/documents/" + pdf.ID.String() + "/content", "/vault/documents/" + pdf.ID.String() + ".pdf", "/documents/" + pdf.ID.String() + ".PDF"} {
		resp, body := s.do("GET", path, "")
		if resp.StatusCode != 200 || body != "%PDF-1.7 bytes" {
			t.Errorf("%s = %d %s", path, resp.StatusCode, body)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/pdf", "X-Content-Type-Options": "nosniff", "ETag": `"` + pdf.SHA256 + `"`, "Cache-Control": "private, no-cache",
			"Content-Disposition": "inline; filename*=utf-8''Bericht%20%C3%A4%C3%B6%C3%BC%20%221%22.PDF", "Accept-Ranges": "bytes",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", path, name, got, want)
			}
		}
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		resp, body = s.do("GET", path, "", "Range", "bytes=5-7")
		if resp.StatusCode != 206 || body != "1.7" || resp.Header.Get("Content-Range") != "bytes 5-7/14" {
			t.Errorf("%s with Range = %d %s %v", path, resp.StatusCode, body, resp.Header)
		}
		resp, body = s.do("GET", path, "", "Range", "bytes=99-")
		s.want(resp, body, 416, `{"statusCode":416,"message":"Range Not Satisfiable","error":"Range Not Satisfiable"}`)
		if h := resp.Header; h.Get("Content-Range") != "bytes */14" || h.Get("ETag") != "" || h.Get("Content-Disposition") != "" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s with a Range after the end has headers %v", path, h)
		}
		for _, junk := range []string{"junk", "pages=1-2", "bytes=", "bytes=x-", "bytes=7-5", "bytes"} {
			resp, body = s.do("GET", path, "", "Range", junk)
			if resp.StatusCode != 200 || body != "%PDF-1.7 bytes" || resp.Header.Get("ETag") != `"`+pdf.SHA256+`"` || resp.Header.Get("Content-Type") != "application/pdf" {
				t.Errorf("%s with Range %q = %d %s %v", path, junk, resp.StatusCode, body, resp.Header)
			}
		}
		resp, body = s.do("GET", path, "", "If-None-Match", `"`+pdf.SHA256+`"`)
		if resp.StatusCode != 304 || body != "" {
			t.Errorf("%s again = %d %s", path, resp.StatusCode, body)
		}
		resp, body = s.do("HEAD", path, "")
		if resp.StatusCode != 200 || body != "" || resp.ContentLength != 14 {
			t.Errorf("HEAD %s = %d %s, %d bytes", path, resp.StatusCode, body, resp.ContentLength)
		}
		resp, _ = s.do("GET", path, "", "Authorization", "Bearer bob")
		if resp.StatusCode != 404 {
			t.Errorf("%s for bob = %d", path, resp.StatusCode)
		}
	}
	resp, body := s.do("GET", "/vault/documents/"+md.ID.String()+"/content", "")
	if policy := resp.Header.Get("Content-Security-Policy"); body != text || !strings.HasPrefix(policy, "sandbox;") || resp.Header.Get("Content-Type") != "text/markdown" {
		t.Errorf("markdown = %d %s %v", resp.StatusCode, body, resp.Header)
	}
	resp, body = s.do("GET", "/documents/"+md.ID.String()+".md", "")
	s.want(resp, body, 404, notFound)
}

// A folder summary has no original. GET content returns its text.
func TestContentOfSummary(t *testing.T) {
	s := start(t, nil)
	text := "---\ntype: folder-summary\n---\n- one\n"
	d := vault.Document{ID: uuid.New(), Name: "Summary of F", MediaType: "text/markdown; charset=utf-8", Content: &text, CreatedAt: at, UpdatedAt: at}
	s.library.docs = []vault.Document{d}
	for _, path := range []string{"/vault/documents/" + d.ID.String() + "/content", "/documents/" + d.ID.String() + ".md"} {
		resp, body := s.do("GET", path, "")
		if resp.StatusCode != 200 || body != text || resp.Header.Get("Content-Type") != d.MediaType {
			t.Errorf("%s = %d %s", path, resp.StatusCode, body)
		}
	}
}

// The deep link in a source opens the original, whatever its file name.
func TestDeepLinksOfEveryName(t *testing.T) {
	s := start(t, nil)
	for name, media := range map[string]string{"README": "text/plain", "notes.v2": "text/markdown", "A.PDF": "application/pdf", "data": "application/zip"} {
		d := s.addDocument(name, media, "the bytes of "+name, nil)
		if resp, body := s.do("GET", d.DeepLink(0), ""); resp.StatusCode != 200 || body != "the bytes of "+name {
			t.Errorf("%s = %d %s", d.DeepLink(0), resp.StatusCode, body)
		}
		if resp, body := s.do("GET", "/documents/"+d.ID.String()+".docx", ""); resp.StatusCode != 404 {
			t.Errorf("%s as docx = %d %s", name, resp.StatusCode, body)
		}
	}
}

// The details of internal errors are logged, but not sent.
func TestInternalFaultsAreHidden(t *testing.T) {
	s := start(t, nil)
	d := s.addDocument("a.pdf", "application/pdf", "x", nil)
	s.library.docs[0].SHA256 = strings.Repeat("0", 64) // a missing original
	resp, body := s.do("GET", "/vault/documents/"+d.ID.String()+"/content", "")
	s.want(resp, body, 503, `{"statusCode":503,"message":"the original of document `+d.ID.String()+` cannot be read at the moment","error":"Service Unavailable"}`)
	s.library.fail = errors.New("disk /dev/secret failed")
	resp, body = s.do("GET", "/vault/tags", "")
	s.want(resp, body, 500, `{"statusCode":500,"message":"Internal Server Error","error":"Internal Server Error"}`)
	resp, body = s.do("POST", "/core/ask", `{"query":"a"}`)
	s.want(resp, body, 500, `{"detail":"Internal Server Error"}`)
	s.library.fail = fault.Errorf(fault.Unavailable, "the vault is being rebuilt")
	resp, body = s.do("GET", "/vault/tags", "")
	s.want(resp, body, 503, `{"statusCode":503,"message":"the vault is being rebuilt","error":"Service Unavailable"}`)
	if resp.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	resp, body = s.do("GET", "/readyz", "")
	s.want(resp, body, 503, `{"detail":"the vault is being rebuilt","scans_unread":""}`)
}
