//go:build !race

package http_test

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/pages"
	httpd "annals/http"
	"annals/projections/generation"
	"annals/queries/accesslog"
)

// TestMain runs the tests or, if a test started the test binary as a reader process, runs that
// process.
func TestMain(m *testing.M) { extracttest.Main(m) }

// startPages starts a server that reads PDFs and shows their pages.
func startPages(t *testing.T, change ...func(*httpd.Server)) *service {
	files := extracttest.ProcessReader(t, extract.Limits{})
	cache, err := pages.OpenCache(filepath.Join(t.TempDir(), "pages"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	show := func(h *httpd.Server) {
		h.Pages = &pages.Pages{Originals: h.Originals, Viewer: files.(extract.Viewer), Cache: cache}
	}
	return startStackWith(t, files, func(*generation.Options) {}, append(change, show)...)
}

// contract is a PDF whose second page has the words "ninety days" in 20 point at (100, 700), with
// the origin at the bottom left.
func contract() string {
	return string(extracttest.PDF("BT /F1 20 Tf 72 700 Td (Supplier contract) Tj ET", "BT /F1 20 Tf 100 700 Td (ninety days) Tj ET", "0 0 m"))
}

type pageReply struct {
	Page          int
	Width, Height float64
	Words         []struct {
		Text                string
		X, Y, Width, Height float64
	}
}

// inkIn returns the smallest rectangle that contains all pixels of a PNG file that are not white.
func inkIn(t *testing.T, file string) (size image.Point, ink image.Rectangle) {
	t.Helper()
	m, err := png.Decode(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			if color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y < 200 {
				ink = ink.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return m.Bounds().Size(), ink
}

// The picture of a page and the boxes of its words fit together, and both are conditional.
func TestPages(t *testing.T) {
	s := startPages(t)
	id := s.file("A", "contract.pdf", contract())
	for _, prefix := range []string{"/vault/documents/" + id, "/vault/documents/" + id + "/versions/1"} {
		resp, body := s.do("GET", prefix+"/pages/2/words", "")
		page := decode[pageReply](t, body)
		if resp.StatusCode != 200 || page.Page != 2 || page.Width != 612 || page.Height != 792 || len(page.Words) != 2 || page.Words[0].Text != "ninety" || page.Words[1].Text != "days" {
			t.Fatalf("words = %d %s", resp.StatusCode, body)
		}
		if resp, body := s.do("GET", prefix+"/pages/2/words", "", "If-None-Match", resp.Header.Get("ETag")); resp.StatusCode != 304 {
			t.Errorf("words with their ETag = %d %s, want 304", resp.StatusCode, body)
		}
		if resp, body := s.do("GET", prefix+"/pages/3/words", ""); resp.StatusCode != 200 || !strings.Contains(body, `"words":[]`) {
			t.Errorf("words of a blank page = %d %s", resp.StatusCode, body)
		}
		etags := map[string]string{}
		for query, width := range map[string]int{"": 600, "?width=16": 16, "?width=1224": 1224, "?width=3000": 2318} {
			path := prefix + "/pages/2.png" + query
			resp, body := s.do("GET", path, "")
			etag := resp.Header.Get("ETag")
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "image/png" || resp.Header.Get("Cache-Control") != "private, no-cache" || etags[etag] != "" {
				t.Fatalf("GET %s = %d, header %v, %.100q", path, resp.StatusCode, resp.Header, body)
			}
			etags[etag] = query
			size, ink := inkIn(t, body)
			if want := int(float64(width) * page.Height / page.Width); size.X != width || size.Y < want-1 || size.Y > want+1 {
				t.Errorf("GET %s has size %v, want width %d and height %d", path, size, width, want)
			}
			scale := float64(width) / page.Width
			first, last := page.Words[0], page.Words[1]
			box := image.Rect(int(math.Floor(first.X*scale)), int(math.Floor(first.Y*scale)), int(math.Ceil((last.X+last.Width)*scale)), int(math.Ceil((first.Y+first.Height)*scale)))
			if width > 16 && (!ink.In(box.Inset(-1)) || ink.Dx() < box.Dx()*9/10 || ink.Dy() < box.Dy()/2) {
				t.Errorf("GET %s: ink in %v, want it to fill the words' boxes, which are in %v", path, ink, box)
			}
			for _, method := range []string{"GET", "HEAD"} {
				if resp, body := s.do(method, path, "", "If-None-Match", `"x", `+etag); resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != etag {
					t.Errorf("%s %s with its ETag = %d %q, want 304", method, path, resp.StatusCode, body)
				}
			}
			if again, _ := s.do("HEAD", path, ""); again.StatusCode != 200 || again.Header.Get("ETag") != etag || again.Header.Get("Content-Length") != resp.Header.Get("Content-Length") {
				t.Errorf("HEAD %s = %d with header %v", path, again.StatusCode, again.Header)
			}
		}
	}
}

// A page may be seen by those who may read its document, in every version.
func TestPagesNeedRights(t *testing.T) {
	s := startPages(t, recorded(t, accesslog.Reads{}))
	id := s.file("A", "contract.pdf", contract())
	text := s.file("A", "notes.md", handbook)
	folder := s.folderOf(id)
	try := func(who, path string, status int, says string) {
		t.Helper()
		resp, body := s.do("GET", "/vault/documents/"+path, "", "Authorization", "Bearer "+who)
		if resp.StatusCode != status || !strings.Contains(body, says) {
			t.Errorf("%s for %s = %d %.200q, want %d with %q", path, who, resp.StatusCode, body, status, says)
		}
	}
	for _, page := range []string{id + "/pages/1.png", id + "/pages/1/words", id + "/versions/1/pages/1.png", id + "/versions/1/pages/1/words", text + "/pages/1.png"} {
		try("bob", page, 404, `"message":"`)
		resp, body := s.do("GET", "/vault/documents/"+page, "", "Authorization", "Bearer bob", "If-None-Match", "*")
		if _, other := s.do("GET", "/vault/documents/"+page, "", "Authorization", "Bearer carol", "If-None-Match", "*"); resp.StatusCode != 404 || body != other {
			t.Errorf("%s for bob with If-None-Match: * = %d %s, want 404", page, resp.StatusCode, body)
		}
	}
	s.share(folder, "user:bob", "read")
	for _, page := range []string{id + "/pages/1", id + "/versions/1/pages/1"} {
		try("bob", page+".png", 200, "PNG")
		try("bob", page+"/words", 200, "Supplier")
	}
	for _, page := range []string{"4", "0", "-1", "01", "1.5", "x", "99999999999999999999"} {
		try("alice", id+"/pages/"+page+".png", 404, "not_found")
		try("alice", id+"/pages/"+page+"/words", 404, "not_found")
	}
	try("alice", id+"/versions/2/pages/1.png", 404, "not_found")
	for query, says := range map[string]string{"?width=15": "less than 16", "?width=3001": "greater than 3000", "?width=x": "integer", "?width=": "", "?w=1": "w"} {
		try("alice", id+"/pages/1.png"+query, 422, says)
	}
	for _, page := range []string{"1.png", "1/words"} {
		try("alice", text+"/pages/"+page, 422, "has no pages that can be shown")
		try("alice", text+"/versions/1/pages/"+page, 422, "has no pages that can be shown")
	}
	s.wantAccesses("alice", "&document="+id+"&actor=user:bob",
		`user:bob was denied access to document "contract.pdf" (GET /vault/documents/{id}/pages/{page}.png), 2 times within a minute`,
		`user:bob was denied access to document "contract.pdf" (GET /vault/documents/{id}/pages/{page}/words), 2 times within a minute`,
		`user:bob was denied access to document "contract.pdf" (GET /vault/documents/{id}/versions/{version}/pages/{page}.png), 2 times within a minute`,
		`user:bob was denied access to document "contract.pdf" (GET /vault/documents/{id}/versions/{version}/pages/{page}/words), 2 times within a minute`,
		`user:bob downloaded document "contract.pdf", 4 times within a minute`)
}

// New content has other pages; those of the earlier version stay.
func TestPagesOfNewContent(t *testing.T) {
	s := startPages(t)
	id := s.file("A", "contract.pdf", contract())
	before, first := s.do("GET", "/vault/documents/"+id+"/pages/1.png?width=100", "")
	revised := string(extracttest.PDF("BT /F1 40 Tf 72 300 Td (Amended) Tj ET"))
	if resp, body := s.do("PUT", "/vault/documents/"+id+"/content", revised, "If-Match", `"1"`, "Content-Type", "application/pdf"); resp.StatusCode != 200 {
		t.Fatalf("new content = %d %s", resp.StatusCode, body)
	}
	after, second := s.do("GET", "/vault/documents/"+id+"/pages/1.png?width=100", "")
	if after.StatusCode != 200 || first == second || before.Header.Get("ETag") == after.Header.Get("ETag") {
		t.Errorf("the picture of a revised document = %d with ETag %s, before %s", after.StatusCode, after.Header.Get("ETag"), before.Header.Get("ETag"))
	}
	if resp, old := s.do("GET", "/vault/documents/"+id+"/versions/1/pages/1.png?width=100", ""); resp.StatusCode != 200 || old != first {
		t.Errorf("the picture of version 1 = %d, and not the one that version 1 had", resp.StatusCode)
	}
	if resp, body := s.do("GET", "/vault/documents/"+id+"/pages/2.png", ""); resp.StatusCode != 404 {
		t.Errorf("page 2 of new content with one page = %d %s", resp.StatusCode, body)
	}
}
