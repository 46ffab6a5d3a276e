package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"annals/events/fault"
	"annals/http/signin"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// metadataFresh is how long the metadata of the issuer is used before it is fetched again.
	// If it cannot be fetched then, the old metadata is used.
	metadataFresh = time.Hour
	// metadataPause is the minimum time between two attempts to fetch the metadata.
	metadataPause = 5 * time.Second
	// revokeTimeout is the maximum time for telling the issuer that a session has ended.
	revokeTimeout = 5 * time.Second
)

// issuer is the OpenID issuer at which browsers sign in, as its client sees it.
type issuer struct {
	name    string // URL of the issuer
	builtIn bool
	client  *http.Client
	config  oauth2.Config // without Endpoint
	now     func() time.Time

	mu       sync.Mutex
	metadata *metadata
	tried    time.Time // of the last attempt to fetch the metadata
	err      error     // of that attempt
}

// metadata is what the issuer publishes about itself. It never changes.
type metadata struct {
	endpoint   oauth2.Endpoint
	revocation string // URL of the revocation endpoint; "" if there is none
	endSession string // URL at which browsers sign out; "" if there is none
	namesIss   bool   // whether redirects to the console contain the parameter iss (RFC 9207)
	verifier   *oidc.IDTokenVerifier
	fetched    time.Time
}

func newBuiltIn(provider http.Handler, at *url.URL, clientID string) *issuer {
	return &issuer{
		name: at.String(), builtIn: true, client: &http.Client{Transport: inProcess{provider}},
		config: oauth2.Config{ClientID: clientID, Scopes: []string{oidc.ScopeOpenID}},
	}
}

func newExternal(e External) *issuer {
	scopes := []string{oidc.ScopeOpenID}
	for _, scope := range e.Scopes {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return &issuer{
		name: e.Issuer, client: signin.NewHTTPClient(nil),
		config: oauth2.Config{ClientID: e.ClientID, ClientSecret: e.ClientSecret, Scopes: scopes},
	}
}

// context returns the context of requests to the issuer for a request of a browser.
func (i *issuer) context(r *http.Request) context.Context {
	return context.WithValue(context.WithValue(r.Context(), browserKey{}, r), oauth2.HTTPClient, i.client)
}

// discover returns the metadata of the issuer. Only one caller fetches it at a time.
func (i *issuer) discover(ctx context.Context) (*metadata, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	fresh := i.metadata != nil && now.Sub(i.metadata.fetched) < metadataFresh
	if since := now.Sub(i.tried); !fresh && (i.tried.IsZero() || since >= metadataPause || since < 0) {
		found, err := i.fetch(context.WithoutCancel(ctx))
		i.tried, i.err = now, nil
		if err != nil {
			i.err = fault.Hide(fault.Unavailable, "the sign-in service cannot be reached at the moment; try again later",
				fmt.Errorf("fetch the metadata of issuer %s: %.200s", i.name, err.Error()))
		} else {
			found.fetched = now
			i.metadata = found
		}
	}
	if i.metadata == nil {
		return nil, i.err
	}
	return i.metadata, nil
}

func (i *issuer) fetch(ctx context.Context) (*metadata, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.name)
	if err != nil {
		return nil, err
	}
	var published struct {
		JWKS       string   `json:"jwks_uri"`
		Revocation string   `json:"revocation_endpoint"`
		EndSession string   `json:"end_session_endpoint"`
		Methods    []string `json:"token_endpoint_auth_methods_supported"`
		NamesIss   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&published); err != nil {
		return nil, err
	}
	m := &metadata{
		endpoint: provider.Endpoint(), revocation: published.Revocation, endSession: published.EndSession, namesIss: published.NamesIss,
		verifier: provider.Verifier(&oidc.Config{ClientID: i.config.ClientID, Now: i.now}),
	}
	for name, text := range map[string]string{
		"authorization_endpoint": m.endpoint.AuthURL, "token_endpoint": m.endpoint.TokenURL, "jwks_uri": published.JWKS,
		"revocation_endpoint": m.revocation, "end_session_endpoint": m.endSession,
	} {
		needed := name != "revocation_endpoint" && name != "end_session_endpoint"
		if err := i.checkEndpoint(text); err != nil && (needed || text != "") {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	// The client must not try one method after the other, because a code is accepted only once.
	m.endpoint.AuthStyle = oauth2.AuthStyleInParams
	if i.config.ClientSecret != "" && (len(published.Methods) == 0 || slices.Contains(published.Methods, "client_secret_basic")) {
		m.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	return m, nil
}

// checkEndpoint returns an error unless text is a URL as safe as that of the issuer.
func (i *issuer) checkEndpoint(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%q is not a http or https URL", text)
	case strings.HasPrefix(i.name, "https:") && u.Scheme != "https":
		return fmt.Errorf("%q must be https, as the issuer is", text)
	}
	return nil
}

// forBrowser returns the URL of a page of the issuer to which the browser is redirected. The
// browser stays on the host that it has used, if that is also the host of the issuer.
func (i *issuer) forBrowser(text string) string {
	if !i.builtIn {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.RequestURI()
}

// start returns the URL of the page of the issuer on which the user signs in.
func (i *issuer) start(at *metadata, f flow) string {
	config := i.config
	config.Endpoint = at.endpoint
	return i.forBrowser(config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)))
}

// exchange redeems an authorization code, and checks the ID token. The error is
// fault.Unauthenticated if the issuer refuses.
func (i *issuer) exchange(ctx context.Context, at *metadata, f flow, code string) (token *oauth2.Token, id string, err error) {
	config := i.config
	config.Endpoint = at.endpoint
	if token, err = config.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier)); err != nil {
		return nil, "", refusal(err)
	}
	id, _ = token.Extra("id_token").(string)
	checked, err := at.verifier.Verify(ctx, id)
	switch {
	case err != nil:
		return nil, "", fault.Errorf(fault.Unauthenticated, "the ID token of the issuer is invalid: %.200s", err.Error())
	case checked.Nonce != f.Nonce:
		return nil, "", fault.Errorf(fault.Unauthenticated, "the ID token of the issuer is for another sign-in")
	}
	return token, id, nil
}

