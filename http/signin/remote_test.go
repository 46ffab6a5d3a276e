package signin_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts/accountstest"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// fakeIssuer is a fake OpenID issuer. A test can change its key set, let it fail, or delay it.
type fakeIssuer struct {
	*httptest.Server
	fetches atomic.Int32 // number of requests for the key set
	down    atomic.Bool

	mu   sync.Mutex
	keys []any // entries of the key set

	// If release is not nil, a request for the key set closes requested and then waits until
	// release is closed.
	requested, release chan struct{}
}

func newFakeIssuer(t testing.TB, keys ...any) *fakeIssuer {
	t.Helper()
	p := &fakeIssuer{keys: keys}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *fakeIssuer) publish(keys ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = keys
}

func (p *fakeIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.down.Load() {
		http.Error(w, strings.Repeat("broken ", 1000), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	case "/keys":
		p.fetches.Add(1)
		p.mu.Lock()
		keys := p.keys
		p.mu.Unlock()
		if p.release != nil {
			close(p.requested)
			<-p.release
		}
		json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	default:
		http.NotFound(w, r)
	}
}

// pair is a key pair for signing tokens of fakeIssuer.
type pair struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   any
	public    any
}

func newPair(t testing.TB, id string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pair{id, jose.ES256, key, key.Public()}
}

func (k pair) jwk() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.public, KeyID: k.id, Use: "sig"}
}

func (p *fakeIssuer) token(t testing.TB, k pair, c *accountstest.Clock, extra map[string]any) string {
	t.Helper()
	now := c.Now().Unix()
	claims := map[string]any{"iss": p.URL, "sub": "u-1", "aud": "client", "iat": now, "exp": now + 3600}
	for k, v := range extra {
		claims[k] = v
	}
	return sign(t, k.algorithm, k.private, k.id, claims)
}

