package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"annals/cmd/annals/login"
)

// SignIn lets a person sign in. If the server accepts the sign-in, it is stored and
// replaces an earlier one, else it is revoked.
func SignIn(ctx context.Context, flow login.Flow, store login.Store) (login.Login, error) {
	if _, _, err := store.Get(flow.Server); err != nil {
		return login.Login{}, err // fail before a person signs in
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
			flow.Print("Your earlier sign-in could not be ended: " + err.Error())
		}
	}
	return l, nil
}

// SignOut deletes the sign-in to a server, even if its issuer is unreachable and cannot
// revoke it. found is false if there was none.
func SignOut(ctx context.Context, store login.Store, server string) (found bool, err error) {
	l, found, err := store.Remove(ctx, server)
	if err != nil || !found {
		return false, err
	}
	http := NewSignInClient()
	defer http.CloseIdleConnections()
	if err := l.Revoke(ctx, http); err != nil {
		return true, fmt.Errorf("the sign-in to %s is deleted on this machine, but its issuer has not revoked it: %w", server, err)
	}
	return true, nil
}

// WhoAmI returns the sign-in to a server, and checks that the server still accepts it.
func WhoAmI(ctx context.Context, store login.Store, server string, print func(...string)) (l login.Login, err error) {
	credential, found, err := SignedIn(server)
	if err != nil {
		return l, err
	}
	if !found {
		return l, fmt.Errorf("nobody is signed in to %s: sign in by annals login --server %[1]s", server)
	}
	if err := checkCredential(ctx, server, credential, print); err != nil {
		return l, err
	}
	l, _, err = store.Get(server) // read it again, because it may have been renewed
	return l, err
}

// checkAccepted finds out which token of a sign-in the server accepts: usually the
// access token, or the ID token if the issuer knows no other audience than the program
// itself. An unreachable server is not an error.
func checkAccepted(ctx context.Context, server string, l *login.Login, print func(...string)) error {
	err := checkCredential(ctx, server, Credential{
		Token: FixedToken(l.Bearer()),
		Name:  "tokens of the issuer " + l.Issuer, Help: "serve --issuer must name the issuer, with an audience of its tokens",
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

// checkCredential makes a request that a server allows everyone who is signed in.
func checkCredential(ctx context.Context, server string, credential Credential, print func(...string)) error {
	core := &Core{Client{
		URL: server, HTTP: NewHTTPClient(1), Tries: 3, Pause: 200 * time.Millisecond, Credential: credential,
		Notify: func(text string) { print(text) },
	}}
	defer core.HTTP.CloseIdleConnections()
	_, err := core.Knows(ctx, "")
	return err
}
