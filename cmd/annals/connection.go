package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"annals/cmd/annals/login"
	"annals/http/signin"
)

// connection is how a command reaches a running server, and as whom.
type connection struct{ server, token, user string }

func (c *connection) bind(flags *pflag.FlagSet) {
	bindServer(flags, &c.server)
	flags.StringVar(&c.token, "token", "", "token to sign in with; better given as ANNALS_TOKEN (default: that of annals login, else one for --user)")
	flags.StringVar(&c.user, "user", "admin", "act as this user of the built-in sign-in, beside its data folder")
}

// bindServer binds the flag that names a server.
func bindServer(flags *pflag.FlagSet, server *string) {
	flags.StringVar(server, "server", "", "URL of the core (default: of the server on the data folder)")
}

// defaultListen is where a server listens, and other commands look for it, if
// nothing else is configured. It is a variable for tests, none of which may reach
// a server that somebody runs on the same machine.
var defaultListen = "127.0.0.1:8080"

// readURLs returns the addresses of the server on a data folder.
func readURLs(dataDir string) (signin.URLs, error) {
	return signin.ReadURLs(dataDir, signin.DefaultURLs(defaultListen))
}

// core returns the URL of the core.
func (c *connection) core(dataDir string) (string, error) {
	server := c.server
	if server == "" {
		urls, err := readURLs(dataDir)
		if err != nil {
			return "", err
		}
		server = urls.Core
	}
	return address("server", server, "core")
}

// vault returns the URL of the vault: the one that was given, or that of the
// server on the data folder. Where another server was given, its vault is
// looked for where serve puts it if nothing is said.
func (c *connection) vault(given, dataDir string) (string, error) {
	if given == "" && c.server == "" {
		urls, err := readURLs(dataDir)
		if err != nil {
			return "", err
		}
		given = urls.Vault
	}
	if given == "" {
		core, err := c.core(dataDir)
		if err != nil {
			return "", err
		}
		beside, ok := strings.CutSuffix(core, "/core")
		if !ok {
			return "", fmt.Errorf("where the vault is cannot be told from --server %s: name it by --vault-url", core)
		}
		given = beside + "/vault"
	}
	return address("vault-url", given, "vault")
}

// address returns the URL of a service without a slash at the end.
func address(flag, text, service string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--%s %s: must be the http or https URL of the %s", flag, text, service)
	}
	return strings.TrimSuffix(text, "/"), nil
}

// credential is what requests are signed with, and how that is told to people.
type credential struct {
	token tokenSource
	name  string // such as "the token that was given"
	help  string // what to do where a server does not accept it
}

// credential returns what requests to a server are signed with: the token that
// was given; else, unless a user is named, the sign-in that annals login has
// kept; else tokens of the built-in sign-in, beside its data folder. server is
// the URL of the core, or "" where it is not known.
func (c *connection) credential(cmd *cobra.Command, dataDir, server string) (credential, error) {
	if c.token != "" {
		return credential{
			token: func(context.Context, string) (string, error) { return c.token, nil },
			name:  "the token given by --token or ANNALS_TOKEN", help: "it may have expired, or be meant for another server",
		}, nil
	}
	if user := cmd.Flags().Lookup("user"); server != "" && (user == nil || !user.Changed) {
		signedIn, found, err := c.signedIn(server)
		if err != nil || found {
			return signedIn, err
		}
	}
	return c.builtIn(cmd, dataDir, server), nil
}

// signedIn returns the sign-in to a server that is kept on this machine.
func (c *connection) signedIn(server string) (_ credential, found bool, err error) {
	if server, err = login.ServerURL(server); err != nil {
		return credential{}, false, err
	}
	store, err := login.UserStore()
	if err != nil {
		return credential{}, false, nil // whoever has no home has not signed in
	}
	kept, found, err := store.Get(server)
	if err != nil || !found {
		return credential{}, false, err
	}
	source := &login.Source{Store: store, Server: server, HTTP: newSignInClient()}
	return credential{
		token: source.Token,
		name:  "the sign-in as " + printable(kept.User), help: "sign in again by annals login --server " + server,
	}, true, nil
}

// builtIn returns tokens of the built-in sign-in for the user who is named.
func (c *connection) builtIn(cmd *cobra.Command, dataDir, server string) credential {
	how := "sign in by annals login"
	if server != "" {
		how += " --server " + server
	}
	issued := &issuedToken{issue: func(context.Context) (token string, expires time.Time, err error) {
		err = withIssuer(cmd, dataDir, func(ctx context.Context, issuer *signin.Issuer) error {
			token, expires, err = issuer.Issue(ctx, c.user)
			return helpUnknown(err)
		})
		if err != nil {
			err = fmt.Errorf("sign in as %s: %w (or %s, or give a token by ANNALS_TOKEN)", c.user, err, how)
		}
		return token, expires, err
	}}
	return credential{
		token: issued.get,
		name:  fmt.Sprintf("the token for the user %s of the data folder %s", c.user, dataDir), help: how,
	}
}

// coreBeside returns the URL of the core that belongs to a vault, or "" where it
// cannot be told: what is kept for one server is no other's to see.
func (c *connection) coreBeside(vault, dataDir string) (string, error) {
	core, err := c.core(dataDir)
	if err != nil || c.server != "" {
		return core, err
	}
	if own, err := c.vault("", dataDir); err != nil || own == vault {
		return core, err
	}
	beside, ok := strings.CutSuffix(vault, "/vault")
	if !ok {
		return "", nil
	}
	return beside + "/core", nil
}

// issuedToken holds a token and has another issued in time.
type issuedToken struct {
	issue func(context.Context) (token string, expires time.Time, err error)

	mu      sync.Mutex
	token   string
	expires time.Time
}

// get returns a token that lasts for a while yet: an upload may be slow.
func (t *issuedToken) get(ctx context.Context, refused string) (string, error) {
	const ahead = 10 * time.Minute
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == refused || time.Until(t.expires) < ahead {
		var err error
		if t.token, t.expires, err = t.issue(ctx); err != nil {
			return "", err
		}
	}
	return t.token, nil
}

// withIssuer runs f on the built-in issuer of the data folder dir.
func withIssuer(cmd *cobra.Command, dir string, f func(context.Context, *signin.Issuer) error) error {
	return withAccounts(cmd, dir, func(ctx context.Context, accounts *signin.Accounts) error {
		urls, err := readURLs(dir)
		if err != nil {
			return err
		}
		issuer, err := signin.NewIssuer(accounts, signin.IssuerOptions{URL: urls.Issuer, Audience: urls.Audience, Tools: urls.MCP})
		if err != nil {
			return err
		}
		return f(ctx, issuer)
	})
}
