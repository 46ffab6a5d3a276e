package signin

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// visitLimits bound how often an address may have programs' pages looked up.
var visitLimits = limits{free: 300, first: time.Second, longest: time.Second, quiet: time.Minute}

const (
	maxQuery = 8 << 10 // bytes of an authorization request
	maxNonce = 256
)

// authorization is a request for a code (RFC 6749 §4.1.1) that was checked.
type authorization struct {
	query     string // as it came
	client    client
	redirect  string
	state     string
	challenge string
	audience  string
	scope     string
	nonce     string
	prompt    []string
	maxAge    time.Duration // since the password was given; negative if it does not matter
}

// readAuthorization reads a request for a code. Where the error is a refusal and
// the request is not nil, the program is to be told by a redirect; otherwise it
// is for the eyes of whoever sits at the browser, since nobody can say whose the
// address is to which the redirect would go.
func (p *Provider) readAuthorization(r *http.Request, query string) (*authorization, error) {
	if wait := p.visits.take(p.address(r)); wait > 0 {
		return nil, &problem{status: http.StatusTooManyRequests, wait: wait, text: "There were too many requests. Try again in a minute."}
	}
	if len(query) > maxQuery {
		return nil, refused("invalid_request", "it is too long")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, refused("invalid_request", "it is no query of a URL")
	}
	q := params{values}
	if len(q.Values["client_id"]) != 1 || len(q.Values["redirect_uri"]) != 1 {
		return nil, refused("invalid_request", "client_id and redirect_uri must be given once each")
	}
	c, err := p.client(r.Context(), q.Get("client_id"))
	if err != nil {
		return nil, err
	}
	switch known := c.redirects(q.Get("redirect_uri")); {
	case !known && c.unchecked:
		return nil, refused("invalid_request", "its page cannot be read at the moment, and nothing else says that its redirect_uri is its own")
	case !known:
		return nil, refused("invalid_request", "its redirect_uri is not one of those that it registered")
	}
	a := &authorization{query: query, client: c, redirect: q.Get("redirect_uri"), maxAge: -1}
	if len(q.Values["state"]) == 1 {
		a.state = q.Get("state")
	}
	return a, p.check(a, q)
}

// check reads the rest of a request from a known program.
func (p *Provider) check(a *authorization, q params) (err error) {
	if err := q.check(); err != nil {
		return err
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(q.Get("code_challenge"))
	switch {
	case q.Get("request") != "":
		return refused("request_not_supported", "requests are not taken as JWTs")
	case q.Get("request_uri") != "":
		return refused("request_uri_not_supported", "requests are not fetched")
	case q.Get("response_type") == "":
		return refused("invalid_request", "response_type is missing")
	case q.Get("response_type") != "code":
		return refused("unsupported_response_type", "response_type must be code")
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return refused("invalid_request", "response_mode must be query")
	case q.Get("code_challenge_method") != "S256":
		return refused("invalid_request", "code_challenge_method must be S256")
	case err != nil || len(challenge) != 32:
		return refused("invalid_request", "code_challenge must be the SHA-256 of a code_verifier in base64url")
	case len(q.Get("nonce")) > maxNonce:
		return refused("invalid_request", "nonce has more than %d bytes", maxNonce)
	}
	a.challenge, a.nonce, a.prompt = q.Get("code_challenge"), q.Get("nonce"), strings.Fields(q.Get("prompt"))
	if slices.Contains(a.prompt, "none") && len(a.prompt) > 1 {
		return refused("invalid_request", "prompt cannot be none and something else")
	}
	if text := q.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return refused("invalid_request", "max_age must be a number of seconds")
		}
		a.maxAge = time.Duration(seconds) * time.Second
	}
	a.scope = grantedScope(q.Get("scope"))
	a.audience, err = p.audienceFor(q.list("resource"))
	return err
}

// grantedScope returns what is granted of a scope that was asked for; what is
// not known is passed over (RFC 6749 §3.3).
func grantedScope(asked string) string {
	if slices.Contains(strings.Fields(asked), scopeOpenID) {
		return scopeOpenID
	}
	return ""
}

