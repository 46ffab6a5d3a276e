package signin_test

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
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/signintest"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const issuerURL = "http://annals.test/signin"

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

func TestVerifyBuiltInToken(t *testing.T) {
	s := signintest.New(t)
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "root", Admin: true})
	token, expires, err := s.Issuer.Issue(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call reads from the cache
		user, until, err := s.Verifier.Verify(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if user.Principal != "user:alice" || user.Admin || !slices.Equal(user.Groups, []events.Principal{"group:staff"}) || !until.Equal(expires) {
			t.Errorf("Verify = %+v until %v, want user:alice of group:staff until %v", user, until, expires)
		}
	}
	if d := expires.Sub(s.Clock.Now()); d > time.Hour || d < time.Hour-5*time.Second {
		t.Errorf("the token lasts %v, want an hour", d)
	}
	if user, _, err := s.Verifier.Verify(t.Context(), s.Issue(t, "root")); err != nil || !user.Admin {
		t.Errorf("Verify of an administrator's token = %+v, %v", user, err)
	}
}

func TestVerifyRejects(t *testing.T) {
	s := signintest.New(t)
	key, err := s.Accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	valid := s.Issue(t, "alice")
	parts := strings.Split(valid, ".")
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
	now := s.Clock.Now().Unix()
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
	last := valid[len(valid)-1]
	// The last character of the token is replaced by the next in the alphabet, which differs
	// only in the four unused bits.
	twin := valid[:len(valid)-1] + string("BCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-", last)])

	if _, _, err := s.Verifier.Verify(t.Context(), signed(nil)); err != nil {
		t.Fatalf("Verify of the token from which the others differ: %v", err)
	}
	for name, token := range map[string]string{
		"empty":                        "",
		"garbage":                      "garbage",
		"dots":                         "..",
		"random bytes":                 "\x00\xff.\x01.\x02",
		"too long":                     strings.Repeat("a", signin.MaxToken) + "." + parts[1] + "." + parts[2],
		"algorithm none":               none,
		"algorithm none, signed":       none + parts[2],
		"algorithm None":               encode(map[string]any{"alg": "None"}) + "." + parts[1] + ".",
		"HMAC with the public key PEM": hmac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HMAC with the public key DER": hmac(der),
		"HMAC with the public key JWK": hmac(publicJSON),
		"changed payload":              parts[0] + "." + encode(claims(map[string]any{"sub": "root"})) + "." + parts[2],
		"changed header":               encode(map[string]any{"alg": "ES256", "kid": key.ID, "x": 1}) + "." + parts[1] + "." + parts[2],
		"truncated signature":          valid[:len(valid)-4],
		"no signature":                 parts[0] + "." + parts[1] + ".",
		"other last character":         twin,
		"line break":                   valid[:40] + "\n" + valid[40:],
		"two parts":                    parts[0] + "." + parts[1],
		"four parts":                   valid + "." + parts[2],
		"expired":                      signed(map[string]any{"iat": now - 7200, "exp": now - 3600}),
		"expired beyond the leeway":    signed(map[string]any{"iat": now - 7200, "exp": now - 35}),
		"without expiry":               signed(map[string]any{"exp": nil}),
		"expiry of the wrong type":     signed(map[string]any{"exp": "soon"}),
		"wrong issuer":                 signed(map[string]any{"iss": "https://elsewhere.test"}),
		"issuer with a trailing slash": signed(map[string]any{"iss": issuerURL + "/"}),
		"without issuer":               signed(map[string]any{"iss": nil}),
		"wrong audience":               signed(map[string]any{"aud": "another"}),
		"without audience":             signed(map[string]any{"aud": nil}),
		"not valid yet":                signed(map[string]any{"nbf": now + 120}),
		"issued in the future":         signed(map[string]any{"iat": now + 120}),
		"unknown user":                 signed(map[string]any{"sub": "nobody"}),
		"without user":                 signed(map[string]any{"sub": nil}),
		"unknown key":                  sign(t, jose.ES256, stranger, "unknown", claims(nil)),
		"without key id":               sign(t, jose.ES256, key.Private, "", claims(nil)),
		"another key with the same id": sign(t, jose.ES256, stranger, key.ID, claims(nil)),
	} {
		user, _, err := s.Verifier.Verify(t.Context(), token)
		accountstest.WantKind(t, name, err, fault.Unauthenticated)
		if user.Principal != "" {
			t.Errorf("%s: got the user %v with the error", name, user.Principal)
		}
	}
	for name, token := range map[string]string{
		"several audiences":      signed(map[string]any{"aud": []string{"another", "annals"}}),
		"expired within leeway":  signed(map[string]any{"exp": now - 20}),
		"clock ahead, in leeway": signed(map[string]any{"iat": now + 20, "nbf": now + 20}),
		"without time of issue":  signed(map[string]any{"iat": nil}),
	} {
		if _, _, err := s.Verifier.Verify(t.Context(), token); err != nil {
			t.Errorf("%s: %v, want it accepted", name, err)
		}
	}
}

