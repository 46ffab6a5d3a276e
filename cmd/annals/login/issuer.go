package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"annals/events/fault"

	"golang.org/x/oauth2"
)

// issuer is the metadata of an authorization server (RFC 8414, OpenID Connect
// Discovery).
type issuer struct {
	Name          string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Device        string   `json:"device_authorization_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	NamesItself   bool     `json:"authorization_response_iss_parameter_supported"`
}

func (i issuer) endpoint() oauth2.Endpoint {
	return oauth2.Endpoint{
		AuthURL: i.Authorization, TokenURL: i.Token, DeviceAuthURL: i.Device, AuthStyle: oauth2.AuthStyleInParams,
	}
}

// issuerOf reads the metadata of a server (RFC 9728) and returns the issuer whose
// tokens the server accepts.
func issuerOf(ctx context.Context, client *http.Client, server string) (string, error) {
	at, err := wellKnown(server, "oauth-protected-resource")
	if err != nil {
		return "", err
	}
	var resource struct {
		URL     string   `json:"resource"`
		Issuers []string `json:"authorization_servers"`
	}
	err = read(ctx, client, at, &resource)
	switch {
	case errors.Is(err, errNoDocument):
		return "", fmt.Errorf("%s does not name an issuer: check that it is the URL of the core, such as http://127.0.0.1:8080/core, or pass the issuer as --issuer", server)
	case err != nil:
		return "", fmt.Errorf("find the issuer of %s: %w", server, err)
	}
	switch own, err := ServerURL(resource.URL); {
	case err == nil && own == server:
	case strings.Count(server, "/") == len("//"): // the server has separate metadata for each of its services
		return "", fmt.Errorf("%s is not the URL of the core: try %[1]s/core", server)
	default:
		return "", fmt.Errorf("the server at %s has the public URL %q: pass that as --server, or pass the issuer as --issuer", server, resource.URL)
	}
	switch len(resource.Issuers) {
	case 0:
		return "", fmt.Errorf("%s names no issuer: pass one as --issuer", server)
	case 1:
		scheme, _, _ := strings.Cut(server, ":")
		if err := checkURL(resource.Issuers[0], scheme); err != nil {
			return "", fmt.Errorf("%s names the issuer %q: %w; if you trust it anyway, pass it as --issuer", server, resource.Issuers[0], err)
		}
		return resource.Issuers[0], nil
	}
	return "", fmt.Errorf("%s accepts tokens of several issuers: pass one of them as --issuer: %q", server, resource.Issuers)
}

// findIssuer reads the metadata of an issuer from one of its two well-known URLs.
func findIssuer(ctx context.Context, client *http.Client, name string) (i issuer, err error) {
	if err := checkURL(name, ""); err != nil {
		return i, fmt.Errorf("issuer %q: %w", name, err)
	}
	inserted, err := wellKnown(name, "oauth-authorization-server")
	if err != nil {
		return i, err
	}
	for _, at := range []string{strings.TrimSuffix(name, "/") + "/.well-known/openid-configuration", inserted} {
		if err = read(ctx, client, at, &i); !errors.Is(err, errNoDocument) {
			break
		}
	}
	if err != nil {
		return i, fmt.Errorf("read the metadata of the issuer %s: %w", name, err)
	}
	return i, i.check(name)
}

// check returns an error if the metadata has another name than the requested issuer
// (RFC 8414 §3.3), or if the URL of an endpoint is not safe for secrets or browsers.
func (i issuer) check(name string) error {
	if i.Name != name {
		return fmt.Errorf("the metadata of the issuer %s is that of another issuer, %q", name, i.Name)
	}
	scheme, _, _ := strings.Cut(name, ":")
	for _, endpoint := range []string{i.Authorization, i.Token, i.Device, i.Revocation} {
		if endpoint == "" {
			continue
		}
		if err := checkURL(endpoint, scheme); err != nil {
			return fmt.Errorf("the issuer %s has the endpoint %q: %w", name, endpoint, err)
		}
	}
	if i.Token == "" {
		return fmt.Errorf("the metadata of the issuer %s has no token endpoint", name)
	}
	return nil
}

// scopes returns the wanted scopes that the issuer supports. If the metadata lists no
// scopes, it returns all wanted ones.
func (i issuer) scopes(wanted ...string) []string {
	if len(i.Scopes) == 0 {
		return wanted
	}
	return slices.DeleteFunc(wanted, func(s string) bool { return !slices.Contains(i.Scopes, s) })
}

// checkURL returns an error unless text is an http or https URL. namedBy is the scheme
// of the URL at which text was found. If namedBy is https, text must be an https URL.
func checkURL(text, namedBy string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("it is not an http or https URL")
	case namedBy == "https" && u.Scheme != "https":
		return errors.New("it is not an https URL, although the URL that refers to it is")
	}
	return nil
}

// ServerURL returns the URL of a server in the form that the store of sign-ins uses as
// its key.
func ServerURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fault.Errorf(fault.Invalid, "%q is not the http or https URL of a server", text)
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	plain := url.URL{Scheme: u.Scheme, Host: strings.TrimSuffix(strings.ToLower(u.Host), port), Path: strings.TrimRight(u.Path, "/")}
	return plain.String(), nil
}

// wellKnown returns the URL text with /.well-known/NAME inserted between host and path
// (RFC 8414 §3.1).
func wellKnown(text, name string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fault.Errorf(fault.Invalid, "%q is not a URL: %w", text, err)
	}
	u.Path, u.RawPath = "/.well-known/"+name+strings.TrimSuffix(u.Path, "/"), ""
	return u.String(), nil
}

// errNoDocument is returned for a reply with status 404.
var errNoDocument = errors.New("there is no such document")

// read reads the JSON document at a URL.
func read(ctx context.Context, client *http.Client, at string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	switch {
	case reply.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w at %s", errNoDocument, at)
	case reply.StatusCode != http.StatusOK:
		return fmt.Errorf("%s responds %s", at, reply.Status)
	}
	const maxDocument = 256 << 10
	if err := json.NewDecoder(io.LimitReader(reply.Body, maxDocument)).Decode(into); err != nil {
		return fmt.Errorf("the reply from %s is not the expected JSON: %w", at, err)
	}
	return nil
}
