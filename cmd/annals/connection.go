package main

import (
	"context"
	"fmt"
	"time"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/client"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/http/signin"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// connection has the flags that select a server and the credential for it.
type connection struct{ server, vaultURL, token, user string }

func (c *connection) bind(flags *pflag.FlagSet) {
	bindServer(flags, &c.server)
	flags.StringVar(&c.vaultURL, "vault-url", "", "URL of the vault of the server, such as https://annals.example.com/vault (default: the URL of --server with /vault in place of /core; without --server, the server that uses the data folder)")
	flags.StringVar(&c.token, "token", "", "access token or API token for the server; in the variable ANNALS_TOKEN it is not shown in the process list (default: the sign-in by annals login, or else a token for --user)")
	flags.StringVar(&c.user, "user", "admin", "user of the built-in sign-in to act as; works only on a machine that has the data folder")
}

// bindServer binds --server.
func bindServer(flags *pflag.FlagSet, server *string) {
	flags.StringVar(server, "server", "", "URL of the core of the server, such as https://annals.example.com/core (default: the server that uses the data folder)")
}

// readURLs returns the URLs of the server that uses the given data folder.
func readURLs(dataDir string) (signin.URLs, error) {
	return signin.ReadURLs(dataDir, signin.DefaultURLs(defaultListen))
}

// target returns the server that the flags select.
func (c *connection) target(dataDir string) client.Target {
	return client.Target{Core: c.server, Vault: c.vaultURL, Local: func() (core, vault string, err error) {
		urls, err := readURLs(dataDir)
		return urls.Core, urls.Vault, err
	}}
}

// clients returns clients of both services of the server, which share connections. The URL of
// the core is "" if it is unknown.
func (c *connection) clients(cmd *cobra.Command, at *engine.URLs) (*client.Core, *client.Vault, error) {
	target := c.target(at.Data)
	vault, err := target.VaultURL()
	if err != nil {
		return nil, nil, err
	}
	core, err := target.CoreOfVault()
	if err != nil {
		return nil, nil, err
	}
	credential, err := c.credential(cmd, at, core)
	if err != nil {
		return nil, nil, err
	}
	printLine := terminal.LinePrinter(cmd.ErrOrStderr())
	to := client.Client{
		URL: vault, HTTP: client.NewHTTPClient(1), Tries: 10, Pause: 100 * time.Millisecond, Credential: credential,
		Notify: func(text string) { printLine(text) },
	}
	of := &client.Core{Client: to}
	of.URL = core
	return of, &client.Vault{Client: to}, nil
}

// credential returns the credential for a server. It uses --token if it is set.
// Otherwise, unless --user is set, it uses the sign-in that the command annals login
// stored for the server. If there is none, it issues tokens for the user in --user from
// the accounts in the data folder. server is the URL of the service at /core, or "" if
// it is unknown.
func (c *connection) credential(cmd *cobra.Command, at *engine.URLs, server string) (client.Credential, error) {
	if c.token != "" {
		return client.Credential{
			Token: client.FixedToken(c.token),
			Name:  "the token given by --token or ANNALS_TOKEN", Help: "it may have expired, or be meant for another server",
		}, nil
	}
	help := "sign in with annals login"
	if server != "" {
		if !cmd.Flags().Changed("user") {
			if kept, found, err := client.SignedIn(server); err != nil || found {
				return kept, err
			}
		}
		help += " --server " + server
	}
	return client.Credential{
		Token: client.IssuedTokens(func(context.Context) (token string, expires time.Time, err error) {
			err = accountsOf(cmd, at).Issue(cmd.Context(), func(ctx context.Context, issuer *signin.Issuer) error {
				token, expires, err = issuer.Issue(ctx, c.user)
				return admin.ExplainUnknown(err)
			})
			if err != nil {
				err = fmt.Errorf("sign in as %s: %w (or %s, or pass a token in ANNALS_TOKEN)", c.user, err, help)
			}
			return token, expires, err
		}),
		Name: fmt.Sprintf("the token for the user %s of the data folder %s", c.user, at.Data), Help: help,
	}, nil
}
