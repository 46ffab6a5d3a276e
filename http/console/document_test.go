package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"annals/http/console/viewer"
)

const docID = "0f5c28a2-54d5-5f4e-8a0e-0f4cf4b5a1c7"

// paperRest is a REST interface with one document. Its passage has the digest of Text.
type paperRest struct {
	document map[string]any
	passage  map[string]any
	markdown func(w io.Writer) error
	words    map[string]any // by page
	written  int            // bytes of the text that were written
	asked    map[string]int // numbers of calls, by path
}

func (l *paperRest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/vault/documents/"+docID)
	if l.asked == nil {
		l.asked = map[string]int{}
	}
	l.asked[r.URL.Path]++
	reply := func(body any) { _ = json.NewEncoder(w).Encode(body) }
	switch {
	case r.URL.Path == "/core/search":
		reply(map[string]any{"sources": []any{l.passage}})
	case r.URL.Path == "/core/ask":
		reply(map[string]any{"answer": "", "confidence": 0})
	case path == "" || path == "/versions/2":
		reply(l.document)
	case path == "/tags":
		reply(map[string]any{"tags": []string{"<i>tag"}})
	case path == "/markdown":
		if l.markdown(countWriter{w, &l.written}) != nil {
			panic(http.ErrAbortHandler)
		}
	case strings.HasPrefix(path, "/pages/"):
		n := strings.TrimSuffix(strings.TrimPrefix(path, "/pages/"), "/words")
		if l.words[n] == nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		reply(l.words[n])
	case strings.HasPrefix(r.URL.Path, "/vault/folders/"):
		reply(map[string]any{"id": docID, "name": "<u>folder"})
	default:
		w.WriteHeader(http.StatusNotFound)
		reply(map[string]any{"message": "not found"})
	}
}

type countWriter struct {
	io.Writer
	n *int
}

func (c countWriter) Write(p []byte) (int, error) {
	*c.n += len(p)
	return c.Writer.Write(p)
}

// words returns the words of a page as the REST interface does, in one line.
func words(n int, text string) map[string]any {
	var all []any
	for i, w := range strings.Fields(text) {
		all = append(all, map[string]any{"text": w, "x": 20 * i, "y": 10 * n, "width": 18, "height": 9})
	}
	return map[string]any{"page": n, "width": 612, "height": 792, "words": all}
}

func paper() *paperRest {
	return &paperRest{
		document: map[string]any{"id": docID, "name": "<b>mill.pdf", "title": "<script>alert(1)</script>", "contentType": "application/pdf", "size": 123456, "folderId": docID, "version": 2,
			"createdAt": "2026-11-20T09:15:03.120Z", "updatedAt": "2026-11-21T09:15:03.120Z", "pages": 5},
		passage: map[string]any{"doc_id": docID, "document_title": "Mill", "start_page": 2, "end_page": 3, "text": "The sluice gates of the mill were opened by Erik Ljung in 1693"},
		words:   map[string]any{"2": words(2, "Preface The sluice gates of the mill"), "3": words(3, "were opened by Erik Ljung in 1693 Afterwards nothing")},
	}
}

