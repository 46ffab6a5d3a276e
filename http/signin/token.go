package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"annals/events/fault"
)

// tokens is the answer of the token endpoint (RFC 6749 §5.1).
type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"` // seconds
	Refresh string `json:"refresh_token,omitempty"`
	Scope   string `json:"scope,omitempty"`
	ID      string `json:"id_token,omitempty"`
}

// token gives a program tokens for a code, a refresh token, a device code, or for its
// own token.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	f, err := readParams(w, r)
	if err == nil && f.Get("grant_type") == grantClient {
		body, err = p.byCredentials(r, f)
		return http.StatusOK, body, err
	}
	if err = p.checkClientForm(r, f, err); err != nil {
		return 0, nil, err
	}
	var g grant
	var refresh string
	switch f.Get("grant_type") {
	case grantCode:
		g, refresh, err = p.byCode(r.Context(), f)
	case grantRefresh:
		g, refresh, err = p.byRefreshToken(r.Context(), f)
	case grantDevice:
		g, refresh, err = p.byDeviceCode(r.Context(), f)
	case "":
		err = refused("invalid_request", "grant_type is missing")
	default:
		err = refused("unsupported_grant_type", "grant_type is not one that the metadata names")
	}
	if err != nil {
		return 0, nil, err
	}
	body, err = p.tokens(r.Context(), g, refresh)
	return http.StatusOK, body, err
}

// readClientForm reads the form of a program that names itself in it.
func (p *Provider) readClientForm(w http.ResponseWriter, r *http.Request) (params, error) {
	f, err := readParams(w, r)
	return f, p.checkClientForm(r, f, err)
}

// checkClientForm judges a form that was read, or not for the reason given.
func (p *Provider) checkClientForm(r *http.Request, f params, err error) error {
	switch {
	case r.Header.Get("Authorization") != "":
		return refused("invalid_client", "clients have a secret for client_credentials alone; they name themselves by client_id")
	case err != nil:
		return err
	case f.Get("client_id") == "":
		return refused("invalid_client", "client_id is missing")
	}
	return p.knowsClient(r.Context(), f.Get("client_id"))
}

// byCode redeems a code. What is wrong with the program's own part leaves the
// code as it is: whoever has it alone can neither use nor spoil it. OAuth 2.1 has
// no redirect_uri here any more; one that is given must be the same.
func (p *Provider) byCode(ctx context.Context, f params) (grant, string, error) {
	for _, name := range []string{"code", "code_verifier"} {
		if f.Get(name) == "" {
			return grant{}, "", refused("invalid_request", "%s is missing", name)
		}
	}
	now := p.now()
	g, found, err := p.accounts.grant(ctx, grantID(f.Get("code")), now)
	switch {
	case err != nil:
		return g, "", err
	case !found || g.client != f.Get("client_id"):
		return g, "", refused("invalid_grant", "the code is not this client's, or has expired")
	case f.Get("redirect_uri") != "" && f.Get("redirect_uri") != g.redirect:
		return g, "", refused("invalid_grant", "redirect_uri is not the one that the code was asked for with")
	case !verifies(g.challenge, f.Get("code_verifier")):
		return g, "", refused("invalid_grant", "code_verifier does not belong to the code_challenge")
	}
	if err := p.checkTarget(g, f); err != nil {
		return g, "", err
	}
	refresh, err := p.accounts.redeem(ctx, g, f.Get("code"), now)
	if err == nil && refresh == "" {
		err = p.endMisused(ctx, g, "the code was used before")
	}
	return g, refresh, err
}

