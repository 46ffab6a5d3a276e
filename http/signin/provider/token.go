package provider

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"time"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"

	"github.com/go-jose/go-jose/v4/jwt"
)

// tokens is the successful response of the token endpoint (RFC 6749 §5.1).
type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"` // seconds
	Refresh string `json:"refresh_token,omitempty"`
	Scope   string `json:"scope,omitempty"`
	ID      string `json:"id_token,omitempty"`
}

// token handles the token endpoint. It exchanges an authorization code, a refresh token, a
// device code or an API token for new tokens.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	f, err := oauth.ReadParams(w, r)
	if err == nil && f.Get("grant_type") == oauth.GrantClient {
		body, err = p.exchangeAPIToken(r, f)
		return http.StatusOK, body, err
	}
	if err = p.checkClientForm(r, f, err); err != nil {
		return 0, nil, err
	}
	var g accounts.Grant
	var refresh string
	switch f.Get("grant_type") {
	case oauth.GrantCode:
		g, refresh, err = p.exchangeCode(r.Context(), f)
	case oauth.GrantRefresh:
		g, refresh, err = p.refreshTokens(r.Context(), f)
	case oauth.GrantDevice:
		g, refresh, err = p.exchangeDeviceCode(r.Context(), f)
	case "":
		err = oauth.Errorf("invalid_request", "grant_type is missing")
	default:
		err = oauth.Errorf("unsupported_grant_type", "grant_type is not one of grant_types_supported in the metadata")
	}
	if err != nil {
		return 0, nil, err
	}
	body, err = p.signTokens(r.Context(), g, refresh)
	return http.StatusOK, body, err
}

// readClientForm reads the form of a client that sends its client_id but no secret.
func (p *Provider) readClientForm(w http.ResponseWriter, r *http.Request) (oauth.Params, error) {
	f, err := oauth.ReadParams(w, r)
	return f, p.checkClientForm(r, f, err)
}

// checkClientForm checks the form of a client. err is the error from reading the form.
func (p *Provider) checkClientForm(r *http.Request, f oauth.Params, err error) error {
	switch {
	case r.Header.Get("Authorization") != "":
		return oauth.Errorf("invalid_client", "only the grant type client_credentials uses the Authorization header; send client_id in the form")
	case err != nil:
		return err
	case f.Get("client_id") == "":
		return oauth.Errorf("invalid_client", "client_id is missing")
	}
	return p.checkClient(r.Context(), f.Get("client_id"))
}

// exchangeCode redeems an authorization code. If the request is invalid, the code stays valid:
// a thief who has only the code can then neither redeem nor invalidate it. OAuth 2.1 does not
// require redirect_uri here, but if it is sent, it must match.
func (p *Provider) exchangeCode(ctx context.Context, f oauth.Params) (accounts.Grant, string, error) {
	for _, name := range []string{"code", "code_verifier"} {
		if f.Get(name) == "" {
			return accounts.Grant{}, "", oauth.Errorf("invalid_request", "%s is missing", name)
		}
	}
	now := p.now()
	g, found, err := p.accounts.Grant(ctx, accounts.GrantID(f.Get("code")), now)
	switch {
	case err != nil:
		return g, "", err
	case !found || g.Client != f.Get("client_id"):
		return g, "", oauth.Errorf("invalid_grant", "the code was not issued to this client, or has expired")
	case f.Get("redirect_uri") != "" && f.Get("redirect_uri") != g.Redirect:
		return g, "", oauth.Errorf("invalid_grant", "redirect_uri is not the one of the authorization request")
	case !verifyChallenge(g.Challenge, f.Get("code_verifier")):
		return g, "", oauth.Errorf("invalid_grant", "code_verifier does not match the code_challenge")
	}
	if err := p.checkTarget(g, f); err != nil {
		return g, "", err
	}
	g.InBrowser = g.Client == clients.ConsoleID
	refresh, err := p.accounts.RedeemCode(ctx, g, f.Get("code"), now)
	switch {
	case err == nil && refresh == "":
		err = p.endReusedGrant(ctx, g, "the code was used before")
	case err == nil && g.InBrowser:
		err = p.accounts.EndEarlier(ctx, g)
	}
	return g, refresh, err
}

