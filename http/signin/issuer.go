package signin

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"annals/events/fault"
)

// DefaultAudience is whom the built-in issuer's tokens are meant for unless
// configured otherwise.
const DefaultAudience = "annals"

// TokenLifetime is how long an ID token of the built-in issuer is valid.
const TokenLifetime = time.Hour

// AdminClaim is the claim, true for administrators, in built-in ID tokens.
const AdminClaim = "annals_admin"

// maxGroupsClaim is how many bytes of groups a token carries; with more of
// them it carries none, to stay below MaxToken. The verifier here reads groups
// from the store anyway.
const maxGroupsClaim = 4 << 10

// Issuer is the built-in OpenID issuer: it signs tokens with the store's newest
// key.
type Issuer struct {
	accounts *Accounts
	url      string
	path     string
	audience string
	tools    string
	now      func() time.Time
}

// IssuerOptions says who the issuer is.
type IssuerOptions struct {
	URL      string           // as clients reach it, such as http://127.0.0.1:8080/signin
	Audience string           // of tokens for the services; DefaultAudience if empty
	Tools    string           // URL of the agents' tools, which is the audience of tokens for them; may be empty
	Now      func() time.Time // time.Now if nil
}

// NewIssuer returns the issuer over accounts, which stays the caller's to close.
func NewIssuer(accounts *Accounts, o IssuerOptions) (*Issuer, error) {
	u, err := checkIssuerURL(o.URL)
	if err != nil {
		return nil, err
	}
	i := &Issuer{accounts: accounts, url: o.URL, path: strings.TrimSuffix(u.Path, "/"), audience: o.Audience, tools: o.Tools, now: o.Now}
	if i.audience == "" {
		i.audience = DefaultAudience
	}
	if i.now == nil {
		i.now = time.Now
	}
	return i, nil
}

// checkIssuerURL holds issuers to OpenID Connect Discovery §3: an http or
// https URL without query or fragment.
func checkIssuerURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "issuer: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return nil, fault.Errorf(fault.Invalid, "issuer %q is no http or https URL without query and fragment", text)
	}
	return u, nil
}

// URL returns the issuer's name, the tokens' iss.
func (i *Issuer) URL() string { return i.url }

// Audience returns the aud of tokens for the services.
func (i *Issuer) Audience() string { return i.audience }

// identity holds what an ID token tells besides the registered claims.
type identity struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
	Admin  bool     `json:"annals_admin,omitempty"`
}

// Issue signs an ID token for a user and returns it with the moment it
// expires. It is good for the services and for the tools, and lasts whatever
// becomes of the user's sign-ins. A name that is nobody's is NotFound, a
// disabled user Forbidden.
func (i *Issuer) Issue(ctx context.Context, name string) (token string, expires time.Time, err error) {
	account, err := i.accounts.Get(ctx, name)
	if err != nil {
		return "", time.Time{}, err
	}
	if account.Disabled {
		return "", time.Time{}, fault.Errorf(fault.Forbidden, "user %q is disabled", account.Name)
	}
	audience := jwt.Audience{i.audience}
	if i.tools != "" {
		audience = append(audience, i.tools)
	}
	token, expires, err = i.sign(ctx, "JWT", account.Name, audience, identityOf(account))
	if err == nil {
		i.accounts.observe(ctx, Event{Kind: TokenIssued, User: account.Name})
	}
	return token, expires, err
}

// identityOf returns what an ID token tells of a user.
func identityOf(account Account) identity {
	groups := account.Groups
	if len(encodeGroups(groups)) > maxGroupsClaim {
		groups = nil
	}
	return identity{Name: account.Name, Groups: groups, Admin: account.Admin}
}

// sign signs a token of the given type (RFC 7515, typ), with the registered
// claims of now and those given.
func (i *Issuer) sign(ctx context.Context, kind, subject string, audience jwt.Audience, claims ...any) (token string, expires time.Time, err error) {
	key, err := i.accounts.SigningKey(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: key.Algorithm, Key: jose.JSONWebKey{Key: key.Private, KeyID: key.ID}},
		(&jose.SignerOptions{}).WithType(jose.ContentType(kind)))
	if err != nil {
		return "", time.Time{}, fmt.Errorf("prepare to sign a token: %w", err)
	}
	now := i.now().UTC().Truncate(time.Second)
	expires = now.Add(TokenLifetime)
	builder := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer:    i.url,
		Subject:   subject,
		Audience:  audience,
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		Expiry:    jwt.NewNumericDate(expires),
	})
	for _, c := range claims {
		builder = builder.Claims(c)
	}
	if token, err = builder.Serialize(); err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token for user %q: %w", subject, err)
	}
	return token, expires, nil
}
