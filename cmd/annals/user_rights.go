package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"annals/events/fault"
	"annals/http/signin"
)

func userGroupsCommand(dataDir func() string) *cobra.Command {
	var add, remove []string
	command := &cobra.Command{
		Use:   "groups NAME [GROUP...]",
		Short: "Show or change the groups of a user",
		Long: "Show the groups of a user, one a line. GROUPs replace all that there were; --add and --remove change some, and\n" +
			"the rest stay. A change holds at once, for tokens that are out too.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, groups := args[0], args[1:]
			changes := len(add)+len(remove) > 0
			if changes && len(groups) > 0 {
				return fault.Errorf(fault.Invalid, "name either all groups of %s, or those to --add and --remove", name)
			}
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) (err error) {
				switch {
				case changes:
					err = accounts.ChangeGroups(ctx, name, add, remove)
				case len(groups) > 0:
					err = accounts.SetGroups(ctx, name, groups)
				}
				if err != nil {
					return helpUnknown(err)
				}
				account, err := accounts.Get(ctx, name)
				for _, g := range account.Groups {
					fmt.Fprintln(cmd.OutOrStdout(), g)
				}
				return helpUnknown(err)
			})
		},
	}
	command.Flags().StringArrayVar(&add, "add", nil, "put the user in this group (repeatable)")
	command.Flags().StringArrayVar(&remove, "remove", nil, "take the user out of this group (repeatable)")
	return command
}

func userAdminCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "admin NAME on|off",
		Short: "Let a user do everything, or no longer",
		Long:  "Make a user an administrator, who may do everything, or an ordinary user again. It holds at once, for tokens\nthat are out too.",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome, ok := map[string]string{"on": "an administrator", "off": "an ordinary user"}[args[1]]
			if !ok {
				return fault.Errorf(fault.Invalid, "%q is neither on nor off", args[1])
			}
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				if err := accounts.SetAdmin(ctx, args[0], args[1] == "on"); err != nil {
					return helpUnknown(err)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "user %s is %s now\n", args[0], outcome)
				return err
			})
		},
	}
}

func userDeleteCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a user for good; the name is never given again",
		Long: "Delete a user for good: the password and the groups are forgotten, and tokens that are out are refused at once.\n" +
			"What the user did is told under that name, so the name is never given again. \"disable\" can be undone.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				if err := accounts.Delete(ctx, args[0]); err != nil {
					return helpUnknown(err)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "deleted user %s\n", args[0])
				return err
			})
		},
	}
}