func newRemoteVerifier(t testing.TB, p *fakeIssuer, c *accountstest.Clock, change func(*signin.IssuerConfig)) *signin.Verifier {
	t.Helper()
	config := signin.IssuerConfig{URL: p.URL, Alias: "company", Audiences: []string{"other", "client"}}
	if change != nil {
		change(&config)
	}
	v, err := signin.NewVerifier(signin.Options{Issuers: []signin.IssuerConfig{config}, Admins: []string{"company/root"}, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func TestVerifyExternalToken(t *testing.T) {
	key, c := newPair(t, "k1"), accountstest.NewClock()
	p := newFakeIssuer(t, key.jwk())
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		claims map[string]any
		config func(*signin.IssuerConfig)
		want   events.User
	}{
		"defaults": {
			claims: map[string]any{"groups": []any{"staff", 7, "", long, "a/b"}},
			want:   events.User{Principal: "user:company/u-1", Groups: []events.Principal{"group:company/staff", "group:company/a/b"}},
		},
		"one group as text": {
			claims: map[string]any{"groups": "staff"},
			want:   events.User{Principal: "user:company/u-1", Groups: []events.Principal{"group:company/staff"}},
		},
		"other claims": {
			claims: map[string]any{"email": "a@b.test", "roles": []any{"r"}, "groups": []any{"g"}},
			config: func(i *signin.IssuerConfig) { i.UserClaim, i.GroupsClaim = "email", "roles" },
			want:   events.User{Principal: "user:company/a@b.test", Groups: []events.Principal{"group:company/r"}},
		},
		"admin by role": {
			claims: map[string]any{"roles": []any{"x", "boss"}},
			config: func(i *signin.IssuerConfig) { i.AdminClaim, i.AdminValue = "roles", "boss" },
			want:   events.User{Principal: "user:company/u-1", Admin: true},
		},
		"no admin by another role": {
			claims: map[string]any{"roles": []any{"bosses"}, "annals_admin": true},
			config: func(i *signin.IssuerConfig) { i.AdminClaim, i.AdminValue = "roles", "boss" },
			want:   events.User{Principal: "user:company/u-1"},
		},
		"admin by a true claim": {
			claims: map[string]any{"boss": true},
			config: func(i *signin.IssuerConfig) { i.AdminClaim = "boss" },
			want:   events.User{Principal: "user:company/u-1", Admin: true},
		},
		"admin by configuration": {
			claims: map[string]any{"sub": "root"},
			want:   events.User{Principal: "user:company/root", Admin: true},
		},
	} {
		v := newRemoteVerifier(t, p, c, test.config)
		got, _, err := v.Verify(t.Context(), p.token(t, key, c, test.claims))
		if err != nil || got.Principal != test.want.Principal || got.Admin != test.want.Admin || !slices.Equal(got.Groups, test.want.Groups) {
			t.Errorf("%s: Verify = %+v, %v; want %+v", name, got, err, test.want)
		}
	}
	v := newRemoteVerifier(t, p, c, nil)
	for name, claims := range map[string]map[string]any{
		"audience": {"aud": "another"},
		"subject":  {"sub": ""},
		"long":     {"sub": long},
		"control":  {"sub": "a\nb"},
		"expired":  {"exp": 1},
	} {
		_, _, err := v.Verify(t.Context(), p.token(t, key, c, claims))
		accountstest.WantKind(t, name, err, fault.Unauthenticated)
	}
}

func TestVerifyAlgorithms(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edPrivate, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := accountstest.NewClock()
	// Entries of the key set that cannot verify signatures are skipped: a secret, a key of an
	// unknown type, an encryption key.
	keys := []any{
		map[string]any{"kty": "oct", "kid": "secret", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMyYnl0ZXM"},
		map[string]any{"kty": "future", "kid": "future"},
		jose.JSONWebKey{Key: rsaKey.Public(), KeyID: "enc", Use: "enc"},
	}
	var pairs []pair
	for _, a := range []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512} {
		pairs = append(pairs, pair{string(a), a, rsaKey, rsaKey.Public()})
	}
	for a, curve := range map[jose.SignatureAlgorithm]elliptic.Curve{jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, pair{string(a), a, key, key.Public()})
	}
	pairs = append(pairs, pair{"EdDSA", jose.EdDSA, edPrivate, edPublic})
	for _, k := range pairs {
		keys = append(keys, k.jwk())
	}
	p := newFakeIssuer(t, keys...)
	v := newRemoteVerifier(t, p, c, nil)
	for _, k := range pairs {
		if _, _, err := v.Verify(t.Context(), p.token(t, k, c, nil)); err != nil {
			t.Errorf("%s: %v", k.algorithm, err)
		}
	}
	anonymous := pairs[0]
	anonymous.id = ""
	if _, _, err := v.Verify(t.Context(), p.token(t, anonymous, c, nil)); err != nil {
		t.Errorf("Verify of a token without a key id: %v", err)
	}
	secret := []byte("secret-secret-secret-secret-32bytes")
	_, _, err = v.Verify(t.Context(), p.token(t, pair{"secret", jose.HS256, secret, nil}, c, nil))
	accountstest.WantKind(t, "HMAC with a published secret", err, fault.Unauthenticated)
	_, _, err = v.Verify(t.Context(), p.token(t, pair{"enc", jose.RS256, rsaKey, nil}, c, nil))
	accountstest.WantKind(t, "an encryption key", err, fault.Unauthenticated)
}

func TestExternalKeyRotation(t *testing.T) {
	first, second, c := newPair(t, "k1"), newPair(t, "k2"), accountstest.NewClock()
	p := newFakeIssuer(t, first.jwk())
	v := newRemoteVerifier(t, p, c, nil)
	old := p.token(t, first, c, nil)
	verify := func(token string) error {
		_, _, err := v.Verify(t.Context(), token)
		return err
	}
	if err := verify(old); err != nil {
		t.Fatal(err)
	}
	c.Advance(signin.FetchPause)
	p.publish(second.jwk())
	if err := verify(p.token(t, second, c, nil)); err != nil {
		t.Errorf("Verify of a token of the new key: %v", err)
	}
	if got := p.fetches.Load(); got != 2 {
		t.Errorf("the key set was fetched %d times, want 2", got)
	}
	// After the issuer has withdrawn a key, only tokens in the cache are accepted, and only
	// until recheckAfter.
	accountstest.WantKind(t, "an uncached token of the withdrawn key", verify(p.token(t, first, c, map[string]any{"n": 2})), fault.Unauthenticated)
	c.Advance(signin.Recheck)
	accountstest.WantKind(t, "a cached token of the withdrawn key after recheckAfter", verify(old), fault.Unauthenticated)
}

func TestUnknownKeyIDsAreThrottled(t *testing.T) {
	key, stranger, c := newPair(t, "k1"), newPair(t, ""), accountstest.NewClock()
	p := newFakeIssuer(t, key.jwk())
	v := newRemoteVerifier(t, p, c, nil)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			forged := stranger
			forged.id = fmt.Sprint("made-up-", i)
			_, _, err := v.Verify(t.Context(), p.token(t, forged, c, nil))
			accountstest.WantKind(t, "a made-up key id", err, fault.Unauthenticated)
			forged.id = "k1"
			_, _, err = v.Verify(t.Context(), p.token(t, forged, c, map[string]any{"n": i}))
			accountstest.WantKind(t, "a known key id", err, fault.Unauthenticated)
		})
	}
	group.Wait()
	if got := p.fetches.Load(); got != 1 {
		t.Errorf("100 forged tokens fetched the key set %d times, want once", got)
	}
	if _, _, err := v.Verify(t.Context(), p.token(t, key, c, nil)); err != nil {
		t.Errorf("Verify of a valid token after them: %v", err)
	}
}

