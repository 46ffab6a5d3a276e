// Package signin verifies the bearer tokens of requests: those of the built-in issuer,
// which it also signs, API tokens, and tokens of external OpenID issuers.
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
	// MaxToken is the longest token, in bytes.
	MaxToken = 8 << 10

	// recheckAfter is how long a verified signature stays valid without checking again that
	// its key is published.
	recheckAfter = 10 * time.Minute

	// verifiedTokens bounds the cache of verified tokens.
	verifiedTokens = 2048
)

// algorithms are the accepted signature algorithms. All are asymmetric, so that a public key
// can never serve as the secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// IssuerConfig describes a trusted external OpenID issuer and how its users are named.
type IssuerConfig struct {
	URL       string   // exactly as in the tokens' iss
	Alias     string   // "company" makes principals "user:company/<subject>"
	Audiences []string // a token must be meant for one of them

	UserClaim   string // "sub" if empty
	GroupsClaim string // "groups" if empty; a string or an array of strings
	AdminClaim  string // no administrators by claim if empty
	AdminValue  string // the claim's value, or one of its values, that makes an administrator; "true" if empty
}

// Options configures a Verifier.
type Options struct {
	Issuers    []IssuerConfig
	BuiltIn    *Issuer  // nil if there is none
	Admins     []string // further administrators: principals, with or without "user:"
	HTTPClient *http.Client
	Now        func() time.Time // time.Now if nil
}

// Verifier turns bearer tokens into users. Its methods may be called concurrently.
type Verifier struct {
	issuers   map[string]issuer // by URL
	apiTokens *accounts.Store   // that have API tokens; nil if there are none
	admins    map[events.Principal]bool
	audience  string // that tokens of the built-in issuer must name
	cache     *tokenCache
	now       func() time.Time
	client    *http.Client
}

// issuer verifies the tokens of one trusted issuer.
type issuer interface {
	// intendedFor reports whether a token with those audiences may be used. Tokens of the
	// built-in issuer must name audience.
	intendedFor(audiences jwt.Audience, audience string) bool
	// verify checks the signature with the issuer's keys and decodes the claims.
	verify(ctx context.Context, token *jwt.JSONWebToken, claims *claims) error
	// identify returns the user that the claims name.
	identify(claims *claims) (events.User, error)
	// current returns the bearer's identity and rights as of now.
	current(ctx context.Context, t verified) (events.User, error)
}

// claims are the claims of a token: the registered ones, and all by name.
type claims struct {
	jwt.Claims
	all map[string]any
}

// verified is a token whose signature and claims are valid.
type verified struct {
	issuer    issuer
	keyID     string
	grant     string // that the built-in issuer gave it for; "" for none
	user      events.User
	audiences jwt.Audience
	expires   time.Time
	checked   time.Time
}

// NewVerifier checks the configuration. It does not contact the issuers. The caller closes the
// built-in issuer's accounts.
func NewVerifier(o Options) (*Verifier, error) {
	v := &Verifier{
		issuers: map[string]issuer{},
		admins:  map[events.Principal]bool{},
		cache:   newTokenCache(verifiedTokens),
		now:     o.Now,
		client:  boundedClient(o.HTTPClient),
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
			return nil, fault.Errorf(fault.Invalid, "the alias %q is given to two issuers", r.config.Alias)
		}
		aliases[r.config.Alias] = true
		v.issuers[config.URL] = r
	}
	for _, name := range o.Admins {
		p := events.Principal("user:" + accounts.NormalName(strings.TrimPrefix(name, "user:")))
		if !p.IsUser() {
			return nil, fault.Errorf(fault.Invalid, "administrator %q is not the name of a user", name)
		}
		v.admins[p] = true
	}
	return v, nil
}

// For returns a verifier that demands another audience of the built-in issuer's tokens, such
// as the URL of the agents' tools. Both accept the same external issuers and share the cache;
// closing v is enough.
func (v *Verifier) For(audience string) *Verifier {
	other := *v
	other.audience = audience
	return &other
}

// Admin reports whether a user is one of the additional administrators.
func (v *Verifier) Admin(user events.Principal) bool { return v.admins[user] }

// Close closes idle connections to external issuers.
func (v *Verifier) Close() { v.client.CloseIdleConnections() }

// Verify returns the bearer of a token and the token's expiry. If anything is wrong with the
// token or its user's account, it is Unauthenticated; if an external issuer is unreachable,
// Unavailable. Signatures are checked every ten minutes; expiry and, for the built-in issuer,
// account and key are checked at every call.
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

// verifyAPIToken verifies an API token, which is valid for the services and the tools. It is
// not cached, so that revoking it takes effect at once.
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
	// The unverified issuer selects the keys that verify the signature.
	var claimed jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claimed); err != nil {
		return verified{}, unauthenticated("the token's claims are not a JSON object of the usual types")
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
		return verified{}, unauthenticated("the token never expires")
	}
	expected := jwt.Expected{Issuer: claimed.Issuer, Time: now} // Verify checks the audience
	if err := c.ValidateWithLeeway(expected, accounts.ClockSkew); err != nil {
		return verified{}, unauthenticated(reason(err))
	}
	user, err := issuer.identify(&c)
	if err != nil {
		return verified{}, err
	}
	grant, _ := c.all[GrantClaim].(string)
	if _, own := issuer.(builtIn); own && apitoken.IsID(grant) { // it was given for a program's own token
		scope, _ := c.all["scope"].(string)
		user.Token, user.ReadOnly = grant, scope != string(apitoken.Write)
	}
	return verified{
		issuer: issuer, keyID: header.KeyID, grant: grant, user: user,
		audiences: c.Audience, expires: c.Expiry.Time(), checked: now,
	}, nil
}

// checkForm rejects everything but a compact JWS (RFC 7515 §3.1) in canonical base64url
// without padding. Otherwise variants of a token that differ in unused bits would pass as
// different tokens.
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
			return unauthenticated("the token is not encoded as a JWT must be")
		}
	}
	return nil
}

func reason(err error) string {
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return "the token has expired"
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return "the token is not valid yet"
	}
	return "the token's issuer is not the one expected"
}

func unauthenticated(why string) error { return fault.Errorf(fault.Unauthenticated, "%s", why) }

// verifySignature checks the signature with one key and decodes the claims.
func verifySignature(token *jwt.JSONWebToken, key jose.JSONWebKey, c *claims) error {
	return token.Claims(key, &c.Claims, &c.all)
}
