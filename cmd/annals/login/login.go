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

// Login is a stored sign-in of a person to a server.
type Login struct {
	Issuer        string    `json:"issuer"`
	ClientID      string    `json:"client_id"`
	TokenURL      string    `json:"token_url"`
	RevocationURL string    `json:"revocation_url,omitempty"`
	User          string    `json:"user,omitempty"` // name of the person at the issuer, for display
	AccessToken   string    `json:"access_token"`
	IDToken       string    `json:"id_token,omitempty"`
	ByIDToken     bool      `json:"by_id_token,omitempty"` // the server accepts only the ID token
	RefreshToken  string    `json:"refresh_token,omitempty"`
	Issued        time.Time `json:"issued"`
	Expires       time.Time `json:"expires,omitzero"` // expiry of the token that Bearer returns; zero if it is unknown
}

// Bearer returns the token to send with requests.
func (l Login) Bearer() string {
	if l.ByIDToken {
		return l.IDToken
	}
	return l.AccessToken
}

// Lifetime returns a sentence that says how long the token is valid and whether it can
// be renewed.
func (l Login) Lifetime() string {
	text := "the token is valid"
	if !l.Expires.IsZero() {
		text += " until " + l.Expires.Local().Format(time.DateTime)
	}
	if l.RefreshToken != "" {
		text += " and is then renewed"
	}
	return text
}

// UseIDToken makes Bearer return the ID token instead of the access token. Some issuers
// cannot issue access tokens for this server. It returns false if there is no ID token.
func (l *Login) UseIDToken() bool {
	expires, ok := claims(l.IDToken)["exp"].(float64)
	if ok {
		l.ByIDToken, l.Expires = true, time.Unix(int64(expires), 0).UTC()
	}
	return ok
}

// take replaces the tokens of l with those in t, a reply of the token endpoint.
func (l *Login) take(t *oauth2.Token) error {
	if t.Type() != "Bearer" {
		return fmt.Errorf("the issuer returned a token of the unsupported type %q", t.TokenType)
	}
	l.AccessToken, l.RefreshToken = t.AccessToken, t.RefreshToken
	l.Issued, l.Expires = time.Now().UTC().Truncate(time.Second), t.Expiry.UTC().Truncate(time.Second)
	l.IDToken, _ = t.Extra("id_token").(string)
	if l.ByIDToken && !l.UseIDToken() {
		return errors.New("the issuer no longer returns an ID token")
	}
	l.User = cmp.Or(l.User, nameOf(l.IDToken), nameOf(l.AccessToken), "somebody")
	return nil
}

// isUsable reports whether Bearer returns a token that is not the refused one and does
// not expire soon. Soon means within ten minutes, so that a slow upload can finish, or
// within a quarter of the token's lifetime if that is shorter.
func (l Login) isUsable(refused string) bool {
	ahead := min(10*time.Minute, l.Expires.Sub(l.Issued)/4)
	return l.Bearer() != "" && l.Bearer() != refused && (l.Expires.IsZero() || time.Until(l.Expires) > ahead)
}

// refresh returns a copy of l with new tokens. The issuer may revoke the tokens of l.
func (l Login) refresh(ctx context.Context, client *http.Client) (Login, error) {
	if l.RefreshToken == "" {
		return l, errExpired
	}
	config := oauth2.Config{ClientID: l.ClientID, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if err != nil {
		return l, plain(err)
	}
	return l, l.take(token)
}

// Revoke revokes the tokens at the issuer (RFC 7009).
func (l Login) Revoke(ctx context.Context, client *http.Client) error {
	if l.RevocationURL == "" {
		return fmt.Errorf("the issuer %s has no revocation endpoint", l.Issuer)
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
		return fmt.Errorf("the issuer %s responds %s", l.Issuer, reply.Status)
	}
	return nil
}

// nameOf returns the user name in a token. It is only for display, because the signature
// is not verified.
func nameOf(token string) string {
	all := claims(token)
	for _, claim := range []string{"preferred_username", "email", "name", "sub"} {
		if name, _ := all[claim].(string); name != "" {
			return name
		}
	}
	return ""
}

// claims returns the claims of a JWT without verifying it, or nil if the token is not a
// JWT.
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
