package main

import (
	"context"
	"encoding/json"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/cmd/usage"
	"annals/commands/quota"
	"annals/events/fault"
	"annals/http/signin/accounts"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// userQuotaCommand shows and changes the limits of one user.
func userQuotaCommand(at *engine.URLs) *cobra.Command {
	given := map[quota.Kind]*string{}
	command := &cobra.Command{
		Use:   "quota NAME",
		Short: "Show or change the limits of a user",
		Long: "Show the limits of a user that differ from the general limits of serve, or change them. Each flag takes a limit,\n" +
			"\"unlimited\", or \"default\" to return to the general limit. Changes take effect immediately. For users of other\n" +
			"issuers use serve --quota-for. Administrators have no limits.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, reset, err := limitChanges(cmd.Flags(), given)
			if err != nil {
				return err
			}
			return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
				return admin.ChangeLimits(ctx, store, args[0], set, reset, cmd.OutOrStdout())
			})
		},
	}
	for _, k := range quota.Kinds() {
		given[k] = command.Flags().String(k.String(), "", limitHelp[k]+"; unlimited, or default for the general limit")
		settings.FlagOnly(command.Flags(), k.String())
	}
	return command
}

// limitChanges returns the limits that the flags set to a value, and the kinds of
// limits that they reset.
func limitChanges(flags *pflag.FlagSet, given map[quota.Kind]*string) (set map[string]int64, reset []string, err error) {
	set = make(map[string]int64)
	for k, text := range given {
		switch name := k.String(); {
		case !flags.Changed(name):
		case *text == "default":
			reset = append(reset, name)
		default:
			if set[name], err = quota.Parse(k, *text); err != nil {
				return nil, nil, fault.Errorf(fault.Invalid, "--%s: %q is not a limit for %s: write it as %s, unlimited, or default for the general limit", name, *text, k, k.Example())
			}
		}
	}
	return set, reset, nil
}

// userShowCommand prints an account, and the usage and the limit of each kind.
func userShowCommand(at *engine.URLs) *cobra.Command {
	var limits usage.Settings
	var searches int // value of --quota-searches; only serve uses it
	var asJSON bool
	command := &cobra.Command{
		Use: "show NAME", Annotations: map[string]string{settings.OfServe: "true"},
		Short: "Show the groups, the rights and the usage of a user",
		Long: "Show a user of the built-in sign-in, with the usage of each limit. A server may be running. For a user of another\n" +
			"issuer pass the principal user:ALIAS/NAME. The general limits are those with which serve was started last; before\n" +
			"its first start they are the --quota-... flags of this command.\n\n" +
			"Used bytes are the size of the uploads plus three times the size of their text, because the text is stored in the\n" +
			"log, in a read model and in the search index. Failed files and deleted documents count until their originals are\n" +
			"deleted from disk, up to 30 hours later.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			var u admin.User
			err := accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) (err error) {
				if u, err = admin.FindUser(ctx, store, args[0]); err != nil {
					return err
				}
				beside := &engine.Beside{URLs: *at, Timeout: engine.ReadTimeout, Logger: warnings(cmd)}
				return u.AddUsage(ctx, beside, &limits, store, cmd.ErrOrStderr())
			})
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(u)
			}
			return u.Print(cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, with sizes in bytes and times in seconds")
	settings.FlagOnly(flags, "json")
	bindModels(flags, at)
	bindLimits(flags, &limits, &searches)
	return command
}
