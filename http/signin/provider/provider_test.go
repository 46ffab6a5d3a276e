package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/signintest"
)

// site is a provider behind an HTTP server, with a clock that only the test advances. It has
// the user alice with the password "correct horse".
type site struct {
	testing.TB
	signintest.BuiltIn
	*httptest.Server
	provider *Provider
	tools    *signin.Verifier
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{TB: t}
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Server.Close)
	s.BuiltIn = signintest.NewAt(t, s.URL)
	s.serve(mux)
	return s
}

// serve creates the provider and serves it.
func (s *site) serve(mux *http.ServeMux) {
	s.Helper()
	var err error
	s.provider, err = New(s.Issuer, Options{
		Core: s.URL + "/core", Vault: s.URL + "/vault", Tools: s.URL + "/mcp", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.provider.Close)
	mux.Handle("/signin", s.provider)
	mux.Handle("/signin/", s.provider)
	mux.Handle("/.well-known/", s.provider.RootDocuments())
	s.tools = s.Verifier.For(s.URL + "/mcp")
}

// response is an HTTP response with its body.
type response struct {
	*http.Response
	body string
}

// field returns a field of a JSON response.
func (a response) field(name string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(a.body), &fields) != nil {
		return ""
	}
	text, _ := fields[name].(string)
	return text
}

// callbackParam returns a parameter in the URL with which the response redirects the browser
// to the client.
func (a response) callbackParam(name string) string {
	u, err := url.Parse(a.Header.Get("Location"))
	if err != nil {
		return ""
	}
	return u.Query().Get(name)
}

func (s *site) do(client *http.Client, r *http.Request) response {
	s.Helper()
	resp, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response{resp, string(body)}
}

