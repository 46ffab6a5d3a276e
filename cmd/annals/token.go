package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"annals/events/fault"
	"annals/http/signin"
)

// tokenCommand prints an ID token of one hour for a user of the built-in
// provider, and nothing else, so that a script can use it as it is.
func tokenCommand(dataDir func() string) *cobra.Command {
	command := &cobra.Command{
		Use:   "token NAME",
		Short: "Print an ID token of one hour for a user, or manage API tokens",
		Long: "Print an ID token of one hour for a user of the built-in sign-in. Whoever may read the data folder may do so.\n" +
			"A program sends it as \"Authorization: Bearer TOKEN\". The commands below make API tokens, which last longer, and end\n" +
			"them. For a user who is called like one of them: annals token -- create",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := printIssued(cmd, dataDir(), args[0], func(ctx context.Context, issuer *signin.Issuer, name string) (string, error) {
				token, _, err := issuer.Issue(ctx, name)
				return token, err
			})
			if fault.Is(err, fault.NotFound) {
				return fmt.Errorf("%w%s", err, didYouMean(cmd, args[0]))
			}
			return err
		},
	}
	command.AddCommand(tokenCreateCommand(dataDir), tokenListCommand(dataDir), tokenRevokeCommand(dataDir))
	return command
}

// printIssued prints a line that the issuer makes for a user.
func printIssued(cmd *cobra.Command, dir, name string, issue func(context.Context, *signin.Issuer, string) (string, error)) error {
	return withIssuer(cmd, dir, func(ctx context.Context, issuer *signin.Issuer) error {
		line, err := issue(ctx, issuer, name)
		if err != nil {
			return helpUnknown(err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), line)
		return err
	})
}
