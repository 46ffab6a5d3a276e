package signin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"annals/events"
	"annals/events/fault"
)

// clock is a time that a test alone moves, from the present on.
type clock struct {
	start  time.Time
	offset atomic.Int64
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() time.Time          { return c.start.Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

const issuerURL = "http://annals.test/signin"

// builtInStack is a store with the user alice, its issuer and a verifier.
type builtInStack struct {
	dir      string
	accounts *Accounts
	issuer   *Issuer
	verifier *Verifier
	clock    *clock
}

func newBuiltIn(t testing.TB) builtInStack { return newBuiltInAt(t, "http://annals.test") }

// newBuiltInAt is newBuiltIn on a host with tools.
func newBuiltInAt(t testing.TB, host string) builtInStack {
	t.Helper()
	dir := t.TempDir()
	s := newBuiltInOver(t, openAccounts(t, dir), host)
	s.dir = dir
	return s
}

func newBuiltInOver(t testing.TB, accounts *Accounts, host string) builtInStack {
	t.Helper()
	s := builtInStack{accounts: accounts, clock: newClock()}
	addUser(t, s.accounts, NewAccount{Name: "alice", Groups: []string{"staff"}})
	var err error
	if s.issuer, err = NewIssuer(s.accounts, IssuerOptions{URL: host + "/signin", Tools: host + "/mcp", Now: s.clock.now}); err != nil {
		t.Fatal(err)
	}
	if s.verifier, err = NewVerifier(Options{BuiltIn: s.issuer, Now: s.clock.now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.verifier.Close)
	return s
}

func (s builtInStack) issue(t testing.TB, name string) string {
	t.Helper()
	token, _, err := s.issuer.Issue(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, keyID string, claims any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key},
		(&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", keyID))
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func TestBuiltInTokenTellsItsUser(t *testing.T) {
	s := newBuiltIn(t)
	addUser(t, s.accounts, NewAccount{Name: "root", Admin: true})
	token, expires, err := s.issuer.Issue(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // at first, and as remembered
		user, until, err := s.verifier.Verify(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if user.Principal != "user:alice" || user.Admin || !slices.Equal(user.Groups, []events.Principal{"group:staff"}) || !until.Equal(expires) {
			t.Errorf("Verify = %+v until %v, want user:alice of group:staff until %v", user, until, expires)
		}
	}
	if d := expires.Sub(s.clock.now()); d > time.Hour || d < time.Hour-5*time.Second {
		t.Errorf("the token lasts %v, want an hour", d)
	}
	if user, _, err := s.verifier.Verify(t.Context(), s.issue(t, "root")); err != nil || !user.Admin {
		t.Errorf("Verify of an administrator's token = %+v, %v", user, err)
	}
}

func TestRefusedTokens(t *testing.T) {
	s := newBuiltIn(t)
	key, err := s.accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good := s.issue(t, "alice")
	parts := strings.Split(good, ".")
	der, err := x509.MarshalPKIXPublicKey(key.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	publicJSON, err := json.Marshal(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := s.clock.now().Unix()
	claims := func(change map[string]any) map[string]any {
		c := map[string]any{"iss": issuerURL, "sub": "alice", "aud": "annals", "iat": now, "exp": now + 3600}
		for k, v := range change {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
		return c
	}
	signed := func(change map[string]any) string { return sign(t, jose.ES256, key.Private, key.ID, claims(change)) }
	hmac := func(secret []byte) string { return sign(t, jose.HS256, secret, key.ID, claims(nil)) }
	none := encode(map[string]any{"alg": "none", "typ": "JWT", "kid": key.ID}) + "." + encode(claims(nil)) + "."
	last := good[len(good)-1]
	// The last character holds four bits that count for nothing.
	twin := good[:len(good)-1] + string("BCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-", last)])

	if _, _, err := s.verifier.Verify(t.Context(), signed(nil)); err != nil {
		t.Fatalf("the token that the others differ from is refused: %v", err)
	}
	for name, token := range map[string]string{
		"none at all":                  "",
		"garbage":                      "garbage",
		"dots":                         "..",
		"random bytes":                 "\x00\xff.\x01.\x02",
		"too long":                     strings.Repeat("a", MaxToken) + "." + parts[1] + "." + parts[2],
		"algorithm none":               none,
		"algorithm none, signed":       none + parts[2],
		"algorithm None":               encode(map[string]any{"alg": "None"}) + "." + parts[1] + ".",
		"HMAC with the public key PEM": hmac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HMAC with the public key DER": hmac(der),
		"HMAC with the public key JWK": hmac(publicJSON),
		"changed payload":              parts[0] + "." + encode(claims(map[string]any{"sub": "root"})) + "." + parts[2],
		"changed header":               encode(map[string]any{"alg": "ES256", "kid": key.ID, "x": 1}) + "." + parts[1] + "." + parts[2],
		"cut signature":                good[:len(good)-4],
		"no signature":                 parts[0] + "." + parts[1] + ".",
		"other last character":         twin,
		"line break within":            good[:40] + "\n" + good[40:],
		"two parts":                    parts[0] + "." + parts[1],
		"four parts":                   good + "." + parts[2],
		"expired":                      signed(map[string]any{"iat": now - 7200, "exp": now - 3600}),
		"expired beyond the leeway":    signed(map[string]any{"iat": now - 7200, "exp": now - 35}),
		"without expiry":               signed(map[string]any{"exp": nil}),
		"expiry of another type":       signed(map[string]any{"exp": "soon"}),
		"wrong issuer":                 signed(map[string]any{"iss": "https://elsewhere.test"}),
		"issuer with a slash more":     signed(map[string]any{"iss": issuerURL + "/"}),
		"without issuer":               signed(map[string]any{"iss": nil}),
		"wrong audience":               signed(map[string]any{"aud": "another"}),
		"without audience":             signed(map[string]any{"aud": nil}),
		"not valid yet":                signed(map[string]any{"nbf": now + 120}),
		"issued in the future":         signed(map[string]any{"iat": now + 120}),
		"unknown user":                 signed(map[string]any{"sub": "nobody"}),
		"without user":                 signed(map[string]any{"sub": nil}),
		"unknown key":                  sign(t, jose.ES256, stranger, "unknown", claims(nil)),
		"without key id":               sign(t, jose.ES256, key.Private, "", claims(nil)),
		"another key by the same id":   sign(t, jose.ES256, stranger, key.ID, claims(nil)),
	} {
		user, _, err := s.verifier.Verify(t.Context(), token)
		wantKind(t, name, err, fault.Unauthenticated)
		if user.Principal != "" {
			t.Errorf("%s: got the user %v with the error", name, user.Principal)
		}
	}
	for name, token := range map[string]string{
		"several audiences":       signed(map[string]any{"aud": []string{"another", "annals"}}),
		"expired within leeway":   signed(map[string]any{"exp": now - 20}),
		"clock ahead, in leeway":  signed(map[string]any{"iat": now + 20, "nbf": now + 20}),
		"without moment of issue": signed(map[string]any{"iat": nil}),
	} {
		if _, _, err := s.verifier.Verify(t.Context(), token); err != nil {
			t.Errorf("%s: %v, want it accepted", name, err)
		}
	}
}

func TestUserOfManyGroups(t *testing.T) {
	s := newBuiltIn(t)
	var groups []string
	for i := range maxGroups {
		groups = append(groups, fmt.Sprintf("%0*d", maxNameBytes, i))
	}
	if err := s.accounts.SetGroups(t.Context(), "alice", groups); err != nil {
		t.Fatal(err)
	}
	user, _, err := s.verifier.Verify(t.Context(), s.issue(t, "alice"))
	if err != nil || len(user.Groups) != maxGroups {
		t.Errorf("Verify = a user of %d groups, %v; want all %d", len(user.Groups), err, maxGroups)
	}
	wantKind(t, "SetGroups with one too many", s.accounts.SetGroups(t.Context(), "alice", append(groups, "x")), fault.Invalid)
}

func TestTokenExpiresWhileRemembered(t *testing.T) {
	s := newBuiltIn(t)
	token := s.issue(t, "alice")
	for _, step := range []struct {
		advance time.Duration
		ok      bool
	}{{0, true}, {59 * time.Minute, true}, {time.Minute, true}, {35 * time.Second, false}} {
		s.clock.advance(step.advance)
		if _, _, err := s.verifier.Verify(t.Context(), token); (err == nil) != step.ok {
			t.Errorf("after %v more: %v, want accepted: %v", step.advance, err, step.ok)
		}
	}
}

func TestChangesToAnAccountHoldAtOnce(t *testing.T) {
	ctx := t.Context()
	s := newBuiltIn(t)
	token := s.issue(t, "alice")
	verify := func() (events.User, error) {
		user, _, err := s.verifier.Verify(ctx, token)
		return user, err
	}
	if _, err := verify(); err != nil {
		t.Fatal(err)
	}
	// Another handle stands for another process.
	other := openAccounts(t, s.dir)

	if err := errors.Join(other.SetGroups(ctx, "alice", []string{"board"}), other.SetAdmin(ctx, "alice", true)); err != nil {
		t.Fatal(err)
	}
	if user, err := verify(); err != nil || !user.Admin || !slices.Equal(user.Groups, []events.Principal{"group:board"}) {
		t.Errorf("after a change of groups: %+v, %v", user, err)
	}
	if err := other.Disable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := verify()
	wantKind(t, "disabled user", err, fault.Unauthenticated)
	_, _, err = s.issuer.Issue(ctx, "alice")
	wantKind(t, "Issue for a disabled user", err, fault.Forbidden)
	if err := other.Enable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	if _, err = verify(); err != nil {
		t.Errorf("after enabling again: %v", err)
	}

	// A second key signs; the first one's tokens go with it.
	first, err := other.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.AddKey(ctx); err != nil {
		t.Fatal(err)
	}
	second := s.issue(t, "alice")
	for _, raw := range []string{token, second} {
		if _, _, err := s.verifier.Verify(ctx, raw); err != nil {
			t.Errorf("with two keys: %v", err)
		}
	}
	if err := other.DeleteKey(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	_, err = verify()
	wantKind(t, "deleted key", err, fault.Unauthenticated)
	if _, _, err := s.verifier.Verify(ctx, second); err != nil {
		t.Errorf("token of the key that stayed: %v", err)
	}
	if err := other.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.verifier.Verify(ctx, second)
	wantKind(t, "deleted user", err, fault.Unauthenticated)
}

func TestBuiltInIssuerServesWhatClientsDiscover(t *testing.T) {
	accounts := openAccounts(t, t.TempDir())
	addUser(t, accounts, NewAccount{Name: "alice"})
	var own *Provider
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { own.ServeHTTP(w, r) }))
	defer server.Close()
	issuer, err := NewIssuer(accounts, IssuerOptions{URL: server.URL + "/signin"})
	if err != nil {
		t.Fatal(err)
	}
	if own, err = NewProvider(issuer, ProviderOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx := oidc.ClientContext(t.Context(), server.Client())
	provider, err := oidc.NewProvider(ctx, issuer.URL())
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := issuer.Issue(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: DefaultAudience}).Verify(ctx, token)
	if err != nil || id.Subject != "alice" {
		t.Errorf("a client that knows the URL alone verifies %+v, %v; want alice", id, err)
	}

	get := func(method, path string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	response, body := get("GET", "/signin/jwks")
	if response.Header.Get("Cache-Control") == "" || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("GET jwks has the headers %v, want JSON that may be cached", response.Header)
	}
	if strings.Contains(body, `"d":`) || !strings.Contains(body, `"kid":`) {
		t.Errorf("GET jwks = %s, want public keys alone", body)
	}
	if response, _ := get("POST", "/signin/jwks"); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST jwks = %s, want 405", response.Status)
	}
	if response, _ := get("GET", "/signin/elsewhere"); response.StatusCode != http.StatusNotFound {
		t.Errorf("GET elsewhere = %s, want 404", response.Status)
	}
}

func TestTokenCacheForgetsTheOneUsedLeastRecently(t *testing.T) {
	c := newTokenCache(2)
	c.put(tokenHash{1}, verified{keyID: "1"})
	c.put(tokenHash{2}, verified{keyID: "2"})
	c.get(tokenHash{1})
	c.put(tokenHash{3}, verified{keyID: "3"})
	for hash, want := range map[tokenHash]bool{{1}: true, {2}: false, {3}: true} {
		if _, ok := c.get(hash); ok != want {
			t.Errorf("get(%d) = %v, want %v", hash[0], ok, want)
		}
	}
	c.drop(tokenHash{1})
	if _, ok := c.get(tokenHash{1}); ok || len(c.byKey) != 1 || c.order.Len() != 1 {
		t.Errorf("after a drop the cache holds %d tokens, want 1", len(c.byKey))
	}
}

// FuzzVerify holds that nothing but the one good token is accepted, and that
// whatever else is given is the bearer's fault.
func FuzzVerify(f *testing.F) {
	s := newBuiltIn(f)
	good := s.issue(f, "alice")
	parts := strings.Split(good, ".")
	for _, seed := range []string{
		good, "", "..", good + "=", parts[0] + ".." + parts[2], parts[0] + "." + parts[1] + ".",
		encode(map[string]any{"alg": "none"}) + "." + parts[1] + ".",
		encode(map[string]any{"alg": "ES256", "crit": []string{"b64"}, "b64": false}) + "." + parts[1] + "." + parts[2],
		encode(map[string]any{"alg": "ES256", "typ": 7, "kid": []int{1}}) + "." + encode([]int{1}) + "." + parts[2],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		user, _, err := s.verifier.Verify(t.Context(), token)
		if token == good {
			if err != nil || user.Principal != "user:alice" {
				t.Fatalf("the good token gives %v, %v", user, err)
			}
			return
		}
		wantKind(t, "Verify", err, fault.Unauthenticated)
	})
}

// BenchmarkVerify measures a token that was seen before, beside its yardstick,
// the bare look-up of the account, and beside a token that was not: signature
// and all.
func BenchmarkVerify(b *testing.B) {
	s := newBuiltIn(b)
	token := s.issue(b, "alice")
	verify := func(b *testing.B) {
		if _, _, err := s.verifier.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("remembered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			verify(b)
		}
	})
	b.Run("yardstick: bare look-up", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.accounts.standing(b.Context(), "alice", "", "", time.Now()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.verifier.seen = newTokenCache(1)
			verify(b)
		}
	})
	b.Run("remembered, all cores", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				verify(b)
			}
		})
	})
}
