package session_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/http/console/session"
	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
)

func TestSignIn(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	page := b.signIn("/folders?sort=name&q=a%20b%2Fc", "alice")
	if names := slices.Sorted(maps.Keys(b.cookies("/console/"))); !slices.Equal(names, []string{sessionCookie, "annals_returns", "annals_visitor"}) {
		t.Errorf("the browser has the cookies %v", names)
	}
	if page.Header.Get("Set-Cookie") == "" {
		t.Error("the page sets no cookie of the browser")
	}
	if b.hops[len(b.hops)-1] != s.URL+"/folders?sort=name&q=a%20b%2Fc" {
		t.Errorf("the browser came by %v", b.hops)
	}
	grants := s.grants("alice")
	if len(grants) != 1 || grants[0].Name != "Annals in a browser" || grants[0].Client != clients.ConsoleID {
		t.Errorf("the sign-ins of alice are %+v, want one to the console", grants)
	}
	for name, value := range b.cookies("/") {
		if strings.Contains(value, "eyJ") {
			t.Errorf("the cookie %s contains a token in clear", name)
		}
	}
	if strings.Contains(page.body, "eyJ") {
		t.Errorf("the page contains a token: %s", page.body)
	}
	b.wantPage(b.open("/"), "alice", "/")
	if other := s.browser(); !strings.Contains(other.open("/").body, "/signin/login") {
		t.Error("another browser is signed in, too")
	}
}

