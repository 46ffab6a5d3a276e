package session_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/http/console/session"
	"annals/http/signin"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// external is an OpenID issuer that signs in its only user without asking. Tests change what it
// sends.
type external struct {
	*site
	*httptest.Server
	key *ecdsa.PrivateKey

	mu       sync.Mutex
	user     string
	expires  time.Duration
	claims   map[string]any                                    // of ID tokens, which replace the right ones
	opaque   bool                                              // access tokens are opaque, so that only ID tokens are accepted
	keep     bool                                              // refresh tokens stay valid, and come without an ID token
	metadata map[string]any                                    // replaces the right metadata
	callback func(url.Values)                                  // changes the parameters of the redirect to the console
	token    func(w http.ResponseWriter, r *http.Request) bool // replies in place of the token endpoint
	down     bool

	asked    url.Values // the last authorization request
	code     string
	refresh  string
	secret   []string // client authentications at the token endpoint
	revoked  []string
	ended    url.Values // the last request to sign out
	requests int        // at the token endpoint
}

const externalSecret = "s3cret of the/console"

// newExternal returns a site whose browsers sign in at an external issuer.
func newExternal(t testing.TB, change func(*external, *session.External)) *external {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	e := &external{site: newSite(t), key: key, user: "u-1", expires: time.Hour}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Server.Close)
	registered := session.External{Issuer: e.Server.URL, ClientID: "console", ClientSecret: externalSecret, Scopes: []string{"profile", "openid"}}
	if change != nil {
		change(e, &registered)
	}
	v, err := signin.NewVerifier(signin.Options{Issuers: []signin.IssuerConfig{{URL: e.Server.URL, Alias: "corp", Audiences: []string{"console"}}}, Now: e.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	e.manage(session.Options{External: &registered, Verify: v.Verify})
	return e
}

func (e *external) sign(claims map[string]any) string {
	e.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: e.key}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", "k"))
	if err != nil {
		e.Fatal(err)
	}
	now := e.Clock.Now().Unix()
	all := map[string]any{"iss": e.Server.URL, "sub": e.user, "aud": "console", "iat": now, "exp": now + int64(e.expires/time.Second)}
	maps.Copy(all, claims)
	token, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		e.Fatal(err)
	}
	return token
}

func (e *external) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	at := e.Server.URL
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		all := map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize?tenant=1", "token_endpoint": at + "/token", "jwks_uri": at + "/keys",
			"revocation_endpoint": at + "/revoke", "end_session_endpoint": at + "/end?tenant=1", "id_token_signing_alg_values_supported": []string{"ES256"},
		}
		maps.Copy(all, e.metadata)
		json.NewEncoder(w).Encode(all)
	case "/keys":
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: e.key.Public(), KeyID: "k", Use: "sig"}}})
	case "/authorize":
		e.asked, e.code = r.URL.Query(), rand.Text()
		q := url.Values{"code": {e.code}, "state": {e.asked.Get("state")}}
		if e.callback != nil {
			e.callback(q)
		}
		http.Redirect(w, r, e.asked.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
	case "/token":
		e.requests++
		e.exchange(w, r)
	case "/revoke":
		e.revoked = append(e.revoked, r.FormValue("token"))
	case "/end":
		e.ended = r.URL.Query()
		fmt.Fprint(w, "signed out at the issuer")
	}
}

func (e *external) exchange(w http.ResponseWriter, r *http.Request) {
	if e.token != nil && e.token(w, r) {
		return
	}
	if id, secret, ok := r.BasicAuth(); ok {
		e.secret = append(e.secret, "basic "+id+" "+secret)
	} else {
		e.secret = append(e.secret, "form "+r.FormValue("client_id")+" "+r.FormValue("client_secret"))
	}
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	switch {
	case r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == e.refresh && e.refresh != "":
	case r.FormValue("grant_type") == "authorization_code" && r.FormValue("code") == e.code && e.code != "" &&
		base64.RawURLEncoding.EncodeToString(sum[:]) == e.asked.Get("code_challenge") && r.FormValue("redirect_uri") == e.asked.Get("redirect_uri"):
		e.code = ""
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error": "invalid_grant"}`)
		return
	}
	claims := map[string]any{"nonce": e.asked.Get("nonce")}
	maps.Copy(claims, e.claims)
	reply := map[string]any{"access_token": e.sign(nil), "token_type": "Bearer", "expires_in": e.expires / time.Second}
	if e.opaque {
		reply["access_token"] = rand.Text()
	}
	if !e.keep || e.refresh == "" {
		e.refresh = rand.Text()
		reply["refresh_token"], reply["id_token"] = e.refresh, e.sign(claims)
	}
	json.NewEncoder(w).Encode(reply)
}

