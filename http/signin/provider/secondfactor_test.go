package provider

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/passkey"
	"annals/http/signin/passkey/passkeytest"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"
)

var (
	secretTag   = regexp.MustCompile(`class="secret">([A-Z2-7 ]+)<`)
	recoveryTag = regexp.MustCompile(`<code>([a-z2-7-]{19})</code>`)
)

// setUpCodes enables one-time codes on the page that shows the secret. It returns the secret
// and the recovery codes.
func (b *browser) setUpCodes(page response) (secret string, recovery []string) {
	b.Helper()
	found := secretTag.FindStringSubmatch(page.body)
	if found == nil || !strings.Contains(page.body, "<svg") {
		b.Fatalf("the page shows no secret: %s %s", page.Status, page.body)
	}
	secret = strings.ReplaceAll(found[1], " ", "")
	if wrong := b.submit(page, "/second/setup", "code", "000000"); wrong.StatusCode != http.StatusForbidden || !strings.Contains(wrong.body, found[1]) {
		b.Errorf("after a wrong code = %s %s, want 403 with the same secret", wrong.Status, wrong.body)
	}
	page = b.submit(page, "/second/setup", "code", b.code(secret))
	for _, code := range recoveryTag.FindAllStringSubmatch(page.body, -1) {
		recovery = append(recovery, code[1])
	}
	if len(recovery) != 10 {
		b.Fatalf("the page shows the recovery codes %v, want 10: %s", recovery, page.body)
	}
	return secret, recovery
}

// code returns the current one-time code for a secret.
func (s *site) code(secret string) string {
	s.Helper()
	code, err := totp.GenerateCode(secret, s.Clock.Now())
	if err != nil {
		s.Fatal(err)
	}
	return code
}

// givePassword signs in as alice up to the page that requests the second factor.
func (b *browser) givePassword(target string) response {
	b.Helper()
	page := b.signIn(b.open(target), "alice")
	if !strings.Contains(page.body, `action="/signin/second"`) {
		b.Fatalf("after the password = %s %s, want the page of the second factor", page.Status, page.body)
	}
	return page
}

// withCodes enables one-time codes for alice. It returns the secret and the recovery codes.
func (s *site) withCodes() (secret string, recovery []string) {
	s.Helper()
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	page := b.submit(b.open("/signin/security"), "/security", "password", "correct horse", "do", "codes")
	secret, recovery = b.setUpCodes(page)
	s.Clock.Advance(time.Minute) // the code of the current time step was used and cannot be used again
	return secret, recovery
}

