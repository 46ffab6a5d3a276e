package provider

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

func (s *site) console() *testClient {
	return &testClient{site: s, id: clients.ConsoleID, redirect: s.URL + "/console/callback", verifier: accounts.NewSecret()}
}

// signInToConsole signs alice in to the console, and returns the reply with the tokens.
func (p *testClient) signInToConsole(b *browser) response {
	p.Helper()
	page := b.open(p.url("scope", "openid", "resource", ""))
	if strings.Contains(page.body, "/login") {
		page = b.signIn(page, "alice")
	}
	return p.redeem(page.callbackParam("code"), "resource", "")
}

func TestConsoleNeedsNoConsent(t *testing.T) {
	s := newSite(t)
	p, b := s.console(), s.browser()
	page := b.open(p.url("resource", ""))
	if policy := page.Header.Get("Content-Security-Policy"); !strings.HasSuffix(policy, "form-action 'self'") || strings.Contains(page.body, "to continue to") {
		t.Errorf("the sign-in page has the policy %q: %s", policy, page.body)
	}
	page = b.signIn(page, "alice")
	if to := page.Header.Get("Location"); !strings.HasPrefix(to, "/console/callback?code=") {
		t.Errorf("the browser is redirected to %q, want a path, so that it stays on its host", to)
	}
	a := p.redeem(page.callbackParam("code"), "resource", "")
	s.wantToken(a.field("access_token"), false)
	if silent := b.open(p.url("resource", "", "prompt", "none")); silent.callbackParam("code") == "" {
		t.Errorf("prompt=none = %s %s", silent.Status, silent.body)
	}
	if refused := s.browser().open(p.url("resource", "", "prompt", "none")); !strings.HasPrefix(refused.Header.Get("Location"), "/console/callback?error=login_required") {
		t.Errorf("prompt=none without a session = %s to %q", refused.Status, refused.Header.Get("Location"))
	}
	for _, redirect := range []string{
		"https://evil.example/console/callback", s.URL + "/console/callback?x=1", s.URL + "/console/callback/", s.URL + "/console", "http://localhost:1/console/callback",
		"/console/callback", strings.Replace(s.URL, "http:", "https:", 1) + "/console/callback", "http://127.0.0.1/console/callback",
	} {
		if page := b.open(p.url("resource", "", "redirect_uri", redirect)); page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" {
			t.Errorf("redirect_uri %q = %s to %q, want 400", redirect, page.Status, page.Header.Get("Location"))
		}
	}
	s.wantError("a device code for the console", s.post("/signin/device_authorization", map[string]string{"client_id": p.id}), http.StatusBadRequest, "unauthorized_client")
	s.wantError("a device's poll", s.post("/signin/token", map[string]string{"client_id": p.id, "grant_type": oauth.GrantDevice, "device_code": "x"}), http.StatusBadRequest, "invalid_grant")
	// The name cannot be taken: a client that registers gets an id that the server chooses.
	if a := s.postRegistration(`{"client_id": "annals-console", "client_name": "Annals in a browser", "redirect_uris": ["https://evil.example/"]}`); a.field("client_id") == clients.ConsoleID {
		t.Error("a program has registered itself as the console")
	}
}

