package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/client"
	"annals/cmd/annals/connection"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/login"
	"annals/cmd/annals/settings"
	"annals/cmd/annals/terminal"
	"annals/http/signin/provider/clients"

	"github.com/spf13/cobra"
)

// loginConfig holds the flags of login.
type loginConfig struct {
	server, issuer, clientID, resource string
	scopes                             []string
	device, noBrowser                  bool
}

// loginCommand signs a person in to a server and stores the sign-in, which other
// commands then use.
func loginCommand(at *engine.URLs) *cobra.Command {
	c := new(loginConfig)
	command := &cobra.Command{
		Use:   "login",
		Short: "Sign in to a server, for the commands import and share",
		Long: "Sign in to a server with a browser on this machine. With --device, or if this machine has no browser, sign in with a\n" +
			"browser on another device. The sign-in is stored per server in a file that only you can read; import and share use\n" +
			"and renew it until annals logout. They do not use it if a token is set (--token or ANNALS_TOKEN), or with --user.",
		Example: "  annals login --server https://annals.example.com/core\n  annals import reports --server https://annals.example.com/core",
		Args:    settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd, accountsOf(cmd, at))
		},
	}
	flags := command.Flags()
	connection.BindServer(flags, &c.server)
	flags.BoolVar(&c.device, "device", false, "sign in with a browser on another device")
	flags.BoolVar(&c.noBrowser, "no-browser", false, "do not open a browser: print the address to open in a browser on this machine")
	flags.StringVar(&c.issuer, "issuer", "", "URL of the OpenID issuer to sign in with (default: the issuer that the server names)")
	flags.StringVar(&c.clientID, "client-id", clients.CLIID, "OAuth client id of this program; set it if you registered this program with an issuer of your own")
	flags.StringVar(&c.resource, "resource", "", "resource parameter of token requests, RFC 8707 (default: the URL of the server; with --client-id none)")
	flags.StringArrayVar(&c.scopes, "scope", nil, "OAuth scope to request in addition to openid and offline_access; repeatable")
	// In the environment and the configuration file, issuer is a setting of serve with
	// another meaning.
	settings.FlagOnly(flags, "device", "no-browser", "issuer", "client-id", "resource", "scope")
	command.MarkFlagsMutuallyExclusive("device", "no-browser")
	return command
}

func (c *loginConfig) run(cmd *cobra.Command, local admin.Accounts) error {
	server, store, err := signInStore(c.server, local)
	if err != nil {
		return err
	}
	flow := login.Flow{
		Server: server, Issuer: c.issuer, ClientID: c.clientID, Resource: c.resource, Scopes: c.scopes,
		Device: c.device || !c.noBrowser && !login.CanOpen(), HTTP: client.NewSignInClient(), Print: terminal.LinePrinter(cmd.ErrOrStderr()),
	}
	defer flow.HTTP.CloseIdleConnections()
	if !c.noBrowser {
		flow.Open = login.OpenBrowser
	}
	if c.resource == "" && c.clientID == clients.CLIID {
		flow.Resource = server
	}
	signedIn, err := client.SignIn(cmd.Context(), flow, store)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed in to %s as %s\n", server, terminal.Printable(signedIn.User))
	return err
}

// signInStore returns the store of sign-ins, and the URL under which the sign-in to a
// server is stored. If server is "", that is the server that uses the data folder.
func signInStore(server string, local admin.Accounts) (string, login.Store, error) {
	server, err := connection.Server(server, local).CoreURL()
	if err != nil {
		return "", login.Store{}, err
	}
	if server, err = login.ServerURL(server); err != nil {
		return "", login.Store{}, err
	}
	store, err := login.UserStore()
	return server, store, err
}

// logoutCommand deletes and revokes sign-ins.
func logoutCommand(at *engine.URLs) *cobra.Command {
	var server string
	var all bool
	command := &cobra.Command{
		Use:   "logout",
		Short: "Sign out of a server: delete the sign-in on this machine and revoke it on the server",
		Args:  settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, store, err := signInStore(server, accountsOf(cmd, at))
			if err != nil {
				return err
			}
			servers := []string{server}
			if all {
				kept, err := store.All()
				if err != nil {
					return err
				}
				servers = slices.Sorted(maps.Keys(kept))
			}
			var failed error
			for _, server := range servers {
				found, err := client.SignOut(cmd.Context(), store, server)
				switch {
				case err != nil:
				case found:
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed out of %s\n", server)
				default:
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "nobody is signed in to %s\n", server)
				}
				failed = errors.Join(failed, err)
			}
			return failed
		},
	}
	connection.BindServer(command.Flags(), &server)
	command.Flags().BoolVar(&all, "all", false, "sign out of all servers; --server is ignored")
	settings.FlagOnly(command.Flags(), "all")
	return command
}

// whoamiCommand prints the user of the stored sign-in.
func whoamiCommand(at *engine.URLs) *cobra.Command {
	var server string
	command := &cobra.Command{
		Use:   "whoami",
		Short: "Print the user that you are signed in as, and check that the server accepts the sign-in",
		Args:  settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, store, err := signInStore(server, accountsOf(cmd, at))
			if err != nil {
				return err
			}
			l, err := client.WhoAmI(cmd.Context(), store, server, terminal.LinePrinter(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, signed in to %s by %s; %s\n", terminal.Printable(l.User), server, terminal.Printable(l.Issuer), l.Lifetime())
			return err
		},
	}
	connection.BindServer(command.Flags(), &server)
	return command
}
