package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"annals/events/fault"
	"annals/http/signin"
)

// userCommand manages the accounts of the built-in provider, which lie in the data
// folder that dataDir names once flags are parsed unless --accounts says otherwise. It works beside a running
// server, which notices at once.
func userCommand(dataDir func() string) *cobra.Command {
	command := &cobra.Command{
		Use:   "user",
		Short: "Manage the accounts of the built-in sign-in",
	}
	command.AddCommand(
		userAddCommand(dataDir),
		userListCommand(dataDir),
		userShowCommand(dataDir),
		userQuotaCommand(dataDir),
		userChangeCommand(dataDir, "disable", "Refuse a user at once, tokens that are out included", (*signin.Accounts).Disable),
		userChangeCommand(dataDir, "enable", "Let a disabled user in again", (*signin.Accounts).Enable),
		userPasswordCommand(dataDir),
		userLinkCommand(dataDir),
		userRequireCommand(dataDir),
		userResetCommand(dataDir),
		userGroupsCommand(dataDir),
		userAdminCommand(dataDir),
		userDeleteCommand(dataDir),
		userCopyCommand(dataDir),
	)
	return command
}

func userAddCommand(dataDir func() string) *cobra.Command {
	var account signin.NewAccount
	command := &cobra.Command{
		Use:   "add NAME",
		Short: "Create a user; the password is read from standard input",
		Long: "Create a user. The password, of at least 8 characters, is asked for on a terminal, or else is the first\n" +
			"line of standard input. A name is never given twice.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				var err error
				account.Name = args[0]
				if account.Password, err = readPassword(cmd); err != nil {
					return err
				}
				created, err := accounts.Create(ctx, account)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "created user %s\n", created.Name)
				return nil
			})
		},
	}
	command.Flags().BoolVar(&account.Admin, "admin", false, "the user may do everything")
	command.Flags().StringArrayVar(&account.Groups, "group", nil, "put the user in this group (repeatable)")
	return command
}

func userListCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the users",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				all, err := accounts.List(ctx)
				if err != nil {
					return err
				}
				factors, err := accounts.ListFactors(ctx)
				if err != nil {
					return err
				}
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "NAME\tROLE\tSTATE\tCREATED\tSECOND FACTOR\tGROUPS")
				for _, a := range all {
					role, state := "user", "enabled"
					switch {
					case a.Admin && a.Service:
						role = "admin service"
					case a.Admin:
						role = "admin"
					case a.Service:
						role = "service"
					}
					if a.Disabled {
						state = "disabled"
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", a.Name, role, state, a.Created.Format("2006-01-02"), shownFactors(factors[a.Name]).String(), strings.Join(a.Groups, ", "))
				}
				return table.Flush()
			})
		},
	}
}

func userChangeCommand(dataDir func() string, verb, short string, change func(*signin.Accounts, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				if err := change(accounts, ctx, args[0]); err != nil {
					return helpUnknown(err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%sd user %s\n", verb, args[0])
				return nil
			})
		},
	}
}

func userPasswordCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:     "password NAME",
		Aliases: []string{"passwd"},
		Short:   "Give a user another password, read from standard input",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				if _, err := accounts.Get(ctx, args[0]); err != nil {
					return helpUnknown(err) // before asking for a password
				}
				password, err := readPassword(cmd)
				if err != nil {
					return err
				}
				if err := accounts.SetPassword(ctx, args[0], password); err != nil {
					return helpUnknown(err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "changed the password of user %s\n", args[0])
				return nil
			})
		},
	}
}

// helpUnknown tells where to look for the name that nobody has.
func helpUnknown(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Errorf(fault.NotFound, "%w; \"annals user list\" shows who there is", err)
	}
	return err
}