// change changes what the issuer sends.
func (e *external) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func TestExternalIssuer(t *testing.T) {
	for what, change := range map[string]func(*external, *session.External){
		"access tokens": nil,
		"ID tokens":     func(e *external, _ *session.External) { e.opaque = true },
		"secrets in forms": func(e *external, _ *session.External) {
			e.metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
		},
		"no secret":               func(_ *external, c *session.External) { c.ClientSecret = "" },
		"kept refresh tokens":     func(e *external, _ *session.External) { e.keep = true },
		"short tokens":            func(e *external, _ *session.External) { e.expires = 5 * time.Minute },
		"the issuer in redirects": func(e *external, _ *session.External) { e.callback = func(q url.Values) { q.Set("iss", e.Server.URL) } },
		"no end of sessions there": func(e *external, _ *session.External) {
			e.metadata = map[string]any{"end_session_endpoint": "", "revocation_endpoint": ""}
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := newExternal(t, change)
			b := e.browser()
			page := b.open("/kept?q=1")
			b.wantPage(page, "corp/u-1", "/kept?q=1")
			if e.asked.Get("scope") != "openid profile" || e.asked.Get("client_id") != "console" || e.asked.Get("tenant") != "1" || e.asked.Get("redirect_uri") != b.URL+"/console/callback" {
				t.Errorf("the authorization request is %v", e.asked)
			}
			want := "basic console " + url.QueryEscape(externalSecret)
			switch what {
			case "secrets in forms":
				want = "form console " + externalSecret
			case "no secret":
				want = "form console "
			}
			if len(e.secret) != 1 || e.secret[0] != want {
				t.Errorf("the console authenticates by %q, want %q once", e.secret, want)
			}
			first := b.cookies("/")[sessionCookie]
			e.Clock.Advance(e.expires / 4)
			b.open("/")
			if b.cookies("/")[sessionCookie] != first {
				t.Errorf("the session is renewed after a quarter of %v", e.expires)
			}
			e.Clock.Advance(e.expires * 5 / 8)
			b.wantPage(b.open("/"), "corp/u-1", "/")
			if kept := e.keep && e.opaque; b.cookies("/")[sessionCookie] == first && !kept || e.requests != 2 {
				t.Errorf("the session is not renewed after 7/8 of %v; %d requests for tokens", e.expires, e.requests)
			}
			e.Clock.Advance(2 * e.expires)
			page = b.open("/")
			b.wantPage(page, "corp/u-1", "/")
			refresh := e.refresh
			out := b.submit(page, "/console/logout")
			to := regexp.MustCompile(`content="0; url=([^"]+)"`).FindStringSubmatch(out.body)
			if what == "no end of sessions there" {
				if to != nil || len(e.revoked) > 0 || !strings.Contains(out.body, "You are signed out") {
					t.Errorf("after signing out: %s, revoked %q", out.body, e.revoked)
				}
				return
			}
			if to == nil || len(e.revoked) != 1 || e.revoked[0] != refresh {
				t.Fatalf("after signing out: %s, revoked %q, want %q", out.body, e.revoked, refresh)
			}
			u, err := url.Parse(strings.ReplaceAll(to[1], "&amp;", "&"))
			if q := u.Query(); err != nil || !strings.HasPrefix(u.String(), e.Server.URL+"/end?") || q.Get("tenant") != "1" || q.Get("client_id") != "console" ||
				q.Get("post_logout_redirect_uri") != b.URL+"/console/logout" || strings.Count(q.Get("id_token_hint"), ".") != 2 {
				t.Errorf("the browser continues at %s, %v", to[1], err)
			}
		})
	}
}

