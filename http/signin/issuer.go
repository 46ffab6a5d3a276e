package signin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// DefaultAudience is the audience of the built-in issuer's tokens if none is configured.
const DefaultAudience = "annals"

// GrantClaim is the claim that contains the id of the grant that a token was issued for. After
// that grant has ended, the token is invalid. OpenID Connect uses this claim for a session id.
const GrantClaim = "sid"

// AdminClaim is the claim that is true in ID tokens of administrators.
const AdminClaim = "annals_admin"

// maxGroupsClaim is the maximum size of the groups claim in bytes. Without a maximum, a token
// could become longer than MaxToken. A longer claim is omitted; the Verifier reads the groups
// from the account store anyway.
const maxGroupsClaim = 4 << 10

// Issuer is the built-in OpenID issuer. It signs tokens with the newest signing key in the
// account store.
type Issuer struct {
	accounts *accounts.Store
	url      string
	audience string
	tools    string
	now      func() time.Time
}

// IssuerOptions configures an Issuer.
type IssuerOptions struct {
	URL      string           // public URL of the issuer, such as http://127.0.0.1:8080/signin
	Audience string           // audience of tokens for the core and the vault; DefaultAudience if empty
	Tools    string           // URL of the agents' tools, which is also the audience of tokens for them; "" if there are no tools
	Now      func() time.Time // time.Now if nil
}

// NewIssuer returns an issuer that signs with the keys in a store. The caller closes the
// store.
func NewIssuer(store *accounts.Store, o IssuerOptions) (*Issuer, error) {
	if err := checkIssuerURL(o.URL); err != nil {
		return nil, err
	}
	i := &Issuer{accounts: store, url: o.URL, audience: o.Audience, tools: o.Tools, now: o.Now}
	i.audience = cmp.Or(i.audience, DefaultAudience)
	if i.now == nil {
		i.now = time.Now
	}
	return i, nil
}

// checkIssuerURL returns an error unless text is an http or https URL without query and
// fragment (OpenID Connect Discovery §3).
func checkIssuerURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fault.Errorf(fault.Invalid, "parse the issuer URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return fault.Errorf(fault.Invalid, "issuer %q must be an http or https URL without query and fragment", text)
	}
	return nil
}

// URL returns the public URL of the issuer, which is the iss claim of its tokens.
func (i *Issuer) URL() string { return i.url }

// Audience returns the aud claim of tokens for the core and the vault.
func (i *Issuer) Audience() string { return i.audience }

// Tools returns the aud claim of tokens for the agents' tools, or "" if there are no tools.
func (i *Issuer) Tools() string { return i.tools }

// Accounts returns the account store with the signing keys.
func (i *Issuer) Accounts() *accounts.Store { return i.accounts }

// Now returns the current time of the clock in IssuerOptions.
func (i *Issuer) Now() time.Time { return i.now() }

// Identity contains the claims of an ID token that describe the user.
type Identity struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
	Admin  bool     `json:"annals_admin,omitempty"`
}

// Issue signs an ID token for a user and returns it with its expiry. The core, the vault and
// the agents' tools accept it. It belongs to no grant, so it stays valid when the user signs
// out. The error is NotFound if there is no such user, and Forbidden if the user is disabled.
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
	token, expires, err = i.Sign(ctx, "JWT", account.Name, audience, IdentityOf(account))
	if err == nil {
		i.accounts.Report(ctx, accounts.Event{Kind: accounts.TokenIssued, User: account.Name})
	}
	return token, expires, err
}

// IdentityOf returns the claims of an ID token that describe the user of account.
func IdentityOf(account accounts.Account) Identity {
	claimed := Identity{Name: account.Name, Groups: account.Groups, Admin: account.Admin}
	if text, err := json.Marshal(claimed.Groups); err != nil || len(text) > maxGroupsClaim {
		claimed.Groups = nil
	}
	return claimed
}

// Sign signs a token with the registered claims of JWT and the claims in claims. kind becomes
// the header typ (RFC 7515).
func (i *Issuer) Sign(ctx context.Context, kind, subject string, audience jwt.Audience, claims ...any) (token string, expires time.Time, err error) {
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
	expires = now.Add(accounts.TokenLifetime)
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

// NewLink returns a link to a page on which anyone who has the link can set the user's
// password, one time and within accounts.LinkLifetime. A newer link or another change of the
// password invalidates it. If the user has a second factor, the page still requires it.
func (i *Issuer) NewLink(ctx context.Context, name string) (link string, err error) {
	code, err := i.accounts.NewLink(ctx, name, i.now())
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(i.url, "/") + "/link?" + url.Values{"code": {code}}.Encode(), nil
}

// IDToken is what an ID token of a grant says.
type IDToken struct{ User, Client, Grant string }

// ReadIDToken returns what an ID token says that this issuer signed for a grant, even if it has
// expired. It returns the zero value for every other token.
func (i *Issuer) ReadIDToken(ctx context.Context, token string) (IDToken, error) {
	c, err := i.signed(ctx, token)
	if err != nil || c == nil {
		return IDToken{}, err
	}
	t := IDToken{User: c.Subject}
	t.Client, _ = c.all["azp"].(string)
	t.Grant, _ = c.all[GrantClaim].(string)
	if t.Client == "" || !c.Audience.Contains(t.Client) { // an access token, or one of Issue
		return IDToken{}, nil
	}
	return t, nil
}

// GrantOf returns the id of the grant that a token was issued for, even if the token has
// expired. It returns "" if the token belongs to no grant or was not signed by this issuer.
func (i *Issuer) GrantOf(ctx context.Context, token string) (string, error) {
	c, err := i.signed(ctx, token)
	if err != nil || c == nil {
		return "", err
	}
	id, _ := c.all[GrantClaim].(string)
	return id, nil
}

// signed returns the claims of a token, even if it has expired. It returns nil if this issuer
// did not sign it.
func (i *Issuer) signed(ctx context.Context, token string) (*claims, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, nil
	}
	var c claims
	if err := (builtIn{i}).verify(ctx, parsed, &c); err != nil {
		if fault.Is(err, fault.Unauthenticated) {
			return nil, nil
		}
		return nil, err
	}
	return &c, nil
}
