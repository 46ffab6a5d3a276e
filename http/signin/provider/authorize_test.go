package provider

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

const loopback = "http://127.0.0.1/callback"

func TestAuthorizeRejectsUnregisteredRedirect(t *testing.T) {
	s := newSite(t)
	p, other, b := s.register(webRedirect), s.register("https://other.example/callback"), s.browser()
	b.signIn(b.open("/signin/"), "alice")
	for name, target := range map[string]string{
		"redirect_uri of another client":   p.url("redirect_uri", other.redirect),
		"a longer redirect_uri":            p.url("redirect_uri", webRedirect+"x"),
		"a script as redirect_uri":         p.url("redirect_uri", "javascript:alert(1)"),
		"no redirect_uri":                  p.url("redirect_uri", ""),
		"two redirect_uris":                p.url() + "&redirect_uri=https%3A%2F%2Fevil.example",
		"an unknown client":                p.url("client_id", "unknown"),
		"no client":                        p.url("client_id", ""),
		"two clients":                      p.url() + "&client_id=" + other.id,
		"the tools as client":              p.url("client_id", s.URL+"/mcp"),
		"a request too long":               p.url("state", strings.Repeat("x", maxQuery)),
		"an invalid query":                 p.url() + "&x=%zz",
		"redirect_uri and type both wrong": p.url("redirect_uri", other.redirect, "response_type", "token"),
	} {
		page := b.open(target)
		if page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" || strings.Contains(page.body, "<form") || !strings.Contains(page.body, `role="alert"`) {
			t.Errorf("with %s: %s to %q: %s; want 400 with an error page", name, page.Status, page.Header.Get("Location"), page.body)
		}
	}
}

func TestAuthorizeReportsErrorsToClient(t *testing.T) {
	s := newSite(t)
	p, b := s.register(loopback), s.browser()
	p.redirect = "http://127.0.0.1:4711/callback"
	for _, c := range []struct {
		name, want string
		change     []string
	}{
		{"plain", "invalid_request", []string{"code_challenge_method", "plain"}},
		{"no method", "invalid_request", []string{"code_challenge_method", ""}},
		{"no challenge", "invalid_request", []string{"code_challenge", ""}},
		{"a short challenge", "invalid_request", []string{"code_challenge", "short"}},
		{"no PKCE", "invalid_request", []string{"code_challenge", "", "code_challenge_method", ""}},
		{"no response type", "invalid_request", []string{"response_type", ""}},
		{"the implicit flow", "unsupported_response_type", []string{"response_type", "token"}},
		{"a fragment", "invalid_request", []string{"response_mode", "fragment"}},
		{"another resource", "invalid_target", []string{"resource", "https://other.example/mcp"}},
		{"a part of the resource", "invalid_target", []string{"resource", s.URL + "/mcp/part"}},
		{"a JWT", "request_not_supported", []string{"request", "x.y.z"}},
		{"a request elsewhere", "request_uri_not_supported", []string{"request_uri", "https://other.example/"}},
		{"nobody is signed in", "login_required", []string{"prompt", "none"}},
		{"prompt none with another", "invalid_request", []string{"prompt", "none login"}},
		{"an invalid max_age", "invalid_request", []string{"max_age", "old"}},
		{"a long nonce", "invalid_request", []string{"nonce", strings.Repeat("x", maxNonce+1)}},
	} {
		back := b.open(p.url(c.change...))
		if to := back.Header.Get("Location"); !strings.HasPrefix(to, p.redirect+"?") || back.callbackParam("error") != c.want ||
			back.callbackParam("state") != "a state" || back.callbackParam("iss") != s.URL+"/signin" || back.callbackParam("code") != "" {
			t.Errorf("with %s: %s to %s, want a redirect to %s with the error %s", c.name, back.Status, to, p.redirect, c.want)
		}
	}
	for name, more := range map[string]string{"a repeated scope": "&scope=openid&scope=openid", "two resources": "&resource=" + s.URL + "/core"} {
		if back := b.open(p.url() + more); back.StatusCode != http.StatusSeeOther || back.callbackParam("error") == "" {
			t.Errorf("with %s: %s to %s, want a redirect with an error", name, back.Status, back.Header.Get("Location"))
		}
	}
}

func TestAuthorizeByForm(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	page := b.signIn(b.submitForm("/signin/authorize", p.authorizeParams(), "Origin", "https://program.example"), "alice")
	if back := b.submit(page, "/consent", "decision", "allow"); back.callbackParam("code") == "" || back.callbackParam("state") != "a state" {
		t.Errorf("after consent: %s to %s, want a redirect with code and state", back.Status, back.Header.Get("Location"))
	}
	if page := b.submitForm("/signin/authorize", p.authorizeParams("state", strings.Repeat("x", oauth.MaxForm))); page.StatusCode != http.StatusBadRequest {
		t.Errorf("a form that is too long = %s, want 400", page.Status)
	}
}

