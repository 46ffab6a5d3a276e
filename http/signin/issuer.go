package signin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

// Issuer is the built-in OpenID issuer: it signs ID tokens with the store's
// newest key and serves its discovery document and public keys.
type Issuer struct {
	accounts *Accounts
	url      string
	path     string
	audience string
	now      func() time.Time
}

// IssuerOptions says who the issuer is.
type IssuerOptions struct {
	URL      string           // as clients reach it, such as http://127.0.0.1:8080/signin
	Audience string           // DefaultAudience if empty
	Now      func() time.Time // time.Now if nil
}

// NewIssuer returns the issuer over accounts, which stays the caller's to close.
func NewIssuer(accounts *Accounts, o IssuerOptions) (*Issuer, error) {
	u, err := checkIssuerURL(o.URL)
	if err != nil {
		return nil, err
	}
	i := &Issuer{accounts: accounts, url: o.URL, path: strings.TrimSuffix(u.Path, "/"), audience: o.Audience, now: o.Now}
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

// Audience returns the tokens' aud.
func (i *Issuer) Audience() string { return i.audience }

// identity holds what an ID token tells besides the registered claims.
type identity struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
	Admin  bool     `json:"annals_admin,omitempty"`
}

// Issue signs an ID token for a user and returns it with the moment it
// expires. A name that is nobody's is NotFound, a disabled user Forbidden.
func (i *Issuer) Issue(ctx context.Context, name string) (token string, expires time.Time, err error) {
	account, err := i.accounts.Get(ctx, name)
	if err != nil {
		return "", time.Time{}, err
	}
	if account.Disabled {
		return "", time.Time{}, fault.Errorf(fault.Forbidden, "user %q is disabled", account.Name)
	}
	key, err := i.accounts.SigningKey(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: key.Algorithm, Key: jose.JSONWebKey{Key: key.Private, KeyID: key.ID}},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", time.Time{}, fmt.Errorf("prepare to sign a token: %w", err)
	}
	groups := account.Groups
	if len(encodeGroups(groups)) > maxGroupsClaim {
		groups = nil
	}
	now := i.now().UTC().Truncate(time.Second)
	expires = now.Add(TokenLifetime)
	token, err = jwt.Signed(signer).Claims(jwt.Claims{
		Issuer:    i.url,
		Subject:   account.Name,
		Audience:  jwt.Audience{i.audience},
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now),
		Expiry:    jwt.NewNumericDate(expires),
	}).Claims(identity{Name: account.Name, Groups: groups, Admin: account.Admin}).Serialize()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("sign a token for user %q: %w", account.Name, err)
	}
	return token, expires, nil
}

// ServeHTTP answers GET and HEAD of .well-known/openid-configuration and jwks
// below the path of the issuer's URL, which requests carry in full.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var document func(context.Context) (any, error)
	switch r.URL.Path {
	case i.path + "/.well-known/openid-configuration":
		document = i.discovery
	case i.path + "/jwks":
		document = i.keySet
	default:
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this address is read with GET", http.StatusMethodNotAllowed)
		return
	}
	value, err := document(r.Context())
	if err != nil {
		http.Error(w, "the sign-in service cannot read its keys", http.StatusServiceUnavailable)
		return
	}
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the sign-in service cannot write its answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// Short enough for a new key to be seen soon, long enough to spare calls.
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(body)
}

// discovery is the issuer's OpenID Provider Metadata: what is served, and no
// more.
func (i *Issuer) discovery(context.Context) (any, error) {
	return map[string]any{
		"issuer":                                i.url,
		"jwks_uri":                              strings.TrimSuffix(i.url, "/") + "/jwks",
		"scopes_supported":                      []string{"openid"},
		"response_types_supported":              []string{},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []jose.SignatureAlgorithm{jose.ES256},
		"claims_supported":                      []string{"iss", "sub", "aud", "exp", "iat", "nbf", "name", "groups", AdminClaim},
	}, nil
}

func (i *Issuer) keySet(ctx context.Context) (any, error) {
	if _, err := i.accounts.SigningKey(ctx); err != nil { // so that there is one
		return nil, err
	}
	keys, err := i.accounts.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var set jose.JSONWebKeySet
	for _, key := range keys {
		set.Keys = append(set.Keys, key.Public())
	}
	return set, nil
}
