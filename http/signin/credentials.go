package signin

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"annals/http/signin/apitoken"
)

// byCredentials issues an access token for an API token, which serves as the secret of a
// client (RFC 6749 §4.4): for libraries that support nothing else. The client_id is the
// API token's id or the account's name. The access token ends with the API token at the
// latest, and comes without a refresh token, since the secret serves as one.
func (p *Provider) byCredentials(r *http.Request, f params) (tokens, error) {
	id, secret, err := clientSecret(r, f)
	if err != nil {
		return tokens{}, err
	}
	now := p.now()
	t, found, err := p.accounts.heldToken(r.Context(), secret, now)
	if err != nil {
		return tokens{}, err
	}
	if !found || id != t.ID && normal(id) != t.User {
		// The right secret is never refused: nobody guesses one, and a program that
		// keeps sending an old one must not lock out others of its address.
		if wait := p.secrets.take(p.address(r)); wait > 0 {
			return tokens{}, tooMany(wait)
		}
		p.report(r, Event{Kind: SignInFailed, Detail: "client credentials"})
		return tokens{}, refused("invalid_client", "client_id and client_secret are not those of an API token, or it has ended")
	}
	scope, ok := t.Scope.Narrowed(f.Get("scope"))
	if !ok {
		return tokens{}, refused("invalid_scope", "the scope goes beyond that of the token, which is %s", string(t.Scope))
	}
	audience, err := p.audienceFor(f.list("resource"))
	if err != nil {
		return tokens{}, err
	}
	access, expires, err := p.issuer.sign(r.Context(), "at+jwt", t.User, jwt.Audience{audience},
		tokenClaims{JTI: rand.Text(), Client: t.ID, Scope: string(scope), Grant: t.ID})
	if err != nil {
		return tokens{}, err
	}
	if t.Expires.Before(expires) {
		expires = t.Expires
	}
	p.report(r, Event{Kind: TokenIssued, User: t.User, Client: t.ID, Detail: "scope " + string(scope)})
	return tokens{Access: access, Type: "Bearer", Expires: int(expires.Sub(now) / time.Second), Scope: string(scope)}, nil
}

// clientSecret returns the id and the secret of a client, by one of the two ways that
// the metadata names (RFC 6749 §2.3.1).
func clientSecret(r *http.Request, f params) (id, secret string, err error) {
	id, secret = f.Get("client_id"), f.Get("client_secret")
	if header := r.Header.Values("Authorization"); len(header) > 0 {
		name, password, ok := r.BasicAuth()
		if !ok || len(header) > 1 {
			return "", "", refused("invalid_client", "the Authorization header must be one of Basic, or left out")
		}
		name, errName := url.QueryUnescape(name)
		password, errPassword := url.QueryUnescape(password)
		switch {
		case errName != nil || errPassword != nil:
			return "", "", refused("invalid_client", "client_id and client_secret are form-encoded in the Authorization header")
		case secret != "" || id != "" && id != name:
			return "", "", refused("invalid_request", "the client names itself in the Authorization header or in the body, not in both")
		}
		id, secret = name, password
	}
	if id == "" || secret == "" {
		return "", "", refused("invalid_client", "client_id and client_secret are missing")
	}
	if len(secret) > MaxToken || strings.ContainsFunc(id, invisible) || !apitoken.Is(secret) {
		return "", "", refused("invalid_client", "client_secret is a token as annals token create prints it")
	}
	return id, secret, nil
}
