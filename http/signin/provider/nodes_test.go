package provider

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

// node is a second node that uses the accounts of a site.
type node struct {
	accounts *accounts.Store
	issuer   *signin.Issuer
	provider *Provider
	verifier *signin.Verifier
}

func (s *site) secondNode() *node {
	s.Helper()
	n := &node{accounts: accountstest.Open(s, s.Dir)}
	var err error
	if n.issuer, err = signin.NewIssuer(n.accounts, signin.IssuerOptions{URL: s.Issuer.URL(), Tools: s.URL + "/mcp", Now: s.Clock.Now}); err != nil {
		s.Fatal(err)
	}
	n.provider, err = New(n.issuer, Options{Core: s.URL + "/core", Vault: s.URL + "/vault", Tools: s.URL + "/mcp", Logger: s.provider.logger})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(n.provider.Close)
	if n.verifier, err = signin.NewVerifier(signin.Options{BuiltIn: n.issuer, Now: s.Clock.Now}); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(n.verifier.Close)
	return n
}

// balance sends every second request to the node other, like a load balancer.
func (s *site) balance(other *node) {
	var n atomic.Int64
	first := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 0 && strings.HasPrefix(r.URL.Path, "/signin") {
			other.provider.ServeHTTP(w, r)
			return
		}
		first.ServeHTTP(w, r)
	})
}

func TestSignInSpansNodes(t *testing.T) {
	for _, shift := range []bool{false, true} { // let each of the two nodes handle the first request
		s := newSite(t)
		s.balance(s.secondNode())
		if shift {
			s.send("GET", "/signin/jwks", "")
		}
		p, b := s.register(webRedirect), s.browser()
		first := p.redeem(p.code(b))
		s.wantToken(first.field("access_token"), true)
		next := p.refresh(first.field("refresh_token"))
		s.wantToken(next.field("access_token"), true)
		if again := b.open(p.url()); again.callbackParam("code") == "" {
			t.Errorf("the next request needs new consent: %s %s", again.Status, again.body)
		}
		g := s.device()
		page := b.submit(b.open("/signin/device"), "/device", "user_code", g.userCode)
		b.submit(page, "/device/decision", "decision", "allow")
		tokens := g.poll()
		s.wantToken(tokens.field("access_token"), false)

		b.submit(b.open("/signin/"), "/logout", "everywhere", "yes")
		for _, refresh := range []string{next.field("refresh_token"), tokens.field("refresh_token")} {
			s.wantError("after signing out everywhere", p.refresh(refresh), http.StatusBadRequest, "invalid_grant")
		}
	}
}

func TestTokensEndOnAllNodes(t *testing.T) {
	ctx := t.Context()
	s := newSite(t)
	other := s.secondNode()
	verify := func(what, token string, want bool) {
		t.Helper()
		if _, _, err := other.verifier.Verify(ctx, token); (err == nil) != want || err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("Verify of a token %s: %v, want it accepted: %v", what, err, want)
		}
	}
	p, b := s.register(webRedirect), s.browser()
	issue := func() string {
		return p.redeem(p.code(b, "resource", s.URL+"/core"), "resource", s.URL+"/core").field("access_token")
	}
	for what, end := range map[string]func(token string) error{
		"revocation": func(token string) error {
			p.post("/signin/revoke", map[string]string{"client_id": p.id, "token": token})
			return nil
		},
		"a password change":      func(string) error { return s.Accounts.SetPassword(ctx, "alice", "correct horse") },
		"signing out everywhere": func(string) error { return s.Accounts.SignOut(ctx, "alice") },
		"disabling": func(string) error {
			if err := s.Accounts.Disable(ctx, "alice"); err != nil {
				return err
			}
			return s.Accounts.Enable(ctx, "alice")
		},
	} {
		token := issue()
		verify("before "+what, token, true)
		if err := end(token); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		verify("after "+what, token, false)
	}
	old := s.Issue(t, "alice")
	key, err := s.Accounts.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accounts.AddKey(ctx); err != nil {
		t.Fatal(err)
	}
	verify("of a key that was just added", s.Issue(t, "alice"), true)
	verify("of the previous key", old, true)
	if err := s.Accounts.DeleteKey(ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	verify("of a deleted key", old, false)
	token := s.Issue(t, "alice")
	verify("of a user", token, true)
	if err := s.Accounts.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	verify("of a deleted user", token, false)
}

func TestCredentialsAreSingleUseAcrossNodes(t *testing.T) {
	ctx := t.Context()
	s := newSite(t)
	nodes := []*accounts.Store{s.Accounts, s.secondNode().accounts}
	p, b := s.register(webRedirect), s.browser()
	now := s.Clock.Now()
	for range 10 {
		code := p.code(b)
		g, found, err := s.Accounts.Grant(ctx, accounts.GrantID(code), now)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		var refresh [2]string
		redeem := func(i int) func() (bool, error) {
			return func() (ok bool, err error) {
				refresh[i], err = nodes[i].RedeemCode(ctx, g, code, now)
				return refresh[i] != "", err
			}
		}
		if n := accountstest.AtOnce(t, redeem(0), redeem(1)); n != 1 {
			t.Fatalf("a code was redeemed %d times", n)
		}
		token := refresh[0] + refresh[1]
		rotate := func(i int) func() (bool, error) {
			return func() (bool, error) {
				next, err := nodes[i].RotateRefresh(ctx, g, token, now)
				return next != "", err
			}
		}
		if n := accountstest.AtOnce(t, rotate(0), rotate(1)); n != 1 {
			t.Fatalf("a refresh token was used %d times", n)
		}

		pending := s.device()
		page := b.submit(b.open("/signin/device"), "/device", "user_code", pending.userCode)
		b.submit(page, "/device/decision", "decision", "allow")
		device := func(i int) func() (bool, error) {
			return func() (bool, error) {
				refresh, err := nodes[i].RedeemDevice(ctx, pending.code, &accounts.Grant{User: "alice", Client: clients.CLIID, Authenticated: now}, now)
				return refresh != "", err
			}
		}
		if n := accountstest.AtOnce(t, device(0), device(1)); n != 1 {
			t.Fatalf("a device code was redeemed %d times", n)
		}
	}
}

// PostgreSQL returns an error for a text with a zero byte or invalid UTF-8. Such a name, id or
// code must be treated as unknown, not as an internal error.
func TestInvalidTextIsUnknown(t *testing.T) {
	s := newSite(t)
	for _, invalid := range []string{"a\x00b", "\xff\xfe"} {
		_, err := s.Accounts.Get(t.Context(), invalid)
		accountstest.WantKind(t, "Get", err, fault.NotFound)
		b := s.browser()
		if page := b.submit(b.open("/signin/"), "/login", "username", invalid, "password", "correct horse"); page.StatusCode != http.StatusForbidden {
			t.Errorf("signing in as %q = %s, want 403", invalid, page.Status)
		}
		s.wantError("a client with that id", s.post("/signin/token", map[string]string{"grant_type": oauth.GrantCode, "client_id": invalid}), http.StatusUnauthorized, "invalid_client")
		_, found, err := s.Accounts.Bearer(t.Context(), "alice", invalid, invalid, time.Now())
		if err != nil || !found {
			t.Errorf("Bearer with the key and grant %q = %v, %v; want the user found", invalid, found, err)
		}
		sum := sha256.Sum256([]byte(invalid))
		if _, _, err := s.Accounts.PollDevice(t.Context(), string(sum[:]), invalid, s.Clock.Now()); err != nil {
			t.Errorf("PollDevice with the client %q: %v", invalid, err)
		}
	}
}