func TestConsentDenied(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	page := b.signIn(b.open(p.url()), "alice")
	if back := b.submit(page, "/consent", "decision", "deny"); back.callbackParam("error") != "access_denied" || back.callbackParam("state") != "a state" || back.callbackParam("code") != "" {
		t.Errorf("denying redirects to %s, want access_denied with the state", back.Header.Get("Location"))
	}
	if page := b.open(p.url()); !strings.Contains(page.body, `value="allow"`) {
		t.Errorf("after a denial the next request shows no consent page: %s to %s", page.Status, page.Header.Get("Location"))
	}
}

func TestLocalClientAsksEachTime(t *testing.T) {
	s := newSite(t)
	for name, redirect := range map[string]string{
		"a loopback address": loopback, "a private-use scheme": "com.example.app:/callback", "an editor's scheme": "cursor://program/callback",
	} {
		p, b := s.register(redirect), s.browser()
		p.redeem(p.code(b))
		if page := b.open(p.url()); page.StatusCode != http.StatusOK || !strings.Contains(page.body, `value="allow"`) {
			t.Errorf("the second request for %s needs no consent: %s to %s", name, page.Status, page.Header.Get("Location"))
		}
		if back := b.open(p.url("prompt", "none")); back.callbackParam("error") != "consent_required" {
			t.Errorf("with prompt=none %s is redirected to %s, want consent_required", name, back.Header.Get("Location"))
		}
	}
	cli, b := &testClient{site: s, id: clients.CLIID, redirect: "http://127.0.0.1:4711/callback", verifier: accounts.NewSecret()}, s.browser()
	cli.redeem(cli.code(b))
	if page := b.open(cli.url("redirect_uri", "http://127.0.0.1:4712/callback")); page.callbackParam("code") != "" {
		t.Errorf("a second program that poses as the command line gets a code: %s", page.Header.Get("Location"))
	}
}

func TestAuthorizeIsNoOpenRedirector(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	failing := map[string]string{"an invalid request": p.url("response_type", "token"), "prompt=none": p.url("prompt", "none")}
	for name, target := range failing {
		page := b.open(target)
		if page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" || page.says() == "" {
			t.Errorf("with %s: %s to %q, want 400 and no redirect", name, page.Status, page.Header.Get("Location"))
		}
		if !strings.Contains(page.body, `<a href="https://program.example/callback?app=1&amp;error=`) || !strings.Contains(page.body, "at <strong>program.example<") {
			t.Errorf("with %s: the page does not show the link to the client: %s", name, page.body)
		}
	}
	p.redeem(p.code(b))
	for name, target := range failing {
		if back := s.browser().open(target); !strings.HasPrefix(back.Header.Get("Location"), webRedirect+"&error=") {
			t.Errorf("with %s after a user gave consent: %s to %q, want a redirect with the error", name, back.Status, back.Header.Get("Location"))
		}
	}
}

func TestConsentScope(t *testing.T) {
	s := newSite(t)
	page := s.send("POST", "/signin/register", `{"client_name": "<b>bold</b>", "redirect_uris": ["`+webRedirect+`", "https://second.example/callback"]}`, "Content-Type", "application/json")
	p, b := &testClient{site: s, id: page.field("client_id"), redirect: webRedirect, verifier: accounts.NewSecret()}, s.browser()
	consent := b.signIn(b.open(p.url()), "alice")
	if strings.Contains(consent.body, "<b>bold") || !strings.Contains(consent.body, "&lt;b&gt;bold&lt;/b&gt;") {
		t.Errorf("the consent page does not escape the client's name: %s", consent.body)
	}
	p.redeem(b.submit(consent, "/consent", "decision", "allow").callbackParam("code"))
	if back := b.open(p.url("prompt", "none")); back.callbackParam("code") == "" {
		t.Errorf("the same request after consent redirects to %s, want a code", back.Header.Get("Location"))
	}
	for name, change := range map[string][]string{
		"another resource":     {"resource", s.URL + "/core"},
		"another redirect_uri": {"redirect_uri", "https://second.example/callback"},
		"another client":       {"client_id", s.register(webRedirect).id},
		"prompt=consent":       {"prompt", "consent"},
	} {
		if page := b.open(p.url(change...)); page.StatusCode != http.StatusOK || !strings.Contains(page.body, `value="allow"`) {
			t.Errorf("a request with %s needs no consent: %s to %s", name, page.Status, page.Header.Get("Location"))
		}
	}
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	if page := b.signIn(b.open(p.url("prompt", "login consent")), "alice"); !strings.Contains(page.body, `value="allow"`) {
		t.Errorf("being asked to, after the password, needs no consent: %s %s", page.Status, page.body)
	}
	if page := b.signIn(b.open(p.url("prompt", "login")), "bob"); !strings.Contains(page.body, `value="allow"`) || !strings.Contains(page.body, "bob") {
		t.Errorf("another user needs no consent: %s %s", page.Status, page.body)
	}
}