func TestOneTimeCodes(t *testing.T) {
	s := newSite(t)
	o := observe(s.Accounts)
	secret, recovery := s.withCodes()
	p, b, other := s.register(webRedirect), s.browser(), s.browser()
	page := b.givePassword(p.url())
	if strings.Contains(b.open("/signin/").body, "signed in as") {
		t.Error("the password alone signs in")
	}
	if !strings.Contains(page.Header.Get("Content-Security-Policy"), "https://program.example") {
		t.Errorf("the page's policy does not let forms redirect to the client: %s", page.Header.Get("Content-Security-Policy"))
	}
	code := s.code(secret)
	consent := b.submit(page, "/second", "code", code[:3]+" "+code[3:])
	if !strings.Contains(consent.body, `value="allow"`) {
		t.Fatalf("after the code = %s %s, want the consent page", consent.Status, consent.body)
	}
	replay := other.submit(other.givePassword("/signin/"), "/second", "code", code)
	if replay.StatusCode != http.StatusForbidden || !strings.Contains(replay.says(), "was used") {
		t.Errorf("the same code again = %s %s, want 403", replay.Status, replay.says())
	}
	if a := other.submit(replay, "/second", "code", recovery[3]); !strings.Contains(a.body, "signed in as") {
		t.Errorf("after a recovery code = %s %s, want the account page", a.Status, a.says())
	}
	third := s.browser()
	if a := third.submit(third.givePassword("/signin/"), "/second", "code", recovery[3]); a.StatusCode != http.StatusForbidden {
		t.Errorf("the same recovery code again = %s, want 403", a.Status)
	}
	var kinds []string
	for _, e := range o.take() {
		kinds = append(kinds, strings.TrimSpace(string(e.Kind)+" "+e.Detail))
	}
	if got, want := strings.Join(kinds, "; "), "signed in password; factor added totp; signed in password and code; "+
		"sign-in failed code; recovery code used; signed in password and recovery code; sign-in failed code"; got != want {
		t.Errorf("the events are %s\nwant %s", got, want)
	}
	var stored string
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM recovery WHERE "user" = 'alice'`).Scan(&stored); err != nil || stored != "9" {
		t.Errorf("%s recovery codes are left (%v), want 9", stored, err)
	}
}

func TestOneTimeCodesAreThrottled(t *testing.T) {
	s := newSite(t)
	secret, _ := s.withCodes()
	b := s.browser()
	page := b.givePassword("/signin/")
	for i := range codeLimits.Free {
		if page = b.submit(page, "/second", "code", "000000"); page.StatusCode != http.StatusForbidden {
			t.Fatalf("guess %d = %s, want 403", i, page.Status)
		}
	}
	early := b.submit(page, "/second", "code", s.code(secret))
	if early.StatusCode != http.StatusTooManyRequests || early.Header.Get("Retry-After") == "" {
		t.Errorf("a code after the free guesses = %s %s, want 429", early.Status, early.says())
	}
	s.Clock.Advance(time.Minute)
	if a := b.submit(early, "/second", "code", s.code(secret)); !strings.Contains(a.body, "signed in as") {
		t.Errorf("a code after the wait = %s %s, want the account page", a.Status, a.says())
	}
}

func TestTicketIsBoundToBrowserAndPassword(t *testing.T) {
	s := newSite(t)
	secret, _ := s.withCodes()
	b, thief := s.browser(), s.browser()
	page := b.givePassword("/signin/")
	ticket := fieldOf(page, "ticket")
	login := thief.open("/signin/")
	if a := thief.submitForm("/signin/second", map[string]string{"token": fieldOf(login, "token"), "ticket": ticket, "code": s.code(secret)}); a.StatusCode != http.StatusForbidden {
		t.Errorf("the ticket in another browser = %s, want 403", a.Status)
	}
	if err := s.Accounts.SetPassword(t.Context(), "alice", "battery staple"); err != nil {
		t.Fatal(err)
	}
	if a := b.submit(page, "/second", "code", s.code(secret)); a.StatusCode != http.StatusForbidden || strings.Contains(a.body, "signed in as") {
		t.Errorf("the ticket after a password change = %s, want 403", a.Status)
	}
	if err := s.Accounts.SetPassword(t.Context(), "alice", "correct horse"); err != nil {
		t.Fatal(err)
	}
	page = b.givePassword("/signin/")
	s.Clock.Advance(ticketLifetime)
	if a := b.submit(page, "/second", "code", s.code(secret)); a.StatusCode != http.StatusForbidden {
		t.Errorf("the ticket after its lifetime = %s, want 403", a.Status)
	}
}

func TestRequiredFactorIsSetUpAtLogin(t *testing.T) {
	for name, require := range map[string]func(s *site) error{
		"of one user": func(s *site) error { return s.Accounts.RequireFactor(t.Context(), "alice", true) },
		"of all":      func(s *site) error { s.provider.requireFactor = true; return nil },
	} {
		s := newSite(t)
		if err := require(s); err != nil {
			t.Fatal(err)
		}
		b := s.browser()
		page := b.signIn(b.open("/signin/"), "alice")
		if strings.Contains(b.open("/signin/").body, "signed in as") {
			t.Errorf("required %s: the password alone signs in", name)
		}
		stale := page
		secret, _ := b.setUpCodes(page)
		if home := b.open("/signin/"); !strings.Contains(home.body, "signed in as") || !strings.Contains(home.body, "One-time codes are on") {
			t.Errorf("required %s: after setting up codes the browser shows %s", name, home.body)
		}
		s.Clock.Advance(time.Minute)
		if again := b.submitForm("/signin/second/setup", map[string]string{"token": fieldOf(b.open("/signin/"), "token"), "ticket": fieldOf(stale, "ticket"), "code": s.code(secret)}); again.StatusCode != http.StatusForbidden {
			t.Errorf("required %s: setting up codes twice = %s, want 403", name, again.Status)
		}
		if kept := b.submit(b.open("/signin/security"), "/security", "password", "correct horse", "do", "no-codes"); !strings.Contains(kept.says(), "needs a second factor") {
			t.Errorf("required %s: switching the last factor off = %s %s, want a problem", name, kept.Status, kept.says())
		}
	}
}

// If a user must have a factor and both of the user's factors are removed concurrently, one of
// them stays.
func TestLastRequiredFactorStays(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	for round := range 20 {
		ofAll := round%2 == 0
		if err := s.Accounts.RequireFactor(ctx, "alice", !ofAll); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Accounts.EnableCodes(ctx, "alice", "SECRET", 1); err != nil {
			t.Fatal(err)
		}
		id := []byte{byte(round)}
		if err := s.Accounts.AddPasskey(ctx, "alice", "phone", passkey.Credential{ID: id, JSON: []byte("{}")}, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 2)
		go func() { results <- s.Accounts.DisableCodes(ctx, "alice", ofAll) }()
		go func() {
			_, err := s.Accounts.RemovePasskey(ctx, "alice", id, ofAll)
			results <- err
		}()
		one, other := <-results, <-results
		if one == nil {
			one, other = other, one
		}
		f, err := s.Accounts.Factors(ctx, "alice")
		if !errors.Is(one, accounts.ErrLastFactor) || other != nil || err != nil || f.Codes == (f.Passkeys == 1) || f.Recovery == 0 {
			t.Fatalf("two concurrent removals return %v and %v, and %+v is left (%v); want ErrLastFactor, nil and one factor", one, other, f, err)
		}
		if err := s.Accounts.ResetFactors(ctx, "alice"); err != nil {
			t.Fatal(err)
		}
	}
}

// If ResetFactors fails to end the user's sessions, it must not remove the factors either.
// Otherwise a thief could keep a session that the operator believes to have ended.
func TestResetFactorsIsAtomic(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	s.withCodes()
	before, err := s.Accounts.Factors(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accountstest.OpenDB(t, s.Dir).ExecContext(ctx, `ALTER TABLE grants RENAME TO grants_elsewhere`); err != nil {
		t.Fatal(err)
	}
	if err := s.Accounts.ResetFactors(ctx, "alice"); err == nil {
		t.Error("ResetFactors succeeds although signing out failed")
	}
	if f, err := s.Accounts.Factors(ctx, "alice"); err != nil || f != before {
		t.Errorf("after a failed reset the factors are %+v (%v), want %+v", f, err, before)
	}
}

func TestChangingFactorsNeedsPassword(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	security := b.open("/signin/security")
	if a := b.submit(security, "/security", "password", "wrong", "do", "codes"); a.StatusCode != http.StatusUnprocessableEntity || strings.Contains(a.body, "<svg") {
		t.Errorf("a change with a wrong password = %s, want 422", a.Status)
	}
	secret, old := b.setUpCodes(b.submit(security, "/security", "password", "correct horse", "do", "codes"))
	page := b.submit(b.open("/signin/security"), "/security", "password", "correct horse", "do", "recovery")
	fresh := recoveryTag.FindAllStringSubmatch(page.body, -1)
	if len(fresh) != 10 || fresh[0][1] == old[0] {
		t.Errorf("new recovery codes = %s %v, want 10 others", page.Status, fresh)
	}
	if ok, _, err := s.Accounts.TakeCode(t.Context(), "alice", old[0], s.Clock.Now()); ok || err != nil {
		t.Errorf("TakeCode of a replaced recovery code = %v, %v; want false", ok, err)
	}
	b.submit(b.open("/signin/security"), "/security", "password", "correct horse", "do", "no-codes")
	if f, err := s.Accounts.Factors(t.Context(), "alice"); err != nil || f != (accounts.Factors{}) {
		t.Errorf("after switching codes off the factors are %+v, %v; want none", f, err)
	}
	if ok, _, err := s.Accounts.TakeCode(t.Context(), "alice", s.code(secret), s.Clock.Now()); ok || err != nil {
		t.Errorf("TakeCode of a code of the old secret = %v, %v; want false", ok, err)
	}
}

// withPasskeys enables passkeys for the host annals.example.org, because passkeys are not
// supported at 127.0.0.1.
func (s *site) withPasskeys() virtualwebauthn.RelyingParty {
	s.Helper()
	keys, err := passkey.New(&url.URL{Scheme: "https", Host: "annals.example.org"})
	if err != nil {
		s.Fatal(err)
	}
	s.provider.passkeys = keys
	return virtualwebauthn.RelyingParty{Name: "Annals", ID: "annals.example.org", Origin: "https://annals.example.org"}
}

// passkeyChallenge requests a passkey challenge like passkey.js. It returns the sealed
// ceremony and the options for the browser.
func (b *browser) passkeyChallenge(page response, path string, fields map[string]string) (ceremony string, options []byte) {
	b.Helper()
	a := b.submitForm("/signin"+path, with(fields, "token", fieldOf(page, "token")))
	var q struct {
		Ceremony, Problem string
		Options           json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.body), &q); err != nil || a.StatusCode != http.StatusOK {
		b.Fatalf("the challenge = %s %s", a.Status, a.body)
	}
	if q.Problem != "" {
		b.Logf("no challenge: %s", q.Problem)
	}
	return q.Ceremony, q.Options
}

func TestPasskeyLogin(t *testing.T) {
	s := newSite(t)
	rp := s.withPasskeys()
	handle, err := s.Accounts.PasskeyHandle(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	device := virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: handle})
	key := passkeytest.NewCredential(t)
	b := s.browser()
	b.signIn(b.open("/signin/"), "alice")
	page := b.open("/signin/security")
	if ceremony, _ := b.passkeyChallenge(page, "/security", map[string]string{"do": "passkey", "password": "wrong"}); ceremony != "" {
		t.Error("a challenge for a new passkey is sent after a wrong password")
	}
	ceremony, options := b.passkeyChallenge(page, "/security", map[string]string{"do": "passkey", "password": "correct horse"})
	create, err := virtualwebauthn.ParseAttestationOptions(string(options))
	if err != nil {
		t.Fatal(err)
	}
	registration := map[string]string{
		"token": fieldOf(page, "token"), "ceremony": ceremony, "name": "My phone\u202e",
		"credential": virtualwebauthn.CreateAttestationResponse(rp, device, key, *create),
	}
	page = b.submitForm("/signin/security/passkey", registration)
	if !strings.Contains(page.body, "My phone<") {
		t.Fatalf("after the registration = %s %s, want a page with the passkey", page.Status, page.says())
	}
	if again := b.submitForm("/signin/security/passkey", registration); again.StatusCode != http.StatusForbidden {
		t.Errorf("the same registration again = %s, want 403", again.Status)
	}
	device.AddCredential(key)

	login := func(b *browser, page response) map[string]string {
		ceremony, options := b.passkeyChallenge(page, "/passkey/question", map[string]string{})
		ask, err := virtualwebauthn.ParseAssertionOptions(string(options))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"token": fieldOf(page, "token"), "ceremony": ceremony, "page": fieldOf(page, "page"), "query": fieldOf(page, "query"),
			"credential": virtualwebauthn.CreateAssertionResponse(rp, device, key, *ask),
		}
	}
	p, other, thief := s.register(webRedirect), s.browser(), s.browser()
	form := login(other, other.open(p.url()))
	if a := thief.submitForm("/signin/passkey", with(form, "token", fieldOf(thief.open("/signin/"), "token"))); a.StatusCode != http.StatusForbidden {
		t.Errorf("a login form in another browser = %s, want 403", a.Status)
	}
	if a := other.submitForm("/signin/passkey", form); !strings.Contains(a.body, `value="allow"`) {
		t.Errorf("a sign-in to a program by passkey = %s %s, want the consent page", a.Status, a.says())
	}
	third := s.browser()
	form = login(third, third.open("/signin/"))
	if err := s.Accounts.Disable(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	if a := third.submitForm("/signin/passkey", form); a.StatusCode != http.StatusForbidden {
		t.Errorf("a passkey of a disabled user = %s, want 403", a.Status)
	}
	if err := s.Accounts.Enable(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	b.signIn(b.open("/signin/"), "alice")
	b.submit(b.open("/signin/security"), "/security", "password", "correct horse", "do", "no-passkey:"+virtualID(key))
	form = login(third, third.open("/signin/"))
	if a := third.submitForm("/signin/passkey", form); a.StatusCode != http.StatusForbidden {
		t.Errorf("a removed passkey = %s, want 403", a.Status)
	}
}

func virtualID(c virtualwebauthn.Credential) string {
	return base64.RawURLEncoding.EncodeToString(c.ID)
}

func TestFactorsFollowUser(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	secret, recovery := s.withCodes()
	if err := s.Accounts.AddPasskey(ctx, "alice", "phone", passkey.Credential{ID: []byte("id"), JSON: []byte("{}")}, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.Accounts.RequireFactor(ctx, "alice", true); err != nil {
		t.Fatal(err)
	}
	want := accounts.Factors{Required: true, Codes: true, Passkeys: 1, Recovery: 10}
	dir := t.TempDir()
	if err := s.Accounts.CopyTo(ctx, filepath.Join(dir, accounts.FileName)); err != nil {
		t.Fatal(err)
	}
	copied := accountstest.OpenFile(t, dir)
	if f, err := copied.Factors(ctx, "alice"); err != nil || f != want {
		t.Errorf("the copy's factors are %+v, %v; want %+v", f, err, want)
	}
	for _, code := range []string{s.code(secret), recovery[0]} {
		if ok, _, err := copied.TakeCode(ctx, "alice", code, s.Clock.Now()); !ok || err != nil {
			t.Errorf("TakeCode in the copy = %v, %v; want true", ok, err)
		}
	}
	if all, err := s.Accounts.ListFactors(ctx); err != nil || all["alice"] != want {
		t.Errorf("ListFactors = %+v, %v; want %+v", all, err, want)
	}
	if err := s.Accounts.ResetFactors(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Accounts.Factors(ctx, "alice"); err != nil || f != (accounts.Factors{Required: true}) {
		t.Errorf("after a reset the factors are %+v, %v; want only Required", f, err)
	}
	if err := copied.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"factors", "passkeys", "recovery"} {
		var left int
		if err := accountstest.OpenFileDB(t, dir).QueryRow(`SELECT count(*) FROM ` + table).Scan(&left); err != nil || left > 0 {
			t.Errorf("%d %s are left of a deleted user (%v)", left, table, err)
		}
	}
}
