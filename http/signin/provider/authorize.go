package provider

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
	"annals/http/signin/provider/throttle"
)

// visitLimits bound how often an address may have clients' pages fetched.
var visitLimits = throttle.Limits{Free: 300, First: time.Second, Longest: time.Second, Quiet: time.Minute}

const (
	maxQuery = 8 << 10 // bytes of an authorization request
	maxNonce = 256
)

// authorization is a valid request for a code (RFC 6749 §4.1.1).
type authorization struct {
	query     string // as it came
	client    clients.Client
	redirect  string
	state     string
	challenge string
	audience  string
	scope     string
	nonce     string
	prompt    []string
	maxAge    time.Duration // since the password was given; negative if it does not matter
}

// grant returns the grant that the request asks for, without its user.
func (a *authorization) grant() accounts.Grant {
	return accounts.Grant{
		Client: a.client.ID, Name: a.client.Title(), Audience: a.audience, Scope: a.scope,
		Redirect: a.redirect, Challenge: a.challenge, Nonce: a.nonce,
	}
}

// parseAuthorization parses and checks a request for a code. If it returns both a request and
// an error, the error may be sent to the client by a redirect. Without a request the redirect
// address is not known to be the client's, so the error is shown to the user.
func (p *Provider) parseAuthorization(r *http.Request, query string) (*authorization, error) {
	if wait := p.visits.Take(p.address(r)); wait > 0 {
		return nil, &problem{status: http.StatusTooManyRequests, wait: wait, text: "There were too many requests. Try again in a minute."}
	}
	if len(query) > maxQuery {
		return nil, oauth.Errorf("invalid_request", "it is too long")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, oauth.Errorf("invalid_request", "it is not a URL query")
	}
	q := oauth.Params{Values: values}
	if len(q.Values["client_id"]) != 1 || len(q.Values["redirect_uri"]) != 1 {
		return nil, oauth.Errorf("invalid_request", "client_id and redirect_uri must be given once each")
	}
	c, err := p.client(r.Context(), q.Get("client_id"))
	if err != nil {
		return nil, err
	}
	switch known := c.MayRedirectTo(q.Get("redirect_uri")); {
	case !known && c.Unchecked:
		return nil, oauth.Errorf("invalid_request", "its page cannot be read at the moment, and nothing else says that its redirect_uri is its own")
	case !known:
		return nil, oauth.Errorf("invalid_request", "its redirect_uri is not one of those that it registered")
	}
	a := &authorization{query: query, client: c, redirect: q.Get("redirect_uri"), maxAge: -1}
	if len(q.Values["state"]) == 1 {
		a.state = q.Get("state")
	}
	return a, p.parseParams(a, q)
}

// parseParams reads the rest of a request from a known client.
func (p *Provider) parseParams(a *authorization, q oauth.Params) (err error) {
	if err := q.Check(); err != nil {
		return err
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(q.Get("code_challenge"))
	switch {
	case q.Get("request") != "":
		return oauth.Errorf("request_not_supported", "requests are not taken as JWTs")
	case q.Get("request_uri") != "":
		return oauth.Errorf("request_uri_not_supported", "requests are not fetched")
	case q.Get("response_type") == "":
		return oauth.Errorf("invalid_request", "response_type is missing")
	case q.Get("response_type") != "code":
		return oauth.Errorf("unsupported_response_type", "response_type must be code")
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return oauth.Errorf("invalid_request", "response_mode must be query")
	case q.Get("code_challenge_method") != "S256":
		return oauth.Errorf("invalid_request", "code_challenge_method must be S256")
	case err != nil || len(challenge) != 32:
		return oauth.Errorf("invalid_request", "code_challenge must be the SHA-256 of a code_verifier in base64url")
	case len(q.Get("nonce")) > maxNonce:
		return oauth.Errorf("invalid_request", "nonce has more than %d bytes", maxNonce)
	}
	a.challenge, a.nonce, a.prompt = q.Get("code_challenge"), q.Get("nonce"), strings.Fields(q.Get("prompt"))
	if slices.Contains(a.prompt, "none") && len(a.prompt) > 1 {
		return oauth.Errorf("invalid_request", "prompt cannot be none and something else")
	}
	if text := q.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return oauth.Errorf("invalid_request", "max_age must be a number of seconds")
		}
		a.maxAge = time.Duration(seconds) * time.Second
	}
	a.scope = grantedScope(q.Get("scope"))
	a.audience, err = p.audienceFor(q.List("resource"))
	return err
}

