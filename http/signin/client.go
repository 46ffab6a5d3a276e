package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"annals/events/lookalike"
)

// CLIClient is the id of the program's own command line as a client.
const CLIClient = "annals-cli"

// client is a program that people sign in to. All are public: none has a secret.
type client struct {
	ID string `json:"client_id"`
	clientMetadata

	// The page that is its ID cannot be reached from here, as where a server
	// has no way out. It may be called back on the user's own device then, as
	// could every program that registers itself.
	unchecked bool
}

// clientMetadata is what a program says of itself (RFC 7591 §2), as far as it
// is kept.
type clientMetadata struct {
	Name       string   `json:"client_name,omitempty"`
	Redirects  []string `json:"redirect_uris,omitempty"`
	Grants     []string `json:"grant_types,omitempty"`
	Responses  []string `json:"response_types,omitempty"`
	AuthMethod string   `json:"token_endpoint_auth_method,omitempty"`
}

// cli is known beforehand.
var cli = client{ID: CLIClient, clientMetadata: clientMetadata{
	Name: "Annals on the command line", Redirects: []string{"http://127.0.0.1/callback", "http://[::1]/callback"},
	Grants: []string{grantCode, grantRefresh, grantDevice},
}}

// Bounds on what a program says of itself.
const (
	maxClientName = 100 // characters
	maxRedirects  = 20
)

// complete checks what a program says of itself and fills in what it left out.
// Errors are in the words of RFC 7591 §3.2.2.
func (m *clientMetadata) complete() error {
	m.Name = normal(lookalike.Clean(strings.ToValidUTF8(normal(m.Name), "")))
	if utf8.RuneCountInString(m.Name) > maxClientName {
		return refused("invalid_client_metadata", "client_name has more than %d characters", maxClientName)
	}
	// A program that could keep a secret is served as one that has none.
	switch m.AuthMethod {
	case "", "none", "client_secret_basic", "client_secret_post":
		m.AuthMethod = "none"
	default:
		return refused("invalid_client_metadata", "token_endpoint_auth_method can be none alone")
	}
	if len(m.Responses) > 0 && !slices.Contains(m.Responses, "code") {
		return refused("invalid_client_metadata", "response_types can be code alone")
	}
	m.Responses = []string{"code"}
	device := slices.Contains(m.Grants, grantDevice)
	if len(m.Grants) > 0 && !device && !slices.Contains(m.Grants, grantCode) {
		return refused("invalid_client_metadata", "grant_types holds none that is supported")
	}
	m.Grants = []string{grantCode, grantRefresh}
	if device {
		m.Grants = append(m.Grants, grantDevice)
	}
	return m.checkRedirects(device)
}

func (m *clientMetadata) checkRedirects(device bool) error {
	if len(m.Redirects) > maxRedirects || len(m.Redirects) == 0 && !device {
		return refused("invalid_redirect_uri", "redirect_uris holds from 1 to %d addresses", maxRedirects)
	}
	for i, uri := range m.Redirects {
		if why := checkRedirect(uri); why != "" {
			return refused("invalid_redirect_uri", "redirect_uris[%d] %s", i, why)
		}
	}
	return nil
}

// title is what people are told the program is called.
func (c client) title() string {
	if c.Name == "" {
		return "A program without a name"
	}
	return c.Name
}

// redirects reports whether the program may be called back at an address.
func (c client) redirects(to string) bool {
	if c.unchecked {
		_, _, local := splitLoopback(to)
		return local && checkRedirect(to) == ""
	}
	return slices.ContainsFunc(c.Redirects, func(registered string) bool { return sameRedirect(registered, to) })
}

// errNoClient says that a client id is nobody's.
var errNoClient = refused("invalid_client", "there is no such client, or not any more; it has to register anew")

// client returns the program of that id, or errNoClient; what else is wrong with
// its page is a refusal, too.
func (p *Provider) client(ctx context.Context, id string) (client, error) {
	switch {
	case id == CLIClient:
		return cli, nil
	case id == p.issuer.audience || id == p.issuer.tools: // as whom it could take tokens for others' services
		return client{}, errNoClient
	case isClientPage(id):
		return p.clientPages.get(ctx, id)
	}
	return p.accounts.client(ctx, id)
}

// knowsClient is client without fetching pages.
func (p *Provider) knowsClient(ctx context.Context, id string) error {
	if id == CLIClient || isClientPage(id) {
		return nil
	}
	_, err := p.accounts.client(ctx, id)
	return err
}

// client returns a program that registered itself.
func (a *Accounts) client(ctx context.Context, id string) (client, error) {
	var metadata []byte
	err := a.db.row(ctx, `SELECT metadata FROM clients WHERE id = $1`, id).Scan(&metadata)
	c := client{ID: id}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return client{}, errNoClient
	case err == nil:
		err = json.Unmarshal(metadata, &c.clientMetadata)
	}
	if err != nil {
		return client{}, fmt.Errorf("read a client: %w", err)
	}
	return c, nil
}

// maxClients is how many registered programs are kept.
const maxClients = 20_000

// addClient keeps a program. Where there are too many, others that nobody uses make
// room: those to which nobody ever signed in, and then those to which nobody is. It
// reports false where all are in use.
func (a *Accounts) addClient(ctx context.Context, c client, origin []byte, now time.Time) (added bool, err error) {
	metadata, err := json.Marshal(c.clientMetadata)
	if err != nil {
		return false, fmt.Errorf("encode a client: %w", err)
	}
	for _, unused := range []string{`used = 0`, `NOT EXISTS (SELECT 1 FROM grants WHERE grants.client = clients.id)`, ``} {
		n, err := a.db.exec(ctx, `
			INSERT INTO clients (id, metadata, created, origin) SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM clients) < $5`,
			c.ID, string(metadata), now.UnixMicro(), origin, maxClients)
		if err != nil {
			return false, fmt.Errorf("store a client: %w", err)
		}
		if n > 0 || unused == "" {
			return n > 0, nil
		}
		if _, err := a.makeRoom(ctx, "clients", "id", "created", unused); err != nil {
			return false, err
		}
	}
	return false, nil
}
