package main

import (
	"context"
	"fmt"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
)

// userLinkCommand prints a link at which a user sets a password, so that the
// administrator does not learn the password.
func userLinkCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "link NAME",
		Short: "Print a one-time link with which a user sets a password",
		Long: "Print a link to a page on which the user sets a new password. It works one time, within an hour, unless another link\n" +
			"is created or the password changes before. Anyone who has the link can sign in as the user, but needs the second\n" +
			"factor if the user has one.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printIssued(cmd, at, args[0], func(ctx context.Context, issuer *signin.Issuer, name string) (string, error) {
				return issuer.NewLink(ctx, name)
			})
		},
	}
}

func userRequireCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "require-2fa NAME [on|off]",
		Short: "Require a second factor from a user at each sign-in, or stop requiring it",
		Long: "Require a second factor, a one-time code or a passkey, from a user at each sign-in with a browser. A user who has none\n" +
			"sets one up at the next sign-in. Browser sessions of the user end immediately; programs stay signed in.\n" +
			"serve --require-second-factor requires one from all users.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			on := true
			if len(args) == 2 {
				if args[1] != "on" && args[1] != "off" {
					return fault.Errorf(fault.Invalid, "%q: must be on or off", args[1])
				}
				on = args[1] == "on"
			}
			return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
				if err := store.RequireFactor(ctx, args[0], on); err != nil {
					return admin.ExplainUnknown(err)
				}
				outcome := "is required from"
				if !on {
					outcome = "is no longer required from"
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "a second factor %s user %s\n", outcome, args[0])
				return err
			})
		},
	}
}

func userResetCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "reset-2fa NAME",
		Short: "Remove a user's one-time codes, passkeys and recovery codes",
		Long: "Remove a user's one-time codes, passkeys and recovery codes, for example after a device was lost, and sign the user\n" +
			"out everywhere. The password stays. If a second factor is required, the user sets up a new one at the next sign-in.",
		Args: settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			if err := store.ResetFactors(ctx, args[0]); err != nil {
				return admin.ExplainUnknown(err)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "reset the second factor of user %s\n", args[0])
			return err
		}),
	}
}
