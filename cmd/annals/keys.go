package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
)

// keysCommand manages the signing keys of the built-in sign-in. A running server uses a
// new key immediately.
func keysCommand(at *engine.URLs) *cobra.Command {
	command := &cobra.Command{
		Use:   "keys",
		Short: "Manage the signing keys of the built-in sign-in",
	}
	command.AddCommand(keysListCommand(at), keysRotateCommand(at))
	return command
}

func keysListCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the signing keys, newest first",
		Args:  settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, _ []string) error {
			keys, err := store.Keys(ctx)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "ID\tCREATED\tUSE")
			for i, k := range keys {
				use := "signs"
				if i > 0 {
					use = "verifies until " + accounts.Retires(keys, i).Format(time.RFC3339)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\n", k.ID, k.Created.Format(time.RFC3339), use)
			}
			return table.Flush()
		}),
	}
}

func keysRotateCommand(at *engine.URLs) *cobra.Command {
	var now bool
	command := &cobra.Command{
		Use:   "rotate",
		Short: "Create a new signing key",
		Long: "Create a key that signs all tokens from now on. Old keys still verify tokens until the last token that they signed\n" +
			"has expired, about an hour later, and are then deleted: users notice nothing. If a key was stolen, use --now to\n" +
			"delete the old keys immediately: all issued tokens become invalid, and sign-ins in progress start over. Programs with\n" +
			"a refresh token renew their token; all others have to sign in, or run annals token, again.\n\n" +
			"The accounts also contain hashes of passwords, and secrets of one-time codes that are not encrypted. Someone who could\n" +
			"read a key could read these too: run annals user reset-2fa for each user with codes (annals user list shows them),\n" +
			"and let users with short passwords change them (annals user link).\n\n" +
			"Other services that verify tokens have to fetch the keys (jwks_uri) again when a token has an unknown key.",
		Args: settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, _ []string) error {
			key, err := store.RotateKey(ctx, now)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s signs from now on\n", key.ID)
			return nil
		}),
	}
	command.Flags().BoolVar(&now, "now", false, "delete the old keys immediately, which makes all tokens that they signed invalid")
	return command
}
