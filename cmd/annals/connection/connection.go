// Package connection has the flags with which commands choose a running server and the
// credential for it. It may import the packages that call a server, and package admin, which
// issues tokens from the accounts in the data folder.
package connection

import (
	"context"
	"fmt"
	"time"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/client"
	"annals/cmd/annals/terminal"
	"annals/http/signin"

	"github.com/spf13/pflag"
)

// Flags are the flags that select a server and the credential for it.
type Flags struct {
	server, vaultURL, token, user string

	set *pflag.FlagSet // to see whether a flag is given
}

// Bind defines the flags.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	f.set = flags
	BindServer(flags, &f.server)
	flags.StringVar(&f.vaultURL, "vault-url", "", "URL of the vault of the server, such as https://annals.example.com/vault (default: the URL of --server with /vault in place of /core; without --server, the server that uses the data folder)")
	flags.StringVar(&f.token, "token", "", "access token or API token for the server; in the variable ANNALS_TOKEN it is not shown in the process list (default: the sign-in by annals login, or else a token for --user)")
	flags.StringVar(&f.user, "user", "admin", "user of the built-in sign-in to act as; works only on a machine that has the data folder")
}

// BindServer defines only --server.
func BindServer(flags *pflag.FlagSet, server *string) {
	flags.StringVar(server, "server", "", "URL of the core of the server, such as https://annals.example.com/core (default: the server that uses the data folder)")
}

// Server returns the server with the given URL of its core. If server is "", that is the one
// that uses the data folder of local.
func Server(server string, local admin.Accounts) client.Target {
	return client.Target{Core: server, Local: func() (core, vault string, err error) {
		urls, err := local.ServerURLs()
		return urls.Core, urls.Vault, err
	}}
}

// Target returns the server that the flags select. local are the accounts of this machine.
func (f *Flags) Target(local admin.Accounts) client.Target {
	target := Server(f.server, local)
	target.Vault = f.vaultURL
	return target
}

// Clients returns clients of both services of the server, which share connections. The URL of
// the core is "" if it is unknown. Notices are written to local.Warn.
func (f *Flags) Clients(ctx context.Context, local admin.Accounts) (*client.Core, *client.Vault, error) {
	target := f.Target(local)
	vault, err := target.VaultURL()
	if err != nil {
		return nil, nil, err
	}
	core, err := target.CoreOfVault()
	if err != nil {
		return nil, nil, err
	}
	credential, err := f.Credential(ctx, local, core)
	if err != nil {
		return nil, nil, err
	}
	printLine := terminal.LinePrinter(local.Warn)
	to := client.Client{
		URL: vault, HTTP: client.NewHTTPClient(1), Tries: 10, Pause: 100 * time.Millisecond, Credential: credential,
		Notify: func(text string) { printLine(text) },
	}
	of := &client.Core{Client: to}
	of.URL = core
	return of, &client.Vault{Client: to}, nil
}

// Credential returns the credential for a server. It uses --token if it is set.
// Otherwise, unless --user is set, it uses the sign-in that the command annals login
// stored for the server. If there is none, it issues tokens for the user in --user from
// the accounts of this machine, as long as ctx lasts. server is the URL of the service at
// /core, or "" if it is unknown.
func (f *Flags) Credential(ctx context.Context, local admin.Accounts, server string) (client.Credential, error) {
	if f.token != "" {
		return client.Credential{
			Token: client.FixedToken(f.token),
			Name:  "the token given by --token or ANNALS_TOKEN", Help: "it may have expired, or be meant for another server",
		}, nil
	}
	help := "sign in with annals login"
	if server != "" {
		if !f.set.Changed("user") {
			if kept, found, err := client.SignedIn(server); err != nil || found {
				return kept, err
			}
		}
		help += " --server " + server
	}
	return client.Credential{
		Token: client.IssuedTokens(func(context.Context) (token string, expires time.Time, err error) {
			err = local.Issue(ctx, func(ctx context.Context, issuer *signin.Issuer) error {
				token, expires, err = issuer.Issue(ctx, f.user)
				return admin.ExplainUnknown(err)
			})
			if err != nil {
				err = fmt.Errorf("sign in as %s: %w (or %s, or pass a token in ANNALS_TOKEN)", f.user, err, help)
			}
			return token, expires, err
		}),
		Name: fmt.Sprintf("the token for the user %s of the data folder %s", f.user, local.Data), Help: help,
	}, nil
}
