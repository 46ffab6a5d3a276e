// Package login signs people in to a server and stores their tokens on this machine. It
// is the OAuth client of the commands. It may import events/fault and no other package
// of this module.
//
// A person signs in with a browser on this machine (authorization code with PKCE, RFC
// 8252), or with a browser on another device (device authorization grant, RFC 8628).
package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"annals/events/fault"

	"golang.org/x/oauth2"
)

// Flow has the settings for signing in one time.
type Flow struct {
	Server   string   // URL of the service at /core, as returned by ServerURL
	Issuer   string   // URL of the issuer; default: the one in the metadata of the server
	ClientID string   // id of this program at the issuer
	Resource string   // resource for which tokens are requested (RFC 8707); "" for none
	Scopes   []string // requested in addition to openid and offline_access

	Device bool                   // sign in with a browser on another device
	Open   func(url string) error // opens a URL in a browser on this machine; if nil, the person has to open the printed URL

	HTTP  *http.Client
	Print func(lines ...string) // prints instructions; lines may contain text from the issuer
}

// signInTimeout is the maximum time for a person to sign in.
const signInTimeout = 15 * time.Minute

// SignIn lets a person sign in within signInTimeout, and returns the tokens.
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
	waiting, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	token, err := by(waiting, at, config)
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return Login{}, fault.Errorf(fault.Unauthenticated, "nobody signed in with %s within %d minutes: try again", at.Name, int(signInTimeout.Minutes()))
	case err != nil:
		return Login{}, fmt.Errorf("sign in with %s: %w", at.Name, plain(err))
	}
	l := Login{Issuer: at.Name, ClientID: f.ClientID, TokenURL: at.Token, RevocationURL: at.Revocation}
	return l, l.take(token)
}

// resource returns the resource parameter of requests, or nothing if no resource is
// set.
func (f *Flow) resource() (o []oauth2.AuthCodeOption) {
	if f.Resource != "" {
		o = append(o, oauth2.SetAuthURLParam("resource", f.Resource))
	}
	return o
}

// NewHTTPClient returns a client for requests to issuers. It does not follow redirects,
// because a redirect could send secrets to another server.
func NewHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// plain converts an error of the token endpoint to a readable one. The kind of the
// error is Unavailable if the issuer cannot respond now, and Unauthenticated if it
// rejects the request.
func plain(err error) error {
	var r *oauth2.RetrieveError
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case r.Response.StatusCode >= http.StatusInternalServerError || r.Response.StatusCode == http.StatusTooManyRequests:
		return fault.Errorf(fault.Unavailable, "the issuer responds %s", r.Response.Status)
	case r.ErrorCode == "access_denied":
		return fault.Errorf(fault.Unauthenticated, "the sign-in was denied")
	case r.ErrorCode == "":
		return fmt.Errorf("the issuer responds %s", r.Response.Status)
	}
	return fault.Errorf(fault.Unauthenticated, "the issuer refuses: %s", describe(r.ErrorCode, r.ErrorDescription))
}

// describe returns the error code and description of an issuer in quotes, because they
// may contain control characters.
func describe(code, description string) string {
	if description == "" {
		return fmt.Sprintf("%q", code)
	}
	return fmt.Sprintf("%q, %q", code, description)
}
