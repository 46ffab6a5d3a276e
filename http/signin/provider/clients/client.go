// Package clients describes OAuth clients, the programs to which users sign in: their
// metadata, the pages on which they may publish it, and the rules for redirect addresses.
//
// It may import oauth, accounts for the normal form of names, and events/lookalike.
package clients

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/events/lookalike"
	"annals/http/signin/accounts"
	"annals/http/signin/provider/oauth"
)

// CLIID is the client_id of the annals command line.
const CLIID = "annals-cli"

// ConsoleID is the client_id of the console, which is a part of this server.
const ConsoleID = "annals-console"

// Client is an OAuth client, a program to which users sign in. All clients are public clients:
// they have no secret.
type Client struct {
	ID string `json:"client_id"`
	Metadata

	// Unchecked is true if ID is the URL of a metadata page that cannot be reached, for
	// example because this machine has no access to the internet. Such a client may redirect
	// only to the user's device. Any program that registers itself may do that too, so nothing
	// is lost.
	Unchecked bool `json:"-"`

	// FirstParty is true for the console. Users need not consent to it, and the browser is
	// redirected only to the path of its address, so on the host that the browser has used.
	FirstParty bool `json:"-"`
}

// Metadata is the stored part of a client's metadata (RFC 7591 §2).
type Metadata struct {
	Name       string   `json:"client_name,omitempty"`
	Redirects  []string `json:"redirect_uris,omitempty"`
	Grants     []string `json:"grant_types,omitempty"`
	Responses  []string `json:"response_types,omitempty"`
	AuthMethod string   `json:"token_endpoint_auth_method,omitempty"`
}

// CLI is the client of the annals command line. It needs no registration.
var CLI = Client{ID: CLIID, Metadata: Metadata{
	Name: "Annals on the command line", Redirects: []string{"http://127.0.0.1/callback", "http://[::1]/callback"},
	Grants: []string{oauth.GrantCode, oauth.GrantRefresh, oauth.GrantDevice},
}}

// Console returns the client of the console. host is its scheme and host.
func Console(host string) Client {
	return Client{ID: ConsoleID, FirstParty: true, Metadata: Metadata{
		Name: "Annals in a browser", Redirects: []string{host + "/console/callback"}, Grants: []string{oauth.GrantCode, oauth.GrantRefresh},
	}}
}

// Limits on metadata.
const (
	MaxName      = 100 // maximum length in characters
	MaxRedirects = 20
)

// Complete checks metadata and sets defaults. Its errors have the codes of RFC 7591 §3.2.2.
func (m *Metadata) Complete() error {
	m.Name = accounts.NormalName(lookalike.Clean(strings.ToValidUTF8(accounts.NormalName(m.Name), "")))
	if utf8.RuneCountInString(m.Name) > MaxName {
		return oauth.Errorf("invalid_client_metadata", "client_name has more than %d characters", MaxName)
	}
	// A client that requests a secret is accepted, but becomes a public client without a
	// secret.
	switch m.AuthMethod {
	case "", "none", "client_secret_basic", "client_secret_post":
		m.AuthMethod = "none"
	default:
		return oauth.Errorf("invalid_client_metadata", "token_endpoint_auth_method must be none")
	}
	if len(m.Responses) > 0 && !slices.Contains(m.Responses, "code") {
		return oauth.Errorf("invalid_client_metadata", "response_types must contain code")
	}
	m.Responses = []string{"code"}
	device := slices.Contains(m.Grants, oauth.GrantDevice)
	if len(m.Grants) > 0 && !device && !slices.Contains(m.Grants, oauth.GrantCode) {
		return oauth.Errorf("invalid_client_metadata", "grant_types must contain a supported grant type")
	}
	m.Grants = []string{oauth.GrantCode, oauth.GrantRefresh}
	if device {
		m.Grants = append(m.Grants, oauth.GrantDevice)
	}
	return m.checkRedirects(device)
}

func (m *Metadata) checkRedirects(device bool) error {
	if len(m.Redirects) > MaxRedirects || len(m.Redirects) == 0 && !device {
		return oauth.Errorf("invalid_redirect_uri", "redirect_uris must contain 1 to %d addresses", MaxRedirects)
	}
	for i, uri := range m.Redirects {
		if why := checkRedirect(uri); why != "" {
			return oauth.Errorf("invalid_redirect_uri", "redirect_uris[%d] %s", i, why)
		}
	}
	return nil
}

// Title returns the name of the client that users see.
func (c Client) Title() string {
	return cmp.Or(c.Name, "A program without a name")
}

// MayRedirectTo reports whether the client may use a redirect address.
func (c Client) MayRedirectTo(to string) bool {
	if c.FirstParty {
		return slices.Contains(c.Redirects, to)
	}
	if c.Unchecked {
		_, _, local := splitLoopback(to)
		return local && checkRedirect(to) == ""
	}
	return slices.ContainsFunc(c.Redirects, func(registered string) bool { return sameRedirect(registered, to) })
}