func TestDocumentMarksThePassage(t *testing.T) {
	l := paper()
	s := startSite(t, l.ServeHTTP)
	hit := digest(l.passage["text"].(string))
	at := "/documents/" + docID + "?q=sluice+gates&tag=old&hit=" + hit + "&words=9-11"
	got := body(t, s.as("alice", "GET", at, nil))
	for _, want := range []string{
		`&lt;script&gt;alert(1)&lt;/script&gt;`, `&lt;b&gt;mill.pdf`, `&lt;u&gt;folder`, `&lt;i&gt;tag`, "123 kB", "5 pages",
		`src="/console/api/vault/documents/` + docID + `/pages/2.png?width=900"`, ` 3000w"`, `viewBox="0 0 612 792"`,
		`<rect id="hit" x="20" y="20" width="118" height="9"/>`, `page=3`, `rel="next"`, `href="/?q=sluice&#43;gates&amp;tag=old"`,
		`<mark>Erik Ljung</mark>`, `/content#page=2"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s:\n%s", want, got)
		}
	}
	got = body(t, s.as("alice", "GET", at+"&page=3&zoom=200", nil))
	for _, want := range []string{`<rect x="0" y="30" width="58" height="9"/>`, `<rect id="hit" class="strong" x="60" y="30" width="38" height="9"/>`, `pages/3.png?width=1800`, `class="zoom200"`, `rel="prev"`} {
		if !strings.Contains(got, want) {
			t.Errorf("page 3 lacks %s:\n%s", want, got)
		}
	}
	if got = body(t, s.as("alice", "GET", at+"&page=9", nil)); !strings.Contains(got, "pages/5.png") || strings.Contains(got, "<rect") || !strings.Contains(got, "The passage is on page 2.") {
		t.Errorf("the last page is %s", got)
	}
	if got = body(t, s.as("alice", "GET", "/documents/"+docID+"?q=x&hit=000000000000", nil)); !strings.Contains(got, "not found again") || strings.Contains(got, "<rect") {
		t.Errorf("the page of a passage that is gone is %s", got)
	}
	delete(l.words, "2")
	if got = body(t, s.as("alice", "GET", at, nil)); !strings.Contains(got, "pages/2.png") || !strings.Contains(got, "could not be had") {
		t.Errorf("the page without boxes is %s", got)
	}
}

func TestDocumentStandsBesideThePassages(t *testing.T) {
	l := paper()
	s := startSite(t, l.ServeHTTP)
	hit := digest(l.passage["text"].(string))
	got := body(t, s.as("alice", "GET", "/?q=sluice&folder=Mills&open="+docID+"&hit="+hit, nil))
	for _, want := range []string{`id="viewer"`, `<rect id="hit"`, `href="/?folder=Mills&amp;hit=` + hit + `&amp;open=` + docID + `&amp;page=3&amp;q=sluice"`, `href="/?folder=Mills&amp;q=sluice" data-close`, `/documents/` + docID + `?folder=Mills&amp;hit=`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s:\n%s", want, got)
		}
	}
	other := strings.Replace(docID, "0f", "1f", 1)
	if l.asked["/core/search"] != 1 || l.asked["/core/ask"] != 1 {
		t.Errorf("the page asks for %v", l.asked)
	}
	only := body(t, s.as("alice", "GET", "/?only=document&q=sluice&folder=Mills&open="+docID+"&hit="+hit, nil))
	_, viewer, _ := strings.Cut(got, `<section class="viewer"`)
	_, same, _ := strings.Cut(only, `<section class="viewer"`)
	if viewer == "" || same != viewer || strings.Contains(only, "passages-title") || l.asked["/core/search"] != 2 || l.asked["/core/ask"] != 1 {
		t.Errorf("the document alone: %s\nwant the same as beside the passages: %s", same, viewer)
	}
	reply := s.as("alice", "GET", "/?q=sluice&open="+other, nil)
	if got := body(t, reply); reply.StatusCode != 200 || !strings.Contains(got, "cannot be shown") || strings.Contains(got, `id="viewer"`) {
		t.Errorf("a document that is not there: %d %s", reply.StatusCode, got)
	}
	if reply := s.as("alice", "GET", "/documents/"+other, nil); reply.StatusCode != 404 {
		t.Errorf("its page has the status %d, want 404", reply.StatusCode)
	}
}

func TestPagesOfAnEarlierVersionAreTurned(t *testing.T) {
	s := startSite(t, paper().ServeHTTP)
	got := body(t, s.as("alice", "GET", "/documents/"+docID+"?version=2&page=3", nil))
	for _, want := range []string{`src="/console/api/vault/documents/` + docID + `/versions/2/pages/3.png?`, `href="/documents/` + docID + `?page=4&amp;version=2" rel="next"`, `<input type="hidden" name="version" value="2">`, `href="/documents/` + docID + `?as=text&amp;page=3&amp;version=2"`, "This is version 2."} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s:\n%s", want, got)
		}
	}
	if reply := s.as("alice", "GET", "/documents/"+docID+"?version=3", nil); reply.StatusCode != http.StatusNotFound {
		t.Errorf("a version that is not there has the status %d, want 404", reply.StatusCode)
	}
}

func TestLongTextIsShownInParts(t *testing.T) {
	const lines, line = 400_000, "Line %d of a long text that nobody reads.\n\n"
	l := paper()
	l.document["contentType"], l.document["pages"] = "text/plain", 0
	l.passage = map[string]any{"doc_id": docID, "text": "# Long\n\nLine 200000 of a long text that nobody reads.\n\nLine 200001 of a long text that nobody reads."}
	l.markdown = func(w io.Writer) error {
		if _, err := io.WriteString(w, "---\ntype: document\ntitle: \"Long\"\n---\n\n<!-- page 1 -->\n# Long <script>\n\n"); err != nil {
			return err
		}
		for i := range lines {
			if _, err := fmt.Fprintf(w, line, i); err != nil {
				return err
			}
		}
		return nil
	}
	s := startSite(t, l.ServeHTTP)
	at := "/documents/" + docID + "?q=nobody&hit=" + digest(l.passage["text"].(string)) + "&words=2-3"
	got := body(t, s.as("alice", "GET", at, nil))
	if !strings.Contains(got, `<mark id="hit" class="passage-mark">Line 200000`) && !strings.Contains(got, `<mark id="hit"`) || len(got) > 4*viewer.PartBytes {
		t.Errorf("the page of %d bytes has no mark: %.3000s", len(got), got)
	}
	if strings.Contains(got, "Line 1 of") || strings.Contains(got, "Line 399999 of") || !strings.Contains(got, "Earlier part") || !strings.Contains(got, "Later part") {
		t.Errorf("the page has other parts: %.3000s", got)
	}
	if whole := lines * len(line); l.written > whole*2/3 {
		t.Errorf("%d of about %d bytes were read", l.written, whole)
	}
	// All parts together are the whole text.
	next, seen := "/documents/"+docID, 0
	number := regexp.MustCompile(`Line (\d+) of`)
	for range 8 {
		got = body(t, s.as("alice", "GET", next, nil))
		if strings.Contains(got, "type: document") || strings.Contains(got, "page 1 --") || strings.Contains(got, "<script>") && strings.Contains(got, "Long <script>") {
			t.Errorf("the page has more than the text: %.2000s", got)
		}
		for _, m := range number.FindAllStringSubmatch(got, -1) {
			if m[1] != fmt.Sprint(seen) {
				t.Fatalf("line %s follows line %d", m[1], seen-1)
			}
			seen++
		}
		link := regexp.MustCompile(`<a class="button plain" href="([^"]+)" rel="next"`).FindStringSubmatch(got)
		if link == nil {
			t.Fatalf("no later part after line %d", seen)
		}
		next = strings.ReplaceAll(link[1], "&amp;", "&")
	}
	if u, err := url.Parse(next); err != nil || u.Query().Get("from") == "" || seen < 8*viewer.PartBytes/len(line)/2 {
		t.Errorf("after 8 parts there were %d lines, and the next is %s", seen, next)
	}
}