func TestExternalIssuerUnreachable(t *testing.T) {
	key, c := newPair(t, "k1"), accountstest.NewClock()
	p := newFakeIssuer(t, key.jwk())
	v := newRemoteVerifier(t, p, c, nil)
	verify := func(k pair) error {
		_, _, err := v.Verify(t.Context(), p.token(t, k, c, nil))
		return err
	}
	p.down.Store(true)
	err := verify(key)
	accountstest.WantKind(t, "before discovery", err, fault.Unavailable)
	if strings.Contains(err.Error(), p.URL) || !strings.Contains(fault.Detail(err), p.URL) || len(fault.Detail(err)) > 400 {
		t.Errorf("the error is %q with the detail %q, want the issuer and the beginning of its response only in the detail", err, fault.Detail(err))
	}
	p.down.Store(false)
	accountstest.WantKind(t, "immediately after a failed fetch", verify(key), fault.Unavailable)
	c.Advance(signin.FetchPause)
	if err := verify(key); err != nil {
		t.Errorf("Verify after fetchPause: %v", err)
	}

	p.down.Store(true)
	c.Advance(signin.KeysFresh + time.Second)
	if err := verify(key); err != nil {
		t.Errorf("Verify with keys older than keysFresh: %v, want them used", err)
	}
	c.Advance(signin.FetchPause)
	accountstest.WantKind(t, "an unknown key, which may be new", verify(newPair(t, "k2")), fault.Unavailable)
	c.Advance(signin.KeysUsable)
	accountstest.WantKind(t, "keys older than keysUsable", verify(key), fault.Unavailable)
	p.down.Store(false)
	c.Advance(signin.FetchPause)
	if err := verify(key); err != nil {
		t.Errorf("Verify after the outage: %v", err)
	}
	p.Close()
	c.Advance(2 * signin.KeysUsable)
	accountstest.WantKind(t, "connection refused", verify(key), fault.Unavailable)
}

func TestVerifyHonoursCancellation(t *testing.T) {
	key, c := newPair(t, "k1"), accountstest.NewClock()
	p := newFakeIssuer(t, key.jwk())
	p.requested, p.release = make(chan struct{}), make(chan struct{})
	v := newRemoteVerifier(t, p, c, nil)
	first := make(chan error)
	go func() {
		_, _, err := v.Verify(t.Context(), p.token(t, key, c, nil))
		first <- err
	}()
	<-p.requested
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := v.Verify(ctx, p.token(t, key, c, nil))
	accountstest.WantKind(t, "a canceled call while another fetches the keys", err, fault.Canceled)
	close(p.release)
	if err := <-first; err != nil {
		t.Errorf("Verify of the first caller: %v", err)
	}
}

