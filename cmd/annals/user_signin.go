package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"annals/http/signin"
)

// userLinkCommand prints a link by which a user sets a password, which nobody else
// needs to know.
func userLinkCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "link NAME",
		Short: "Print a one-time link by which a user sets a password",
		Long: "Print a link to a page on which the user sets a new password. It is good once, within an hour; another link, or\n" +
			"a change of the password, ends it. Whoever has it can sign in as the user, who is asked for the second factor\n" +
			"all the same.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withIssuer(cmd, dataDir(), func(ctx context.Context, issuer *signin.Issuer) error {
				link, err := issuer.NewLink(ctx, args[0])
				if err != nil {
					return helpUnknown(err)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
				return err
			})
		},
	}
}
