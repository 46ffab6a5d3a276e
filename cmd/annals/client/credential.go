package client

import (
	"context"
	"net/http"
	"sync"
	"time"

	"annals/cmd/annals/login"
	"annals/cmd/annals/terminal"
)

// Credential authorizes requests.
type Credential struct {
	Token TokenSource
	Name  string // for errors, such as "the token given by --token"
	Help  string // what to do if a server rejects it
}

// TokenSource returns a token. If refused is not "", it is a token that the server has
// rejected, and the source returns another one if it can. It may be called from several
// goroutines.
type TokenSource func(ctx context.Context, refused string) (string, error)

// FixedToken returns a source that always returns the same token.
func FixedToken(token string) TokenSource {
	return func(context.Context, string) (string, error) { return token, nil }
}

// IssuedTokens returns a source that caches a token from issue. It issues the next one
// ten minutes before the token expires, so that a slow upload does not outlive its token.
func IssuedTokens(issue func(context.Context) (token string, expires time.Time, err error)) TokenSource {
	const ahead = 10 * time.Minute
	var mu sync.Mutex
	var token string
	var expires time.Time
	return func(ctx context.Context, refused string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if token == refused || time.Until(expires) < ahead {
			var err error
			if token, expires, err = issue(ctx); err != nil {
				return "", err
			}
		}
		return token, nil
	}
}

// SignedIn returns the credential that annals login stored for a server on this machine,
// if there is one. server is the URL of the core.
func SignedIn(server string) (_ Credential, found bool, err error) {
	if server, err = login.ServerURL(server); err != nil {
		return Credential{}, false, err
	}
	store, err := login.UserStore()
	if err != nil {
		return Credential{}, false, nil // a user without a home directory has not signed in
	}
	kept, found, err := store.Get(server)
	if err != nil || !found {
		return Credential{}, false, err
	}
	source := &login.Source{Store: store, Server: server, HTTP: NewSignInClient()}
	return Credential{
		Token: source.Token,
		Name:  "the sign-in as " + terminal.Printable(kept.User), Help: "sign in again with annals login --server " + server,
	}, true, nil
}

// NewSignInClient returns an HTTP client for requests to issuers.
func NewSignInClient() *http.Client { return login.NewHTTPClient(NewHTTPClient(1).Transport) }
