package console

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/http/console/assets"
	"annals/http/console/session"

	"github.com/gorilla/mux"
)

// visitors is a sign-in for tests: the cookie names the user, and is the token.
type visitors struct{}

func (visitors) Of(_ http.ResponseWriter, r *http.Request) (session.Session, bool, error) {
	c, err := r.Cookie("user")
	if err != nil {
		return session.Session{}, false, nil
	}
	return session.Session{Token: "token-of-" + c.Value, User: events.User{Principal: events.Principal("user:" + c.Value), Admin: c.Value == "admin"}, Expires: time.Now().Add(time.Hour)}, true, nil
}
func (visitors) Login(http.ResponseWriter, *http.Request)    {}
func (visitors) Callback(http.ResponseWriter, *http.Request) {}
func (visitors) Logout(http.ResponseWriter, *http.Request)   {}
func (visitors) CSRF(http.ResponseWriter, *http.Request) string {
	return "the-csrf-token"
}
func (visitors) CheckCSRF(r *http.Request) bool {
	return r.Header.Get("X-CSRF-Token") == "the-csrf-token" || r.FormValue("csrf") == "the-csrf-token"
}

// site is a console over a REST interface that a test writes.
type site struct {
	*testing.T
	handler http.Handler
}

func startSite(t *testing.T, rest http.HandlerFunc) *site {
	t.Helper()
	root := mux.NewRouter().SkipClean(true)
	at := func(path string) *url.URL { return &url.URL{Scheme: "http", Host: "annals.test", Path: path} }
	New(Options{Sessions: visitors{}, CoreURL: at("/core"), VaultURL: at("/vault"), IssuerURL: at("/signin")}).Mount(root, rest)
	return &site{t, root}
}

// as sends a request of a user, "" for nobody.
func (s *site) as(user, method, target string, form url.Values, header ...string) *http.Response {
	s.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(form.Encode()))
	if user != "" {
		r.AddCookie(&http.Cookie{Name: "user", Value: user})
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// found replies to searches and questions.
func found(w http.ResponseWriter, r *http.Request) {
	sources := []map[string]any{{
		"doc_id": "0f5c28a2-54d5-5f4e-8a0e-0f4cf4b5a1c7", "document_title": "<b>Mill</b>", "leaf_title": "History", "section_path": []string{"Past", "History"},
		"start_page": 3, "end_page": 3, "text": "The secret mill was **founded** by Erik Ljung in 1693. <script>alert(1)</script>", "folder": "Paper",
	}}
	reply := map[string]any{"sources": sources, "next_cursor": "abc"}
	if r.URL.Path == "/core/ask" {
		reply = map[string]any{"answer": "Erik Ljung", "confidence": .9, "reasoning": "It stands there.", "sources": sources}
	}
	_ = json.NewEncoder(w).Encode(reply)
}

func TestAskShowsTheAnswerAndItsPassages(t *testing.T) {
	var asked []string
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.Host+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(text))
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		found(w, r)
	})
	page := body(t, s.as("alice", "GET", "/?q=Who+founded+the+mill%3F&folder=Paper&tag=old", nil))
	for _, want := range []string{
		"Erik Ljung", ">Sure<", "&lt;b&gt;Mill&lt;/b&gt;", "<strong><mark>founded</mark></strong>", "&lt;script&gt;", "page 3", "<bdi>Past</bdi>", "words=6-8",
		`href="/?cursor=abc&amp;folder=Paper&amp;q=Who`, "<bdi>alice</bdi>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q: %s", want, page)
		}
	}
	for _, bad := range []string{"<script>alert", "token-of-alice", "Service</a>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	want := `annals.test/core/search Bearer token-of-alice {"folder_name":"Paper","query":"Who founded the mill?","tags":["old"]}`
	if len(asked) != 2 || !strings.Contains(asked[0], want) {
		t.Errorf("the page asked %q, want %q first", asked, want)
	}
}

// A colleague to whom an address is sent may not be allowed to read the document.
func TestAddressesOfPassagesHaveNoWordsOfDocuments(t *testing.T) {
	s := startSite(t, found)
	page := body(t, s.as("alice", "GET", "/?q=mill", nil))
	_, rest, _ := strings.Cut(page, `href="/documents/`)
	address, _, _ := strings.Cut(rest, `"`)
	if !strings.Contains(address, "hit=") || strings.Contains(address, "secret") || strings.Contains(address, "Ljung") {
		t.Errorf("the address of the passage is %q", address)
	}
}

func TestUncertainAnswersAreNotShown(t *testing.T) {
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/core/ask" {
			_, _ = io.WriteString(w, `{"answer":"Olof Strand","confidence":0.2,"sources":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"sources":[],"next_cursor":null}`)
	})
	page := body(t, s.as("alice", "GET", "/?q=mill", nil))
	if strings.Contains(page, "Olof") || !strings.Contains(page, ">Not found<") || !strings.Contains(page, "No passages") {
		t.Errorf("the page shows %s", page)
	}
}

