package provider

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/provider/oauth"

	jose "github.com/go-jose/go-jose/v4"
)

// scopeOpenID is the scope that requests an ID token. Clients can request no other scope:
// their access tokens always have all rights of the user, and they always get a refresh token.
// Only access tokens in exchange for API tokens have a scope of package apitoken.
const scopeOpenID = "openid"

// document is a metadata document that one host serves at a well-known path.
type document struct {
	host  string
	route route
}

// rootDocuments returns the metadata documents of the issuer (RFC 8414 §3.1) and of the
// resources (RFC 9728 §3.1), keyed by their paths.
func (p *Provider) rootDocuments(issuer *url.URL) (map[string][]document, error) {
	all := map[string][]document{}
	add := func(path, host string, read func(context.Context) (any, error)) {
		all[path] = append(all[path], document{host, route{get: p.public(read), crossOrigin: true}})
	}
	for _, name := range []string{"openid-configuration", "oauth-authorization-server"} {
		add(signin.WellKnown+name+p.path, issuer.Host, p.discovery)
	}
	for i, r := range p.resources {
		u, err := url.Parse(r.url)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "parse the URL of the resource %q: %w", r.url, err)
		}
		read := func(context.Context) (any, error) { return p.resourceMetadata(r), nil }
		path := strings.TrimSuffix(u.Path, "/")
		add(signin.WellKnown+signin.ProtectedResource+path, u.Host, read)
		if i == 0 && path != "" { // the first resource also without its path, for clients that omit it
			add(signin.WellKnown+signin.ProtectedResource, u.Host, read)
		}
	}
	return all, nil
}

// RootDocuments serves the metadata documents at well-known paths. If several documents have
// the same path, the host of the request selects one.
func (p *Provider) RootDocuments() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := p.documents[strings.TrimSuffix(r.URL.Path, "/")]
		if len(all) == 0 {
			http.NotFound(w, r)
			return
		}
		i := slices.IndexFunc(all, func(d document) bool { return strings.EqualFold(d.host, r.Host) })
		all[max(i, 0)].route.serve(w, r)
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

// discovery returns the issuer's metadata for both OpenID Connect Discovery and RFC 8414.
func (p *Provider) discovery(context.Context) (any, error) {
	return map[string]any{
		"issuer":                                         p.issuer.URL(),
		"authorization_endpoint":                         p.urlOf("/authorize"),
		"token_endpoint":                                 p.urlOf("/token"),
		"revocation_endpoint":                            p.urlOf("/revoke"),
		"end_session_endpoint":                           p.urlOf("/end_session"),
		"registration_endpoint":                          p.urlOf("/register"),
		"device_authorization_endpoint":                  p.urlOf("/device_authorization"),
		"jwks_uri":                                       p.urlOf("/jwks"),
		"scopes_supported":                               []string{scopeOpenID},
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{oauth.GrantCode, oauth.GrantRefresh, oauth.GrantDevice, oauth.GrantClient},
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
			"iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "auth_time", "azp", signin.GrantClaim, "name", "groups", signin.AdminClaim,
		},
	}, nil
}

func (p *Provider) keySet(ctx context.Context) (any, error) {
	if _, err := p.accounts.SigningKey(ctx); err != nil { // creates the first key if there is none
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