func (s *site) request(method, target, body string, headers ...string) *http.Request {
	s.Helper()
	if strings.HasPrefix(target, "/") {
		target = s.URL + target
	}
	r, err := http.NewRequestWithContext(s.Context(), method, target, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// send sends a request without cookies, as OAuth clients do.
func (s *site) send(method, target, body string, headers ...string) response {
	s.Helper()
	return s.do(s.Client(), s.request(method, target, body, headers...))
}

// post sends a form without cookies, as OAuth clients do.
func (s *site) post(target string, form map[string]string) response {
	s.Helper()
	return s.send("POST", target, encodeForm(form), "Content-Type", "application/x-www-form-urlencoded")
}

func encodeForm(form map[string]string) string {
	values := url.Values{}
	for k, v := range form {
		values.Set(k, v)
	}
	return values.Encode()
}

// with returns a copy of a form with changed fields. change contains names and values in turn;
// an empty value removes the field.
func with(form map[string]string, change ...string) map[string]string {
	form = maps.Clone(form)
	for i := 0; i < len(change); i += 2 {
		if form[change[i]] = change[i+1]; change[i+1] == "" {
			delete(form, change[i])
		}
	}
	return form
}

// browser is a browser with cookies. It follows redirects within the site.
type browser struct {
	*site
	client *http.Client
}

func (s *site) browser() *browser {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &browser{s, &http.Client{Transport: s.Client().Transport, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), s.URL+"/signin/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

func (b *browser) open(target string) response {
	b.Helper()
	return b.do(b.client, b.request("GET", target, ""))
}

var (
	formTag  = regexp.MustCompile(`<form method="post" action="([^"]*)">`)
	fieldTag = regexp.MustCompile(`<input [^>]*name="([^"]*)"(?: value="([^"]*)")?`)
)

// submit submits the form on a page whose action is path, with the given fields besides the
// hidden ones.
func (b *browser) submit(page response, path string, fields ...string) response {
	b.Helper()
	for part := range strings.SplitSeq(page.body, "</form>") {
		tag := formTag.FindStringSubmatch(part)
		if tag == nil || !strings.HasSuffix(tag[1], path) {
			continue
		}
		form := map[string]string{}
		for _, field := range fieldTag.FindAllStringSubmatch(part, -1) {
			form[field[1]] = html.UnescapeString(field[2])
		}
		return b.submitForm(tag[1], with(form, fields...))
	}
	b.Fatalf("%s has no form to %s: %s", page.Request.URL, path, page.body)
	return response{}
}

func (b *browser) submitForm(target string, form map[string]string, headers ...string) response {
	b.Helper()
	headers = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", b.URL}, headers...)
	return b.do(b.client, b.request("POST", target, encodeForm(form), headers...))
}

// signIn submits the sign-in form with the password "correct horse".
func (b *browser) signIn(page response, name string) response {
	b.Helper()
	return b.submit(page, "/login", "username", name, "password", "correct horse")
}

// testClient is an OAuth client that is registered with the provider.
type testClient struct {
	*site
	id       string
	redirect string
	verifier string
}

// register registers a client with a redirect address.
func (s *site) register(redirect string) *testClient {
	s.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "A program", "redirect_uris": []string{redirect}})
	if err != nil {
		s.Fatal(err)
	}
	a := s.send("POST", "/signin/register", string(body), "Content-Type", "application/json")
	if a.StatusCode != http.StatusCreated || a.field("client_id") == "" {
		s.Fatalf("register = %s %s", a.Status, a.body)
	}
	return &testClient{site: s, id: a.field("client_id"), redirect: redirect, verifier: accounts.NewSecret()}
}

// authorizeParams returns the parameters of an authorization request.
func (p *testClient) authorizeParams(change ...string) map[string]string {
	sum := sha256.Sum256([]byte(p.verifier))
	return with(map[string]string{
		"response_type": "code", "client_id": p.id, "redirect_uri": p.redirect, "state": "a state", "resource": p.URL + "/mcp",
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	}, change...)
}

func (p *testClient) url(change ...string) string {
	return p.URL + "/signin/authorize?" + encodeForm(p.authorizeParams(change...))
}

// code opens the authorization request of the client, signs alice in if necessary, consents,
// and returns the authorization code.
func (p *testClient) code(b *browser, change ...string) string {
	p.Helper()
	page := b.open(p.url(change...))
	if strings.Contains(page.body, "/login") {
		page = b.signIn(page, "alice")
	}
	if page.StatusCode == http.StatusOK {
		page = b.submit(page, "/consent", "decision", "allow")
	}
	code := page.callbackParam("code")
	if code == "" {
		p.Fatalf("the browser is not redirected with a code: %s %s %s", page.Status, page.Header.Get("Location"), page.body)
	}
	return code
}

// redemption returns the form with which the client redeems an authorization code.
func (p *testClient) redemption(code string) map[string]string {
	return map[string]string{
		"grant_type": "authorization_code", "client_id": p.id, "redirect_uri": p.redirect,
		"code": code, "code_verifier": p.verifier, "resource": p.URL + "/mcp",
	}
}

func (p *testClient) redeem(code string, change ...string) response {
	p.Helper()
	return p.post("/signin/token", with(p.redemption(code), change...))
}

func (p *testClient) refresh(token string, change ...string) response {
	p.Helper()
	return p.post("/signin/token", with(map[string]string{"grant_type": "refresh_token", "client_id": p.id, "refresh_token": token}, change...))
}

func (s *site) wantError(what string, a response, status int, code string) {
	s.Helper()
	if a.StatusCode != status || a.field("error") != code {
		s.Errorf("%s = %s %s, want %d %s", what, a.Status, a.body, status, code)
	}
}

// wantToken checks that a token is alice's. If tools is true, only the agents' tools must
// accept it, and otherwise only the core and the vault.
func (s *site) wantToken(token string, tools bool) {
	s.Helper()
	accepting, rejecting := s.Verifier, s.tools
	if tools {
		accepting, rejecting = s.tools, s.Verifier
	}
	user, expires, err := accepting.Verify(s.Context(), token)
	if err != nil || user.Principal != events.Principal("user:alice") || len(user.Groups) != 1 || expires.Sub(s.Clock.Now()) > time.Hour {
		s.Errorf("Verify = %+v until %v, %v; want alice for an hour", user, expires, err)
	}
	if _, _, err := rejecting.Verify(s.Context(), token); err == nil {
		s.Error("the token is accepted for another audience")
	}
}

const webRedirect = "https://program.example/callback?app=1"

func TestAuthorizationCodeFlow(t *testing.T) {
	s := newSite(t)
	metadata := s.send("GET", "/.well-known/oauth-protected-resource/mcp", "")
	if metadata.field("resource") != s.URL+"/mcp" || !strings.Contains(metadata.body, `"authorization_servers":["`+s.URL+`/signin"]`) {
		t.Fatalf("the metadata of the resource is %s", metadata.body)
	}
	if server := s.send("GET", "/.well-known/oauth-authorization-server/signin", ""); server.field("issuer") != s.URL+"/signin" || server.field("token_endpoint") != s.URL+"/signin/token" {
		t.Fatalf("the metadata of the server is %s", server.body)
	}
	p, b := s.register(webRedirect), s.browser()
	page := b.open(p.url())
	if !strings.Contains(page.body, "A program") {
		t.Errorf("the sign-in page does not name the program: %s", page.body)
	}
	page = b.signIn(page, "alice")
	for _, want := range []string{"A program", "program.example", "agent tools", "registered itself"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the consent page does not say %q: %s", want, page.body)
		}
	}
	back := b.submit(page, "/consent", "decision", "allow")
	if to := back.Header.Get("Location"); !strings.HasPrefix(to, webRedirect+"&") || back.callbackParam("state") != "a state" || back.callbackParam("iss") != s.URL+"/signin" || back.callbackParam("app") != "1" {
		t.Errorf("the browser is redirected to %s, want %s with state and iss", to, webRedirect)
	}
	first := p.redeem(back.callbackParam("code"))
	if first.StatusCode != 200 || first.field("token_type") != "Bearer" || first.field("id_token") != "" || first.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("token = %s %v %s", first.Status, first.Header, first.body)
	}
	s.wantToken(first.field("access_token"), true)
	second := p.refresh(first.field("refresh_token"))
	if second.StatusCode != 200 || second.field("refresh_token") == first.field("refresh_token") {
		t.Fatalf("refresh = %s %s", second.Status, second.body)
	}
	s.wantToken(second.field("access_token"), true)
	if again := b.open(p.url()); again.callbackParam("code") == "" {
		t.Errorf("the second request needs new consent: %s %s", again.Status, again.body)
	}
}

func TestProcessesShareSignIns(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	code := p.code(b)
	issuer, err := signin.NewIssuer(accountstest.Open(t, s.Dir), signin.IssuerOptions{URL: s.Issuer.URL(), Tools: s.URL + "/mcp", Now: s.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(issuer, Options{Tools: s.URL + "/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	second := httptest.NewServer(other)
	defer second.Close()
	a := p.post(second.URL+"/signin/token", p.redemption(code))
	if a.StatusCode != http.StatusOK {
		t.Fatalf("a code that another process issued = %s %s, want 200", a.Status, a.body)
	}
	s.wantToken(a.field("access_token"), true)
	s.wantError("the same code at the first process", p.redeem(code), http.StatusBadRequest, "invalid_grant")
	if again := p.post(second.URL+"/signin/token", map[string]string{"grant_type": "refresh_token", "client_id": p.id, "refresh_token": a.field("refresh_token")}); again.StatusCode != http.StatusBadRequest {
		t.Errorf("refresh of a grant that another process ended = %s %s, want 400", again.Status, again.body)
	}
}
