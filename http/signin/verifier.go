package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin/apitoken"
)

const (
	// MaxToken is how many bytes a token may have.
	MaxToken = 8 << 10

	// leeway is how far the clocks of an issuer and this machine may differ.
	leeway = 30 * time.Second

	// recheck is how long a verified signature is taken as such without
	// asking again whether its key is still published.
	recheck = 10 * time.Minute

	// verifiedTokens is how many verified tokens are remembered.
	verifiedTokens = 2048
)

// algorithms are the ways of signing that are accepted: asymmetric ones only,
// so that a public key can never serve as the secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// IssuerConfig says which tokens of an external OpenID issuer are trusted and
// how its people are named here.
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

// Verifier turns bearer tokens into the users who hold them. Its methods may
// be called from several goroutines.
type Verifier struct {
	issuers  map[string]issuer // by URL
	programs *Accounts         // that have API tokens; nil if there are none
	admins   map[events.Principal]bool
	audience string // for whom tokens of the built-in issuer are to be meant
	seen     *tokenCache
	now      func() time.Time
	client   *http.Client
}

// issuer is one whose tokens are trusted.
type issuer interface {
	// meant reports whether a token for those audiences may be used where the
	// built-in issuer's tokens have to be for the given one.
	meant(audiences jwt.Audience, audience string) bool
	// open checks the signature by one of the issuer's keys and decodes the
	// claims.
	open(ctx context.Context, token *jwt.JSONWebToken, claims *claims) error
	// identify tells whom the claims name.
	identify(claims *claims) (events.User, error)
	// current tells who the bearer is at this moment.
	current(ctx context.Context, t verified) (events.User, error)
}

// claims are what a token says: the registered claims, and all of them.
type claims struct {
	jwt.Claims
	all map[string]any
}

// verified is a token whose signature and claims were found good.
type verified struct {
	issuer    issuer
	keyID     string
	grant     string // that the built-in issuer gave it for; "" for none
	user      events.User
	audiences jwt.Audience
	expires   time.Time
	checked   time.Time
}

// NewVerifier checks the configuration; it calls no issuer yet. The built-in
// issuer's accounts stay the caller's to close.
func NewVerifier(o Options) (*Verifier, error) {
	v := &Verifier{
		issuers: map[string]issuer{},
		admins:  map[events.Principal]bool{},
		seen:    newTokenCache(verifiedTokens),
		now:     o.Now,
		client:  boundedClient(o.HTTPClient),
	}
	if v.now == nil {
		v.now = time.Now
	}
	if o.BuiltIn != nil {
		v.issuers[o.BuiltIn.URL()] = builtIn{o.BuiltIn}
		v.programs = o.BuiltIn.accounts
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
		p := events.Principal("user:" + normal(strings.TrimPrefix(name, "user:")))
		if !p.IsUser() {
			return nil, fault.Errorf(fault.Invalid, "%q names no administrator", name)
		}
		v.admins[p] = true
	}
	return v, nil
}

// For returns a verifier that takes the built-in issuer's tokens where they are
// meant for another audience than that issuer's own, such as the URL of the
// agents' tools. What external issuers sign is taken by both. The two share what
// they remember; closing v is enough.
func (v *Verifier) For(audience string) *Verifier {
	other := *v
	other.audience = audience
	return &other
}

// Admin reports whether a user is one of the further administrators.
func (v *Verifier) Admin(user events.Principal) bool { return v.admins[user] }

// Close gives back idle connections to external issuers.
func (v *Verifier) Close() { v.client.CloseIdleConnections() }

