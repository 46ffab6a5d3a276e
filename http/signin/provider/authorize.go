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

// visitLimits limits the authorization requests from an address. Each of them may fetch a
// client's metadata page.
var visitLimits = throttle.Limits{Free: 300, First: time.Second, Longest: time.Second, Quiet: time.Minute}

const (
	maxQuery = 8 << 10 // maximum length of an authorization request in bytes
	maxNonce = 256
)

// authorization is a valid authorization request (RFC 6749 §4.1.1).
type authorization struct {
	query     string // query string of the request, not decoded
	client    clients.Client
	redirect  string
	state     string
	challenge string
	audience  string
	scope     string
	nonce     string
	prompt    []string
	maxAge    time.Duration // maximum time since the user signed in; negative if there is none
}

// grant returns the grant that the client requests. Its user is not set.
func (a *authorization) grant() accounts.Grant {
	return accounts.Grant{
		Client: a.client.ID, Name: a.client.Title(), Audience: a.audience, Scope: a.scope,
		Redirect: a.redirect, Challenge: a.challenge, Nonce: a.nonce,
	}
}

// shown returns the title of the client on the pages of the sign-in, and the origins to which
// their forms may redirect (form-action of the Content-Security-Policy). Both are "" for the
// console, which is on the same host.
func (a *authorization) shown() (title, formTargets string) {
	if a.client.FirstParty {
		return "", ""
	}
	return a.client.Title(), clients.FormTarget(a.redirect)
}

// parseAuthorization parses and checks an authorization request. If it returns both a request
// and an error, the error may be sent to the client's redirect address. If it returns only an
// error, the redirect address may not belong to the client, so the error must be shown to the
// user instead.
func (p *Provider) parseAuthorization(r *http.Request, query string) (*authorization, error) {
	if wait := p.visits.Take(p.Address(r)); wait > 0 {
		return nil, &problem{status: http.StatusTooManyRequests, wait: wait, text: "There were too many requests. Try again in a minute."}
	}
	if len(query) > maxQuery {
		return nil, oauth.Errorf("invalid_request", "the request has more than %d bytes", maxQuery)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, oauth.Errorf("invalid_request", "the request is not a valid URL query")
	}
	q := oauth.Params{Values: values}
	if len(q.Values["client_id"]) != 1 || len(q.Values["redirect_uri"]) != 1 {
		return nil, oauth.Errorf("invalid_request", "client_id and redirect_uri must each be given exactly once")
	}
	c, err := p.client(r.Context(), q.Get("client_id"))
	if err != nil {
		return nil, err
	}
	switch allowed := c.MayRedirectTo(q.Get("redirect_uri")); {
	case !allowed && c.Unchecked:
		return nil, oauth.Errorf("invalid_request", "redirect_uri cannot be checked, because the client's page cannot be read at the moment")
	case !allowed:
		return nil, oauth.Errorf("invalid_request", "redirect_uri is not one that the client registered")
	}
	a := &authorization{query: query, client: c, redirect: q.Get("redirect_uri"), maxAge: -1}
	if len(q.Values["state"]) == 1 {
		a.state = q.Get("state")
	}
	return a, p.parseParams(a, q)
}

// parseParams parses all parameters except client_id, redirect_uri and state into a.
func (p *Provider) parseParams(a *authorization, q oauth.Params) (err error) {
	if err := q.Check(); err != nil {
		return err
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(q.Get("code_challenge"))
	switch {
	case q.Get("request") != "":
		return oauth.Errorf("request_not_supported", "requests in JWTs are not supported")
	case q.Get("request_uri") != "":
		return oauth.Errorf("request_uri_not_supported", "requests at a request_uri are not supported")
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
		return oauth.Errorf("invalid_request", "prompt cannot combine none with other values")
	}
	if text := q.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return oauth.Errorf("invalid_request", "max_age must be a whole number of seconds")
		}
		a.maxAge = time.Duration(seconds) * time.Second
	}
	a.scope = grantedScope(q.Get("scope"))
	a.audience, err = p.audienceFor(q.List("resource"))
	return err
}

