package provider

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"

	"github.com/coreos/go-oidc/v3/oidc"
)

func TestCodeIsSingleUse(t *testing.T) {
	s := newSite(t)
	p, other, b := s.register(webRedirect), s.register(webRedirect), s.browser()
	code := p.code(b)
	for name, change := range map[string][]string{
		"another client":            {"client_id", other.id},
		"the command line":          {"client_id", clients.CLIID},
		"another redirect":          {"redirect_uri", "https://program.example/callback"},
		"a wrong verifier":          {"code_verifier", accounts.NewSecret()},
		"the challenge as verifier": {"code_verifier", p.authorizeParams()["code_challenge"]},
		"a short verifier":          {"code_verifier", "short"},
		"a made-up code":            {"code", "made.up"},
		"another grant's code":      {"code", strings.Split(p.code(b), ".")[0] + "." + strings.Split(code, ".")[1]},
	} {
		s.wantError(name, p.redeem(code, change...), http.StatusBadRequest, "invalid_grant")
	}
	for _, missing := range []string{"code", "code_verifier", "grant_type"} {
		s.wantError("without "+missing, p.redeem(code, missing, ""), http.StatusBadRequest, "invalid_request")
	}
	s.wantError("another resource", p.redeem(code, "resource", s.URL+"/core"), http.StatusBadRequest, "invalid_target")
	s.wantError("an unknown resource", p.redeem(code, "resource", "https://other.example"), http.StatusBadRequest, "invalid_target")

	first := p.redeem(code, "resource", "", "redirect_uri", "") // both are optional
	if first.StatusCode != http.StatusOK {
		t.Fatalf("token = %s %s", first.Status, first.body)
	}
	s.wantToken(first.field("access_token"), true)
	s.wantError("a code used twice", p.redeem(code), http.StatusBadRequest, "invalid_grant")
	if _, _, err := s.tools.Verify(t.Context(), first.field("access_token")); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("the token of a code that was used twice: %v, want Unauthenticated", err)
	}
	s.wantError("its refresh token", p.refresh(first.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
}

func TestCodeExpires(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	code := p.code(b)
	s.Clock.Advance(accounts.CodeLifetime - 5*time.Second)
	if a := p.redeem(code); a.StatusCode != http.StatusOK {
		t.Errorf("a code shortly before its expiry = %s %s, want 200", a.Status, a.body)
	}
	code = p.code(b)
	s.Clock.Advance(accounts.CodeLifetime)
	s.wantError("an expired code", p.redeem(code), http.StatusBadRequest, "invalid_grant")
}

func TestConcurrentRedeem(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	code := p.code(b)
	var redeemed atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if p.redeem(code).StatusCode == http.StatusOK {
				redeemed.Add(1)
			}
		})
	}
	all.Wait()
	if redeemed.Load() > 1 {
		t.Errorf("the code was redeemed %d times, want at most once", redeemed.Load())
	}
}