func TestExternalIssuerIsNotTrustedBlindly(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*external){
		"another nonce":       func(e *external) { e.claims = map[string]any{"nonce": "x"} },
		"no nonce":            func(e *external) { e.claims = map[string]any{"nonce": ""} },
		"another audience":    func(e *external) { e.claims = map[string]any{"aud": "other"} },
		"another issuer":      func(e *external) { e.claims = map[string]any{"iss": "https://other.example"} },
		"an expired ID token": func(e *external) { e.claims = map[string]any{"exp": e.Clock.Now().Unix() - 3600} },
		"another key": func(e *external) {
			e.token = func(w http.ResponseWriter, _ *http.Request) bool {
				right := e.key
				e.key = stranger
				token := e.sign(map[string]any{"nonce": e.asked.Get("nonce")})
				e.key = right
				json.NewEncoder(w).Encode(map[string]any{"access_token": e.sign(nil), "token_type": "Bearer", "id_token": token})
				return true
			}
		},
		"no ID token": func(e *external) {
			e.token = func(w http.ResponseWriter, _ *http.Request) bool {
				json.NewEncoder(w).Encode(map[string]any{"access_token": e.sign(nil), "token_type": "Bearer"})
				return true
			}
		},
		"the issuer of another redirect": func(e *external) { e.callback = func(q url.Values) { q.Set("iss", "https://other.example") } },
		"a promised issuer missing": func(e *external) {
			e.metadata = map[string]any{"authorization_response_iss_parameter_supported": true}
		},
		"another code": func(e *external) { e.callback = func(q url.Values) { q.Set("code", "x") } },
	} {
		t.Run(what, func(t *testing.T) {
			e := newExternal(t, func(e *external, _ *session.External) { change(e) })
			b := e.browser()
			page := b.open("/kept")
			if page.StatusCode != http.StatusForbidden || !strings.Contains(page.body, "did not accept") || !strings.Contains(page.body, `href="/console/login?to=%2Fkept"`) {
				t.Errorf("%s %s, want 403", page.Status, page.body)
			}
			if _, found := b.cookies("/")[sessionCookie]; found {
				t.Error("the browser has a session")
			}
		})
	}
}

func TestExternalIssuerIsAway(t *testing.T) {
	e := newExternal(t, func(e *external, _ *session.External) { e.down = true })
	b := e.browser()
	for range 2 {
		if page := b.open("/"); page.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page.body, "cannot be reached") || page.Header.Get("Retry-After") == "" {
			t.Fatalf("%s %s, want 503", page.Status, page.body)
		}
	}
	e.change(func() { e.down = false })
	e.Clock.Advance(6 * time.Second)
	b.wantPage(b.open("/"), "corp/u-1", "/")
	// The session goes on while its token is valid, and is renewed when the issuer is back.
	e.change(func() { e.down = true })
	e.Clock.Advance(55 * time.Minute)
	b.wantPage(b.open("/"), "corp/u-1", "/")
	e.Clock.Advance(10 * time.Minute)
	if page := b.open("/"); page.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("with an expired token and no issuer = %s %s, want 503", page.Status, page.body)
	}
	e.change(func() { e.down = false })
	b.wantPage(b.open("/"), "corp/u-1", "/")
	e.change(func() {
		e.token = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client"}`)
			return true
		}
	})
	e.Clock.Advance(55 * time.Minute)
	b.wantPage(b.open("/"), "corp/u-1", "/") // the operator's mistake ends no session
	if page := e.browser().open("/"); page.StatusCode != http.StatusInternalServerError || !strings.Contains(page.body, "not set up correctly") {
		t.Errorf("with a wrong secret = %s %s, want 500", page.Status, page.body)
	}
}

func TestRenewalOfAnotherUser(t *testing.T) {
	e := newExternal(t, nil)
	b := e.browser()
	b.open("/")
	before := b.cookies("/")[sessionCookie]
	e.change(func() { e.user = "u-2" })
	e.Clock.Advance(2 * time.Hour)
	r := httptest.NewRequest("POST", b.URL, nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: before})
	if got, found, err := e.manager.Of(httptest.NewRecorder(), r); found || err != nil {
		t.Errorf("a session of u-1 is renewed with tokens of u-2: %v, %v", got.User, err)
	}
}

