package main

import (
	"context"
	"fmt"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/events/fault"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
)

func userGroupsCommand(at *engine.URLs) *cobra.Command {
	var add, remove []string
	command := &cobra.Command{
		Use:   "groups NAME [GROUP...]",
		Short: "Show or change the groups of a user",
		Long: "Show the groups of a user, one per line. If GROUPs are passed, they replace all groups of the user; --add and --remove\n" +
			"change only the groups that they name. Changes take effect immediately, also for issued tokens.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, groups := args[0], args[1:]
			changes := len(add)+len(remove) > 0
			if changes && len(groups) > 0 {
				return fault.Errorf(fault.Invalid, "pass either all groups of %s, or --add and --remove", name)
			}
			return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) (err error) {
				switch {
				case changes:
					err = store.ChangeGroups(ctx, name, add, remove)
				case len(groups) > 0:
					err = store.SetGroups(ctx, name, groups)
				}
				if err != nil {
					return admin.ExplainUnknown(err)
				}
				account, err := store.Get(ctx, name)
				for _, g := range account.Groups {
					fmt.Fprintln(cmd.OutOrStdout(), g)
				}
				return admin.ExplainUnknown(err)
			})
		},
	}
	command.Flags().StringArrayVar(&add, "add", nil, "add the user to this group; repeatable")
	command.Flags().StringArrayVar(&remove, "remove", nil, "remove the user from this group; repeatable")
	return command
}

func userAdminCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "admin NAME on|off",
		Short: "Make a user an administrator, or an ordinary user again",
		Long:  "Make a user an administrator, who may do everything, or an ordinary user again. The change takes effect immediately,\nalso for issued tokens.",
		Args:  settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome, ok := map[string]string{"on": "an administrator", "off": "an ordinary user"}[args[1]]
			if !ok {
				return fault.Errorf(fault.Invalid, "%q: must be on or off", args[1])
			}
			return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
				if err := store.SetAdmin(ctx, args[0], args[1] == "on"); err != nil {
					return admin.ExplainUnknown(err)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "user %s is %s now\n", args[0], outcome)
				return err
			})
		},
	}
}

func userDeleteCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a user; the name cannot be used again",
		Long: "Delete a user with password and groups, and revoke all tokens of the user immediately. This cannot be undone, unlike\n" +
			"annals user disable. The name cannot be used again, because the audit trail keeps it with the actions of the user.",
		Args: settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			if err := store.Delete(ctx, args[0]); err != nil {
				return admin.ExplainUnknown(err)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "deleted user %s\n", args[0])
			return err
		}),
	}
}