func TestEndSession(t *testing.T) {
	s := newSite(t)
	p := s.console()
	after := s.URL + "/console/logout"
	other := s.register("https://program.example/callback")
	stranger := s.browser()
	if page := stranger.open("/signin/"); !strings.Contains(page.body, "/login") {
		t.Fatal(page.body)
	}
	otherToken := func(b *browser) string {
		page := b.open(other.url("scope", "openid", "resource", s.URL+"/core"))
		return other.redeem(b.submit(page, "/consent", "decision", "allow").callbackParam("code"), "resource", s.URL+"/core").field("id_token")
	}
	for what, c := range map[string]struct {
		query   func(hint, access string, b *browser) map[string]string
		asks    bool
		to      string // address to which the browser is redirected
		refused bool
	}{
		"the console": {query: func(hint, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": hint, "post_logout_redirect_uri": after, "state": "x y"}
		}, to: "/console/logout?state=x+y"},
		"the console, with its id": {query: func(hint, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": hint, "client_id": p.id, "post_logout_redirect_uri": after}
		}, to: "/console/logout"},
		"the console, to another address": {query: func(hint, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": hint, "post_logout_redirect_uri": "https://evil.example/console/logout"}
		}},
		"a token of another client": {query: func(hint, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": hint, "client_id": other.id}
		}, refused: true},
		"another program": {query: func(_, _ string, b *browser) map[string]string {
			return map[string]string{"id_token_hint": otherToken(b), "post_logout_redirect_uri": "https://program.example/callback"}
		}},
		"nothing": {query: func(_, _ string, _ *browser) map[string]string { return nil }, asks: true},
		"only the id": {query: func(_, _ string, _ *browser) map[string]string {
			return map[string]string{"client_id": p.id, "post_logout_redirect_uri": after}
		}, asks: true, to: "/console/logout"},
		"an access token": {query: func(_, access string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": access, "post_logout_redirect_uri": after}
		}, asks: true},
		"a token of annals token": {query: func(_, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": s.Issue(t, "alice")}
		}, asks: true},
		"a changed token": {query: func(hint, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": hint[:len(hint)-8] + "AAAAAAAA"}
		}, asks: true},
		"a long request": {query: func(hint, _ string, _ *browser) map[string]string {
			return map[string]string{"id_token_hint": hint, "state": strings.Repeat("x", maxEndSession)}
		}, refused: true},
	} {
		t.Run(what, func(t *testing.T) {
			b := s.browser()
			tokens := p.signInToConsole(b)
			query := encodeForm(c.query(tokens.field("id_token"), tokens.field("access_token"), b))
			page := b.open("/signin/end_session?" + query)
			signedIn := func() bool { return strings.Contains(b.open("/signin/").body, "You are signed in as") }
			if c.refused {
				if page.StatusCode != http.StatusBadRequest || !signedIn() {
					t.Errorf("%s, signed in: %v; want 400 and still signed in", page.Status, signedIn())
				}
				return
			}
			if c.asks {
				if !strings.Contains(page.body, "asks to sign") || !signedIn() {
					t.Fatalf("%s %s, signed in: %v; want a question first", page.Status, page.body, signedIn())
				}
				if forged := b.submit(page, "/confirm", "token", "x"); forged.StatusCode != http.StatusForbidden || !signedIn() {
					t.Errorf("a forged confirmation = %s", forged.Status)
				}
				page = b.submit(page, "/confirm")
			}
			if page.Header.Get("Location") != c.to || c.to == "" && !strings.Contains(page.body, "You are signed out") || signedIn() {
				t.Errorf("%s to %q: %s, signed in: %v; want %q and signed out", page.Status, page.Header.Get("Location"), page.body, signedIn(), c.to)
			}
		})
	}
	// An ID token of alice does not sign bob out.
	b := s.browser()
	hint := p.signInToConsole(b).field("id_token")
	bob := s.browser()
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	bob.signIn(bob.open("/signin/"), "bob")
	if page := bob.open("/signin/end_session?id_token_hint=" + url.QueryEscape(hint)); !strings.Contains(page.body, "asks to sign <strong>bob</strong> out") {
		t.Errorf("alice's ID token in bob's browser = %s", page.body)
	}
	// Nobody is signed in, and the form of another site has no session cookie.
	if page := stranger.open("/signin/end_session?client_id=" + p.id + "&post_logout_redirect_uri=" + url.QueryEscape(after)); page.Header.Get("Location") != "/console/logout" {
		t.Errorf("nobody signed in = %s to %q", page.Status, page.Header.Get("Location"))
	}
	if page := b.submitForm(s.URL+"/signin/end_session", map[string]string{"client_id": p.id}, "Origin", "https://evil.example"); !strings.Contains(page.body, "asks to sign") {
		t.Errorf("the form of another site = %s %s, want a question", page.Status, page.body)
	}
	// An ID token that has expired is still accepted, and its grant ends.
	old := p.signInToConsole(b)
	s.Clock.Advance(2 * accounts.TokenLifetime)
	if page := b.open("/signin/end_session?id_token_hint=" + url.QueryEscape(old.field("id_token"))); !strings.Contains(page.body, "You are signed out") {
		t.Errorf("an expired ID token = %s", page.body)
	}
	s.wantError("refresh after signing out", p.refresh(old.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
}