func TestBigTokens(t *testing.T) {
	for _, c := range []struct {
		groups int
		opaque bool // the ID token is the token of the session
		status int
	}{{10, false, 200}, {60, true, 200}, {110, true, 200}, {250, false, 200}, {300, true, 403}} {
		var groups []string
		for i := range c.groups {
			groups = append(groups, fmt.Sprintf("%03d-%s", i, strings.Repeat("g", 40)))
		}
		e := newExternal(t, func(e *external, _ *session.External) {
			e.opaque, e.claims = c.opaque, map[string]any{"groups": groups}
		})
		b := e.browser()
		page := b.open("/")
		if page.StatusCode != c.status {
			t.Errorf("%d groups = %s %s, want %d", c.groups, page.Status, page.body, c.status)
		}
		size := 0
		for name, value := range b.cookies("/") {
			size += len(name) + len(value)
			if len(name)+len(value) > 3900 {
				t.Errorf("%d groups: the cookie %s has %d bytes", c.groups, name, len(value))
			}
		}
		if size > 16<<10 {
			t.Errorf("%d groups: the browser sends %d bytes of cookies", c.groups, size)
		}
	}
}

func TestOneHost(t *testing.T) {
	e := newExternal(t, nil)
	w := httptest.NewRecorder()
	e.manager.Login(w, httptest.NewRequest("GET", "http://other.example/console/login?to=/a%3Fb=c", nil))
	if to := w.Header().Get("Location"); to != e.site.URL+"/console/login?to=%2Fa%3Fb%3Dc" {
		t.Errorf("a browser at another host is redirected to %q", to)
	}
	if strings.Contains(fmt.Sprint(w.Header()), "Set-Cookie") {
		t.Error("a browser at another host gets a cookie")
	}
}

func TestMetadataMustBeSafe(t *testing.T) {
	for name, value := range map[string]string{
		"authorization_endpoint": "javascript:alert(1)", "token_endpoint": "", "jwks_uri": "/keys", "end_session_endpoint": "javascript:alert(1)", "revocation_endpoint": "file:///etc/passwd",
	} {
		e := newExternal(t, func(e *external, _ *session.External) { e.metadata = map[string]any{name: value} })
		if page := e.browser().open("/"); page.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s %q = %s, want 503", name, value, page.Status)
		}
	}
}

// FuzzCookies checks that no cookie but those of the server is accepted as a session.
func FuzzCookies(f *testing.F) {
	s := newSite(f)
	b := s.browser()
	b.signIn("/", "alice")
	good := b.cookies("/")[sessionCookie]
	returns := b.cookies("/console/")["annals_returns"]
	for _, seed := range []string{good, returns, "", "1.", "4." + good[2:], good[:40], "1." + strings.Repeat("A", 3798), "x.y"} {
		f.Add(seed, "", returns)
		f.Add(seed[:len(seed)/2], seed[len(seed)/2:], seed)
	}
	f.Fuzz(func(t *testing.T, first, second, other string) {
		r := httptest.NewRequest("GET", "/", nil).WithContext(context.Background())
		state := strings.Repeat("A", 26)
		for name, value := range map[string]string{sessionCookie: first, sessionCookie + "_1": second, "annals_visitor": other, "annals_returns": other, "annals_signin_AAAAAAAA": other} {
			r.Header.Add("Cookie", name+"="+strings.NewReplacer(";", "", "\n", "", "\r", "").Replace(value))
		}
		got, found, err := s.manager.Of(httptest.NewRecorder(), r)
		if err != nil || found && got.User.Principal != "user:alice" || found && !strings.Contains(first+second, good[2:]) {
			t.Errorf("Of with %q and %q = %v, %v, %v", first, second, got.User, found, err)
		}
		s.manager.CSRF(httptest.NewRecorder(), r)
		r.URL.RawQuery = "code=x&state=" + state
		w := httptest.NewRecorder()
		s.manager.Callback(w, r)
		if w.Code != http.StatusBadRequest && !found {
			t.Errorf("Callback with the cookie %q = %d", other, w.Code)
		}
	})
}
