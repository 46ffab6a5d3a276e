package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"annals/cmd/annals/engine"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
)

// keysCommand manages the signing keys of the built-in sign-in. Running servers use
// a new key at once.
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
		Args:  cobra.NoArgs,
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
		Short: "Make a new signing key",
		Long: "Make a key that signs all tokens from now on. The old keys verify until the last token signed with them has\n" +
			"expired, about an hour later, and are then deleted: users notice nothing. If a key was stolen, --now deletes the\n" +
			"old keys at once: every issued token is refused, and sign-ins in progress start over. Programs with a refresh token\n" +
			"renew their token; all others have to sign in, or run annals token, again.\n\n" +
			"The store of accounts also contains the unencrypted secrets of one-time codes, and hashes of passwords. Someone who\n" +
			"could read a key could read these too: run annals user reset-2fa for each user with codes (annals user list shows\n" +
			"them), and have short passwords changed (annals user link).\n\n" +
			"Other services that verify tokens have to fetch the keys (jwks_uri) again when they see an unknown key.",
		Args: cobra.NoArgs,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, _ []string) error {
			key, err := store.RotateKey(ctx, now)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s signs from now on\n", key.ID)
			return nil
		}),
	}
	command.Flags().BoolVar(&now, "now", false, "refuse the tokens of older keys at once")
	return command
}