func TestIssuerResponsesAreBounded(t *testing.T) {
	key, c := newPair(t, "k1"), accountstest.NewClock()
	p := newFakeIssuer(t, key.jwk(), map[string]any{"kty": "future", "x": strings.Repeat("x", signin.MaxResponse)})
	_, _, err := newRemoteVerifier(t, p, c, nil).Verify(t.Context(), p.token(t, key, c, nil))
	accountstest.WantKind(t, "a key set of more than 1 MiB", err, fault.Unavailable)
}

func TestNewVerifierRejectsInvalidConfig(t *testing.T) {
	valid := signin.IssuerConfig{URL: "https://a.test", Alias: "a", Audiences: []string{"x"}}
	with := func(change func(*signin.IssuerConfig)) []signin.IssuerConfig {
		c := valid
		change(&c)
		return []signin.IssuerConfig{c}
	}
	for name, issuers := range map[string][]signin.IssuerConfig{
		"no URL":         with(func(c *signin.IssuerConfig) { c.URL = "" }),
		"other scheme":   with(func(c *signin.IssuerConfig) { c.URL = "file:///x" }),
		"query":          with(func(c *signin.IssuerConfig) { c.URL += "?x" }),
		"no alias":       with(func(c *signin.IssuerConfig) { c.Alias = "" }),
		"alias with /":   with(func(c *signin.IssuerConfig) { c.Alias = "a/b" }),
		"no audience":    with(func(c *signin.IssuerConfig) { c.Audiences = nil }),
		"empty audience": with(func(c *signin.IssuerConfig) { c.Audiences = []string{""} }),
		"URL twice":      {valid, {URL: valid.URL, Alias: "b", Audiences: valid.Audiences}},
		"alias twice":    {valid, {URL: "https://b.test", Alias: "a", Audiences: valid.Audiences}},
	} {
		_, err := signin.NewVerifier(signin.Options{Issuers: issuers})
		accountstest.WantKind(t, name, err, fault.Invalid)
	}
	_, err := signin.NewVerifier(signin.Options{Admins: []string{"user:"}})
	accountstest.WantKind(t, "an administrator without a name", err, fault.Invalid)
}

// FuzzPublicKeys checks that every key set yields at most maxKeys keys, all of which can
// verify signatures.
func FuzzPublicKeys(f *testing.F) {
	key, c := newPair(f, "k1"), accountstest.NewClock()
	text, err := json.Marshal(key.jwk())
	if err != nil {
		f.Fatal(err)
	}
	private, err := json.Marshal(jose.JSONWebKey{Key: key.private, KeyID: "k1"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(text), string(private), `{"kty":"oct","k":"AA"}`, `{"kty":"RSA","n":"AQAB","e":"AQAB"}`,
		`{"kty":"OKP","crv":"Ed25519","x":"AA"}`, `{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`, `{"kty":"RSA","x5c":["AA"]}`, `[]`, `null`} {
		f.Add(seed)
	}
	p := &fakeIssuer{Server: &httptest.Server{URL: "http://provider.test"}}
	token, err := jwt.ParseSigned(p.token(f, key, c, nil), signin.Algorithms)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		list := signin.PublicKeys(slices.Repeat([]json.RawMessage{json.RawMessage(entry)}, signin.MaxKeys+1))
		if len(list) > signin.MaxKeys {
			t.Fatalf("PublicKeys returns %d keys, want at most %d", len(list), signin.MaxKeys)
		}
		for _, k := range list[:min(1, len(list))] {
			if !k.IsPublic() {
				t.Fatalf("PublicKeys of %s returns a private key", entry)
			}
			var got jwt.Claims
			equal := k.Key.(interface{ Equal(crypto.PublicKey) bool }).Equal(key.public)
			if err := token.Claims(k, &got); err == nil && !equal {
				t.Fatalf("the key %s verifies a signature of another key", entry)
			}
		}
	})
}
