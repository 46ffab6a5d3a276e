// Package login signs people in to a server and keeps their tokens on this
// machine: the client's side of OAuth, for the program's own commands. It imports
// events/fault alone.
//
// People sign in by a browser on this machine (authorization code with PKCE,
// RFC 8252), or by one anywhere (RFC 8628).
package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"annals/events/fault"
)

// Flow is how a person signs in to a server.
type Flow struct {
	Server   string   // URL of the core, as ServerURL writes it
	Issuer   string   // where to sign in; what the server says if empty
	ClientID string   // as whom the program is known there
	Resource string   // what the tokens are asked for (RFC 8707); not told if empty
	Scopes   []string // besides those of signing in

	Device bool                   // sign in by a browser elsewhere
	Open   func(url string) error // opens a browser on this machine; nil leaves that to the person

	HTTP *http.Client
	Tell func(lines ...string) // what the person is to do; a line may hold what an issuer says
}

// patience is how long a person may take to sign in.
const patience = 15 * time.Minute

// SignIn has a person sign in and returns what that gave. Where Device is not
// set and Open is nil, it waits until somebody opens the address that is told.
func (f *Flow) SignIn(ctx context.Context) (Login, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, f.HTTP)
	name := f.Issuer
	if name == "" {
		var err error
		if name, err = issuerOf(ctx, f.HTTP, f.Server); err != nil {
			return Login{}, err
		}
	}
	at, err := findIssuer(ctx, f.HTTP, name)
	if err != nil {
		return Login{}, err
	}
	config := &oauth2.Config{
		ClientID: f.ClientID, Endpoint: at.endpoint(), Scopes: append(at.scopes("openid", "offline_access"), f.Scopes...),
	}
	by := f.byBrowser
	if f.Device {
		by = f.byDevice
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	token, err := by(waiting, at, config)
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return Login{}, fault.Errorf(fault.Unauthenticated, "nobody signed in at %s in time", at.Name)
	case err != nil:
		return Login{}, fmt.Errorf("sign in at %s: %w", at.Name, plain(err))
	}
	l := Login{Issuer: at.Name, ClientID: f.ClientID, TokenURL: at.Token, RevocationURL: at.Revocation}
	return l, l.take(token)
}

// resource are the parameters that say what the tokens are for.
func (f *Flow) resource() (o []oauth2.AuthCodeOption) {
	if f.Resource != "" {
		o = append(o, oauth2.SetAuthURLParam("resource", f.Resource))
	}
	return o
}

// NewHTTPClient returns a client for what signing in asks of servers. It follows
// no redirects: they could carry secrets elsewhere.
func NewHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// plain says an error of the token endpoint in a sentence. A server that cannot
// answer now is Unavailable, one that refuses Unauthenticated.
func plain(err error) error {
	var r *oauth2.RetrieveError
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case r.Response.StatusCode >= http.StatusInternalServerError || r.Response.StatusCode == http.StatusTooManyRequests:
		return fault.Errorf(fault.Unavailable, "it answers %s", r.Response.Status)
	case r.ErrorCode == "access_denied":
		return fault.Errorf(fault.Unauthenticated, "the sign-in was denied")
	case r.ErrorCode == "":
		return fmt.Errorf("it answers %s", r.Response.Status)
	}
	return fault.Errorf(fault.Unauthenticated, "it refuses: %s", describe(r.ErrorCode, r.ErrorDescription))
}

// describe quotes what an issuer says of an error: it may hold anything.
func describe(code, description string) string {
	if description == "" {
		return fmt.Sprintf("%q", code)
	}
	return fmt.Sprintf("%q, %q", code, description)
}