func TestReusedRefreshTokenEndsGrant(t *testing.T) {
	s := newSite(t)
	p, other, b := s.register(webRedirect), s.register(webRedirect), s.browser()
	first := p.redeem(p.code(b))
	s.wantError("another client", p.refresh(first.field("refresh_token"), "client_id", other.id), http.StatusBadRequest, "invalid_grant")
	s.wantError("another resource", p.refresh(first.field("refresh_token"), "resource", s.URL+"/core"), http.StatusBadRequest, "invalid_target")
	s.wantError("a wider scope", p.refresh(first.field("refresh_token"), "scope", "openid"), http.StatusBadRequest, "invalid_scope")
	s.wantError("no refresh token", p.refresh(""), http.StatusBadRequest, "invalid_request")
	second := p.refresh(first.field("refresh_token"), "resource", s.URL+"/mcp/")
	if second.StatusCode != http.StatusOK {
		t.Fatalf("refresh = %s %s", second.Status, second.body)
	}
	s.wantError("a token used twice", p.refresh(first.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
	s.wantError("the token that replaced it", p.refresh(second.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
	if _, _, err := s.tools.Verify(t.Context(), second.field("access_token")); err == nil {
		t.Error("an access token of the ended grant is still accepted")
	}
	if again := p.redeem(p.code(b)); again.StatusCode != http.StatusOK {
		t.Errorf("a new sign-in = %s %s, want 200", again.Status, again.body)
	}
}

func TestGrantExpires(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	token := p.redeem(p.code(b)).field("refresh_token")
	s.Clock.Advance(accounts.RefreshLifetime)
	s.wantError("an idle grant", p.refresh(token), http.StatusBadRequest, "invalid_grant")

	token = p.redeem(p.code(b)).field("refresh_token")
	for range 4 {
		s.Clock.Advance(accounts.GrantLifetime/4 - time.Minute)
		a := p.refresh(token)
		if token = a.field("refresh_token"); a.StatusCode != http.StatusOK {
			t.Fatalf("a grant in use = %s %s", a.Status, a.body)
		}
	}
	s.Clock.Advance(5 * time.Minute)
	s.wantError("an old grant", p.refresh(token), http.StatusBadRequest, "invalid_grant")
}

func TestServiceTokens(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	for _, resource := range []string{"", s.URL + "/core", s.URL + "/vault/", strings.ToUpper(s.URL[:4]) + s.URL[4:] + "/core"} {
		a := p.redeem(p.code(b, "resource", resource, "scope", "openid unheard-of", "nonce", "a nonce"), "resource", resource)
		if a.field("scope") != "openid" {
			t.Errorf("for %q the scope is %q", resource, a.field("scope"))
		}
		s.wantToken(a.field("access_token"), false)
		s.wantToken(a.field("id_token"), false)
		ctx := oidc.ClientContext(t.Context(), s.Client())
		provider, err := oidc.NewProvider(ctx, s.Issuer.URL())
		if err != nil {
			t.Fatal(err)
		}
		id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.id, Now: s.Clock.Now}).Verify(ctx, a.field("id_token"))
		if err != nil || id.Subject != "alice" || id.Nonce != "a nonce" {
			t.Errorf("a client verifies the ID token as %+v, %v; want alice with the nonce", id, err)
		}
	}
}

func TestServicesRejectIDTokenOfTools(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	a := p.redeem(p.code(b, "scope", "openid"))
	s.wantToken(a.field("access_token"), true)
	for _, v := range []*signin.Verifier{s.Verifier, s.tools} {
		if _, _, err := v.Verify(t.Context(), a.field("id_token")); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the ID token of a sign-in to the tools: %v, want Unauthenticated", err)
		}
	}
	if narrow := p.refresh(a.field("refresh_token"), "scope", "other"); narrow.field("id_token") != "" || narrow.field("access_token") == "" {
		t.Errorf("refresh with a narrower scope = %s, want an access token without an ID token", narrow.body)
	}
}

func TestIssuedTokenIsValidEverywhere(t *testing.T) {
	s := newSite(t)
	token := s.Issue(t, "alice")
	for _, v := range []*signin.Verifier{s.Verifier, s.tools} {
		if user, _, err := v.Verify(t.Context(), token); err != nil || user.Principal != "user:alice" {
			t.Errorf("Verify = %v, %v", user, err)
		}
	}
	if _, _, err := s.Verifier.For("elsewhere").Verify(t.Context(), token); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Verify for another audience: %v, want Unauthenticated", err)
	}
}

