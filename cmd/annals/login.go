package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"annals/cmd/annals/client"
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

// loginCommand signs a person in to a server, for the other commands.
func loginCommand(at *engine.URLs) *cobra.Command {
	c := new(loginConfig)
	command := &cobra.Command{
		Use:   "login",
		Short: "Sign in to a server, for import and share",
		Long: "Sign in to a server by a browser on this machine, or on another device if there is none or with --device. The\n" +
			"sign-in is stored per server, readable only by you; import and share use and renew it until annals logout. They\n" +
			"prefer --token or ANNALS_TOKEN, and with --user the data folder of the server.",
		Example: "  annals login --server https://annals.example.com/core\n  annals import reports --server https://annals.example.com/core",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd, at.Data)
		},
	}
	flags := command.Flags()
	bindServer(flags, &c.server)
	flags.BoolVar(&c.device, "device", false, "sign in by a browser on another device")
	flags.BoolVar(&c.noBrowser, "no-browser", false, "print the address to open on this machine, and do not open it")
	flags.StringVar(&c.issuer, "issuer", "", "URL of the OpenID issuer to sign in with (default: the one that the server names)")
	flags.StringVar(&c.clientID, "client-id", clients.CLIID, "client id under which this program is registered with your own issuer")
	flags.StringVar(&c.resource, "resource", "", "resource to request tokens for (default: the server; none with --client-id)")
	flags.StringArrayVar(&c.scopes, "scope", nil, "additional scope to request from your own issuer (repeatable)")
	// --issuer is also a setting of serve, with another meaning.
	settings.FlagOnly(flags, "device", "no-browser", "issuer", "client-id", "resource", "scope")
	command.MarkFlagsMutuallyExclusive("device", "no-browser")
	return command
}

func (c *loginConfig) run(cmd *cobra.Command, dataDir string) error {
	server, store, err := signInStore(c.server, dataDir)
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

// signInStore returns the store of sign-ins, and the URL under which it has the
// sign-in to the server: the server on the data folder if none is given.
func signInStore(server, dataDir string) (string, login.Store, error) {
	c := connection{server: server}
	server, err := c.target(dataDir).CoreURL()
	if err != nil {
		return "", login.Store{}, err
	}
	if server, err = login.ServerURL(server); err != nil {
		return "", login.Store{}, err
	}
	store, err := login.UserStore()
	return server, store, err
}

// logoutCommand ends a sign-in.
func logoutCommand(at *engine.URLs) *cobra.Command {
	var server string
	var all bool
	command := &cobra.Command{
		Use:   "logout",
		Short: "End the sign-in to a server, both on the server and on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, store, err := signInStore(server, at.Data)
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
	bindServer(command.Flags(), &server)
	command.Flags().BoolVar(&all, "all", false, "end the sign-ins to all servers; --server is ignored")
	settings.FlagOnly(command.Flags(), "all")
	return command
}

// whoamiCommand prints the user that login has signed in.
func whoamiCommand(at *engine.URLs) *cobra.Command {
	var server string
	command := &cobra.Command{
		Use:   "whoami",
		Short: "Print the user you are signed in as, and check it with the server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, store, err := signInStore(server, at.Data)
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
	bindServer(command.Flags(), &server)
	return command
}