// verifies compares a challenge with its verifier (RFC 7636 §4.6).
func verifies(challenge, verifier string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// byRefreshToken takes a refresh token and gives the next. One that was replaced
// is in the hands of two, of whom nobody knows which is the program.
func (p *Provider) byRefreshToken(ctx context.Context, f params) (grant, string, error) {
	if f.Get("refresh_token") == "" {
		return grant{}, "", refused("invalid_request", "refresh_token is missing")
	}
	now := p.now()
	g, found, err := p.accounts.grant(ctx, grantID(f.Get("refresh_token")), now)
	switch {
	case err != nil:
		return g, "", err
	case !found || g.client != f.Get("client_id"):
		return g, "", refused("invalid_grant", "the refresh token is not this client's, or has ended")
	}
	if err := p.checkTarget(g, f); err != nil {
		return g, "", err
	}
	if asked := f.Get("scope"); asked != "" {
		narrower := grantedScope(asked)
		if narrower != "" && g.scope == "" {
			return g, "", refused("invalid_scope", "the scope goes beyond the one that was granted")
		}
		g.scope = narrower
	}
	g.nonce = "" // it was for the first ID token
	next, err := p.accounts.rotate(ctx, g, f.Get("refresh_token"), now)
	if err == nil && next == "" {
		err = p.endMisused(ctx, g, "the refresh token was used before")
	}
	return g, next, err
}

// checkTarget refuses a resource other than the one that the grant is for; it
// may be left out. What was granted for an address of old is of no use.
func (p *Provider) checkTarget(g grant, f params) error {
	if asked := f.list("resource"); len(asked) > 0 {
		if audience, err := p.audienceFor(asked); err != nil || audience != g.audience {
			return refused("invalid_target", "the resource is not the one that was granted")
		}
	}
	if g.audience != p.issuer.audience && g.audience != p.issuer.tools {
		return refused("invalid_grant", "what was granted is served elsewhere now")
	}
	return nil
}

// endMisused ends a grant whose code or refresh token came twice.
func (p *Provider) endMisused(ctx context.Context, g grant, why string) error {
	if err := p.accounts.endGrant(ctx, g.id); err != nil {
		return err
	}
	p.logger.WarnContext(ctx, "a sign-in was ended: "+why, "user", g.user, "client", g.client)
	p.accounts.observe(ctx, Event{Kind: ProgramMisused, User: g.user, Client: g.client, Detail: why})
	return refused("invalid_grant", "%s", why)
}

// tokenClaims are those of an access token besides the registered ones
// (RFC 9068 §2.2).
type tokenClaims struct {
	JTI      string           `json:"jti"`
	Client   string           `json:"client_id"`
	Scope    string           `json:"scope,omitempty"`
	Grant    string           `json:"sid"`
	AuthTime *jwt.NumericDate `json:"auth_time,omitempty"`
}

// idClaims are those of an ID token (OpenID Connect Core §2).
type idClaims struct {
	identity
	AuthorizedParty string           `json:"azp"`
	Nonce           string           `json:"nonce,omitempty"`
	Grant           string           `json:"sid"`
	AuthTime        *jwt.NumericDate `json:"auth_time"`
}

// tokens signs what a grant gives. An ID token is for the program, and for the
// services where those were asked for: they take it like an access token.
func (p *Provider) tokens(ctx context.Context, g grant, refresh string) (tokens, error) {
	account, err := p.accounts.Get(ctx, g.user)
	if fault.Is(err, fault.NotFound) || err == nil && account.Disabled {
		return tokens{}, refused("invalid_grant", "the user may not sign in any more")
	}
	if err != nil {
		return tokens{}, err
	}
	authenticated := jwt.NewNumericDate(g.authenticated)
	access, expires, err := p.issuer.sign(ctx, "at+jwt", g.user, jwt.Audience{g.audience},
		tokenClaims{JTI: rand.Text(), Client: g.client, Scope: g.scope, Grant: g.id, AuthTime: authenticated})
	if err != nil {
		return tokens{}, err
	}
	t := tokens{Access: access, Type: "Bearer", Expires: int(expires.Sub(p.now()) / time.Second), Refresh: refresh, Scope: g.scope}
	if g.scope != scopeOpenID {
		return t, nil
	}
	audience := jwt.Audience{g.client}
	if g.audience == p.issuer.audience {
		audience = append(audience, g.audience)
	}
	t.ID, _, err = p.issuer.sign(ctx, "JWT", g.user, audience,
		idClaims{identity: identityOf(account), AuthorizedParty: g.client, Nonce: g.nonce, Grant: g.id, AuthTime: authenticated})
	return t, err
}

// revoke ends the grant of a refresh token or an access token (RFC 7009). It
// says nothing of tokens that are unknown or another's.
func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	f, err := p.readClientForm(w, r)
	if err != nil {
		return 0, nil, err
	}
	token := f.Get("token")
	if token == "" {
		return 0, nil, refused("invalid_request", "token is missing")
	}
	id, err := p.grantOf(r.Context(), token)
	if err != nil {
		return 0, nil, err
	}
	g, found, err := p.accounts.grant(r.Context(), id, p.now())
	if err == nil && found && g.client == f.Get("client_id") {
		if err = p.accounts.endGrant(r.Context(), g.id); err == nil {
			p.report(r, Event{Kind: ProgramEnded, User: g.user, Client: g.client})
		}
	}
	return http.StatusOK, nil, err
}

// grantOf returns the id of the grant that a token came from, or "".
func (p *Provider) grantOf(ctx context.Context, token string) (string, error) {
	if strings.Count(token, ".") != 2 {
		return grantID(token), nil
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return "", nil
	}
	var c claims
	if err := (builtIn{p.issuer}).open(ctx, parsed, &c); err != nil {
		if fault.Is(err, fault.Unauthenticated) {
			return "", nil
		}
		return "", err
	}
	id, _ := c.all[grantClaim].(string)
	return id, nil
}
