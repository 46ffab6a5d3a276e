package signin

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
)

// second is another node over the accounts of a site: with a store, a provider
// and verifiers of its own.
type second struct {
	accounts *Accounts
	issuer   *Issuer
	provider *Provider
	verifier *Verifier
}

func (s *site) second() *second {
	s.Helper()
	n := &second{accounts: openAccounts(s, s.dir)}
	var err error
	if n.issuer, err = NewIssuer(n.accounts, IssuerOptions{URL: s.issuer.URL(), Tools: s.URL + "/mcp", Now: s.clock.now}); err != nil {
		s.Fatal(err)
	}
	n.provider, err = NewProvider(n.issuer, ProviderOptions{Core: s.URL + "/core", Vault: s.URL + "/vault", Tools: s.URL + "/mcp", Logger: s.provider.logger})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(n.provider.Close)
	if n.verifier, err = NewVerifier(Options{BuiltIn: n.issuer, Now: s.clock.now}); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(n.verifier.Close)
	return n
}

// inTurns has the requests to the site answered by two nodes in turns, as behind
// a proxy.
func (s *site) inTurns(other *second) {
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

func TestASignInGoesOnAtAnyNode(t *testing.T) {
	for _, shift := range []bool{false, true} { // whichever answers first
		s := newSite(t)
		s.inTurns(s.second())
		if shift {
			s.send("GET", "/signin/jwks", "")
		}
		p, b := s.register(elsewhere), s.browser()
		first := p.redeem(p.code(b))
		s.wantToken(first.told("access_token"), true)
		next := p.refresh(first.told("refresh_token"))
		s.wantToken(next.told("access_token"), true)
		if again := b.open(p.url()); again.returned("code") == "" {
			t.Errorf("a consent is not known to both: %s %s", again.Status, again.body)
		}
		g := s.gadget()
		page := b.submit(b.open("/signin/device"), "/device", "user_code", g.userCode)
		b.submit(page, "/device/decision", "decision", "allow")
		tokens := g.ask()
		s.wantToken(tokens.told("access_token"), false)

		b.submit(b.open("/signin/"), "/logout", "everywhere", "yes")
		for _, refresh := range []string{next.told("refresh_token"), tokens.told("refresh_token")} {
			s.wantError("after signing out everywhere", p.refresh(refresh), http.StatusBadRequest, "invalid_grant")
		}
	}
}

func TestANodeTakesAtOnceWhatAnotherSignsAndRefusesWhatItEnds(t *testing.T) {
	ctx := t.Context()
	s := newSite(t)
	other := s.second()
	takes := func(what, token string, want bool) {
		t.Helper()
		if _, _, err := other.verifier.Verify(ctx, token); (err == nil) != want || err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v, want it taken: %v", what, err, want)
		}
	}
	p, b := s.register(elsewhere), s.browser()
	grants := func() string {
		return p.redeem(p.code(b, "resource", s.URL+"/core"), "resource", s.URL+"/core").told("access_token")
	}
	for what, end := range map[string]func(token string) error{
		"a revoked grant": func(token string) error {
			p.post("/signin/revoke", map[string]string{"client_id": p.id, "token": token})
			return nil
		},
		"another password":       func(string) error { return s.accounts.SetPassword(ctx, "alice", "correct horse") },
		"signing out everywhere": func(string) error { return s.accounts.signOut(ctx, "alice") },
		"disabling": func(string) error {
			if err := s.accounts.Disable(ctx, "alice"); err != nil {
				return err
			}
			return s.accounts.Enable(ctx, "alice")
		},
	} {
		token := grants()
		takes("before "+what, token, true)
		if err := end(token); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		takes("after "+what, token, false)
	}
	old := s.issue(t, "alice")
	key, err := s.accounts.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.accounts.AddKey(ctx); err != nil {
		t.Fatal(err)
	}
	takes("a token of a key that is there no longer than it", s.issue(t, "alice"), true)
	takes("one of the key before", old, true)
	if err := s.accounts.DeleteKey(ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	takes("one of a key that was deleted", old, false)
	token := s.issue(t, "alice")
	takes("a user's", token, true)
	if err := s.accounts.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	takes("a deleted user's", token, false)
}

// atOnce runs functions at the same moment, and returns how many succeed.
func atOnce(t *testing.T, all ...func() (bool, error)) int {
	t.Helper()
	var group sync.WaitGroup
	var done atomic.Int32
	begin := make(chan struct{})
	for _, f := range all {
		group.Go(func() {
			<-begin
			ok, err := f()
			if err != nil {
				t.Error(err)
			}
			if ok {
				done.Add(1)
			}
		})
	}
	close(begin)
	group.Wait()
	return int(done.Load())
}

func TestWhatIsGoodOnceIsGoodAtOneNode(t *testing.T) {
	ctx := t.Context()
	s := newSite(t)
	nodes := []*Accounts{s.accounts, s.second().accounts}
	p, b := s.register(elsewhere), s.browser()
	now := s.clock.now()
	for range 10 {
		code := p.code(b)
		g, found, err := s.accounts.grant(ctx, grantID(code), now)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		var refresh [2]string
		redeem := func(i int) func() (bool, error) {
			return func() (ok bool, err error) {
				refresh[i], err = nodes[i].redeem(ctx, g, code, now)
				return refresh[i] != "", err
			}
		}
		if n := atOnce(t, redeem(0), redeem(1)); n != 1 {
			t.Fatalf("a code was redeemed %d times", n)
		}
		token := refresh[0] + refresh[1]
		rotate := func(i int) func() (bool, error) {
			return func() (bool, error) {
				next, err := nodes[i].rotate(ctx, g, token, now)
				return next != "", err
			}
		}
		if n := atOnce(t, rotate(0), rotate(1)); n != 1 {
			t.Fatalf("a refresh token was used %d times", n)
		}

		gadget := s.gadget()
		page := b.submit(b.open("/signin/device"), "/device", "user_code", gadget.userCode)
		b.submit(page, "/device/decision", "decision", "allow")
		device := func(i int) func() (bool, error) {
			return func() (bool, error) {
				refresh, err := nodes[i].redeemDevice(ctx, gadget.code, &grant{user: "alice", client: CLIClient, authenticated: now}, now)
				return refresh != "", err
			}
		}
		if n := atOnce(t, device(0), device(1)); n != 1 {
			t.Fatalf("a device code was redeemed %d times", n)
		}
	}
}

// Whatever the old password begins at another node while it is changed ends with
// it: a session, a code of a session, what a device is allowed and gets.
func TestNothingSlipsThroughAChangeOfPassword(t *testing.T) {
	ctx := t.Context()
	s := newSite(t)
	other := s.second().accounts
	now := s.clock.now()
	to := &authorization{client: cli, redirect: "http://127.0.0.1/callback", audience: "annals"}
	for range 25 {
		_, hash, err := s.accounts.authenticate(ctx, ownTurn, "alice", "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		v := visitor{cookie: newSecret(), user: "alice"}
		var codes [2][2]string // of two devices: one is allowed at this moment, one gets its tokens
		_, err = s.accounts.addSession(ctx, v.cookie, "alice", hash, now)
		for i := range codes {
			codes[i] = [2]string{newSecret(), newUserCode()}
			if err == nil {
				_, err = s.accounts.addDevice(ctx, device{client: CLIClient, audience: "annals", origin: []byte("here")}, codes[i][0], codes[i][1], now)
			}
		}
		if err == nil {
			_, err = s.accounts.decideDevice(ctx, codes[1][1], "allow", v, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		newHash, err := hashPassword(ctx, "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		atOnce(t,
			func() (bool, error) { return true, s.accounts.change(ctx, "alice", `password = $2`, newHash, Event{}) },
			func() (bool, error) { return other.addSession(ctx, newSecret(), "alice", hash, now) },
			func() (bool, error) {
				code, err := other.addCode(ctx, v, to, now)
				return code != "", err
			},
			func() (bool, error) { return other.decideDevice(ctx, codes[0][1], "allow", v, now) },
			func() (bool, error) {
				refresh, err := other.redeemDevice(ctx, codes[1][0], &grant{user: "alice", client: CLIClient, authenticated: now}, now)
				return refresh != "", err
			},
		)
		for _, table := range []string{"sessions", "grants", "devices"} {
			var left int
			if err := s.accounts.db.QueryRow(`SELECT count(*) FROM ` + table + ` WHERE "user" = 'alice'`).Scan(&left); err != nil || left > 0 {
				t.Fatalf("%d %s are left of before, %v", left, table, err)
			}
		}
	}
}

func TestNodesThatStartAtOnceAgreeOnOneKeyAndTheNewestSigns(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	nodes := []*Accounts{openAccounts(t, dir), openAccounts(t, dir)}
	var first [2]Key
	sign := func(i int) func() (bool, error) {
		return func() (_ bool, err error) {
			first[i], err = nodes[i].SigningKey(ctx)
			return true, err
		}
	}
	if atOnce(t, sign(0), sign(1)); first[0].ID != first[1].ID {
		t.Errorf("two nodes sign with %s and %s", first[0].ID, first[1].ID)
	}
	// A machine whose clock is ahead has made the last one.
	if _, err := nodes[0].db.exec(ctx, `UPDATE keys SET created = created + 20000000`); err != nil {
		t.Fatal(err)
	}
	added, err := nodes[1].AddKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := nodes[0].SigningKey(ctx); err != nil || got.ID != added.ID {
		t.Errorf("SigningKey = %s, %v; want the one that was added, %s", got.ID, err, added.ID)
	}
}

func TestTextThatNoDatabaseHoldsIsNobodys(t *testing.T) {
	s := newSite(t)
	for _, odd := range []string{"a\x00b", "\xff\xfe"} {
		_, err := s.accounts.Get(t.Context(), odd)
		wantKind(t, "Get", err, fault.NotFound)
		b := s.browser()
		if page := b.submit(b.open("/signin/"), "/login", "username", odd, "password", "correct horse"); page.StatusCode != http.StatusForbidden {
			t.Errorf("signing in as %q = %s", odd, page.Status)
		}
		s.wantError("a client of that name", s.post("/signin/token", map[string]string{"grant_type": grantCode, "client_id": odd}), http.StatusUnauthorized, "invalid_client")
		_, found, err := s.accounts.standing(t.Context(), "alice", odd, odd, time.Now())
		if err != nil || !found {
			t.Errorf("standing = %v, %v", found, err)
		}
		sum := sha256.Sum256([]byte(odd))
		if _, _, err := s.accounts.askDevice(t.Context(), string(sum[:]), odd, s.clock.now()); err != nil {
			t.Errorf("askDevice = %v", err)
		}
	}
}
