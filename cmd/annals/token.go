package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"annals/cmd/annals/admin"
	"annals/cmd/annals/engine"
	"annals/cmd/annals/settings"
	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/apitoken"

	"github.com/spf13/cobra"
)

// tokenCommand prints only the token, for use in scripts.
func tokenCommand(at *engine.URLs) *cobra.Command {
	command := &cobra.Command{
		Use:   "token NAME",
		Short: "Print an ID token for a user that is valid for one hour, or manage API tokens",
		Long: "Print an ID token for a user of the built-in sign-in that is valid for one hour. Anyone who can read the data folder\n" +
			"can do so. A program sends it in the header \"Authorization: Bearer TOKEN\". The commands below manage API tokens,\n" +
			"which last longer. If a user has the name of one of these commands, write: annals token -- create",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := printIssued(cmd, at, args[0], func(ctx context.Context, issuer *signin.Issuer, name string) (string, error) {
				token, _, err := issuer.Issue(ctx, name)
				return token, err
			})
			if fault.Is(err, fault.NotFound) {
				return fmt.Errorf("%w%s", err, settings.Suggest(cmd, args[0]))
			}
			return err
		},
	}
	command.AddCommand(tokenCreateCommand(at), tokenListCommand(at), tokenRevokeCommand(at))
	return command
}

// printIssued calls issue, which creates a token or a link for the user name, and
// prints the result.
func printIssued(cmd *cobra.Command, at *engine.URLs, name string, issue func(context.Context, *signin.Issuer, string) (string, error)) error {
	return accountsOf(cmd, at).Issue(cmd.Context(), func(ctx context.Context, issuer *signin.Issuer) error {
		line, err := issue(ctx, issuer, name)
		if err != nil {
			return admin.ExplainUnknown(err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), line)
		return err
	})
}

// tokenCreateCommand creates an API token, with which a program signs in.
func tokenCreateCommand(at *engine.URLs) *cobra.Command {
	lasts := apitoken.Lifetime(apitoken.DefaultLifetime)
	var owner, scope, note string
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API token, with which a program signs in as itself",
		Long: "Create a token that a program sends in the header \"Authorization: Bearer TOKEN\", to the REST services and to the MCP\n" +
			"endpoint, until it expires or is revoked. The program acts as NAME: a user, or with --for service a service account,\n" +
			"which is created if it does not exist. A service account has no password and cannot sign in with a browser. Otherwise\n" +
			"it is like a user: it can have groups and limits, folders can be shared with it, and annals user can disable and\n" +
			"delete it.\n\n" +
			"Only the token is printed to standard output. It cannot be shown again, because only its hash is stored. With the\n" +
			"scope write it allows everything that NAME may do, with the scope read only reading. It is revoked when NAME is\n" +
			"deleted or disabled, or when the password of NAME changes.",
		Example: "  annals token create ci --for service --scope write --expires 30d --note 'nightly upload'\n" +
			"  TOKEN=$(annals token create alice)",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			parsed, err := apitoken.ParseScope(scope)
			if err != nil {
				return fmt.Errorf("--scope: %w", err)
			}
			if owner != "user" && owner != "service" {
				return fault.Errorf(fault.Invalid, "--for %q: must be user or service", owner)
			}
			wanted := accounts.NewAPIToken{Scope: parsed, Note: note, Lasts: time.Duration(lasts)}
			if err := wanted.Check(); err != nil { // check before creating the service account
				return err
			}
			return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
				return admin.CreateToken(ctx, store, args[0], owner == "service", wanted, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&owner, "for", "user", "kind of the account NAME: user (must exist) or service (created if it does not exist)")
	flags.StringVar(&scope, "scope", "read", "what the token allows: read (to read what NAME may read) or write (to do everything that NAME may do)")
	flags.Var(&lasts, "expires", "lifetime of the token, in days such as 90d or hours such as 12h; from 1m to 366d")
	flags.StringVar(&note, "note", "", "note about the purpose of the token, up to 200 bytes; annals token list shows it")
	settings.FlagOnly(flags, "for", "scope", "expires", "note")
	return command
}

func tokenListCommand(at *engine.URLs) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List API tokens, of one account or of all",
		Long: "List the API tokens of one account, or of all accounts. The time of the last use is accurate to one minute.\n" +
			"Expired tokens are listed for 30 more days. Revoked tokens are not listed, but are in the audit trail.",
		Args: settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			all, err := store.Tokens(ctx, strings.Join(args, ""))
			if err != nil {
				return admin.ExplainUnknown(err)
			}
			return admin.PrintTokens(cmd.OutOrStdout(), all, time.Now(), asJSON)
		}),
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	settings.FlagOnly(command.Flags(), "json")
	return command
}

func tokenRevokeCommand(at *engine.URLs) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID...",
		Short: "Revoke API tokens",
		Long:  "Revoke API tokens, and the access tokens that programs obtained with them, immediately and on every node.\nannals token list shows the ids.",
		Args:  settings.Arguments,
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if apitoken.Is(id) {
					return fault.Errorf(fault.Invalid, "the argument is a token, not its id: pass the id, which begins with t- (annals token list shows it)")
				}
				user, err := store.RevokeToken(ctx, id)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "revoked token %s of %s\n", id, user); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
