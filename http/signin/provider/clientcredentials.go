package provider

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/apitoken"
	"annals/http/signin/provider/oauth"

	"github.com/go-jose/go-jose/v4/jwt"
)

// exchangeAPIToken issues an access token in exchange for an API token, which the client sends
// as its secret (client credentials grant, RFC 6749 §4.4). It exists for OAuth libraries that
// cannot send an API token directly. The client_id is the id of the API token or the name of
// its account. The access token expires with the API token or before. There is no refresh
// token, because the client can repeat the exchange.
func (p *Provider) exchangeAPIToken(r *http.Request, f oauth.Params) (tokens, error) {
	id, secret, err := clientSecret(r, f)
	if err != nil {
		return tokens{}, err
	}
	now := p.now()
	t, _, found, err := p.accounts.FindToken(r.Context(), secret, now)
	if err != nil {
		return tokens{}, err
	}
	if !found || id != t.ID && accounts.NormalName(id) != t.User {
		// The limit applies only to requests with a wrong secret, because they cost a lookup.
		// If it also refused right secrets, a program that keeps sending an expired secret
		// would lock out the other programs at its address.
		if wait := p.secrets.Take(p.Address(r)); wait > 0 {
			return tokens{}, oauth.TooMany(wait)
		}
		p.report(r, accounts.Event{Kind: accounts.SignInFailed, Detail: "client credentials"})
		return tokens{}, oauth.Errorf("invalid_client", "client_id and client_secret do not match a valid API token")
	}
	scope, ok := t.Scope.Narrowed(f.Get("scope"))
	if !ok {
		return tokens{}, oauth.Errorf("invalid_scope", "the API token has only the scope %s", string(t.Scope))
	}
	audience, err := p.audienceFor(f.List("resource"))
	if err != nil {
		return tokens{}, err
	}
	access, expires, err := p.issuer.Sign(r.Context(), "at+jwt", t.User, jwt.Audience{audience},
		tokenClaims{JTI: rand.Text(), Client: t.ID, Scope: string(scope), Grant: t.ID})
	if err != nil {
		return tokens{}, err
	}
	if t.Expires.Before(expires) {
		expires = t.Expires
	}
	p.report(r, accounts.Event{Kind: accounts.TokenIssued, User: t.User, Client: t.ID, Detail: "scope " + string(scope)})
	return tokens{Access: access, Type: "Bearer", Expires: int(expires.Sub(now) / time.Second), Scope: string(scope)}, nil
}

// clientSecret returns the client_id and the client_secret of a request, from the
// Authorization header or the form (RFC 6749 §2.3.1).
func clientSecret(r *http.Request, f oauth.Params) (id, secret string, err error) {
	id, secret = f.Get("client_id"), f.Get("client_secret")
	if header := r.Header.Values("Authorization"); len(header) > 0 {
		name, password, ok := r.BasicAuth()
		if !ok || len(header) > 1 {
			return "", "", oauth.Errorf("invalid_client", "the Authorization header must use the Basic scheme")
		}
		name, errName := url.QueryUnescape(name)
		password, errPassword := url.QueryUnescape(password)
		switch {
		case errName != nil || errPassword != nil:
			return "", "", oauth.Errorf("invalid_client", "client_id and client_secret must be form-encoded in the Authorization header")
		case secret != "" || id != "" && id != name:
			return "", "", oauth.Errorf("invalid_request", "client credentials must be either in the Authorization header or in the body")
		}
		id, secret = name, password
	}
	if id == "" || secret == "" {
		return "", "", oauth.Errorf("invalid_client", "client_id or client_secret is missing")
	}
	if len(secret) > signin.MaxToken || strings.ContainsFunc(id, accounts.Invisible) || !apitoken.Is(secret) {
		return "", "", oauth.Errorf("invalid_client", "client_secret must be an API token; create one with annals token create")
	}
	return id, secret, nil
}