// verifyChallenge reports whether a PKCE challenge belongs to a verifier (RFC 7636 §4.6).
func verifyChallenge(challenge, verifier string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// refreshTokens replaces a refresh token. If a client sends a refresh token that was already
// replaced, the grant ends: the token was stolen, and the server cannot know which of the two
// clients is the thief.
func (p *Provider) refreshTokens(ctx context.Context, f oauth.Params) (accounts.Grant, string, error) {
	if f.Get("refresh_token") == "" {
		return accounts.Grant{}, "", oauth.Errorf("invalid_request", "refresh_token is missing")
	}
	now := p.now()
	g, found, err := p.accounts.Grant(ctx, accounts.GrantID(f.Get("refresh_token")), now)
	switch {
	case err != nil:
		return g, "", err
	case !found || g.Client != f.Get("client_id"):
		return g, "", oauth.Errorf("invalid_grant", "the refresh token was not issued to this client, or has expired or was revoked")
	}
	if err := p.checkTarget(g, f); err != nil {
		return g, "", err
	}
	if requested := f.Get("scope"); requested != "" {
		narrower := grantedScope(requested)
		if narrower != "" && g.Scope == "" {
			return g, "", oauth.Errorf("invalid_scope", "the requested scope exceeds the granted scope")
		}
		g.Scope = narrower
	}
	g.InBrowser = g.Client == clients.ConsoleID
	g.Nonce = "" // only the first ID token contains it
	next, err := p.accounts.RotateRefresh(ctx, g, f.Get("refresh_token"), now)
	if err == nil && next == "" {
		err = p.endReusedGrant(ctx, g, "the refresh token was used before")
	}
	return g, next, err
}

// checkTarget checks that the requested resource, if there is one, belongs to the audience of
// the grant, and that the server still issues tokens for that audience.
func (p *Provider) checkTarget(g accounts.Grant, f oauth.Params) error {
	if requested := f.List("resource"); len(requested) > 0 {
		if audience, err := p.audienceFor(requested); err != nil || audience != g.Audience {
			return oauth.Errorf("invalid_target", "the requested resource is not the granted one")
		}
	}
	if g.Audience != p.issuer.Audience() && g.Audience != p.issuer.Tools() {
		return oauth.Errorf("invalid_grant", "this server no longer issues tokens for the granted resource")
	}
	return nil
}

// endReusedGrant ends a grant because its authorization code or a refresh token was used
// twice.
func (p *Provider) endReusedGrant(ctx context.Context, g accounts.Grant, why string) error {
	if err := p.accounts.EndGrant(ctx, g.ID); err != nil {
		return err
	}
	p.logger.WarnContext(ctx, "the sign-in to a program was ended because "+why, "user", g.User, "client", g.Client)
	p.accounts.Report(ctx, accounts.Event{Kind: accounts.ProgramMisused, User: g.User, Client: g.Client, Detail: why})
	return oauth.Errorf("invalid_grant", "%s", why)
}

// tokenClaims are the claims of an access token (RFC 9068 §2.2) besides the registered claims
// of JWT.
type tokenClaims struct {
	JTI      string           `json:"jti"`
	Client   string           `json:"client_id"`
	Scope    string           `json:"scope,omitempty"`
	Grant    string           `json:"sid"`
	AuthTime *jwt.NumericDate `json:"auth_time,omitempty"`
}

// idClaims are the claims of an ID token (OpenID Connect Core §2).
type idClaims struct {
	signin.Identity
	AuthorizedParty string           `json:"azp"`
	Nonce           string           `json:"nonce,omitempty"`
	Grant           string           `json:"sid"`
	AuthTime        *jwt.NumericDate `json:"auth_time"`
}

// signTokens signs the tokens of a grant. The audience of the ID token is the client. If the
// grant is for the core and the vault, the ID token also has their audience, and they accept
// it like an access token.
func (p *Provider) signTokens(ctx context.Context, g accounts.Grant, refresh string) (tokens, error) {
	account, err := p.accounts.Get(ctx, g.User)
	if fault.Is(err, fault.NotFound) || err == nil && account.Disabled {
		return tokens{}, oauth.Errorf("invalid_grant", "the user is disabled or deleted")
	}
	if err != nil {
		return tokens{}, err
	}
	authenticated := jwt.NewNumericDate(g.Authenticated)
	access, expires, err := p.issuer.Sign(ctx, "at+jwt", g.User, jwt.Audience{g.Audience},
		tokenClaims{JTI: rand.Text(), Client: g.Client, Scope: g.Scope, Grant: g.ID, AuthTime: authenticated})
	if err != nil {
		return tokens{}, err
	}
	t := tokens{Access: access, Type: "Bearer", Expires: int(expires.Sub(p.now()) / time.Second), Refresh: refresh, Scope: g.Scope}
	if g.Scope != scopeOpenID {
		return t, nil
	}
	audience := jwt.Audience{g.Client}
	if g.Audience == p.issuer.Audience() {
		audience = append(audience, g.Audience)
	}
	t.ID, _, err = p.issuer.Sign(ctx, "JWT", g.User, audience,
		idClaims{Identity: signin.IdentityOf(account), AuthorizedParty: g.Client, Nonce: g.Nonce, Grant: g.ID, AuthTime: authenticated})
	return t, err
}
