package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"annals/cmd/annals/login"
	"annals/http/signin"
)

// loginConfig is everything that login can be told.
type loginConfig struct {
	server, issuer, clientID, resource string
	scopes                             []string
	device, noBrowser                  bool
}

// loginCommand signs a person in to a server, for the other commands.
func loginCommand(dataDir func() string) *cobra.Command {
	c := new(loginConfig)
	command := &cobra.Command{
		Use:   "login",
		Short: "Sign in to a server, for import and share",
		Long: "Sign in to a server by a browser on this machine, or, where there is none or with --device, by one anywhere. The\n" +
			"sign-in is kept for you alone, by server; import and share use it and renew it until you sign out by logout. They\n" +
			"go by --token or ANNALS_TOKEN first, and, where --user is given, by the server's data folder instead.",
		Example: "  annals login --server https://annals.example.com/core\n  annals import reports --server https://annals.example.com/core",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd, dataDir())
		},
	}
	flags := command.Flags()
	bindServer(flags, &c.server)
	flags.BoolVar(&c.device, "device", false, "sign in by a browser on another device")
	flags.BoolVar(&c.noBrowser, "no-browser", false, "print the address to open on this machine, and do not open it")
	flags.StringVar(&c.issuer, "issuer", "", "URL of the OpenID issuer to sign in at (default: as the server says)")
	flags.StringVar(&c.clientID, "client-id", signin.CLIClient, "client that is registered for this program at an issuer of your own")
	flags.StringVar(&c.resource, "resource", "", "what the issuer is asked for tokens for (default: the server; nothing with --client-id)")
	flags.StringArrayVar(&c.scopes, "scope", nil, "further scope to ask an issuer of your own for (repeatable)")
	// --issuer is a setting of serve, and means more there.
	markByFlagAlone(flags, "device", "no-browser", "issuer", "client-id", "resource", "scope")
	command.MarkFlagsMutuallyExclusive("device", "no-browser")
	return command
}

func (c *loginConfig) run(cmd *cobra.Command, dataDir string) error {
	server, store, err := signInPlace(c.server, dataDir)
	if err != nil {
		return err
	}
	if _, _, err := store.Get(server); err != nil {
		return err // before anybody signs in for nothing
	}
	tell := teller(cmd.ErrOrStderr())
	client := newSignInClient()
	defer client.CloseIdleConnections()
	flow := login.Flow{
		Server: server, Issuer: c.issuer, ClientID: c.clientID, Resource: c.resource, Scopes: c.scopes,
		Device: c.device || !c.noBrowser && !login.CanOpen(), HTTP: client, Tell: tell,
	}
	if !c.noBrowser {
		flow.Open = login.OpenBrowser
	}
	if c.resource == "" && c.clientID == signin.CLIClient {
		flow.Resource = server
	}
	signedIn, err := flow.SignIn(cmd.Context())
	if err != nil {
		return err
	}
	if err := keep(cmd.Context(), store, server, signedIn, client, tell); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed in to %s as %s\n", server, printable(signedIn.User))
	return err
}

// keep keeps a sign-in that the server accepts, in the place of the one before.
// What is not kept is ended.
func keep(ctx context.Context, store login.Store, server string, l login.Login, client *http.Client, tell func(...string)) error {
	err := try(ctx, server, &l, tell)
	var before login.Login
	var found bool
	if err == nil {
		before, found, err = store.Put(ctx, server, l)
	}
	if err != nil {
		return errors.Join(err, l.Revoke(context.WithoutCancel(ctx), client))
	}
	if found {
		if err := before.Revoke(ctx, client); err != nil {
			tell("Your earlier sign-in could not be ended: " + err.Error())
		}
	}
	return nil
}

// try finds out which token a server accepts: the one for access, as a rule, or
// the ID token of an issuer that names the program itself as its audience.
func try(ctx context.Context, server string, l *login.Login, tell func(...string)) error {
	err := greet(ctx, server, credential{
		token: func(context.Context, string) (string, error) { return l.Bearer(), nil },
		name:  "what the issuer " + l.Issuer + " gives", help: "serve --issuer must name the issuer, and an audience of its tokens",
	}, tell)
	switch {
	case isRefusal(err, http.StatusUnauthorized) && !l.ByIDToken && l.UseIDToken():
		return try(ctx, server, l, tell)
	case isRefusal(err, http.StatusUnauthorized) || ctx.Err() != nil:
		return err
	case err != nil:
		tell("The server could not be asked whether it accepts the sign-in: " + err.Error())
	}
	return nil
}

// greet makes a request that a server answers to all who are signed in.
func greet(ctx context.Context, server string, as credential, tell func(...string)) error {
	client := &coreClient{restClient{
		url: server, http: newHTTPClient(1), tries: 3, pause: 200 * time.Millisecond, as: as,
		tell: func(text string) { tell(text) },
	}}
	defer client.http.CloseIdleConnections()
	_, err := client.reach(ctx, uuid.Nil.String())
	return err
}

// signInPlace returns where a sign-in is kept: under the URL of the server, or of
// the one on the data folder if none is given.
func signInPlace(server, dataDir string) (string, login.Store, error) {
	c := connection{server: server}
	server, err := c.core(dataDir)
	if err != nil {
		return "", login.Store{}, err
	}
	if server, err = login.ServerURL(server); err != nil {
		return "", login.Store{}, err
	}
	store, err := login.UserStore()
	return server, store, err
}

// teller prints lines that may hold anything.
func teller(out io.Writer) func(lines ...string) {
	return func(lines ...string) {
		for _, line := range lines {
			fmt.Fprintln(out, printable(line))
		}
	}
}

// newSignInClient returns a client for what is asked of issuers.
func newSignInClient() *http.Client { return login.NewHTTPClient(newHTTPClient(1).Transport) }
