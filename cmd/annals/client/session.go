package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"annals/cmd/annals/login"
)

// SignIn lets a person sign in. If the server accepts the new sign-in, SignIn stores
// it, and replaces and revokes an earlier sign-in to the same server. Otherwise SignIn
// revokes the new sign-in.
func SignIn(ctx context.Context, flow login.Flow, store login.Store) (login.Login, error) {
	if _, _, err := store.Get(flow.Server); err != nil {
		return login.Login{}, err // check the store before the person signs in
	}
	l, err := flow.SignIn(ctx)
	if err != nil {
		return l, err
	}
	var before login.Login
	var replaced bool
	if err = checkAccepted(ctx, flow.Server, &l, flow.Print); err == nil {
		before, replaced, err = store.Put(ctx, flow.Server, l)
	}
	if err != nil {
		return l, errors.Join(err, l.Revoke(context.WithoutCancel(ctx), flow.HTTP))
	}
	if replaced {
		if err := before.Revoke(ctx, flow.HTTP); err != nil {
			flow.Print("Your earlier sign-in could not be revoked: " + err.Error())
		}
	}
	return l, nil
}

// SignOut deletes the stored sign-in to a server and revokes it at its issuer. If the
// revocation fails, the sign-in is deleted anyway and SignOut returns an error. found
// is false if no sign-in was stored.
func SignOut(ctx context.Context, store login.Store, server string) (found bool, err error) {
	l, found, err := store.Remove(ctx, server)
	if err != nil || !found {
		return false, err
	}
	http := NewSignInClient()
	defer http.CloseIdleConnections()
	if err := l.Revoke(ctx, http); err != nil {
		return true, fmt.Errorf("revoke the sign-in to %s: %w; it is deleted only on this machine", server, err)
	}
	return true, nil
}

// WhoAmI returns the stored sign-in to a server, after checking that the server still
// accepts it.
func WhoAmI(ctx context.Context, store login.Store, server string, print func(...string)) (l login.Login, err error) {
	credential, found, err := SignedIn(server)
	if err != nil {
		return l, err
	}
	if !found {
		return l, fmt.Errorf("nobody is signed in to %s: sign in with annals login --server %[1]s", server)
	}
	if err := checkCredential(ctx, server, credential, print); err != nil {
		return l, err
	}
	l, _, err = store.Get(server) // read it again, because it may have been renewed
	return l, err
}

// checkAccepted checks that the server accepts the access token of l. If the server
// rejects it, checkAccepted tries the ID token, and if that is accepted, l uses the ID
// token from then on: some issuers cannot issue access tokens for this server. An
// unreachable server is not an error.
func checkAccepted(ctx context.Context, server string, l *login.Login, print func(...string)) error {
	err := checkCredential(ctx, server, Credential{
		Token: FixedToken(l.Bearer()),
		Name:  "tokens of the issuer " + l.Issuer, Help: "the server must be started with --issuer for this issuer, with an audience that its tokens have",
	}, print)
	switch {
	case IsRefusal(err, http.StatusUnauthorized) && !l.ByIDToken && l.UseIDToken():
		return checkAccepted(ctx, server, l, print)
	case IsRefusal(err, http.StatusUnauthorized) || ctx.Err() != nil:
		return err
	case err != nil:
		print("Could not check whether the server accepts the sign-in: " + err.Error())
	}
	return nil
}

// checkCredential checks that the server accepts a credential, with a request that
// every user is allowed to send.
func checkCredential(ctx context.Context, server string, credential Credential, print func(...string)) error {
	core := &Core{Client{
		URL: server, HTTP: NewHTTPClient(1), Tries: 3, Pause: 200 * time.Millisecond, Credential: credential,
		Notify: func(text string) { print(text) },
	}}
	defer core.HTTP.CloseIdleConnections()
	_, err := core.Knows(ctx, "")
	return err
}
