// Package signin verifies the bearer tokens of requests: tokens of the built-in issuer, API
// tokens, and tokens of external OpenID issuers. It also signs the tokens of the built-in
// issuer.
//
// It may import events and what is below it, accounts and apitoken.
package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/http/signin/apitoken"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// MaxToken is the maximum length of a token in bytes.
	MaxToken = 8 << 10

	// recheckAfter is how long a verified token may be used from the cache. After that, its
	// signature is verified again, with the keys that the issuer publishes then.
	recheckAfter = 10 * time.Minute

	// maxCachedTokens is the maximum number of tokens in the cache.
	maxCachedTokens = 2048
)

// algorithms are the accepted signature algorithms. All of them are asymmetric. If HMAC were
// accepted, anyone could sign tokens, with a public key as the secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// IssuerConfig describes a trusted external OpenID issuer and how its users are named.
type IssuerConfig struct {
	URL       string   // exactly as in the iss claim of the tokens
	Alias     string   // part of the principals of its users: "company" leads to "user:company/<subject>"
	Audiences []string // a token must have one of these audiences

	UserClaim   string // claim with the name of the user; default "sub"
	GroupsClaim string // claim with the user's groups, a string or an array of strings; default "groups"
	AdminClaim  string // claim that makes a user an administrator; "" for none
	AdminValue  string // value that AdminClaim must have or contain; default "true"
}

// Options configures a Verifier.
type Options struct {
	Issuers    []IssuerConfig
	BuiltIn    *Issuer  // built-in issuer; nil if there is none
	Admins     []string // additional administrators: principals of users, with or without "user:"
	HTTPClient *http.Client
	Now        func() time.Time // time.Now if nil
}

// Verifier verifies bearer tokens and returns their users. Methods may be called concurrently.
type Verifier struct {
	issuers   map[string]issuer // by URL
	apiTokens *accounts.Store   // store with the API tokens; nil if they are not accepted
	admins    map[events.Principal]bool
	audience  string // audience that tokens of the built-in issuer must have
	cache     *tokenCache
	now       func() time.Time
	client    *http.Client
}

// issuer verifies the tokens of one trusted issuer.
type issuer interface {
	// intendedFor reports whether a token with the given audiences is accepted. Tokens of the
	// built-in issuer must have the audience required; external issuers ignore it.
	intendedFor(audiences jwt.Audience, required string) bool
	// verify verifies the signature with the issuer's keys and decodes the claims.
	verify(ctx context.Context, token *jwt.JSONWebToken, claims *claims) error
	// identify returns the user that the claims describe.
	identify(claims *claims) (events.User, error)
	// current returns the user with the groups and rights that the user has now.
	current(ctx context.Context, t verified) (events.User, error)
}

// claims contains the registered claims of a token, and all claims by name.
type claims struct {
	jwt.Claims
	all map[string]any
}

// verified is a token that was verified: its signature and claims are valid.
type verified struct {
	issuer    issuer
	keyID     string
	grant     string // id of the grant that the token was issued for; "" if it belongs to none
	user      events.User
	audiences jwt.Audience
	expires   time.Time
	checked   time.Time
}

// NewVerifier checks the configuration and returns a verifier. It does not contact the
// issuers. The caller closes the account store of the built-in issuer.
func NewVerifier(o Options) (*Verifier, error) {
	v := &Verifier{
		issuers: map[string]issuer{},
		admins:  map[events.Principal]bool{},
		cache:   newTokenCache(maxCachedTokens),
		now:     o.Now,
		client:  NewHTTPClient(o.HTTPClient),
	}
	if v.now == nil {
		v.now = time.Now
	}
	if o.BuiltIn != nil {
		v.issuers[o.BuiltIn.URL()] = builtIn{o.BuiltIn}
		v.apiTokens = o.BuiltIn.accounts
		v.audience = o.BuiltIn.Audience()
	}
	aliases := map[string]bool{}
	for _, config := range o.Issuers {
		r, err := newRemote(config, v.client, v.now)
		if err != nil {
			return nil, err
		}
		if v.issuers[config.URL] != nil {
			return nil, fault.Errorf(fault.Invalid, "issuer %q is configured twice", config.URL)
		}
		if aliases[r.config.Alias] {
			return nil, fault.Errorf(fault.Invalid, "two issuers have the alias %q", r.config.Alias)
		}
		aliases[r.config.Alias] = true
		v.issuers[config.URL] = r
	}
	for _, name := range o.Admins {
		p := events.Principal("user:" + accounts.NormalName(strings.TrimPrefix(name, "user:")))
		if !p.IsUser() {
			return nil, fault.Errorf(fault.Invalid, "administrator %q is not a valid user name", name)
		}
		v.admins[p] = true
	}
	return v, nil
}

// For returns a verifier that requires another audience in tokens of the built-in issuer, such
// as the URL of the agents' tools. It accepts the same external issuers as v and shares the
// cache and the connections of v. Close v, but not the returned verifier.
func (v *Verifier) For(audience string) *Verifier {
	other := *v
	other.audience = audience
	return &other
}

// Admin reports whether a user is in Options.Admins.
func (v *Verifier) Admin(user events.Principal) bool { return v.admins[user] }

// Close closes idle connections to external issuers.
func (v *Verifier) Close() { v.client.CloseIdleConnections() }

