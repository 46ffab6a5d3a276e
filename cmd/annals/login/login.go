package login

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Login is a person's sign-in to a server, as it is kept.
type Login struct {
	Issuer        string    `json:"issuer"`
	ClientID      string    `json:"client_id"`
	TokenURL      string    `json:"token_url"`
	RevocationURL string    `json:"revocation_url,omitempty"`
	User          string    `json:"user,omitempty"` // as the issuer calls the person, to be shown
	AccessToken   string    `json:"access_token"`
	IDToken       string    `json:"id_token,omitempty"`
	ByIDToken     bool      `json:"by_id_token,omitempty"` // the server takes the ID token, and no access token
	RefreshToken  string    `json:"refresh_token,omitempty"`
	Issued        time.Time `json:"issued"`
	Expires       time.Time `json:"expires,omitzero"` // of the token that is sent; zero if nobody says
}

// Bearer returns the token that requests are signed with.
func (l Login) Bearer() string {
	if l.ByIDToken {
		return l.IDToken
	}
	return l.AccessToken
}

// UseIDToken has requests signed with the ID token, which an issuer means for the
// program itself: some know of no other audience. It reports whether there is one.
func (l *Login) UseIDToken() bool {
	expires, ok := claims(l.IDToken)["exp"].(float64)
	if ok {
		l.ByIDToken, l.Expires = true, time.Unix(int64(expires), 0).UTC()
	}
	return ok
}

// take puts the tokens of an answer in the place of those before.
func (l *Login) take(t *oauth2.Token) error {
	if t.Type() != "Bearer" {
		return fmt.Errorf("it gives a token of the unknown type %q", t.TokenType)
	}
	l.AccessToken, l.RefreshToken = t.AccessToken, t.RefreshToken
	l.Issued, l.Expires = time.Now().UTC().Truncate(time.Second), t.Expiry.UTC().Truncate(time.Second)
	l.IDToken, _ = t.Extra("id_token").(string)
	if l.ByIDToken && !l.UseIDToken() {
		return errors.New("it gives no ID token any more")
	}
	l.User = cmp.Or(l.User, nameOf(l.IDToken), nameOf(l.AccessToken), "somebody")
	return nil
}

// serves reports whether there is a token, other than the refused one, that holds
// for a while yet: an upload may be slow. Of tokens that are short-lived from the
// start less is asked.
func (l Login) serves(refused string) bool {
	ahead := min(10*time.Minute, l.Expires.Sub(l.Issued)/4)
	return l.Bearer() != "" && l.Bearer() != refused && (l.Expires.IsZero() || time.Until(l.Expires) > ahead)
}

// refresh returns l with new tokens. Those of before are of no use after that.
func (l Login) refresh(ctx context.Context, client *http.Client) (Login, error) {
	if l.RefreshToken == "" {
		return l, errEnded
	}
	config := oauth2.Config{ClientID: l.ClientID, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if err != nil {
		return l, plain(err)
	}
	return l, l.take(token)
}

// Revoke tells the issuer that the sign-in has ended (RFC 7009).
func (l Login) Revoke(ctx context.Context, client *http.Client) error {
	if l.RevocationURL == "" {
		return fmt.Errorf("the issuer %s has no way to be told", l.Issuer)
	}
	form := url.Values{"client_id": {l.ClientID}, "token": {l.RefreshToken}, "token_type_hint": {"refresh_token"}}
	if l.RefreshToken == "" {
		form.Set("token", l.AccessToken)
		form.Set("token_type_hint", "access_token")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevocationURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("the issuer %s answers %s", l.Issuer, reply.Status)
	}
	return nil
}

// nameOf returns what a token calls its user, to be shown and for nothing
// else: its signature is the server's to judge.
func nameOf(token string) string {
	all := claims(token)
	for _, claim := range []string{"preferred_username", "email", "name", "sub"} {
		if name, _ := all[claim].(string); name != "" {
			return name
		}
	}
	return ""
}

// claims returns what a signed token says; nothing if it is none.
func claims(token string) (all map[string]any) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &all) != nil {
		return nil
	}
	return all
}