func TestCookiesAreProtected(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	page := b.open("/console/login?to=/")
	for _, c := range page.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/console/" || c.MaxAge != 3600 {
			t.Errorf("the cookie of the sign-in is %+v", c)
		}
	}
	if to := page.Header.Get("Location"); !strings.HasPrefix(to, "/signin/authorize?") || !strings.Contains(to, "code_challenge_method=S256") || !strings.Contains(to, "nonce=") {
		t.Errorf("the browser is redirected to %s", to)
	}
	u, _ := url.Parse("https://annals.example/signin")
	m, err := session.New(session.Options{Provider: http.NotFoundHandler(), IssuerURL: u, Key: func(context.Context) (k [32]byte, err error) { return k, nil }, Now: s.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	m.CSRF(w, httptest.NewRequest("GET", "https://annals.example/", nil))
	if c := w.Result().Cookies(); len(c) != 1 || c[0].Name != "__Host-annals_visitor" || !c[0].Secure || c[0].Path != "/" || c[0].Domain != "" {
		t.Errorf("with https, the cookie of the browser is %+v", c)
	}
}

// Checks that a browser is never redirected to another host after the sign-in.
func TestReturnStaysOnHost(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	for _, to := range []string{
		"", "//evil.example", "https://evil.example/", "/\\evil.example", "\\\\evil.example", "/%5cevil.example/../..//x y", "javascript:alert(1)", "evil.example", "/\tx", "/\n/evil.example",
		"///evil.example", "/console/login?to=/", "/console/callback", "http:/evil.example", "@evil.example", "/é", "/" + strings.Repeat("x", 8<<10),
	} {
		page := b.open("/console/login?again&to=" + url.QueryEscape(to))
		if page.Request.URL.Host != b.at("/").Host || page.StatusCode != http.StatusOK {
			t.Errorf("to=%.50q leads to %s %s", to, page.Status, page.Request.URL)
		}
		b.wantPage(page, "alice", "/")
	}
	for _, to := range []string{"/a?x=https://other.example/", "/folders/1#part", "/?q=%C3%A9+%22", "/" + strings.Repeat("x", 8000)} {
		page := b.open("/console/login?again&to=" + url.QueryEscape(to))
		path, _, _ := strings.Cut(to, "#")
		if page.Request.URL.RequestURI() != path {
			t.Errorf("to=%.50q leads to %.100s", to, page.Request.URL)
		}
	}
}

func TestCallbackRejects(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	begin := func() (state string) {
		u, err := url.Parse(b.open("/console/login?to=/mine").Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		return u.Query().Get("state")
	}
	iss := "&iss=" + url.QueryEscape(s.URL+"/signin")
	for what, c := range map[string]struct {
		query  string
		status int
		says   string
	}{
		"denied":             {"error=access_denied&state=" + begin() + iss, 403, "cancelled"},
		"another issuer":     {"code=x&state=" + begin() + "&iss=https://evil.example", 403, "did not accept"},
		"no issuer":          {"code=x&state=" + begin(), 403, "did not accept"},
		"an error":           {"error=%3Cscript%3E&state=" + begin() + iss, 403, "did not accept"},
		"no code":            {"state=" + begin() + iss, 403, "did not accept"},
		"an unknown code":    {"code=x&state=" + begin() + iss, 403, "did not accept"},
		"no state":           {"code=x" + iss, 400, "not valid any more"},
		"another state":      {"code=x&state=" + strings.Repeat("A", 26) + iss, 400, "not valid any more"},
		"a state like names": {"code=x&state=" + url.QueryEscape("a;b\r\nc") + iss, 400, "not valid any more"},
	} {
		page := b.open("/console/callback?" + c.query)
		if page.StatusCode != c.status || !strings.Contains(page.body, c.says) || !strings.Contains(page.body, `href="/console/login?to=%2F`) || strings.Contains(page.body, "<script") {
			t.Errorf("%s: %s %s, want %d and %q", what, page.Status, page.body, c.status, c.says)
		}
		if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || page.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the headers are %v", what, page.Header)
		}
	}
	late := begin()
	s.Clock.Advance(61 * time.Minute)
	if page := b.open("/console/callback?code=x&state=" + late + iss); page.StatusCode != 400 {
		t.Errorf("a sign-in after an hour = %s, want 400", page.Status)
	}
	again := begin()
	first := b.open("/console/callback?code=x&state=" + again + iss)
	if second := b.open("/console/callback?code=x&state=" + again + iss); first.StatusCode != 403 || second.StatusCode != 400 {
		t.Errorf("the same state twice = %s and %s, want 403 and 400", first.Status, second.Status)
	}
	stolen := begin()
	if page := s.browser().open("/console/callback?code=x&state=" + stolen + iss); page.StatusCode != 400 {
		t.Errorf("the state of another browser = %s, want 400", page.Status)
	}
}

// Checks that a browser which loses its cookies is not redirected for ever.
func TestLoopEnds(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	for i := 0; ; i++ {
		b.drop(sessionCookie)
		page := b.open("/")
		if page.StatusCode == http.StatusForbidden && strings.Contains(page.body, "again=yes") {
			break
		}
		if i > 5 {
			t.Fatal("the browser is redirected to the sign-in again and again")
		}
	}
	b.wantPage(b.open("/console/login?to=%2F&again=yes"), "alice", "/")
	s.Clock.Advance(time.Minute)
	b.drop(sessionCookie)
	b.wantPage(b.open("/"), "alice", "/")
	b.client.Jar = nil
	if page := b.submit(b.open("/"), "/login", "username", "alice", "password", "correct horse"); page.StatusCode != http.StatusForbidden {
		t.Errorf("a browser without cookies = %s at %s, want 403", page.Status, page.Request.URL)
	}
}

func TestTwoTabs(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	one, two := b.open("/one"), b.open("/two")
	b.wantPage(b.submit(two, "/login", "username", "alice", "password", "correct horse"), "alice", "/two")
	// The form of the first tab was made before the other tab signed in.
	page := b.submit(one, "/login", "username", "alice", "password", "correct horse")
	if page.StatusCode == http.StatusForbidden {
		page = b.open(one.Request.URL.RequestURI()) // the page says that it has to be loaded again
	}
	b.wantPage(page, "alice", "/one")
	if n := len(s.grants("alice")); n != 1 {
		t.Errorf("alice has %d sign-ins to the console, want 1: the second replaces the first", n)
	}
	back := b.open("/console/callback?state=" + strings.Repeat("A", 26) + "&code=x")
	b.wantPage(back, "alice", "/")
}

func TestUnfinishedSignInsAreBounded(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	for range 40 {
		b.open("/console/login?to=/" + strings.Repeat("x", 2000))
	}
	size := 0
	for name, value := range b.cookies("/console/login") {
		size += len(name) + len(value)
	}
	if size > 24<<10 {
		t.Errorf("the browser sends %d bytes of cookies after 40 unfinished sign-ins", size)
	}
	b.signIn("/x", "alice")
}

func TestAnotherUserSignsIn(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	old := b.signIn("/", "alice")
	home := b.open("/signin/")
	b.submit(home, "/logout")
	if n := len(s.grants("alice")); n != 0 {
		t.Errorf("alice has %d sign-ins to the console after signing out at the sign-in, want none", n)
	}
	b.signIn("/", "bob")
	if page := b.submit(old, "/form"); page.StatusCode != http.StatusForbidden || len(s.posted) != 0 {
		t.Errorf("a form of alice's page, sent by bob = %s, posted by %v; want 403", page.Status, s.posted)
	}
}

func TestDisabledUserIsSignedOut(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	if err := s.Accounts.Disable(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	if page := b.open("/"); !strings.Contains(page.body, "/signin/login") {
		t.Errorf("a disabled user is at %s: %s", page.Request.URL, page.body)
	}
}

func TestSignOut(t *testing.T) {
	s := newSite(t)
	s.Accounts.Observe = func(_ context.Context, e accounts.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	}
	b := s.browser()
	page := b.signIn("/", "alice")
	cookie := b.cookies("/")[sessionCookie]
	if asked := b.open("/console/logout"); !strings.Contains(asked.body, "still signed in") || len(s.grants("alice")) != 1 {
		t.Errorf("GET of the sign-out = %s, want the question", asked.body)
	}
	out := b.submit(page, "/console/logout")
	if out.Request.URL.Path != "/console/logout" || !strings.Contains(out.body, "You are signed out") || len(b.hops) != 3 {
		t.Errorf("after signing out the browser is at %v: %s", b.hops, out.body)
	}
	if _, found := b.cookies("/")[sessionCookie]; found || len(s.grants("alice")) != 0 {
		t.Errorf("after signing out the browser has the cookies %v, and alice the sign-ins %v", b.cookies("/"), s.grants("alice"))
	}
	if page := b.open("/"); !strings.Contains(page.body, "/signin/login") {
		t.Errorf("after signing out, / = %s: the browser is still signed in at the sign-in", page.body)
	}
	b.setCookie(sessionCookie, cookie)
	if page := b.open("/"); !strings.Contains(page.body, "/signin/login") {
		t.Errorf("with the cookie of before, / = %s", page.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range []accounts.Event{
		{Kind: accounts.ProgramEnded, User: "alice", Client: clients.ConsoleID, Address: "127.0.0.1"},
		{Kind: accounts.SignedOut, User: "alice", Address: "127.0.0.1"},
	} {
		found := false
		for _, e := range s.events {
			found = found || e == want
		}
		if !found {
			t.Errorf("the event %+v is missing in %+v", want, s.events)
		}
	}
}

func TestForms(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	page := b.signIn("/", "alice")
	form := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page.body)[1]
	send := func(body string, headers ...string) int {
		return b.do("POST", s.URL+"/form", body, headers...).StatusCode
	}
	for what, c := range map[string]struct {
		status int
		body   string
		header []string
	}{
		"the form":          {200, "csrf=" + form, nil},
		"a script":          {200, "x=1", []string{session.FormHeader, form}},
		"a script's upload": {200, "x", []string{session.FormHeader, form, "Content-Type", "multipart/form-data; boundary=x"}},
		"no token":          {403, "x=1", nil},
		"another token":     {403, "csrf=" + form[1:] + "A", nil},
		"an empty token":    {403, "csrf=", nil},
		"token in the URL":  {403, "", []string{"Content-Type", "text/plain"}},
		"another origin":    {403, "csrf=" + form, []string{"Origin", "https://evil.example"}},
		"another site":      {403, "csrf=" + form, []string{"Sec-Fetch-Site", "cross-site"}},
		"a huge form":       {403, "x=" + strings.Repeat("x", 2<<20) + "&csrf=" + form, nil},
	} {
		if status := send(c.body, c.header...); status != c.status {
			t.Errorf("%s = %d, want %d", what, status, c.status)
		}
	}
	// The form can still be sent after the same user has signed in again.
	b.drop(sessionCookie)
	if status := send("csrf=" + form); status != http.StatusUnauthorized {
		t.Errorf("the form without a session = %d, want 401", status)
	}
	b.wantPage(b.open("/"), "alice", "/")
	if status := send("csrf=" + form); status != http.StatusOK {
		t.Errorf("the form after signing in again = %d, want 200", status)
	}
	b.drop("annals_visitor")
	if status := send("csrf=" + form); status != http.StatusForbidden {
		t.Errorf("the form of another browser = %d, want 403", status)
	}
	// A browser sends no cookies with a form of another site. It must keep those that it has.
	foreign := s.browser().do("POST", s.URL+session.LogoutPath, "", "Sec-Fetch-Site", "cross-site")
	if foreign.StatusCode != http.StatusForbidden || len(foreign.Cookies()) > 0 || strings.Contains(foreign.body, `name="csrf"`) {
		t.Errorf("a form of another site = %d with cookies %v: %s", foreign.StatusCode, foreign.Cookies(), foreign.body)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", s.URL, nil)
	if first, second := s.manager.CSRF(w, r), s.manager.CSRF(w, r); first != second || first == "" || len(w.Result().Cookies()) != 1 {
		t.Errorf("two calls for one page = %q and %q, with %d cookies", first, second, len(w.Result().Cookies()))
	}
}

func TestTamperedCookies(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	good := b.cookies("/")[sessionCookie]
	flipped := []byte(good)
	flipped[len(flipped)/2] ^= 1
	for what, value := range map[string]string{
		"flipped": string(flipped), "truncated": good[:len(good)-4], "empty": "", "no number": good[2:], "too many": "9" + good[1:], "more than sent": "2" + good[1:], "negative": "-1" + good[1:],
		"garbage": "1.!!!", "short": "1.AAAA", "of the browser": b.cookies("/")["annals_visitor"], "of the sign-in": b.cookies("/console/")["annals_returns"], "too long": "1." + strings.Repeat("A", 4000),
	} {
		b.setCookie(sessionCookie, value)
		r := httptest.NewRequest("GET", s.URL, nil)
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
		if _, found, err := s.manager.Of(httptest.NewRecorder(), r); found || err != nil {
			t.Errorf("a session cookie that is %s is accepted: %v, %v", what, found, err)
		}
	}
	b.setCookie(sessionCookie, good)
	b.wantPage(b.open("/"), "alice", "/")
	s.manage(session.Options{Provider: http.NotFoundHandler(), ClientID: clients.ConsoleID, Key: func(context.Context) ([32]byte, error) { return [32]byte{1}, nil }})
	r := httptest.NewRequest("GET", s.URL, nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: good})
	if _, found, err := s.manager.Of(httptest.NewRecorder(), r); found || err != nil {
		t.Errorf("a session of another key is accepted: %v, %v", found, err)
	}
}

// Checks that the groups of a user fit into the cookies.
func TestUserWithManyGroups(t *testing.T) {
	s := newSite(t)
	var groups []string
	for i := range 30 {
		groups = append(groups, strings.Repeat(string(rune('a'+i%26)), 100)+string(rune('a'+i/26)))
	}
	if err := s.Accounts.SetGroups(t.Context(), "alice", groups); err != nil {
		t.Fatal(err)
	}
	b := s.browser()
	page := b.signIn("/", "alice")
	if _, found := b.cookies("/")[sessionCookie+"_1"]; !found {
		t.Errorf("the session is in one cookie, so this tests nothing: %v", b.cookies("/"))
	}
	if out := b.submit(page, "/console/logout"); !strings.Contains(out.body, "You are signed out") {
		t.Errorf("signing out = %s at %s: %s", out.Status, out.Request.URL, out.body)
	}
	for name := range b.cookies("/") {
		if strings.HasPrefix(name, sessionCookie) {
			t.Errorf("the cookie %s is left", name)
		}
	}
	b.signIn("/", "bob") // with one cookie
	b.wantPage(b.open("/"), "bob", "/")
}

func TestRenewal(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	first := b.cookies("/")[sessionCookie]
	s.Clock.Advance(49 * time.Minute)
	b.wantPage(b.open("/"), "alice", "/")
	if b.cookies("/")[sessionCookie] != first {
		t.Error("the session is renewed with 11 minutes left")
	}
	s.Clock.Advance(2 * time.Minute)
	b.wantPage(b.open("/picture", "Sec-Fetch-Dest", "image"), "alice", "/picture")
	if b.cookies("/")[sessionCookie] != first {
		t.Error("the session is renewed for a picture")
	}
	b.wantPage(b.open("/", "Sec-Fetch-Dest", "document"), "alice", "/")
	second := b.cookies("/")[sessionCookie]
	if second == first {
		t.Fatal("the session is not renewed with 9 minutes left")
	}
	// Requests with the old cookie, sent at the same time, get the same tokens.
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			other := s.browser()
			other.setCookie(sessionCookie, first)
			if page := other.open("/"); !strings.Contains(page.body, "hello alice") {
				t.Errorf("a request with the old cookie = %s %s", page.Status, page.body)
			}
		})
	}
	wait.Wait()
	if n := len(s.grants("alice")); n != 1 {
		t.Errorf("alice has %d sign-ins to the console, want 1", n)
	}
	s.Clock.Advance(70 * time.Minute) // the token has expired, and is renewed
	b.wantPage(b.open("/"), "alice", "/")
	// Somebody who uses an old cookie later ends the sign-in, because it may be stolen.
	s.Clock.Advance(3 * time.Minute)
	thief := s.browser()
	thief.setCookie(sessionCookie, second)
	if page := thief.open("/"); strings.Contains(page.body, "hello") {
		t.Errorf("a replaced cookie is accepted after the time for parallel requests: %s", page.body)
	}
	if n := len(s.grants("alice")); n != 0 {
		t.Errorf("alice has %d sign-ins to the console after a refresh token was used twice, want none", n)
	}
	b.wantPage(b.open("/kept?q=1"), "alice", "/kept?q=1") // by the session at the sign-in
}