// authorize is where programs send people to sign in to them.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request, v visitor) error {
	a, err := p.readAuthorization(r, r.URL.RawQuery)
	if err != nil {
		return p.refuse(w, r, v, a, err)
	}
	silent := slices.Contains(a.prompt, "none")
	again := slices.Contains(a.prompt, "login") || slices.Contains(a.prompt, "select_account") ||
		a.maxAge >= 0 && p.now().Sub(v.authenticated) > a.maxAge
	if !v.signedIn() || again {
		if silent {
			return p.refuse(w, r, v, a, refused("login_required", "nobody is signed in"))
		}
		return p.askLogin(w, v, a)
	}
	known, err := p.accounts.consented(r.Context(), v.user, a, p.now())
	switch {
	case err != nil:
		return err
	case known && !slices.Contains(a.prompt, "consent"):
		return p.giveCode(w, r, v, a)
	case silent:
		return p.refuse(w, r, v, a, refused("consent_required", "the user has not allowed this yet"))
	}
	return p.showConsent(w, v, a)
}

// authorizeByForm takes a request that a form brings (OpenID Connect Core §3.1.2.1)
// to where the others are.
func (p *Provider) authorizeByForm(w http.ResponseWriter, r *http.Request, _ visitor) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxQuery)
	if err := r.ParseForm(); err != nil {
		return problemf(http.StatusBadRequest, "The program that sent you here sent a form that cannot be read.")
	}
	redirect(w, p.here("/authorize?"+r.PostForm.Encode()))
	return nil
}

// askLogin shows the sign-in page on the way to a program.
func (p *Provider) askLogin(w http.ResponseWriter, v visitor, a *authorization) error {
	return p.showLogin(w, v, loginForm{Next: step{"authorize", a.query}, Client: a.client.title()}, formTarget(a.redirect))
}

// refuse tells a program why it gets no code, or whoever sits at the browser
// where the program is not known. Everyone may register a place and send people
// here with a request that is refused; so they are not led on without a word to
// one that nobody here has allowed (RFC 9700 §4.11.2).
func (p *Provider) refuse(w http.ResponseWriter, r *http.Request, v visitor, a *authorization, err error) error {
	if a == nil {
		return err
	}
	why := p.refusalOf(r.Context(), err)
	allowed, err := p.accounts.everConsented(r.Context(), a)
	switch {
	case err != nil:
		return err
	case allowed:
		redirect(w, p.refusalURL(a, why))
		return nil
	}
	return p.show(w, v, "error.html", view{
		Title: "This did not work", Problem: problemOf(why).text, Content: wayBack{p.refusalURL(a, why), redirectHost(a.redirect)}, status: why.status,
	})
}

// wayBack leads to the program that an error page is about.
type wayBack struct{ URL, Host string }

func (p *Provider) refusalURL(a *authorization, why *refusal) string {
	return p.callbackURL(a, url.Values{"error": {why.Code}, "error_description": {why.Description}})
}

// callbackURL returns the address by which the browser brings the program an answer.
// Naming the issuer keeps a program that knows several from taking one's answer
// for another's (RFC 9207).
func (p *Provider) callbackURL(a *authorization, answer url.Values) string {
	answer.Set("iss", p.issuer.url)
	if a.state != "" {
		answer.Set("state", a.state)
	}
	return withParams(a.redirect, answer)
}

// giveCode sends the browser back with a code.
func (p *Provider) giveCode(w http.ResponseWriter, r *http.Request, v visitor, a *authorization) error {
	code, err := p.accounts.addCode(r.Context(), v, a, p.now())
	switch {
	case err != nil:
		return err
	case code == "": // the session ended at this moment
		return p.askLogin(w, visitor{cookie: v.cookie}, a)
	}
	p.logger.InfoContext(r.Context(), "signed in to a program", "user", v.user, "client", a.client.ID, "audience", a.audience)
	p.report(r, Event{Kind: ProgramAllowed, User: v.user, Client: a.client.ID})
	redirect(w, p.callbackURL(a, url.Values{"code": {code}}))
	return nil
}
