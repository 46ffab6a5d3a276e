package http_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	httpd "annals/http"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/provider"
	"annals/queries/accesslog"

	"github.com/google/uuid"
)

// reading is a service with the built-in sign-in and two users: alice, who owns the documents,
// and bob.
type reading struct {
	*service
	accounts *accounts.Store

	mu       sync.Mutex
	accessed []accesslog.Access
}

func startReading(t *testing.T) *reading {
	t.Helper()
	store, err := accounts.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	for _, name := range []string{"alice", "bob"} {
		if _, err := store.Create(t.Context(), accounts.NewAccount{Name: name, Password: "correct horse"}); err != nil {
			t.Fatal(err)
		}
	}
	issuer, err := signin.NewIssuer(store, signin.IssuerOptions{URL: "http://annals.test/signin"})
	if err != nil {
		t.Fatal(err)
	}
	provider, err := provider.New(issuer, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	r := &reading{accounts: store}
	r.service = startStack(t, func(h *httpd.Server) {
		h.SignIn, h.Reader = provider, provider.Reader
		h.Accessed = func(a accesslog.Access) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.accessed = append(r.accessed, a)
		}
	})
	return r
}

// person is a browser. It does not follow redirects, except in open.
type person struct {
	*reading
	http *http.Client
}

func (r *reading) person() *person {
	jar, _ := cookiejar.New(nil) // never returns an error
	return &person{r, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (p *person) send(method, path string, form url.Values, header ...string) (*http.Response, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", p.url)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := p.http.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return resp, string(body)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)"(?: value="([^"]*)")?`)

// signIn opens a sign-in page, submits its form, and returns the URL to which the sign-in
// redirects.
func (p *person) signIn(name, link string, change ...string) (to string) {
	p.Helper()
	resp, _ := p.send("GET", link, nil)
	page := resp.Header.Get("Location")
	resp, body := p.send("GET", page, nil)
	if resp.StatusCode != 200 || !strings.Contains(body, "fragment.js") {
		p.Fatalf("%s redirects to %s = %d %s", link, page, resp.StatusCode, body)
	}
	form := url.Values{"username": {name}, "password": {"correct horse"}}
	first, _, _ := strings.Cut(body, "</form>")
	for _, field := range hiddenField.FindAllStringSubmatch(first, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	for i := 0; i+1 < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	resp, body = p.send("POST", "/signin/login", form)
	if resp.StatusCode != http.StatusSeeOther {
		p.Fatalf("the sign-in of %s = %d %s", name, resp.StatusCode, body)
	}
	return resp.Header.Get("Location")
}

// open requests a page, follows its redirects, and returns the last response.
func (p *person) open(path string) (*http.Response, string) {
	p.Helper()
	for range 4 {
		resp, body := p.send("GET", path, nil)
		if resp.StatusCode != http.StatusSeeOther {
			return resp, body
		}
		path = resp.Header.Get("Location")
	}
	p.Fatalf("too many redirects, the last to %s", path)
	return nil, ""
}

func TestLinkLeadsThroughSignIn(t *testing.T) {
	s := startReading(t)
	link := "/documents/" + s.file("Staff", "handbook.md", handbook) + ".md"
	p := s.person()
	resp, _ := p.send("GET", link, nil)
	if to := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || to != "/signin/document?to="+url.QueryEscape(link) || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("GET a link by browser = %d %v, want a redirect to the sign-in", resp.StatusCode, resp.Header)
	}
	resp, body := p.open(p.signIn("alice", link))
	if resp.Request.URL.Path != link || resp.StatusCode != 200 || body != handbook {
		t.Fatalf("signed in, %s = %d %s", resp.Request.URL, resp.StatusCode, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Content-Disposition": "inline; filename=handbook.md", "Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox; default-src 'none'") {
		t.Errorf("the policy is %s", policy)
	}
	if resp, body := p.send("GET", link, nil, "Range", "bytes=0-3", "Accept", "*/*"); resp.StatusCode != 206 || body != handbook[:4] {
		t.Errorf("GET with Range, as PDF viewers send it = %d %q", resp.StatusCode, body)
	}
	if resp, _ := p.send("HEAD", link, nil); resp.StatusCode != 200 {
		t.Errorf("HEAD = %d", resp.StatusCode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.accessed, func(a accesslog.Access) bool {
		return a.Kind == accesslog.Exported && a.User.Principal == "user:alice" && a.Via == "documents"
	}) {
		t.Errorf("the access is not recorded: %+v", s.accessed)
	}
}

// A request with a token, or one that does not accept HTML, is never redirected to the
// sign-in: the reply is the document or a JSON error.
func TestProgramsGetNoRedirect(t *testing.T) {
	s := startReading(t)
	link := "/documents/" + s.file("Staff", "handbook.md", handbook) + ".md"
	p := s.person()
	if resp, body := p.open(p.signIn("alice", link)); resp.StatusCode != 200 || body != handbook {
		t.Fatalf("%s = %d %s", link, resp.StatusCode, body)
	}
	for what, c := range map[string]struct {
		header []string
		client *person
		status int
		media  string
	}{
		"a token":                      {[]string{"Authorization", "Bearer alice", "Accept", "*/*"}, s.person(), 200, "text/markdown"},
		"a token and a page":           {[]string{"Authorization", "Bearer alice"}, s.person(), 200, "text/markdown"},
		"no token":                     {[]string{"Accept", "*/*"}, s.person(), 401, "application/json; charset=utf-8"},
		"a wrong token and a page":     {[]string{"Authorization", "Bearer mallory"}, s.person(), 401, "application/json; charset=utf-8"},
		"a wrong token and the cookie": {[]string{"Authorization", "Bearer mallory"}, p, 401, "application/json; charset=utf-8"},
		"bob's token, alice's cookie":  {[]string{"Authorization", "Bearer bob"}, p, 404, "application/json; charset=utf-8"},
	} {
		resp, body := c.client.send("GET", link, nil, c.header...)
		if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.media {
			t.Errorf("%s = %d %s %s", what, resp.StatusCode, resp.Header.Get("Content-Type"), body)
		}
		if c.status == 200 && resp.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s = Cache-Control %s", what, resp.Header.Get("Cache-Control"))
		}
	}
}

// The cookie for deep links is refused on all other routes, even if a browser sends it there.
func TestCookieOpensOnlyLinks(t *testing.T) {
	s := startReading(t)
	id := s.file("Staff", "handbook.md", handbook)
	link := "/documents/" + id + ".md"
	p := s.person()
	p.open(p.signIn("alice", link))
	at, _ := url.Parse(p.url + link)
	cookies := p.http.Jar.Cookies(at)
	if len(cookies) != 1 || cookies[0].Name != "annals_reader" {
		t.Fatalf("the cookies for a link are %v, want annals_reader", cookies)
	}
	header := cookies[0].Name + "=" + cookies[0].Value
	for _, c := range []string{
		"GET /vault/documents/" + id, "GET /vault/documents/" + id + "/content", "GET /vault" + link, "GET /vault/folders", "DELETE /vault/documents/" + id + "?version=1",
		"POST /core/search", "POST /core/ingest", "GET /vault/audit",
	} {
		method, path, _ := strings.Cut(c, " ")
		if resp, body := s.person().send(method, path, nil, "Cookie", header); resp.StatusCode != 401 {
			t.Errorf("%s with the cookie = %d %s", c, resp.StatusCode, body)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		if resp, body := s.person().send(method, link, nil, "Cookie", header); resp.StatusCode != 405 {
			t.Errorf("%s %s with the cookie = %d %s", method, link, resp.StatusCode, body)
		}
	}
	if resp, _ := s.person().send("GET", link, nil, "Cookie", header); resp.StatusCode != 200 {
		t.Errorf("the cookie alone = %d", resp.StatusCode)
	}
	for what, value := range map[string]string{"cut": header[:len(header)-2], "changed": strings.Replace(header, "reader=", "reader=x", 1), "none": "annals_reader=", "the session's name": strings.Replace(header, "reader", "session", 1)} {
		if resp, _ := s.person().send("GET", link, nil, "Cookie", value); resp.StatusCode != 303 {
			t.Errorf("GET a link with a cookie that is %s = %d, want 303", what, resp.StatusCode)
		}
	}
}

func TestReaderCookieEnds(t *testing.T) {
	s := startReading(t)
	link := "/documents/" + s.file("Staff", "handbook.md", handbook) + ".md"
	for what, end := range map[string]func(p *person) error{
		"signing out": func(p *person) error {
			_, body := p.send("GET", "/signin/", nil)
			token := hiddenField.FindStringSubmatch(body)
			resp, _ := p.send("POST", "/signin/logout", url.Values{"token": {token[2]}})
			if resp.StatusCode != 303 {
				t.Errorf("signing out = %d", resp.StatusCode)
			}
			return nil
		},
		"another password": func(*person) error { return s.accounts.SetPassword(t.Context(), "alice", "correct horse") },
		"disabling alice":  func(*person) error { return s.accounts.Disable(t.Context(), "alice") },
	} {
		if err := s.accounts.Enable(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		p := s.person()
		if resp, _ := p.open(p.signIn("alice", link)); resp.StatusCode != 200 {
			t.Fatalf("before %s: %d", what, resp.StatusCode)
		}
		at, _ := url.Parse(p.url + link)
		cookie := p.http.Jar.Cookies(at)[0]
		if err := end(p); err != nil {
			t.Fatal(err)
		}
		if resp, body := s.person().send("GET", link, nil, "Cookie", cookie.Name+"="+cookie.Value); resp.StatusCode != 303 {
			t.Errorf("the cookie after %s = %d %s", what, resp.StatusCode, body)
		}
	}
}

// For a document that the user may not read, the page is the same as for a missing document.
func TestUnreadableLinkLooksMissing(t *testing.T) {
	s := startReading(t)
	id := s.file("Secret plans", "plan.md", handbook)
	p := s.person()
	resp, hidden := p.open(p.signIn("bob", "/documents/"+id+".md"))
	if resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(hidden, "or you may not read it") || !strings.Contains(hidden, "bob") {
		t.Fatalf("GET a hidden document by bob = %d %s", resp.StatusCode, hidden)
	}
	for _, link := range []string{"/documents/" + uuid.NewString() + ".md", "/documents/" + id + ".pdf", "/documents/0000-0000.md"} {
		if resp, body := p.send("GET", link, nil); resp.StatusCode != 404 || body != hidden {
			t.Errorf("%s = %d %s, want the same page", link, resp.StatusCode, body)
		}
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the page's policy is %s", policy)
	}
}

// After the sign-in the browser is redirected only to deep links, never to other URLs.
func TestSignInRedirectsOnlyToDocuments(t *testing.T) {
	s := startReading(t)
	id := s.file("Staff", "handbook.md", handbook)
	link := "/documents/" + id + ".md"
	bad := []string{
		"//evil.example/documents/" + id + ".md", "https://evil.example" + link, link + "?x=1", link + "#x", link + "/..", "/documents/../vault/folders", "/vault" + link, "/signin/", "",
		"/documents//evil.example", `/documents\` + id + ".md", link + "\r\nSet-Cookie: a=b", " " + link, "javascript:alert(1)", "/documents/" + id + ".md%2f..",
	}
	p := s.person()
	for _, to := range bad {
		if resp, body := s.person().send("GET", "/signin/document?to="+url.QueryEscape(to), nil); resp.StatusCode != 404 || resp.Header.Get("Location") != "" || strings.Contains(body, "evil") {
			t.Errorf("GET document?to=%q before the sign-in = %d %v", to, resp.StatusCode, resp.Header)
		}
		if where := s.person().signIn("alice", link, "query", "to="+url.QueryEscape(to)); strings.Contains(where, "document") || strings.Contains(where, "evil") {
			t.Errorf("the sign-in with to=%q redirects to %s", to, where)
		}
	}
	p.open(p.signIn("alice", link))
	for _, to := range bad {
		if resp, _ := p.send("GET", "/signin/document?to="+url.QueryEscape(to), nil); resp.StatusCode != 404 || len(resp.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("GET document?to=%q after the sign-in = %d %v", to, resp.StatusCode, resp.Header)
		}
	}
}

// Stored HTML is shown as plain text.
func TestStoredHTMLIsPlainText(t *testing.T) {
	s := startReading(t)
	const script = "<!doctype html><script>alert(1)</script>"
	id := s.file("Staff", "page.txt", script)
	if resp, body := s.do("PATCH", "/vault/documents/"+id, `{"name":"page.html"}`, "If-Match", `"1"`, "Content-Type", "application/json"); resp.StatusCode != 200 {
		t.Fatalf("rename = %d %s", resp.StatusCode, body)
	}
	p := s.person()
	resp, body := p.open(p.signIn("alice", "/documents/"+id+".txt"))
	if resp.StatusCode != 200 || body != script || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "sandbox;") {
		t.Errorf("GET a stored page = %d %v %s", resp.StatusCode, resp.Header, body)
	}
}

func TestLinkWithoutSignIn(t *testing.T) {
	s := startStack(t)
	link := "/documents/" + s.file("Staff", "handbook.md", handbook) + ".md"
	resp, body := s.do("GET", link, "", "Authorization", "", "Accept", "text/html")
	if resp.StatusCode != 401 || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(body, "with a program that is signed in") {
		t.Errorf("GET a link by browser without a sign-in = %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("GET", link, "", "Authorization", ""); resp.StatusCode != 401 || body != `{"error":"unauthenticated"}` {
		t.Errorf("GET a link by a program = %d %s", resp.StatusCode, body)
	}
}