func TestParallelRenewal(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	cookie := b.cookies("/")[sessionCookie]
	s.Clock.Advance(2 * time.Hour)
	tokens := make([]string, 16)
	var wait sync.WaitGroup
	for i := range tokens {
		wait.Go(func() {
			r := httptest.NewRequest("GET", s.URL, nil).WithContext(t.Context())
			r.AddCookie(&http.Cookie{Name: sessionCookie, Value: cookie})
			if got, found, err := s.manager.Of(httptest.NewRecorder(), r); err == nil && found {
				tokens[i] = got.Token
			}
		})
	}
	wait.Wait()
	for _, token := range tokens {
		if token == "" || token != tokens[0] {
			t.Fatalf("parallel requests get the tokens %q, want the same", tokens)
		}
	}
}

func TestRefusedRenewal(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("/", "alice")
	for _, g := range s.grants("alice") {
		if err := s.Accounts.EndGrant(t.Context(), g.ID); err != nil {
			t.Fatal(err)
		}
	}
	r := httptest.NewRequest("POST", s.URL, nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.cookies("/")[sessionCookie]})
	if _, found, err := s.manager.Of(httptest.NewRecorder(), r); found || err != nil {
		t.Errorf("a session whose sign-in was revoked = %v, %v; want none", found, err)
	}
	b.wantPage(b.open("/kept?q=half+a+question"), "alice", "/kept?q=half+a+question")
}
