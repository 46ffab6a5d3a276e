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
	Name  string // such as "the token given by --token"
	Help  string // what to do if a server does not accept it
}

// TokenSource returns a token. refused is a token that the server refused, or "" in the
// first call; the source returns another one if it can. It may be called from several
// goroutines.
type TokenSource func(ctx context.Context, refused string) (string, error)

// FixedToken returns a source of one token that cannot be renewed.
func FixedToken(token string) TokenSource {
	return func(context.Context, string) (string, error) { return token, nil }
}

// IssuedTokens returns a source that caches a token from issue. It requests the next
// one ten minutes before that expires, because an upload may be slow.
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

// SignedIn returns the sign-in to a server that annals login stored on this machine, if
// there is one. server is the URL of the core.
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
		Name:  "the sign-in as " + terminal.Printable(kept.User), Help: "sign in again by annals login --server " + server,
	}, true, nil
}

// NewSignInClient returns a client for requests to issuers.
func NewSignInClient() *http.Client { return login.NewHTTPClient(NewHTTPClient(1).Transport) }
