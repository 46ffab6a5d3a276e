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
		"another's":           p.url("redirect_uri", other.redirect),
		"a longer one":        p.url("redirect_uri", webRedirect+"x"),
		"a script":            p.url("redirect_uri", "javascript:alert(1)"),
		"none":                p.url("redirect_uri", ""),
		"two":                 p.url() + "&redirect_uri=https%3A%2F%2Fevil.example",
		"of an unknown":       p.url("client_id", "unknown"),
		"of none":             p.url("client_id", ""),
		"of two":              p.url() + "&client_id=" + other.id,
		"of the tools' own":   p.url("client_id", s.URL+"/mcp"),
		"too long":            p.url("state", strings.Repeat("x", maxQuery)),
		"undecodable":         p.url() + "&x=%zz",
		"of a broken request": p.url("redirect_uri", other.redirect, "response_type", "token"),
	} {
		page := b.open(target)
		if page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" || strings.Contains(page.body, "<form") || !strings.Contains(page.body, `role="alert"`) {
			t.Errorf("redirect_uri %s: %s to %q: %s", name, page.Status, page.Header.Get("Location"), page.body)
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
		{"a contradiction", "invalid_request", []string{"prompt", "none login"}},
		{"an age that is none", "invalid_request", []string{"max_age", "old"}},
		{"a long nonce", "invalid_request", []string{"nonce", strings.Repeat("x", maxNonce+1)}},
	} {
		back := b.open(p.url(c.change...))
		if to := back.Header.Get("Location"); !strings.HasPrefix(to, p.redirect+"?") || back.callbackParam("error") != c.want ||
			back.callbackParam("state") != "a state" || back.callbackParam("iss") != s.URL+"/signin" || back.callbackParam("code") != "" {
			t.Errorf("%s: %s to %s, want %s there", c.name, back.Status, to, c.want)
		}
	}
	for name, more := range map[string]string{"twice the same": "&scope=openid&scope=openid", "two resources": "&resource=" + s.URL + "/core"} {
		if back := b.open(p.url() + more); back.StatusCode != http.StatusSeeOther || back.callbackParam("error") == "" {
			t.Errorf("%s: %s to %s", name, back.Status, back.Header.Get("Location"))
		}
	}
}

func TestAuthorizeByForm(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	page := b.signIn(b.submitForm("/signin/authorize", p.authorizeParams(), "Origin", "https://program.example"), "alice")
	if back := b.submit(page, "/consent", "decision", "allow"); back.callbackParam("code") == "" || back.callbackParam("state") != "a state" {
		t.Errorf("it leads to %s %s", back.Status, back.Header.Get("Location"))
	}
	if page := b.submitForm("/signin/authorize", p.authorizeParams("state", strings.Repeat("x", oauth.MaxForm))); page.StatusCode != http.StatusBadRequest {
		t.Errorf("one without end = %s", page.Status)
	}
}

func TestConsentDenied(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	page := b.signIn(b.open(p.url()), "alice")
	if back := b.submit(page, "/consent", "decision", "deny"); back.callbackParam("error") != "access_denied" || back.callbackParam("state") != "a state" || back.callbackParam("code") != "" {
		t.Errorf("denying leads to %s", back.Header.Get("Location"))
	}
	if page := b.open(p.url()); !strings.Contains(page.body, `value="allow"`) {
		t.Errorf("after that the user is not asked: %s to %s", page.Status, page.Header.Get("Location"))
	}
}

func TestLocalClientAsksEachTime(t *testing.T) {
	s := newSite(t)
	for name, redirect := range map[string]string{
		"at a port": loopback, "at a scheme": "com.example.app:/callback", "at an editor's": "cursor://program/callback",
	} {
		p, b := s.register(redirect), s.browser()
		p.redeem(p.code(b))
		if page := b.open(p.url()); page.StatusCode != http.StatusOK || !strings.Contains(page.body, `value="allow"`) {
			t.Errorf("whatever listens %s gets a code unseen: %s to %s", name, page.Status, page.Header.Get("Location"))
		}
		if back := b.open(p.url("prompt", "none")); back.callbackParam("error") != "consent_required" {
			t.Errorf("%s, prompt=none leads to %s", name, back.Header.Get("Location"))
		}
	}
	cli, b := &testClient{site: s, id: clients.CLIID, redirect: "http://127.0.0.1:4711/callback", verifier: accounts.NewSecret()}, s.browser()
	cli.redeem(cli.code(b))
	if page := b.open(cli.url("redirect_uri", "http://127.0.0.1:4712/callback")); page.callbackParam("code") != "" {
		t.Errorf("another program in the place of the command line is sent %s", page.Header.Get("Location"))
	}
}