// grantedScope returns the part of the requested scope that the client gets. Unknown scopes
// are ignored (RFC 6749 §3.3).
func grantedScope(requested string) string {
	if slices.Contains(strings.Fields(requested), scopeOpenID) {
		return scopeOpenID
	}
	return ""
}

// authorize handles an authorization request.
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
			return p.rejectAuthorization(w, r, v, a, oauth.Errorf("login_required", "the user is not signed in"))
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
		return p.rejectAuthorization(w, r, v, a, oauth.Errorf("consent_required", "the user has not given consent yet"))
	}
	return p.showConsent(w, v, a)
}

// authorizeByForm handles an authorization request that was sent as a form (OpenID Connect
// Core §3.1.2.1). It redirects the browser to authorize.
func (p *Provider) authorizeByForm(w http.ResponseWriter, r *http.Request, _ visitor) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxQuery)
	if err := r.ParseForm(); err != nil {
		return problemf(http.StatusBadRequest, "The program that sent you here made an invalid sign-in request. Go back and try again.")
	}
	redirect(w, p.pathTo("/authorize?"+r.PostForm.Encode()))
	return nil
}

// requireLogin shows the sign-in page. After the sign-in the browser continues with the
// authorization request.
func (p *Provider) requireLogin(w http.ResponseWriter, v visitor, a *authorization) error {
	title, formTargets := a.shown()
	return p.showLogin(w, v, loginForm{Next: step{"authorize", a.query}, Client: title}, formTargets)
}

// rejectAuthorization reports to the client why it gets no code. If a user has allowed the
// redirect address before, it redirects the browser there. Otherwise it shows an error page
// with a link to the address (RFC 9700 §4.11.2). If it always redirected, anyone could
// register a client and lure users from this host to any site by an invalid request.
func (p *Provider) rejectAuthorization(w http.ResponseWriter, r *http.Request, v visitor, a *authorization, err error) error {
	if a == nil {
		return err
	}
	rejection := p.oauthError(r.Context(), err)
	allowed, err := p.everConsented(r.Context(), a)
	switch {
	case err != nil:
		return err
	case allowed:
		redirect(w, p.errorURL(a, rejection))
		return nil
	}
	return p.show(w, v, "error.html", view{
		Title: "This did not work", Problem: problemOf(rejection).text, status: rejection.Status,
		Content: returnLink{p.errorURL(a, rejection), clients.RedirectHost(a.redirect)},
	})
}

// returnLink is the link to the client's redirect address on an error page.
type returnLink struct{ URL, Host string }

func (p *Provider) errorURL(a *authorization, e *oauth.Error) string {
	return p.callbackURL(a, url.Values{"error": {e.Code}, "error_description": {e.Description}})
}

// callbackURL returns the redirect address with the parameters of a response. It adds the
// parameter iss with the issuer's URL, so that a client of several issuers can distinguish
// their responses (RFC 9207).
func (p *Provider) callbackURL(a *authorization, response url.Values) string {
	response.Set("iss", p.issuer.URL())
	if a.state != "" {
		response.Set("state", a.state)
	}
	if a.client.FirstParty {
		return clients.WithParams(pathOf(a.redirect), response)
	}
	return clients.WithParams(a.redirect, response)
}

// pathOf returns the path of a URL. A browser that is redirected to it stays on its host.
func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		panic(err) // unreachable, because only addresses of the console are passed
	}
	return u.EscapedPath()
}

// issueCode redirects the browser to the client with an authorization code.
func (p *Provider) issueCode(w http.ResponseWriter, r *http.Request, v visitor, a *authorization) error {
	g := a.grant()
	g.User = v.user
	code, err := p.accounts.AddCode(r.Context(), v.cookie, g, p.now())
	switch {
	case err != nil:
		return err
	case code == "": // the session ended meanwhile
		return p.requireLogin(w, visitor{cookie: v.cookie}, a)
	}
	p.logger.InfoContext(r.Context(), "a user signed in to a program", "user", v.user, "client", a.client.ID, "audience", a.audience)
	p.report(r, accounts.Event{Kind: accounts.ProgramAllowed, User: v.user, Client: a.client.ID})
	redirect(w, p.callbackURL(a, url.Values{"code": {code}}))
	return nil
}
