package signin

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"annals/events/fault"
)

// scopeOpenID asks for an ID token, too. It is the only scope that people's programs
// ask for: what such a token lets its bearer do hangs on the rights of its user alone,
// and a refresh token goes with every one. What a program gets for a token of its own
// has a scope of package apitoken.
const scopeOpenID = "openid"

// Ways to a token (RFC 6749, RFC 8628).
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
	grantClient  = "client_credentials"
	grantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
)

// resource is something that tokens are asked for, by its URL (RFC 8707).
type resource struct{ url, audience string }

// audienceFor returns for whom a token is to be meant: of the services where no
// resource is named.
func (p *Provider) audienceFor(resources []string) (string, error) {
	audience := ""
	for _, asked := range resources {
		i := slices.IndexFunc(p.resources, func(r resource) bool { return sameResource(r.url, asked) })
		if i < 0 {
			return "", refused("invalid_target", "the resource is not one that this server gives tokens for")
		}
		if a := p.resources[i].audience; audience == "" || audience == a {
			audience = a
			continue
		}
		return "", refused("invalid_target", "one token cannot be for the services and for the tools")
	}
	if audience == "" {
		audience = p.issuer.audience
	}
	return audience, nil
}

// sameResource compares URLs as RFC 3986 §6.2.2 and §6.2.3 have it, and passes
// over a slash at the end, which some clients add.
func sameResource(a, b string) bool {
	if len(b) > maxURL {
		return false
	}
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && plainURL(x) == plainURL(y)
}

func plainURL(u *url.URL) string {
	c := *u
	c.Scheme, c.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case c.Scheme == "https":
		c.Host = strings.TrimSuffix(c.Host, ":443")
	case c.Scheme == "http":
		c.Host = strings.TrimSuffix(c.Host, ":80")
	}
	return strings.TrimSuffix(c.String(), "/")
}

// document is one of the documents at the root of a host.
type document struct {
	host  string
	serve route
}

// rootDocuments returns what is found at the root of hosts, by path: the
// issuer's metadata (RFC 8414 §3.1 puts its path behind the well-known name),
// and that of the resources (RFC 9728 §3.1).
func (p *Provider) rootDocuments(issuer *url.URL) (map[string][]document, error) {
	all := map[string][]document{}
	add := func(path, host string, read func(context.Context) (any, error)) {
		all[path] = append(all[path], document{host, route{get: p.public(read), open: true}})
	}
	for _, name := range []string{"openid-configuration", "oauth-authorization-server"} {
		add(wellKnown+name+p.issuer.path, issuer.Host, p.discovery)
	}
	for i, r := range p.resources {
		u, err := url.Parse(r.url)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "resource %q: %w", r.url, err)
		}
		read := func(context.Context) (any, error) { return p.resourceMetadata(r), nil }
		path := strings.TrimSuffix(u.Path, "/")
		add(wellKnown+protectedResource+path, u.Host, read)
		if i == 0 && path != "" { // for clients that know nothing of paths: the tools
			add(wellKnown+protectedResource, u.Host, read)
		}
	}
	return all, nil
}

const (
	wellKnown         = "/.well-known/"
	protectedResource = "oauth-protected-resource"
)

// ResourceMetadataURL returns where the metadata of a protected resource is
// found (RFC 9728 §3.1), for the header WWW-Authenticate.
func ResourceMetadataURL(resource *url.URL) string {
	u := *resource
	u.Path, u.RawPath = wellKnown+protectedResource+strings.TrimSuffix(u.Path, "/"), ""
	return u.String()
}

// RootDocuments answers the well-known addresses at the root of hosts. Where
// several resources have one path, the request's host decides.
func (p *Provider) RootDocuments() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := p.documents[strings.TrimSuffix(r.URL.Path, "/")]
		if len(all) == 0 {
			http.NotFound(w, r)
			return
		}
		i := slices.IndexFunc(all, func(d document) bool { return strings.EqualFold(d.host, r.Host) })
		all[max(i, 0)].serve.serve(w, r)
	})
}

func (p *Provider) resourceMetadata(r resource) any {
	return map[string]any{
		"resource":                 r.url,
		"authorization_servers":    p.servers,
		"bearer_methods_supported": []string{"header"},
		"resource_name":            "Annals",
	}
}

// discovery is the issuer's metadata, of OpenID Connect Discovery and of
// RFC 8414 in one: what is served, and no more.
func (p *Provider) discovery(context.Context) (any, error) {
	return map[string]any{
		"issuer":                                         p.issuer.url,
		"authorization_endpoint":                         p.at("/authorize"),
		"token_endpoint":                                 p.at("/token"),
		"revocation_endpoint":                            p.at("/revoke"),
		"registration_endpoint":                          p.at("/register"),
		"device_authorization_endpoint":                  p.at("/device_authorization"),
		"jwks_uri":                                       p.at("/jwks"),
		"scopes_supported":                               []string{scopeOpenID},
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{grantCode, grantRefresh, grantDevice, grantClient},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []jose.SignatureAlgorithm{jose.ES256},
		"prompt_values_supported":                        []string{"none", "login", "consent", "select_account"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false,
		"claims_parameter_supported":                     false,
		"claims_supported": []string{
			"iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "auth_time", "azp", grantClaim, "name", "groups", AdminClaim,
		},
	}, nil
}

func (p *Provider) keySet(ctx context.Context) (any, error) {
	if _, err := p.accounts.SigningKey(ctx); err != nil { // so that there is one
		return nil, err
	}
	keys, err := p.accounts.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var set jose.JSONWebKeySet
	for _, key := range keys {
		set.Keys = append(set.Keys, key.Public())
	}
	return set, nil
}