func TestAuthorizeIsNoOpenRedirector(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	bad := map[string]string{"of a fault": p.url("response_type", "token"), "of asking silently": p.url("prompt", "none")}
	for name, target := range bad {
		page := b.open(target)
		if page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" || page.says() == "" {
			t.Errorf("because %s: %s to %q", name, page.Status, page.Header.Get("Location"))
		}
		if !strings.Contains(page.body, `<a href="https://program.example/callback?app=1&amp;error=`) || !strings.Contains(page.body, "at <strong>program.example<") {
			t.Errorf("because %s: the page does not say where the program is: %s", name, page.body)
		}
	}
	p.redeem(p.code(b))
	for name, target := range bad {
		if back := s.browser().open(target); !strings.HasPrefix(back.Header.Get("Location"), webRedirect+"&error=") {
			t.Errorf("because %s, once it was allowed: %s to %q", name, back.Status, back.Header.Get("Location"))
		}
	}
}

func TestConsentScope(t *testing.T) {
	s := newSite(t)
	page := s.send("POST", "/signin/register", `{"client_name": "<b>bold</b>", "redirect_uris": ["`+webRedirect+`", "https://second.example/callback"]}`, "Content-Type", "application/json")
	p, b := &testClient{site: s, id: page.field("client_id"), redirect: webRedirect, verifier: accounts.NewSecret()}, s.browser()
	asked := b.signIn(b.open(p.url()), "alice")
	if strings.Contains(asked.body, "<b>bold") || !strings.Contains(asked.body, "&lt;b&gt;bold&lt;/b&gt;") {
		t.Errorf("the name of a program is taken for HTML: %s", asked.body)
	}
	p.redeem(b.submit(asked, "/consent", "decision", "allow").callbackParam("code"))
	if back := b.open(p.url("prompt", "none")); back.callbackParam("code") == "" {
		t.Errorf("what was allowed leads to %s", back.Header.Get("Location"))
	}
	for name, change := range map[string][]string{
		"another target":  {"resource", s.URL + "/core"},
		"another place":   {"redirect_uri", "https://second.example/callback"},
		"another program": {"client_id", s.register(webRedirect).id},
		"being asked to":  {"prompt", "consent"},
	} {
		if page := b.open(p.url(change...)); page.StatusCode != http.StatusOK || !strings.Contains(page.body, `value="allow"`) {
			t.Errorf("%s needs no consent: %s to %s", name, page.Status, page.Header.Get("Location"))
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
			t.Errorf("%v asks for the password: %v, want %v", c.change, asks, c.asks)
		}
		if c.asks {
			if back := b.signIn(page, "alice"); back.callbackParam("code") == "" {
				t.Errorf("%v leads after the password to %s %s", c.change, back.Status, back.Header.Get("Location"))
			}
			s.Clock.Advance(10 * time.Minute)
		}
	}
}

func TestPageHeaders(t *testing.T) {
	s := newSite(t)
	p, b := s.register("com.example.app:/callback"), s.browser()
	for name, page := range map[string]answer{"sign-in": b.open(p.url()), "error": b.open("/signin/authorize")} {
		policy := page.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("the %s page's policy is %q, want %s", name, policy, want)
			}
		}
		if page.Header.Get("X-Frame-Options") != "DENY" || page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the %s page has the headers %v", name, page.Header)
		}
		if leads := strings.HasSuffix(policy, "form-action 'self' com.example.app:"); leads != (name == "sign-in") {
			t.Errorf("the %s page's policy is %q", name, policy)
		}
		scripts, own := strings.Count(page.body, "<script"), strings.Count(page.body, `<script type="module" src="/signin/`)
		if scripts != own || strings.Contains(policy, "unsafe") || strings.Contains(page.body, "://") {
			t.Errorf("the %s page loads from elsewhere: %s", name, page.body)
		}
	}
	for _, name := range []string{"login.js", "work.js", "worker.js", "passkey.js"} {
		script := s.send("GET", "/signin/"+name, "")
		if script.StatusCode != 200 || !strings.HasPrefix(script.Header.Get("Content-Type"), "text/javascript") || !strings.Contains(script.Header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s = %s %v", name, script.Status, script.Header)
		}
	}
	if style := s.send("GET", "/signin/style.css", ""); style.StatusCode != 200 || !strings.HasPrefix(style.Header.Get("Content-Type"), "text/css") {
		t.Errorf("the style = %s %v", style.Status, style.Header)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example/", "authorize/../../x", "logout"} {
		if back := s.browser().submitForm("/signin/login", nil); back.StatusCode != http.StatusForbidden {
			t.Errorf("a form without a cookie = %s", back.Status)
		}
		fresh := s.browser()
		page := fresh.open("/signin/")
		if home := fresh.submit(page, "/login", "page", next, "query", "https://evil.example", "username", "alice", "password", "correct horse"); home.Request.URL.Path != "/signin/" {
			t.Errorf("signing in leads to %s %s", home.Request.URL, home.Header.Get("Location"))
		}
	}
}

// FuzzAuthorization checks that no request redirects to an address that its client did not
// register.
func FuzzAuthorization(f *testing.F) {
	s := newSite(f)
	s.provider.clientPages.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed // no page is looked up by chance
	}
	p := s.register(webRedirect)
	p.redeem(p.code(s.browser())) // so that faults are told to it
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
			t.Errorf("%q leads to %q with %d", query, to, w.Code)
		}
	})
}
