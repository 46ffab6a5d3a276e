package main

import (
	"context"
	"errors"
	"fmt"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
)

// userCommand manages the accounts of the built-in sign-in. A running server applies
// changes immediately.
func userCommand(at *engine.URLs) *cobra.Command {
	command := &cobra.Command{
		Use:   "user",
		Short: "Manage the accounts of the built-in sign-in",
	}
	command.AddCommand(
		userAddCommand(at),
		userListCommand(at),
		userShowCommand(at),
		userQuotaCommand(at),
		userChangeCommand(at, "disable", "Disable a user, and revoke all tokens of the user, immediately", (*accounts.Store).Disable),
		userChangeCommand(at, "enable", "Let a disabled user sign in again", (*accounts.Store).Enable),
		userPasswordCommand(at),
		userLinkCommand(at),
		userRequireCommand(at),
		userResetCommand(at),
		userGroupsCommand(at),
		userAdminCommand(at),
		userDeleteCommand(at),
		userCopyCommand(at),
	)
	return command
}

func userAddCommand(at *engine.URLs) *cobra.Command {
	var account accounts.NewAccount
	command := &cobra.Command{
		Use:   "add NAME",
		Short: "Create a user; the password is read from standard input",
		Long: "Create a user. If standard input is a terminal, the command prompts for the password; otherwise the password is the\n" +
			"first line of standard input. It needs at least 8 characters. The name of a deleted user cannot be used again.",
		Args: settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			var err error
			account.Name = args[0]
			if account.Password, err = admin.ReadPassword(ctx, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			created, err := store.Create(ctx, account)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "created user %s\n", created.Name)
			return nil
		}),
	}
	command.Flags().BoolVar(&account.Admin, "admin", false, "make the user an administrator, who may do everything")
	command.Flags().StringArrayVar(&account.Groups, "group", nil, "add the user to this group; repeatable")
	return command
}

func userListCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the users",
		Args:  settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, _ []string) error {
			return admin.ListUsers(ctx, store, cmd.OutOrStdout())
		}),
	}
}

func userChangeCommand(at *engine.URLs, verb, short string, change func(*accounts.Store, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Args:  settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			if err := change(store, ctx, args[0]); err != nil {
				return admin.ExplainUnknown(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%sd user %s\n", verb, args[0])
			return nil
		}),
	}
}

func userPasswordCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:     "password NAME",
		Aliases: []string{"passwd"},
		Short:   "Change the password of a user; it is read from standard input",
		Args:    settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			if _, err := store.Get(ctx, args[0]); err != nil {
				return admin.ExplainUnknown(err) // check before prompting for a password
			}
			password, err := admin.ReadPassword(ctx, cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := store.SetPassword(ctx, args[0], password); err != nil {
				return admin.ExplainUnknown(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "changed the password of user %s\n", args[0])
			return nil
		}),
	}
}

func userCopyCommand(at *engine.URLs) *cobra.Command {
	var to string
	command := &cobra.Command{
		Use:   "copy --to URL",
		Short: "Copy all accounts to another store, such as from the data folder to PostgreSQL",
		Long: "Copy all users with their passwords, the signing keys, the registered programs and the API tokens to the accounts at a\n" +
			"URL, which must never have had users. Use it to move the accounts from the data folder to PostgreSQL, before a service\n" +
			"gets several nodes or after a restore, or to move them back. Browser sessions and sign-ins of programs are not copied.",
		Args: settings.Arguments,
		PreRunE: func(*cobra.Command, []string) error {
			if to == "" {
				return errors.New("--to is required: pass the URL of the accounts to copy to")
			}
			return nil
		},
		RunE: onAccounts(at, func(ctx context.Context, from *accounts.Store, cmd *cobra.Command, _ []string) (err error) {
			store, err := (engine.URLs{Data: at.Data, Accounts: to}).OpenAccounts(ctx)
			if err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			if err := from.CopyInto(ctx, store); err != nil {
				return err
			}
			all, err := store.List(ctx)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "copied %d users; now start serve with their URL as --accounts\n", len(all))
			}
			return err
		}),
	}
	command.Flags().StringVar(&to, "to", "", "URL of the accounts to copy to, in the form of --accounts (required)")
	return command
}
