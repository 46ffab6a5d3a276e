package session_test

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"annals/http/console/session"
	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/provider"
	"annals/http/signin/provider/clients"
	"annals/http/signin/signintest"
)

// site is a console with the built-in sign-in, and with the users alice and bob. Its pages show
// the name of the user, and those at /form take a form.
type site struct {
	testing.TB
	signintest.BuiltIn
	*httptest.Server
	mux     *http.ServeMux
	manager *session.Manager

	mu     sync.Mutex
	events []accounts.Event
	posted []string // users who have sent the form
}

var discard = slog.New(slog.DiscardHandler)

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{TB: t, mux: http.NewServeMux()}
	s.Server = httptest.NewServer(s.mux)
	t.Cleanup(s.Server.Close)
	s.BuiltIn = signintest.NewAt(t, s.URL)
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	p, err := provider.New(s.Issuer, provider.Options{
		Core: s.URL + "/core", Vault: s.URL + "/vault", Tools: s.URL + "/mcp", Logger: discard,
		SignedOut: func(w http.ResponseWriter, r *http.Request) { s.manager.Forget(w, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s.mux.Handle("/signin/", p)
	s.manage(session.Options{Provider: p, ClientID: clients.ConsoleID})
	s.mux.HandleFunc("GET /console/login", func(w http.ResponseWriter, r *http.Request) { s.manager.Login(w, r) })
	s.mux.HandleFunc("GET /console/callback", func(w http.ResponseWriter, r *http.Request) { s.manager.Callback(w, r) })
	s.mux.HandleFunc("/console/logout", func(w http.ResponseWriter, r *http.Request) { s.manager.Logout(w, r) })
	s.mux.HandleFunc("/", s.page)
	return s
}

// manage lets another manager sign browsers in.
func (s *site) manage(o session.Options) {
	s.Helper()
	u, err := url.Parse(s.URL + "/signin")
	if err != nil {
		s.Fatal(err)
	}
	o.IssuerURL, o.Logger, o.Now = u, discard, s.Clock.Now
	if o.Verify == nil {
		o.Verify = s.Verifier.Verify
	}
	if o.Key == nil {
		o.Key = func(ctx context.Context) ([32]byte, error) { key, err := s.Accounts.SealKey(ctx); return key, err }
	}
	m, err := session.New(o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(m.Close)
	s.manager = m
}

// page is a page of the console, as its packages serve it.
func (s *site) page(w http.ResponseWriter, r *http.Request) {
	signedIn, found, err := s.manager.Of(w, r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !found && r.Method == http.MethodGet:
		http.Redirect(w, r, session.LoginPath+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
	case !found:
		http.Error(w, "sign in again", http.StatusUnauthorized)
	case r.Method == http.MethodPost && !s.manager.CheckCSRF(r):
		http.Error(w, "forged", http.StatusForbidden)
	case r.Method == http.MethodPost:
		s.mu.Lock()
		s.posted = append(s.posted, signedIn.User.Principal.Name())
		s.mu.Unlock()
	default:
		form := s.manager.CSRF(w, r)
		io.WriteString(w, `hello `+signedIn.User.Principal.Name()+` at `+html.EscapeString(r.URL.RequestURI())+`
<form method="post" action="/form"><input type="hidden" name="csrf" value="`+form+`"></form>
<form method="post" action="/console/logout"><input type="hidden" name="csrf" value="`+form+`"></form>`)
	}
}

// browser is a browser with cookies.
type browser struct {
	*site
	client *http.Client
	jar    *cookiejar.Jar
	hops   []string // addresses of the last page, and of those that redirected to it
}

func (s *site) browser() *browser {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	b := &browser{site: s, jar: jar}
	b.client = &http.Client{Transport: s.Client().Transport, Jar: jar, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		b.hops = append(b.hops, r.URL.String())
		if len(via) > 30 {
			s.Fatalf("the browser is redirected in circles: %v", b.hops)
		}
		return nil
	}}
	return b
}

// reply is the page at which a browser has arrived.
type reply struct {
	*http.Response
	body string
}

func (b *browser) do(method, target, body string, headers ...string) reply {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, target, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.URL)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	b.hops = []string{target}
	resp, err := b.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return reply{resp, string(text)}
}

func (b *browser) open(path string, headers ...string) reply {
	b.Helper()
	return b.do("GET", b.URL+path, "", headers...)
}

var fieldTag = regexp.MustCompile(`<input [^>]*name="([^"]*)"(?: value="([^"]*)")?`)

// submit sends the form of a page whose action ends in path.
func (b *browser) submit(page reply, path string, fields ...string) reply {
	b.Helper()
	for part := range strings.SplitSeq(page.body, "</form>") {
		_, form, found := strings.Cut(part, `<form method="post" action="`)
		action, _, _ := strings.Cut(form, `"`)
		if !found || !strings.HasSuffix(action, path) {
			continue
		}
		values := url.Values{}
		for _, field := range fieldTag.FindAllStringSubmatch(form, -1) {
			values.Set(field[1], html.UnescapeString(field[2]))
		}
		for i := 0; i < len(fields); i += 2 {
			values.Set(fields[i], fields[i+1])
		}
		target, err := page.Request.URL.Parse(action)
		if err != nil {
			b.Fatal(err)
		}
		return b.do("POST", target.String(), values.Encode())
	}
	b.Fatalf("%s has no form to %s: %s", page.Request.URL, path, page.body)
	return reply{}
}

// signIn opens a page and signs in.
func (b *browser) signIn(path, name string) reply {
	b.Helper()
	page := b.submit(b.open(path), "/login", "username", name, "password", "correct horse")
	b.wantPage(page, name, path)
	return page
}

func (b *browser) wantPage(page reply, user, path string) {
	b.Helper()
	if !strings.Contains(page.body, "hello "+user+" at "+html.EscapeString(path)) {
		b.Errorf("the browser is at %s %s %s, want %s as %s", page.Status, page.Request.URL, page.body, path, user)
	}
}

// cookies returns the cookies that the browser sends to a path.
func (b *browser) cookies(path string) map[string]string {
	b.Helper()
	all := map[string]string{}
	for _, c := range b.jar.Cookies(b.at(path)) {
		all[c.Name] = c.Value
	}
	return all
}

func (b *browser) at(path string) *url.URL {
	b.Helper()
	u, err := url.Parse(b.URL + path)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *browser) setCookie(name, value string) {
	b.jar.SetCookies(b.at("/"), []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

func (b *browser) drop(name string) {
	b.jar.SetCookies(b.at("/"), []*http.Cookie{{Name: name, Path: "/", MaxAge: -1}})
}

// grants returns the sign-ins of a user to the console.
func (s *site) grants(user string) []accounts.Grant {
	s.Helper()
	all, err := s.Accounts.Grants(s.Context(), user, s.Clock.Now())
	if err != nil {
		s.Fatal(err)
	}
	return all
}

const sessionCookie = "annals_console"