// refresh redeems a refresh token. id is "" if the issuer sends no ID token. The error is
// fault.Unauthenticated if the issuer refuses.
func (i *issuer) refresh(ctx context.Context, refresh string) (token *oauth2.Token, id string, err error) {
	at, err := i.discover(ctx)
	if err != nil {
		return nil, "", err
	}
	config := i.config
	config.Endpoint = at.endpoint
	if token, err = config.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token(); err != nil {
		return nil, "", refusal(err)
	}
	if id, _ = token.Extra("id_token").(string); id != "" {
		if _, err := at.verifier.Verify(ctx, id); err != nil {
			return nil, "", fault.Errorf(fault.Unauthenticated, "the ID token of the issuer is invalid: %.200s", err.Error())
		}
	}
	return token, id, nil
}

// errSetUp is the error if the issuer refuses the console itself.
var errSetUp = errors.New("the issuer refuses the client of the console")

// refusal returns an error of the token endpoint as fault.Unauthenticated if the issuer refuses
// the code or token, as errSetUp if it refuses the request for another reason, and otherwise as
// fault.Unavailable. Wrong settings, such as of the client secret, are no reason to end a
// session.
func refusal(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		switch refused.ErrorCode {
		case "invalid_grant", "access_denied":
			return fault.Errorf(fault.Unauthenticated, "the issuer refuses: %.200s", err.Error())
		case "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target":
			return fmt.Errorf("%w: %.300s", errSetUp, err.Error())
		}
	}
	return fault.Hide(fault.Unavailable, "the sign-in service cannot be reached at the moment; try again later",
		fmt.Errorf("get tokens from the issuer: %.300s", err.Error()))
}

// revoke tells the issuer that a refresh token is no longer needed, which ends the session
// there (RFC 7009).
func (i *issuer) revoke(ctx context.Context, refresh string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTimeout)
	defer cancel()
	at, err := i.discover(ctx)
	if err != nil || at.revocation == "" || refresh == "" {
		return err
	}
	form := url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}}
	inHeader := at.endpoint.AuthStyle == oauth2.AuthStyleInHeader
	if !inHeader {
		form.Set("client_id", i.config.ClientID)
		if i.config.ClientSecret != "" {
			form.Set("client_secret", i.config.ClientSecret)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader {
		request.SetBasicAuth(url.QueryEscape(i.config.ClientID), url.QueryEscape(i.config.ClientSecret)) // RFC 6749 §2.3.1
	}
	response, err := i.client.Do(request)
	if err != nil {
		return err
	}
	if response.Body.Close(); response.StatusCode != http.StatusOK {
		return fmt.Errorf("revoke a refresh token: the issuer replied %s", response.Status)
	}
	return nil
}

// end returns the URL at which the browser ends its session at the issuer (OpenID Connect
// RP-Initiated Logout), or "" if the issuer has none. The issuer sends the browser to after.
func (i *issuer) end(at *metadata, hint, after string) string {
	u, err := url.Parse(at.endSession)
	if at.endSession == "" || err != nil {
		return ""
	}
	q := u.Query()
	q.Set("client_id", i.config.ClientID)
	q.Set("post_logout_redirect_uri", after)
	if hint != "" {
		q.Set("id_token_hint", hint)
	}
	u.RawQuery = q.Encode()
	return i.forBrowser(u.String())
}
