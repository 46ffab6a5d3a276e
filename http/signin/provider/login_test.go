package provider

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider/oauth"
)

var alert = regexp.MustCompile(`role="alert"[^>]*>([^<]*)<`)

// says returns the text of the problem on a page.
func (a response) says() string {
	if found := alert.FindStringSubmatch(a.body); found != nil {
		return html.UnescapeString(found[1])
	}
	return ""
}

// cookie returns the value of the session cookie.
func (b *browser) cookie() string {
	u, err := url.Parse(b.URL + "/signin/")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == "annals_session" {
			return c.Value
		}
	}
	return ""
}

func TestLoginErrorsLookTheSame(t *testing.T) {
	s := newSite(t)
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "gone"})
	if err := s.Accounts.Disable(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alice", "gone", "nobody", "", strings.Repeat("x", 10_000)} {
		b := s.browser()
		page := b.submit(b.open("/signin/"), "/login", "username", name, "password", "wrong")
		if page.StatusCode != http.StatusForbidden || page.says() != wrongPassword || b.open("/signin/").Request == nil {
			t.Errorf("signing in as %.20q with a wrong password = %s %q, want 403 %q", name, page.Status, page.says(), wrongPassword)
		}
	}
}

func TestCrossSiteFormsAreRejected(t *testing.T) {
	s := newSite(t)
	b, other := s.browser(), s.browser()
	home := b.signIn(b.open("/signin/"), "alice")
	own, foreign := fieldOf(home, "token"), fieldOf(other.signIn(other.open("/signin/"), "alice"), "token")
	for _, path := range []string{"/login", "/logout", "/forget", "/password", "/consent", "/device", "/device/decision", "/proof", "/link"} {
		for name, form := range map[string]map[string]string{"no token": {}, "a made-up token": {"token": "x"}, "another session's token": {"token": foreign}} {
			if page := b.submitForm("/signin"+path, form); page.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %s = %s", path, name, page.Status)
			}
		}
		for _, headers := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "", "Sec-Fetch-Site", "cross-site"}, {"Origin", "", "Sec-Fetch-Site", "same-site"}} {
			if page := b.submitForm("/signin"+path, map[string]string{"token": own}, headers...); page.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %v = %s", path, headers, page.Status)
			}
		}
		if page := b.open("/signin" + path + "?token=" + own); path != "/device" && path != "/link" && page.StatusCode != http.StatusMethodNotAllowed && page.Request.URL.Path != "/signin/" {
			t.Errorf("GET %s = %s", path, page.Status)
		}
	}
	if page := b.open("/signin/"); !strings.Contains(page.body, "signed in as") {
		t.Error("one of those forms signed the user out")
	}
}

func TestLoginReplacesCookie(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	page := b.open("/signin/")
	before := b.cookie()
	home := b.signIn(page, "alice")
	signedIn := b.cookie()
	if before == "" || signedIn == "" || before == signedIn {
		t.Fatalf("the cookie is %q before and %q after the sign-in, want different ones", before, signedIn)
	}
	as := func(cookie string) response {
		return s.send("GET", "/signin/", "", "Cookie", "annals_session="+cookie)
	}
	if strings.Contains(as(before).body, "signed in as") || !strings.Contains(as(signedIn).body, "signed in as") {
		t.Error("the old cookie is signed in, or the new one is not")
	}
	b.submit(home, "/logout")
	if strings.Contains(as(signedIn).body, "signed in as") {
		t.Error("the cookie is still signed in after signing out")
	}
	var stored int
	if err := accountstest.OpenDB(t, s.Dir).QueryRow(`SELECT count(*) FROM sessions WHERE cookie = $1`, []byte(signedIn)).Scan(&stored); err != nil || stored > 0 {
		t.Errorf("the store has %d sessions with the unhashed cookie (%v), want none", stored, err)
	}

	b.signIn(b.open("/signin/"), "alice")
	s.Clock.Advance(accounts.SessionLifetime)
	if page := b.open("/signin/"); strings.Contains(page.body, "signed in as") {
		t.Error("the browser is still signed in after SessionLifetime")
	}
}

func TestCookieAttributes(t *testing.T) {
	for issuer, want := range map[string]string{
		"http://127.0.0.1:8080/signin":  "annals_session=x; Path=/signin; HttpOnly; SameSite=Lax",
		"https://annals.example/signin": "__Secure-annals_session=x; Path=/signin; HttpOnly; Secure; SameSite=Lax",
		"https://login.example":         "__Host-annals_session=x; Path=/; HttpOnly; Secure; SameSite=Lax",
		"https://login.example/":        "__Host-annals_session=x; Path=/; HttpOnly; Secure; SameSite=Lax",
	} {
		i, err := signin.NewIssuer(accountstest.Open(t, t.TempDir()), signin.IssuerOptions{URL: issuer})
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(i, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.setCookie(w, "x")
		if got := w.Header().Get("Set-Cookie"); got != want {
			t.Errorf("the cookie of issuer %s is %q, want %q", issuer, got, want)
		}
	}
}

func TestCrossSiteFormKeepsSession(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/login", "/logout", "/consent", "/device", "/authorize"} {
		// With a form of another site a browser sends no cookie, but it would accept a cookie
		// in the response.
		a := s.send("POST", "/signin"+path, strings.Repeat("x", oauth.MaxForm+1), "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example")
		if a.StatusCode < 400 || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("a form of another site to %s = %s with the cookie %q, want an error without a cookie", path, a.Status, a.Header.Get("Set-Cookie"))
		}
	}
}
