package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"annals/http/signin"
)

// keysCommand manages the signing keys of the built-in sign-in, beside any number
// of running servers, which notice at once.
func keysCommand(dataDir func() string) *cobra.Command {
	command := &cobra.Command{
		Use:   "keys",
		Short: "Manage the signing keys of the built-in sign-in",
	}
	command.AddCommand(keysListCommand(dataDir), keysRotateCommand(dataDir))
	return command
}

func keysListCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the signing keys, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				keys, err := accounts.Keys(ctx)
				if err != nil {
					return err
				}
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "ID\tCREATED\tUSE")
				for i, k := range keys {
					use := "signs"
					if i > 0 {
						use = "verifies until " + signin.Retires(keys, i).Format(time.RFC3339)
					}
					fmt.Fprintf(table, "%s\t%s\t%s\n", k.ID, k.Created.Format(time.RFC3339), use)
				}
				return table.Flush()
			})
		},
	}
}

func keysRotateCommand(dataDir func() string) *cobra.Command {
	var now bool
	command := &cobra.Command{
		Use:   "rotate",
		Short: "Make a new signing key",
		Long: "Make a key that signs all tokens from now on. The old ones verify until the last token that they signed has\n" +
			"expired, about an hour, and are deleted then, so that nobody notices. After a key was stolen, --now deletes them\n" +
			"at once: every token that is out is refused, and who is about to sign in starts again. Programs with a refresh\n" +
			"token renew theirs by themselves; all others have to sign in, or to call annals token, anew.\n\n" +
			"The store of accounts holds the secrets of one-time codes beside the keys, as they are, and the passwords' hashes.\n" +
			"Who has read a key may have read these: call annals user reset-2fa for each user with codes (annals user list\n" +
			"shows them), and have short passwords changed (annals user link).\n\n" +
			"Services elsewhere that verify tokens have to read the keys (jwks_uri) again when they meet a new one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				key, err := accounts.RotateKey(ctx, now)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s signs from now on\n", key.ID)
				return nil
			})
		},
	}
	command.Flags().BoolVar(&now, "now", false, "refuse the tokens of older keys at once")
	return command
}
