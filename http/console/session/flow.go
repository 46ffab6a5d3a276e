package session

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"annals/events/fault"

	"golang.org/x/oauth2"
)

const (
	// flowLifetime is the maximum time from Login to Callback.
	flowLifetime = time.Hour
	// maxFlowBytes is the maximum size of the cookies of unfinished sign-ins. Beyond it, they
	// are removed before another sign-in begins.
	maxFlowBytes = 16 << 10
	// maxTo is the maximum length of the path and query to which the browser returns.
	maxTo = 8 << 10

	flowCookie  = "annals_signin_"
	machinery   = "/console/"
	defaultPage = "/"

	// maxReturns is how many sign-ins of a browser may succeed in returnsCounted, each without a
	// session afterwards. Beyond it, the browser is not redirected again.
	maxReturns     = 3
	returnsCounted = 30 * time.Second
	returnsCookie  = "annals_returns"
)

// flow is a sign-in that a browser has begun. It is kept in an encrypted cookie, whose name
// contains the beginning of the state, so that sign-ins in several tabs do not disturb each
// other.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	To       string `json:"t"`
	Begun    int64  `json:"b"` // in seconds since 1970
}

// cookieOf returns the cookie of the sign-in with a state. Only paths below machinery get it.
func cookieOf(state string) cookie {
	return cookie{name: flowCookie + state[:min(8, len(state))], path: machinery, lasts: flowLifetime}
}

// validState matches the states that Login generates.
var validState = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Login begins a sign-in: it redirects the browser to the issuer. After the sign-in the browser
// returns to the parameter to, a path with a query on this host.
func (m *Manager) Login(w http.ResponseWriter, r *http.Request) {
	to := returnTo(r.URL.Query().Get("to"))
	if m.oneHost && !m.sameHost(r) { // cookies and redirects of the issuer work only there
		redirect(w, m.public.String()+loginAt(to))
		return
	}
	keys, err := m.keys(r.Context())
	if err != nil {
		m.fail(w, r, to, err)
		return
	}
	if m.returns(keys, r) >= maxReturns && !r.URL.Query().Has("again") {
		m.show(w, http.StatusForbidden, page{
			Title: "You were signed in, but the sign-in was lost",
			Text:  "The browser has been signed in several times in a row, and each time the session did not arrive here. Allow cookies for this site, check that the clocks of browser and server agree, and try again.",
			Again: loginAt(to) + "&again=yes",
		})
		return
	}
	at, err := m.issuer.discover(m.issuer.context(r))
	if err != nil {
		m.fail(w, r, to, err)
		return
	}
	m.limitFlows(w, r)
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to, Begun: m.now().Unix()}
	c := cookieOf(f.State)
	if c.value, err = keys.seal(flowCookie, f); err == nil && !m.cookies.set(w, r, c) {
		err = errTooBig
	}
	if err != nil {
		m.fail(w, r, to, err)
		return
	}
	redirect(w, m.issuer.start(at, f))
}

// Callback ends a sign-in: the issuer has sent the browser here with a code or an error.
func (m *Manager) Callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	keys, err := m.keys(r.Context())
	if err != nil {
		m.fail(w, r, defaultPage, err)
		return
	}
	f, found := m.takeFlow(w, r, keys, q.Get("state"))
	if !found {
		if _, signedIn, err := m.Of(w, r); err == nil && signedIn { // such as after the button Back
			redirect(w, defaultPage)
			return
		}
		m.show(w, http.StatusBadRequest, page{
			Title: "This sign-in is not valid any more",
			Text:  "It took too long, was already finished, or was begun in another browser. Browsers that keep no cookies cannot sign in.",
			Again: loginAt(defaultPage),
		})
		return
	}
	ctx, cancel := context.WithTimeout(m.issuer.context(r), exchangeTimeout)
	defer cancel()
	a, err := m.finish(ctx, f, q)
	if err != nil {
		m.fail(w, r, f.To, err)
		return
	}
	before, _, err := m.read(r)
	if err == nil {
		err = m.write(w, r, a.content)
	}
	if err != nil {
		m.fail(w, r, f.To, err)
		return
	}
	m.end(ctx, before) // the new session takes its place
	m.countReturn(w, r, keys)
	m.logger.InfoContext(ctx, "a user signed in to the console", "user", a.user.Principal)
	redirect(w, f.To)
}

// finish checks the parameters with which the issuer has sent the browser back, and gets the
// tokens.
func (m *Manager) finish(ctx context.Context, f flow, q url.Values) (accepted, error) {
	at, err := m.issuer.discover(ctx)
	if err != nil {
		return accepted{}, err
	}
	switch iss := q.Get("iss"); {
	case iss != m.issuer.name && (iss != "" || at.namesIss):
		return accepted{}, fault.Errorf(fault.Unauthenticated, "the redirect comes from another issuer, %.100q", iss)
	case q.Get("error") == "access_denied":
		return accepted{}, errDenied
	case q.Get("error") != "":
		return accepted{}, fault.Errorf(fault.Unauthenticated, "the issuer refuses: %.100q, %.200q", q.Get("error"), q.Get("error_description"))
	case q.Get("code") == "":
		return accepted{}, fault.Errorf(fault.Unauthenticated, "the redirect of the issuer has no code")
	}
	token, id, err := m.issuer.exchange(ctx, at, f, q.Get("code"))
	if err != nil {
		return accepted{}, err
	}
	return m.accept(ctx, token.AccessToken, token.RefreshToken, id)
}