func TestAuthorizeMaxAgeAndPrompt(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	p.redeem(p.code(b))
	s.Clock.Advance(10 * time.Minute)
	for _, c := range []struct {
		change []string
		asks   bool
	}{
		{[]string{"prompt", "login"}, true}, {[]string{"prompt", "select_account"}, true},
		{[]string{"max_age", "60"}, true}, {[]string{"max_age", "0"}, true}, {[]string{"max_age", "3600"}, false}, {nil, false},
	} {
		page := b.open(p.url(c.change...))
		if asks := strings.Contains(page.body, "/login"); asks != c.asks {
			t.Errorf("a request with %v shows the sign-in page: %v, want %v", c.change, asks, c.asks)
		}
		if c.asks {
			if back := b.signIn(page, "alice"); back.callbackParam("code") == "" {
				t.Errorf("a request with %v, after the sign-in: %s to %s, want a code", c.change, back.Status, back.Header.Get("Location"))
			}
			s.Clock.Advance(10 * time.Minute)
		}
	}
}

func TestPageHeaders(t *testing.T) {
	s := newSite(t)
	p, b := s.register("com.example.app:/callback"), s.browser()
	for name, page := range map[string]response{"sign-in": b.open(p.url()), "error": b.open("/signin/authorize")} {
		policy := page.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("the %s page's policy is %q, want %s", name, policy, want)
			}
		}
		if page.Header.Get("X-Frame-Options") != "DENY" || page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the %s page lacks a security header: %v", name, page.Header)
		}
		if allows := strings.HasSuffix(policy, "form-action 'self' com.example.app:"); allows != (name == "sign-in") {
			t.Errorf("the %s page's policy %q lets forms redirect to the client: %v", name, policy, allows)
		}
		scripts, own := strings.Count(page.body, "<script"), strings.Count(page.body, `<script type="module" src="/signin/`)
		if scripts != own || strings.Contains(policy, "unsafe") || strings.Contains(page.body, "://") {
			t.Errorf("the %s page loads from another site: %s", name, page.body)
		}
	}
	for _, name := range []string{"login.js", "work.js", "worker.js", "passkey.js"} {
		script := s.send("GET", "/signin/"+name, "")
		if script.StatusCode != 200 || !strings.HasPrefix(script.Header.Get("Content-Type"), "text/javascript") || !strings.Contains(script.Header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s = %s %v", name, script.Status, script.Header)
		}
	}
	if style := s.send("GET", "/signin/style.css", ""); style.StatusCode != 200 || !strings.HasPrefix(style.Header.Get("Content-Type"), "text/css") {
		t.Errorf("style.css = %s %v", style.Status, style.Header)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example/", "authorize/../../x", "logout"} {
		if back := s.browser().submitForm("/signin/login", nil); back.StatusCode != http.StatusForbidden {
			t.Errorf("a form without a cookie = %s, want 403", back.Status)
		}
		fresh := s.browser()
		page := fresh.open("/signin/")
		if home := fresh.submit(page, "/login", "page", next, "query", "https://evil.example", "username", "alice", "password", "correct horse"); home.Request.URL.Path != "/signin/" {
			t.Errorf("signing in with the page %q leads to %s %s, want /signin/", next, home.Request.URL, home.Header.Get("Location"))
		}
	}
}

// FuzzAuthorization checks that no request redirects the browser to an address that the client
// has not registered.
func FuzzAuthorization(f *testing.F) {
	s := newSite(f)
	s.provider.clientPages.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed // prevents requests for the metadata pages of clients
	}
	p := s.register(webRedirect)
	p.redeem(p.code(s.browser())) // a user has now allowed the redirect address, so errors are sent to it
	for _, change := range [][]string{nil, {"redirect_uri", "https://evil.example"}, {"code_challenge_method", "plain"}, {"prompt", "none"}, {"resource", "x"}} {
		f.Add(encodeForm(p.authorizeParams(change...)), "state")
	}
	f.Add("client_id="+p.id+"&redirect_uri="+webRedirect, "a\r\nb")
	f.Fuzz(func(t *testing.T, query, state string) {
		r := httptest.NewRequest("GET", s.URL+"/signin/authorize", nil)
		r.URL.RawQuery = query + "&state=" + url.QueryEscape(state)
		w := httptest.NewRecorder()
		s.provider.visits.Reset(s.provider.Address(r))
		s.provider.ServeHTTP(w, r)
		if to := w.Header().Get("Location"); to != "" && !strings.HasPrefix(to, webRedirect+"&") || w.Code >= 500 || strings.ContainsAny(to, "\r\n") {
			t.Errorf("%q redirects to %q with status %d", query, to, w.Code)
		}
	})
}
