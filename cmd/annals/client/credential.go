package client

import (
	"context"
	"net/http"
	"sync"
	"time"

	"annals/cmd/annals/login"
	"annals/cmd/annals/terminal"
)

// Credential is a source of tokens, with texts for errors about them.
type Credential struct {
	Token TokenSource
	Name  string // name of the credential in errors, such as "the token given by --token"
	Help  string // what to do if a server rejects the token
}

// TokenSource returns a token. If the server has rejected a token, refused is that
// token, and the source returns another one if it can; otherwise refused is "". A
// TokenSource may be called from several goroutines.
type TokenSource func(ctx context.Context, refused string) (string, error)

// FixedToken returns a source that always returns the same token.
func FixedToken(token string) TokenSource {
	return func(context.Context, string) (string, error) { return token, nil }
}

// IssuedTokens returns a source that gets tokens from issue and caches them. It calls
// issue again ten minutes before the cached token expires, so that a token does not
// expire during a slow upload.
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

// SignedIn returns the credential that the command annals login stored on this machine
// for the server. server is the URL of the core. found is false if none is stored.
func SignedIn(server string) (_ Credential, found bool, err error) {
	if server, err = login.ServerURL(server); err != nil {
		return Credential{}, false, err
	}
	store, err := login.UserStore()
	if err != nil {
		return Credential{}, false, nil // without a home directory there can be no stored sign-in
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
