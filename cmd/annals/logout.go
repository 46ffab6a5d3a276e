package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"annals/cmd/annals/login"
)

// logoutCommand ends what login has begun.
func logoutCommand(dataDir func() string) *cobra.Command {
	var server string
	var all bool
	command := &cobra.Command{
		Use:   "logout",
		Short: "End the sign-in to a server, there and on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, store, err := signInPlace(server, dataDir())
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
				failed = errors.Join(failed, logout(cmd.Context(), store, server, cmd.OutOrStdout()))
			}
			return failed
		},
	}
	bindServer(command.Flags(), &server)
	command.Flags().BoolVar(&all, "all", false, "end the sign-ins to all servers, whatever --server says")
	markByFlagAlone(command.Flags(), "all")
	return command
}

// logout forgets a sign-in, whether or not its issuer can be told.
func logout(ctx context.Context, store login.Store, server string, out io.Writer) error {
	l, found, err := store.Remove(ctx, server)
	if err != nil {
		return err
	}
	if !found {
		_, err := fmt.Fprintf(out, "nobody is signed in to %s\n", server)
		return err
	}
	client := newSignInClient()
	defer client.CloseIdleConnections()
	if err := l.Revoke(ctx, client); err != nil {
		return fmt.Errorf("the sign-in to %s is forgotten here, but goes on at its issuer: %w", server, err)
	}
	_, err = fmt.Fprintf(out, "signed out of %s\n", server)
	return err
}

// whoamiCommand tells as whom login has signed in.
func whoamiCommand(dataDir func() string) *cobra.Command {
	var server string
	command := &cobra.Command{
		Use:   "whoami",
		Short: "Tell as whom you are signed in to a server, and ask it whether that holds",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, store, err := signInPlace(server, dataDir())
			if err != nil {
				return err
			}
			return whoami(cmd, store, server)
		},
	}
	bindServer(command.Flags(), &server)
	return command
}

func whoami(cmd *cobra.Command, store login.Store, server string) error {
	as, found, err := new(connection).signedIn(server)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("nobody is signed in to %s: sign in by annals login --server %[1]s", server)
	}
	if err := greet(cmd.Context(), server, as, teller(cmd.ErrOrStderr())); err != nil {
		return err
	}
	l, _, err := store.Get(server) // which may have been renewed
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s, signed in to %s by %s; %s\n", printable(l.User), server, printable(l.Issuer), lifetime(l))
	return err
}

// lifetime says until when a sign-in holds.
func lifetime(l login.Login) string {
	until := ""
	if !l.Expires.IsZero() {
		until = " until " + l.Expires.Local().Format(time.DateTime)
	}
	if l.RefreshToken != "" {
		return "the token holds" + until + " and is then renewed"
	}
	return "the token holds" + until
}