// Verify returns the user of a token and the token's expiry. The error is Unauthenticated if
// the token is invalid or its user has no enabled account, and Unavailable if an external
// issuer or the account store cannot be reached. The signature is verified again after ten
// minutes. The expiry is checked in every call, and for the built-in issuer also the account,
// the grant and the key.
func (v *Verifier) Verify(ctx context.Context, rawToken string) (events.User, time.Time, error) {
	now := v.now()
	if apitoken.Is(rawToken) {
		return v.verifyAPIToken(ctx, rawToken, now)
	}
	if err := checkForm(rawToken); err != nil {
		return events.User{}, time.Time{}, err
	}
	hash := sha256.Sum256([]byte(rawToken))
	token, ok := v.cache.get(hash)
	if !ok || now.Sub(token.checked) > recheckAfter || now.Before(token.checked) {
		var err error
		if token, err = v.check(ctx, rawToken, now); err != nil {
			return events.User{}, time.Time{}, err
		}
		v.cache.put(hash, token)
	}
	if now.After(token.expires.Add(accounts.ClockSkew)) {
		v.cache.remove(hash)
		return events.User{}, time.Time{}, unauthenticated("the token has expired")
	}
	if !token.issuer.intendedFor(token.audiences, v.audience) {
		return events.User{}, time.Time{}, unauthenticated("the token is for another audience")
	}
	user, err := token.issuer.current(ctx, token)
	if err != nil {
		return events.User{}, time.Time{}, err
	}
	user.Admin = user.Admin || v.admins[user.Principal]
	return user, token.expires, nil
}

// verifyAPIToken verifies an API token. Both the services and the agents' tools accept API
// tokens. The result is not cached, so that revoking a token takes effect immediately.
func (v *Verifier) verifyAPIToken(ctx context.Context, raw string, now time.Time) (events.User, time.Time, error) {
	if v.apiTokens == nil {
		return events.User{}, time.Time{}, unauthenticated("API tokens are not accepted here")
	}
	t, account, found, err := v.apiTokens.FindToken(ctx, raw, now)
	if err != nil {
		return events.User{}, time.Time{}, err
	}
	if !found {
		return events.User{}, time.Time{}, unauthenticated("the token is incomplete or unknown, was revoked, or has expired")
	}
	user := account.User()
	user.Token, user.ReadOnly = t.ID, t.Scope != apitoken.Write
	user.Admin = user.Admin || v.admins[user.Principal]
	return user, t.Expires, nil
}

// check verifies a token that is not in the cache.
func (v *Verifier) check(ctx context.Context, raw string, now time.Time) (verified, error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil {
		return verified{}, unauthenticated("the token is not a JWT with an asymmetric signature")
	}
	header := token.Headers[0]
	if typ, ok := header.ExtraHeaders[jose.HeaderType].(string); ok && !strings.EqualFold(typ, "JWT") && !strings.EqualFold(typ, "at+jwt") {
		return verified{}, unauthenticated("the token's type is not JWT")
	}
	// The issuer in the token is not verified yet. It only selects the keys with which the
	// signature is verified.
	var claimed jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claimed); err != nil {
		return verified{}, unauthenticated("the token's claims are not JSON, or a registered claim has the wrong type")
	}
	issuer, ok := v.issuers[claimed.Issuer]
	if !ok {
		return verified{}, unauthenticated("the token's issuer is not trusted here")
	}
	var c claims
	if err := issuer.verify(ctx, token, &c); err != nil {
		return verified{}, err
	}
	if c.Expiry == nil {
		return verified{}, unauthenticated("the token has no expiry")
	}
	expected := jwt.Expected{Issuer: claimed.Issuer, Time: now} // Verify checks the audience itself
	if err := c.ValidateWithLeeway(expected, accounts.ClockSkew); err != nil {
		return verified{}, unauthenticated(invalidClaim(err))
	}
	user, err := issuer.identify(&c)
	if err != nil {
		return verified{}, err
	}
	grant, _ := c.all[GrantClaim].(string)
	if _, own := issuer.(builtIn); own && apitoken.IsID(grant) { // the token was issued in exchange for an API token
		scope, _ := c.all["scope"].(string)
		user.Token, user.ReadOnly = grant, scope != string(apitoken.Write)
	}
	return verified{
		issuer: issuer, keyID: header.KeyID, grant: grant, user: user,
		audiences: c.Audience, expires: c.Expiry.Time(), checked: now,
	}, nil
}

// checkForm accepts only a compact JWS (RFC 7515 §3.1) in canonical base64url without padding.
// Otherwise the same token could be written in several ways, which differ in unused bits.
func checkForm(token string) error {
	switch {
	case token == "":
		return unauthenticated("there is no token")
	case len(token) > MaxToken:
		return unauthenticated("the token is too long")
	case strings.Count(token, ".") != 2:
		return unauthenticated("the token is not a JWT")
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return unauthenticated("the token is not in unpadded base64url, as a JWT must be")
		}
	}
	return nil
}

func invalidClaim(err error) string {
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return "the token has expired"
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return "the token is not valid yet"
	}
	return "the token's issuer is not the one expected"
}

func unauthenticated(why string) error { return fault.Errorf(fault.Unauthenticated, "%s", why) }

// verifySignature verifies the signature with one key and decodes the claims.
func verifySignature(token *jwt.JSONWebToken, key jose.JSONWebKey, c *claims) error {
	return token.Claims(key, &c.Claims, &c.all)
}