func TestVerifyUserWithManyGroups(t *testing.T) {
	s := signintest.New(t)
	var groups []string
	for i := range accounts.MaxGroups {
		groups = append(groups, fmt.Sprintf("%0*d", accounts.MaxNameBytes, i))
	}
	if err := s.Accounts.SetGroups(t.Context(), "alice", groups); err != nil {
		t.Fatal(err)
	}
	user, _, err := s.Verifier.Verify(t.Context(), s.Issue(t, "alice"))
	if err != nil || len(user.Groups) != accounts.MaxGroups {
		t.Errorf("Verify = a user of %d groups, %v; want all %d", len(user.Groups), err, accounts.MaxGroups)
	}
	accountstest.WantKind(t, "SetGroups with one too many", s.Accounts.SetGroups(t.Context(), "alice", append(groups, "x")), fault.Invalid)
}

func TestCachedTokenExpires(t *testing.T) {
	s := signintest.New(t)
	token := s.Issue(t, "alice")
	for _, step := range []struct {
		advance time.Duration
		ok      bool
	}{{0, true}, {59 * time.Minute, true}, {time.Minute, true}, {35 * time.Second, false}} {
		s.Clock.Advance(step.advance)
		if _, _, err := s.Verifier.Verify(t.Context(), token); (err == nil) != step.ok {
			t.Errorf("after %v more: %v, want accepted: %v", step.advance, err, step.ok)
		}
	}
}

func TestAccountChangesApplyImmediately(t *testing.T) {
	ctx := t.Context()
	s := signintest.New(t)
	token := s.Issue(t, "alice")
	verify := func() (events.User, error) {
		user, _, err := s.Verifier.Verify(ctx, token)
		return user, err
	}
	if _, err := verify(); err != nil {
		t.Fatal(err)
	}
	// A second store over the same file behaves like the store of another process.
	other := accountstest.Open(t, s.Dir)

	if err := errors.Join(other.SetGroups(ctx, "alice", []string{"board"}), other.SetAdmin(ctx, "alice", true)); err != nil {
		t.Fatal(err)
	}
	if user, err := verify(); err != nil || !user.Admin || !slices.Equal(user.Groups, []events.Principal{"group:board"}) {
		t.Errorf("Verify after groups and admin changed = %+v, %v", user, err)
	}
	if err := other.Disable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	_, err := verify()
	accountstest.WantKind(t, "disabled user", err, fault.Unauthenticated)
	_, _, err = s.Issuer.Issue(ctx, "alice")
	accountstest.WantKind(t, "Issue for a disabled user", err, fault.Forbidden)
	if err := other.Enable(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	if _, err = verify(); err != nil {
		t.Errorf("Verify after Enable: %v", err)
	}

	// After a second key was added, the second key signs. Deleting the first key invalidates
	// the tokens that the first key signed.
	first, err := other.SigningKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.AddKey(ctx); err != nil {
		t.Fatal(err)
	}
	second := s.Issue(t, "alice")
	for _, raw := range []string{token, second} {
		if _, _, err := s.Verifier.Verify(ctx, raw); err != nil {
			t.Errorf("Verify with two keys: %v", err)
		}
	}
	if err := other.DeleteKey(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	_, err = verify()
	accountstest.WantKind(t, "deleted key", err, fault.Unauthenticated)
	if _, _, err := s.Verifier.Verify(ctx, second); err != nil {
		t.Errorf("Verify of a token of the remaining key: %v", err)
	}
	if err := other.Delete(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Verifier.Verify(ctx, second)
	accountstest.WantKind(t, "deleted user", err, fault.Unauthenticated)
}

// FuzzVerify checks that Verify accepts only the one valid token, and that the error for all
// other texts is Unauthenticated.
func FuzzVerify(f *testing.F) {
	s := signintest.New(f)
	valid := s.Issue(f, "alice")
	parts := strings.Split(valid, ".")
	for _, seed := range []string{
		valid, "", "..", valid + "=", parts[0] + ".." + parts[2], parts[0] + "." + parts[1] + ".",
		encode(map[string]any{"alg": "none"}) + "." + parts[1] + ".",
		encode(map[string]any{"alg": "ES256", "crit": []string{"b64"}, "b64": false}) + "." + parts[1] + "." + parts[2],
		encode(map[string]any{"alg": "ES256", "typ": 7, "kid": []int{1}}) + "." + encode([]int{1}) + "." + parts[2],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		user, _, err := s.Verifier.Verify(t.Context(), token)
		if token == valid {
			if err != nil || user.Principal != "user:alice" {
				t.Fatalf("Verify of the valid token = %v, %v", user, err)
			}
			return
		}
		accountstest.WantKind(t, "Verify", err, fault.Unauthenticated)
	})
}

// BenchmarkVerify measures Verify of a cached token and of a token that is not cached. For
// comparison it also measures the lookup of the account.
func BenchmarkVerify(b *testing.B) {
	s := signintest.New(b)
	token := s.Issue(b, "alice")
	verify := func(b *testing.B) {
		if _, _, err := s.Verifier.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			verify(b)
		}
	})
	b.Run("lookup alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := s.Accounts.Bearer(b.Context(), "alice", "", "", time.Now()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("uncached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Verifier.ForgetTokens()
			verify(b)
		}
	})
	b.Run("cached, all cores", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				verify(b)
			}
		})
	})
}