func TestVisitorsSignInFirst(t *testing.T) {
	s := startSite(t, func(http.ResponseWriter, *http.Request) { t.Error("the REST interface was called") })
	r := s.as("", "GET", "/?q=a%26b", nil)
	if to := r.Header.Get("Location"); r.StatusCode != http.StatusSeeOther || to != "/console/login?to="+url.QueryEscape("/?q=a%26b") {
		t.Errorf("GET / of nobody = %d to %q", r.StatusCode, to)
	}
	if r := s.as("", "GET", "/console/api/vault/folders", nil); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a script of nobody gets %d", r.StatusCode)
	}
	r = s.as("", "POST", "/console/answer", url.Values{"name": {`My "long" text`}, "csrf": {"old"}})
	page := body(t, r)
	if r.StatusCode != http.StatusUnauthorized || !strings.Contains(page, "My &#34;long&#34; text") || strings.Contains(page, `"old"`) {
		t.Errorf("a form of nobody = %d %s, want it again with what was typed", r.StatusCode, page)
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	s := startSite(t, func(http.ResponseWriter, *http.Request) { t.Error("the REST interface was called") })
	for _, path := range []string{"/console/answer", "/console/api/vault/folders"} {
		if r := s.as("alice", "POST", path, url.Values{"name": {"x"}}); r.StatusCode != http.StatusForbidden {
			t.Errorf("POST %s without a token = %d", path, r.StatusCode)
		}
	}
}

func TestScriptsReachTheRESTInterfaceAsTheVisitor(t *testing.T) {
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("X-CSRF-Token") != "" || r.Header.Get("Authorization") != "Bearer token-of-alice" {
			t.Errorf("the request has the header %v", r.Header)
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String()+" "+r.Header.Get("If-Match"))
	})
	got := body(t, s.as("alice", "GET", "/console/api/vault/documents/x/pages/3.png?width=9", nil, "Authorization", "Bearer stolen", "If-Match", `"2"`))
	if got != `GET /vault/documents/x/pages/3.png?width=9 "2"` {
		t.Errorf("the REST interface got %s", got)
	}
	for _, path := range []string{"/console/api/signin/token", "/console/api/metrics", "/console/api/vault/../signin/", "/console/api/core/%2e%2e/signin"} {
		r := s.as("alice", "GET", path, nil)
		if text := body(t, r); r.StatusCode == 200 && !strings.Contains(text, " /vault/") && !strings.Contains(text, " /core/") {
			t.Errorf("GET %s = %d %s", path, r.StatusCode, text)
		}
	}
}

// Caches store replies to requests with cookies unless these say otherwise.
func TestHandedThroughRepliesAreNotStored(t *testing.T) {
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/vault/kept" {
			w.Header().Set("Cache-Control", "private, no-cache")
		}
		_, _ = io.WriteString(w, "{}")
	})
	for path, want := range map[string]string{"/console/api/core/jobs": "no-store", "/console/api/vault/kept": "private, no-cache"} {
		if got := s.as("alice", "GET", path, nil).Header.Values("Cache-Control"); len(got) != 1 || got[0] != want {
			t.Errorf("%s has Cache-Control %q, want %q", path, got, want)
		}
	}
}

func TestPagesAreGuarded(t *testing.T) {
	s := startSite(t, found)
	for path, status := range map[string]int{"/": 200, "/?q=mill": 200, "/admin": 404} {
		r := s.as("alice", "GET", path, nil)
		if r.StatusCode != status {
			t.Errorf("GET %s = %d, want %d", path, r.StatusCode, status)
		}
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s has the header %v", path, r.Header)
		}
		if page := body(t, r); strings.Contains(page, " style=") || strings.Contains(page, " onclick=") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
			t.Errorf("GET %s has styles, scripts or other hosts in the page: %s", path, page)
		}
	}
}

func TestErrorsOfTheRESTInterfaceAreTold(t *testing.T) {
	s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"detail":"You have searched for 30s in this minute."}`)
	})
	r := s.as("alice", "GET", "/?q=mill", nil)
	if page := body(t, r); r.StatusCode != http.StatusTooManyRequests || !strings.Contains(page, "You have searched for 30s in this minute.") {
		t.Errorf("the page = %d %s", r.StatusCode, page)
	}
}

// The size is part of what is promised to people with slow lines.
func TestAssetsAreSmall(t *testing.T) {
	files, err := assets.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	size := map[string]int{}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		_, kind, _ := strings.Cut(f.Name(), ".")
		size[kind] += int(info.Size())
	}
	if size["js"] == 0 || size["js"] >= 60_000 || size["css"] == 0 || size["css"] >= 30_000 {
		t.Errorf("the assets have %v bytes, want less than 60,000 of js and 30,000 of css", size)
	}
}

// Behind a proxy, the access log tells visitors apart by the header that the proxy sets.
func TestAddressOfVisitorReachesREST(t *testing.T) {
	for _, path := range []string{"/?q=mill", "/console/api/vault/tags"} {
		from := ""
		s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
			from = r.RemoteAddr + " for " + r.Header.Get("X-Forwarded-For")
			found(w, r)
		})
		s.as("alice", "GET", path, nil, "X-Forwarded-For", "198.51.100.7")
		if from != "192.0.2.1:1234 for 198.51.100.7" {
			t.Errorf("the call of %s comes from %q", path, from)
		}
	}
}

func TestOpenPagesRenewTheirSession(t *testing.T) {
	s := startSite(t, found)
	if r := s.as("alice", "POST", "/console/renew", nil, "X-CSRF-Token", "the-csrf-token"); r.StatusCode != http.StatusNoContent {
		t.Errorf("POST /console/renew = %d", r.StatusCode)
	}
	if r := s.as("", "POST", "/console/renew", nil, "Sec-Fetch-Mode", "cors"); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("POST /console/renew of nobody = %d", r.StatusCode)
	}
}
