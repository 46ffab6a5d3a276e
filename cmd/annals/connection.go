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

	"annals/http/signin"
)

// connection is how a command reaches a running server, and as whom.
type connection struct{ server, token, user string }

func (c *connection) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.server, "server", "", "URL of the core (default: of the server on the data folder)")
	flags.StringVar(&c.token, "token", "", "ID token to sign in with; better given as ANNALS_TOKEN (default: one for --user)")
	flags.StringVar(&c.user, "user", "admin", "user of the built-in sign-in to act as, beside its data folder")
}

// core returns the URL of the core.
func (c *connection) core(dataDir string) (string, error) {
	server := c.server
	if server == "" {
		urls, err := signin.ReadURLs(dataDir)
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
		urls, err := signin.ReadURLs(dataDir)
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

// tokens returns where tokens come from: the one that was given, or the
// built-in sign-in beside its data folder.
func (c *connection) tokens(cmd *cobra.Command, dataDir string) tokenSource {
	if c.token != "" {
		return func(_ context.Context, refused bool) (string, error) { return c.token, nil }
	}
	issued := &issuedToken{issue: func(context.Context) (token string, expires time.Time, err error) {
		err = withIssuer(cmd, dataDir, func(ctx context.Context, issuer *signin.Issuer) error {
			token, expires, err = issuer.Issue(ctx, c.user)
			return helpUnknown(err)
		})
		if err != nil {
			err = fmt.Errorf("sign in as %s: %w (or give a token by ANNALS_TOKEN)", c.user, err)
		}
		return token, expires, err
	}}
	return issued.get
}

// issuedToken holds a token and has another issued in time.
type issuedToken struct {
	issue func(context.Context) (token string, expires time.Time, err error)

	mu      sync.Mutex
	token   string
	expires time.Time
}

// get returns a token that lasts for a while yet: an upload may be slow.
func (t *issuedToken) get(ctx context.Context, refused bool) (string, error) {
	const ahead = 10 * time.Minute
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused || time.Until(t.expires) < ahead {
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
		urls, err := signin.ReadURLs(dir)
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