// takeFlow returns the sign-in with a state, and removes its cookie.
func (m *Manager) takeFlow(w http.ResponseWriter, r *http.Request, k keys, state string) (f flow, found bool) {
	if !validState.MatchString(state) {
		return f, false
	}
	c := cookieOf(state)
	text, found := m.cookies.getAt(r, c)
	m.cookies.remove(w, r, c)
	if !found || !k.open(flowCookie, text, &f) || f.State != state {
		return flow{}, false
	}
	age := m.now().Sub(time.Unix(f.Begun, 0))
	return f, age < flowLifetime && age > -time.Minute
}

// limitFlows removes the cookies of unfinished sign-ins if there are many. Otherwise a browser
// could send more bytes of headers than the server accepts.
func (m *Manager) limitFlows(w http.ResponseWriter, r *http.Request) {
	prefix := m.cookies.name(cookie{name: flowCookie, path: machinery})
	size := 0
	var all []cookie
	for _, c := range r.Cookies() {
		if state, ok := strings.CutPrefix(c.Name, prefix); ok {
			size += len(c.Name) + len(c.Value)
			all = append(all, cookieOf(state))
		}
	}
	if size > maxFlowBytes {
		for _, c := range all {
			m.cookies.remove(w, r, c)
		}
	}
}

// returns returns how many sign-ins of the browser have just succeeded.
func (m *Manager) returns(k keys, r *http.Request) int {
	var counted struct{ Count, Last int64 }
	text, found := m.cookies.getAt(r, cookie{name: returnsCookie, path: machinery})
	if !found || !k.open(returnsCookie, text, &counted) || m.now().Sub(time.Unix(counted.Last, 0)) > returnsCounted {
		return 0
	}
	return int(counted.Count)
}

func (m *Manager) countReturn(w http.ResponseWriter, r *http.Request, k keys) {
	text, err := k.seal(returnsCookie, struct{ Count, Last int }{m.returns(k, r) + 1, int(m.now().Unix())})
	if err == nil {
		m.cookies.set(w, r, cookie{name: returnsCookie, value: text, path: machinery, lasts: returnsCounted})
	}
}

// Logout signs the browser out. POST, which needs a form token, ends the session here and at
// the issuer. GET shows that nobody is signed in any more, or asks before signing out.
func (m *Manager) Logout(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if _, signedIn, err := m.read(r); err != nil {
			m.fail(w, r, defaultPage, err)
		} else if signedIn {
			m.show(w, http.StatusOK, page{Title: "Sign out?", Text: "You are still signed in.", Token: m.CSRF(w, r)})
		} else {
			m.showSignedOut(w)
		}
		return
	}
	if !m.CheckCSRF(r) {
		m.show(w, http.StatusForbidden, page{
			Title: "You are still signed in", Text: "The page was open for too long, or somebody else has signed in in this browser.", Token: m.CSRF(w, r),
		})
		return
	}
	c, found, err := m.forget(w, r)
	switch {
	case err != nil:
		m.fail(w, r, defaultPage, err)
		return
	case !found:
		m.showSignedOut(w)
		return
	}
	ctx := m.issuer.context(r)
	at, err := m.issuer.discover(ctx)
	if err != nil {
		m.logger.WarnContext(ctx, "cannot end the session of a browser at the issuer", "user", c.User, "error", err)
		m.show(w, http.StatusOK, page{Title: "You are signed out", Text: "The sign-in service cannot be reached, so you may still be signed in there.", Again: loginAt(defaultPage)})
		return
	}
	hint := c.Hint
	if c.IsID {
		hint = c.Token
	}
	switch to := m.issuer.end(at, hint, m.public.String()+LogoutPath); {
	case to == "":
		m.showSignedOut(w)
	case m.issuer.builtIn:
		redirect(w, to)
	default: // a redirect to another host would need form-action in the policy of the page with the form
		m.show(w, http.StatusOK, page{Title: "You are being signed out", Text: "You are signed out here.", Next: to})
	}
}

// Forget ends the session of the browser that sent a request, because its user has signed out
// at the issuer. It must be called before anything is written to w.
func (m *Manager) Forget(w http.ResponseWriter, r *http.Request) {
	if _, _, err := m.forget(w, r); err != nil {
		m.logger.WarnContext(r.Context(), "cannot end the session of the console", "error", err)
	}
}

// forget removes the session from the browser, and tells the issuer. It returns what the
// session contained.
func (m *Manager) forget(w http.ResponseWriter, r *http.Request) (c content, found bool, err error) {
	if c, found, err = m.read(r); err != nil {
		return c, false, err
	}
	m.cookies.remove(w, r, cookie{name: sessionCookie})
	m.cookies.remove(w, r, cookie{name: returnsCookie, path: machinery})
	if found {
		m.end(m.issuer.context(r), c)
		m.logger.InfoContext(r.Context(), "a user signed out of the console", "user", c.User)
	}
	return c, found, nil
}

func (m *Manager) showSignedOut(w http.ResponseWriter) {
	m.show(w, http.StatusOK, page{Title: "You are signed out", Again: loginAt(defaultPage)})
}

// end tells the issuer that a session has ended. If the issuer cannot be reached, its tokens
// stay valid until they expire.
func (m *Manager) end(ctx context.Context, c content) {
	if c.Refresh == "" {
		return
	}
	if err := m.issuer.revoke(ctx, c.Refresh); err != nil {
		m.logger.WarnContext(ctx, "cannot revoke the tokens of a session of the console", "user", c.User, "error", err)
	}
}

// loginAt returns the address that begins a sign-in and leads to a page afterwards.
func loginAt(to string) string { return LoginPath + "?to=" + url.QueryEscape(to) }

// returnTo returns the path and query in a parameter to. If it leads to another host, or to the
// sign-in itself, it returns defaultPage.
func returnTo(to string) string {
	if len(to) > maxTo || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, machinery) ||
		strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return defaultPage
	}
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil {
		return defaultPage
	}
	return to
}

// redirect redirects the browser to another page, which it requests with GET.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}