// grantedScope returns the part of a requested scope that is granted. Unknown scopes are
// ignored (RFC 6749 §3.3).
func grantedScope(asked string) string {
	if slices.Contains(strings.Fields(asked), scopeOpenID) {
		return scopeOpenID
	}
	return ""
}

// authorize is the authorization endpoint.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request, v visitor) error {
	a, err := p.parseAuthorization(r, r.URL.RawQuery)
	if err != nil {
		return p.rejectAuthorization(w, r, v, a, err)
	}
	silent := slices.Contains(a.prompt, "none")
	again := slices.Contains(a.prompt, "login") || slices.Contains(a.prompt, "select_account") ||
		a.maxAge >= 0 && p.now().Sub(v.authenticated) > a.maxAge
	if !v.signedIn() || again {
		if silent {
			return p.rejectAuthorization(w, r, v, a, oauth.Errorf("login_required", "nobody is signed in"))
		}
		return p.requireLogin(w, v, a)
	}
	known, err := p.consented(r.Context(), v.user, a)
	switch {
	case err != nil:
		return err
	case known && !slices.Contains(a.prompt, "consent"):
		return p.issueCode(w, r, v, a)
	case silent:
		return p.rejectAuthorization(w, r, v, a, oauth.Errorf("consent_required", "the user has not allowed this yet"))
	}
	return p.showConsent(w, v, a)
}

// authorizeByForm redirects a request that was sent as a form (OpenID Connect Core §3.1.2.1)
// to authorize.
func (p *Provider) authorizeByForm(w http.ResponseWriter, r *http.Request, _ visitor) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxQuery)
	if err := r.ParseForm(); err != nil {
		return problemf(http.StatusBadRequest, "The program that sent you here sent a form that cannot be read.")
	}
	redirect(w, p.pathTo("/authorize?"+r.PostForm.Encode()))
	return nil
}

// requireLogin shows the sign-in page; authorization continues after it.
func (p *Provider) requireLogin(w http.ResponseWriter, v visitor, a *authorization) error {
	return p.showLogin(w, v, loginForm{Next: step{"authorize", a.query}, Client: a.client.Title()}, clients.FormTarget(a.redirect))
}

// rejectAuthorization reports to the client why it gets no code. Anyone may register a client
// and send users here with a request that is bound to fail, so the browser is redirected only
// to addresses that some user has allowed before; otherwise the user sees an error page with a
// link (RFC 9700 §4.11.2).
func (p *Provider) rejectAuthorization(w http.ResponseWriter, r *http.Request, v visitor, a *authorization, err error) error {
	if a == nil {
		return err
	}
	why := p.oauthError(r.Context(), err)
	allowed, err := p.everConsented(r.Context(), a)
	switch {
	case err != nil:
		return err
	case allowed:
		redirect(w, p.errorURL(a, why))
		return nil
	}
	return p.show(w, v, "error.html", view{
		Title: "This did not work", Problem: problemOf(why).text, Content: returnLink{p.errorURL(a, why), clients.RedirectHost(a.redirect)}, status: why.Status,
	})
}

// returnLink is the link back to the client on an error page.
type returnLink struct{ URL, Host string }

func (p *Provider) errorURL(a *authorization, why *oauth.Error) string {
	return p.callbackURL(a, url.Values{"error": {why.Code}, "error_description": {why.Description}})
}

// callbackURL returns the redirect address with a response. It names the issuer, so that a
// client of several issuers can tell their responses apart (RFC 9207).
func (p *Provider) callbackURL(a *authorization, answer url.Values) string {
	answer.Set("iss", p.issuer.URL())
	if a.state != "" {
		answer.Set("state", a.state)
	}
	return clients.WithParams(a.redirect, answer)
}

// issueCode redirects the browser to the client with a code.
func (p *Provider) issueCode(w http.ResponseWriter, r *http.Request, v visitor, a *authorization) error {
	g := a.grant()
	g.User = v.user
	code, err := p.accounts.AddCode(r.Context(), v.cookie, g, p.now())
	switch {
	case err != nil:
		return err
	case code == "": // the session ended at this moment
		return p.requireLogin(w, visitor{cookie: v.cookie}, a)
	}
	p.logger.InfoContext(r.Context(), "signed in to a program", "user", v.user, "client", a.client.ID, "audience", a.audience)
	p.report(r, accounts.Event{Kind: accounts.ProgramAllowed, User: v.user, Client: a.client.ID})
	redirect(w, p.callbackURL(a, url.Values{"code": {code}}))
	return nil
}