func TestTokenEndpointRejects(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	code := p.code(b)
	s.wantError("an unknown grant type", p.redeem(code, "grant_type", "password"), http.StatusBadRequest, "unsupported_grant_type")
	s.wantError("an unknown client", p.redeem(code, "client_id", "unknown"), http.StatusUnauthorized, "invalid_client")
	s.wantError("no client", p.redeem(code, "client_id", ""), http.StatusUnauthorized, "invalid_client")
	form := encodeForm(p.redemption(code))
	const kind = "application/x-www-form-urlencoded"
	secret := s.send("POST", "/signin/token", form, "Content-Type", kind, "Authorization", "Basic eDp5")
	s.wantError("a client with a secret", secret, http.StatusUnauthorized, "invalid_client")
	if secret.Header.Get("WWW-Authenticate") == "" {
		t.Error("the 401 response has no WWW-Authenticate header")
	}
	s.wantError("a repeated parameter", s.send("POST", "/signin/token", form+"&code="+code, "Content-Type", kind), http.StatusBadRequest, "invalid_request")
	s.wantError("parameters in the URL", s.send("POST", "/signin/token?"+form, "", "Content-Type", kind), http.StatusUnauthorized, "invalid_client")
	s.wantError("JSON", s.send("POST", "/signin/token", "{}", "Content-Type", "application/json"), http.StatusUnauthorized, "invalid_client")
	s.wantError("a body too long", s.send("POST", "/signin/token", strings.Repeat("x", oauth.MaxForm+1), "Content-Type", kind), http.StatusBadRequest, "invalid_request")
	if a := s.send("GET", "/signin/token?"+form, ""); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
		t.Errorf("GET = %s, want 405", a.Status)
	}
	if a := p.redeem(code); a.StatusCode != http.StatusOK {
		t.Errorf("the code after all invalid requests = %s %s, want 200", a.Status, a.body)
	}
}

func TestRevoke(t *testing.T) {
	s := newSite(t)
	p, other, b := s.register(webRedirect), s.register(webRedirect), s.browser()
	for _, kind := range []string{"access_token", "refresh_token"} {
		a := p.redeem(p.code(b))
		for name, form := range map[string]map[string]string{
			"of another":   {"client_id": other.id, "token": a.field(kind)},
			"unknown":      {"client_id": p.id, "token": "unknown"},
			"a broken JWT": {"client_id": p.id, "token": "a.b.c"},
		} {
			if r := s.post("/signin/revoke", form); r.StatusCode != http.StatusOK || r.body != "" {
				t.Errorf("revoking a token (%s) = %s %s, want 200 without a body", name, r.Status, r.body)
			}
		}
		s.wantToken(a.field("access_token"), true)
		if r := s.post("/signin/revoke", map[string]string{"client_id": p.id, "token": a.field(kind)}); r.StatusCode != http.StatusOK {
			t.Errorf("revoking an %s = %s %s, want 200", kind, r.Status, r.body)
		}
		if _, _, err := s.tools.Verify(t.Context(), a.field("access_token")); err == nil {
			t.Errorf("after revoking its %s an access token is still accepted", kind)
		}
		s.wantError("a revoked grant", p.refresh(a.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
	}
	s.wantError("revoking nothing", s.post("/signin/revoke", map[string]string{"client_id": p.id}), http.StatusBadRequest, "invalid_request")
}

func TestEnableKeepsSignIns(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	a := p.redeem(p.code(b))
	if err := s.Accounts.Enable(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	s.wantToken(a.field("access_token"), true)
}

func TestAccountLossEndsSignIns(t *testing.T) {
	for name, change := range map[string]func(*site) error{
		"disabled":         func(s *site) error { return s.Accounts.Disable(s.Context(), "alice") },
		"deleted":          func(s *site) error { return s.Accounts.Delete(s.Context(), "alice") },
		"another password": func(s *site) error { return s.Accounts.SetPassword(s.Context(), "alice", "battery staple") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			p, b := s.register(webRedirect), s.browser()
			a, unused := p.redeem(p.code(b)), p.code(b)
			page := b.open(p.url("prompt", "consent"))
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.tools.Verify(t.Context(), a.field("access_token")); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("an access token: %v, want Unauthenticated", err)
			}
			s.wantError("a refresh token", p.refresh(a.field("refresh_token")), http.StatusBadRequest, "invalid_grant")
			s.wantError("a code", p.redeem(unused), http.StatusBadRequest, "invalid_grant")
			if back := b.submit(page, "/consent", "decision", "allow"); back.callbackParam("code") != "" {
				t.Error("an earlier session still gets a code")
			}
			if page := b.open("/signin/"); !strings.Contains(page.body, "/login") {
				t.Error("the browser is still signed in")
			}
			if page := b.signIn(b.open("/signin/"), "alice"); page.StatusCode != http.StatusForbidden {
				t.Errorf("signing in with the old password = %s, want 403", page.Status)
			}
		})
	}
}
