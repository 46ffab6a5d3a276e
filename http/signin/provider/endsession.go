package provider

import (
	"context"
	"net/http"
	"net/url"

	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

// maxEndSession is the maximum length of a request to sign out, which contains an ID token.
const maxEndSession = signin.MaxToken + 4<<10

// consoleSignedOut is the path of the console to which a browser returns after signing out.
const consoleSignedOut = "/console/logout"

// signingOut is a request of a program to sign the user out (OpenID Connect RP-Initiated
// Logout).
type signingOut struct {
	query  string         // query string of the request, not decoded
	hint   signin.IDToken // what the program's ID token says; the zero value if it sent no valid one
	client string         // id of the program; "" if unknown
	after  string         // path to which the browser returns; "" if it stays here
}

// parseEndSession parses and checks a request to sign out. Of all programs only the console has
// a registered address to which the browser may return.
func (p *Provider) parseEndSession(ctx context.Context, query string) (s signingOut, err error) {
	values, err := url.ParseQuery(query)
	if err != nil || len(query) > maxEndSession {
		return s, oauth.Errorf("invalid_request", "the request is not a valid URL query of up to %d bytes", maxEndSession)
	}
	q := oauth.Params{Values: values}
	if err := q.Check(); err != nil {
		return s, err
	}
	s = signingOut{query: query, client: q.Get("client_id")}
	if hint := q.Get("id_token_hint"); hint != "" {
		if s.hint, err = p.issuer.ReadIDToken(ctx, hint); err != nil {
			return s, err
		}
		if s.client != "" && s.hint.Client != "" && s.hint.Client != s.client {
			return s, oauth.Errorf("invalid_request", "client_id is not the client of id_token_hint")
		}
		if s.client == "" {
			s.client = s.hint.Client
		}
	}
	if after := q.Get("post_logout_redirect_uri"); s.client == clients.ConsoleID && after == p.consoleHost+consoleSignedOut {
		response := url.Values{}
		if state := q.Get("state"); state != "" {
			response.Set("state", state)
		}
		if s.after = consoleSignedOut; len(response) > 0 {
			s.after = clients.WithParams(s.after, response)
		}
	}
	return s, nil
}

// endSession signs the user out in this browser because a program asks for it. The user has to
// confirm this, unless the program proves with an ID token that the user is signed in to it.
// Otherwise any web page could sign users out.
func (p *Provider) endSession(w http.ResponseWriter, r *http.Request, v visitor) error {
	s, err := p.parseEndSession(r.Context(), r.URL.RawQuery)
	switch {
	case err != nil:
		return err
	case v.signedIn() && s.hint.User != v.user:
		return p.show(w, v, "endsession.html", view{Title: "Sign out?", Content: s.query})
	}
	return p.finishEndSession(w, r, v, s)
}

// endSessionByForm handles a request to sign out that was sent as a form. Forms of other sites
// come without the session cookie, so it redirects the browser to endSession.
func (p *Provider) endSessionByForm(w http.ResponseWriter, r *http.Request, _ visitor) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxEndSession)
	if err := r.ParseForm(); err != nil {
		return problemf(http.StatusBadRequest, "The program that sent you here made an invalid request to sign you out.")
	}
	redirect(w, p.pathTo("/end_session?"+r.PostForm.Encode()))
	return nil
}

// confirmEndSession handles the form with which the user confirms endSession.
func (p *Provider) confirmEndSession(w http.ResponseWriter, r *http.Request, v visitor) error {
	s, err := p.parseEndSession(r.Context(), r.PostForm.Get("query"))
	if err != nil {
		return err
	}
	return p.finishEndSession(w, r, v, s)
}

// finishEndSession ends the session in this browser, and the grant of the program.
func (p *Provider) finishEndSession(w http.ResponseWriter, r *http.Request, v visitor, s signingOut) error {
	if err := p.signOut(w, r, v, false); err != nil {
		return err
	}
	if v.signedIn() && s.hint.User == v.user {
		client, err := p.accounts.EndGrantOf(r.Context(), v.user, s.hint.Grant)
		if err != nil {
			return err
		}
		if client != "" {
			p.report(r, accounts.Event{Kind: accounts.ProgramEnded, User: v.user, Client: client})
		}
	}
	if s.after != "" {
		redirect(w, s.after)
		return nil
	}
	if p.signedOut != nil {
		p.signedOut(w, r)
	}
	return p.show(w, visitor{}, "endsession.html", view{Title: "You are signed out"})
}