// Verify returns the user who holds the token, and the moment the token
// expires. Whatever is wrong with the token, or with its user's account, is
// Unauthenticated; an external issuer that cannot be reached is Unavailable.
// A signature is checked once in ten minutes; expiry and, for the built-in
// issuer, the account and the key are checked at every call.
func (v *Verifier) Verify(ctx context.Context, rawToken string) (events.User, time.Time, error) {
	now := v.now()
	if apitoken.Is(rawToken) {
		return v.program(ctx, rawToken, now)
	}
	if err := checkForm(rawToken); err != nil {
		return events.User{}, time.Time{}, err
	}
	hash := sha256.Sum256([]byte(rawToken))
	token, ok := v.seen.get(hash)
	if !ok || now.Sub(token.checked) > recheck || now.Before(token.checked) {
		var err error
		if token, err = v.check(ctx, rawToken, now); err != nil {
			return events.User{}, time.Time{}, err
		}
		v.seen.put(hash, token)
	}
	if now.After(token.expires.Add(leeway)) {
		v.seen.drop(hash)
		return events.User{}, time.Time{}, refuse("the token has expired")
	}
	if !token.issuer.meant(token.audiences, v.audience) {
		return events.User{}, time.Time{}, refuse("the token is meant for another audience")
	}
	user, err := token.issuer.current(ctx, token)
	if err != nil {
		return events.User{}, time.Time{}, err
	}
	user.Admin = user.Admin || v.admins[user.Principal]
	return user, token.expires, nil
}

// program verifies an API token, which is valid for the services and for the tools. It is
// never cached, so that it ends at once.
func (v *Verifier) program(ctx context.Context, raw string, now time.Time) (events.User, time.Time, error) {
	if v.programs == nil {
		return events.User{}, time.Time{}, refuse("API tokens are not accepted here")
	}
	t, found, err := v.programs.heldToken(ctx, raw, now)
	if err != nil {
		return events.User{}, time.Time{}, err
	}
	if !found {
		return events.User{}, time.Time{}, refuse("the token is incomplete or unknown, was revoked, or has expired")
	}
	user := events.User{Principal: events.Principal("user:" + t.User), Groups: groupsOf(t.groups), Admin: t.admin, Token: t.ID, ReadOnly: t.Scope != apitoken.Write}
	user.Admin = user.Admin || v.admins[user.Principal]
	return user, t.Expires, nil
}

// check judges a token that was not seen before.
func (v *Verifier) check(ctx context.Context, raw string, now time.Time) (verified, error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil {
		return verified{}, refuse("the token is no JWT with an asymmetric signature")
	}
	header := token.Headers[0]
	if typ, ok := header.ExtraHeaders[jose.HeaderType].(string); ok && !strings.EqualFold(typ, "JWT") && !strings.EqualFold(typ, "at+jwt") {
		return verified{}, refuse("the token is of another type than JWT")
	}
	// Who claims to have signed it decides whose keys are asked.
	var claimed jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claimed); err != nil {
		return verified{}, refuse("the token's claims are no JSON object of the usual types")
	}
	issuer, ok := v.issuers[claimed.Issuer]
	if !ok {
		return verified{}, refuse("the token's issuer is not trusted here")
	}
	var c claims
	if err := issuer.open(ctx, token, &c); err != nil {
		return verified{}, err
	}
	if c.Expiry == nil {
		return verified{}, refuse("the token never expires")
	}
	expected := jwt.Expected{Issuer: claimed.Issuer, Time: now} // Verify judges the audience
	if err := c.ValidateWithLeeway(expected, leeway); err != nil {
		return verified{}, refuse(reason(err))
	}
	user, err := issuer.identify(&c)
	if err != nil {
		return verified{}, err
	}
	grant, _ := c.all[grantClaim].(string)
	if _, own := issuer.(builtIn); own && apitoken.IsID(grant) { // it was given for a program's own token
		scope, _ := c.all["scope"].(string)
		user.Token, user.ReadOnly = grant, scope != string(apitoken.Write)
	}
	return verified{
		issuer: issuer, keyID: header.KeyID, grant: grant, user: user,
		audiences: c.Audience, expires: c.Expiry.Time(), checked: now,
	}, nil
}

// checkForm refuses what is no compact JWS (RFC 7515 §3.1) in the one way
// that base64url without padding has to write it: otherwise a token with a
// changed last character could pass as the same.
func checkForm(token string) error {
	switch {
	case token == "":
		return refuse("there is no token")
	case len(token) > MaxToken:
		return refuse("the token is too long")
	case strings.Count(token, ".") != 2:
		return refuse("the token is no JWT")
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return refuse("the token is not encoded as a JWT is")
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

func refuse(why string) error { return fault.Errorf(fault.Unauthenticated, "%s", why) }

// decode checks the signature with one key and reads the claims.
func decode(token *jwt.JSONWebToken, key jose.JSONWebKey, c *claims) error {
	return token.Claims(key, &c.Claims, &c.all)
}
