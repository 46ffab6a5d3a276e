package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"annals/events/fault"
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
			return printIssued(cmd, dataDir(), args[0], func(ctx context.Context, issuer *signin.Issuer, name string) (string, error) {
				return issuer.NewLink(ctx, name)
			})
		},
	}
}

func userRequireCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "require-2fa NAME [on|off]",
		Short: "Require a second factor of a user at each sign-in, or no longer",
		Long: "Require a second factor, a one-time code or a passkey, of a user at each sign-in by a browser. Who has none sets\n" +
			"one up at the next, for which this ends the browsers' sessions; programs stay signed in. serve\n" +
			"--require-second-factor requires one of everybody.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			on := true
			if len(args) == 2 {
				if args[1] != "on" && args[1] != "off" {
					return fault.Errorf(fault.Invalid, "%q is neither on nor off", args[1])
				}
				on = args[1] == "on"
			}
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				if err := accounts.RequireFactor(ctx, args[0], on); err != nil {
					return helpUnknown(err)
				}
				outcome := "is required of"
				if !on {
					outcome = "is no longer required of"
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "a second factor %s user %s\n", outcome, args[0])
				return err
			})
		},
	}
}

func userResetCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "reset-2fa NAME",
		Short: "Remove a user's one-time codes, passkeys and recovery codes",
		Long: "Remove a user's one-time codes, passkeys and recovery codes, and sign the user out everywhere: for who has lost\n" +
			"the device. The password stays. Where a second factor is required, the next sign-in sets a new one up.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				if err := accounts.ResetFactors(ctx, args[0]); err != nil {
					return helpUnknown(err)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "reset the second factor of user %s\n", args[0])
				return err
			})
		},
	}
}

// shownFactors is what a user has besides a password.
type shownFactors struct {
	Required bool `json:"required"`
	Codes    bool `json:"codes"`
	Passkeys int  `json:"passkeys"`
	Recovery int  `json:"recovery_codes"` // not used yet
}

func (f shownFactors) String() string {
	var all []string
	if f.Codes {
		all = append(all, "codes")
	}
	if f.Passkeys > 0 {
		all = append(all, fmt.Sprintf("passkeys:%d", f.Passkeys))
	}
	if f.Required {
		all = append(all, "required")
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ",")
}
