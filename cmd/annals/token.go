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

// tokenCommand prints the token and nothing else, for use in scripts.
func tokenCommand(at *engine.URLs) *cobra.Command {
	command := &cobra.Command{
		Use:   "token NAME",
		Short: "Print an ID token of one hour for a user, or manage API tokens",
		Long: "Print an ID token of one hour for a user of the built-in sign-in. Anyone who may read the data folder can do so.\n" +
			"A program sends it as \"Authorization: Bearer TOKEN\". The commands below create and revoke API tokens, which last\n" +
			"longer. For a user named like one of them write: annals token -- create",
		Args: cobra.ExactArgs(1),
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

// printIssued prints a line that the issuer makes for a user.
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

// tokenCreateCommand makes an API token, by which a program signs in as itself.
func tokenCreateCommand(at *engine.URLs) *cobra.Command {
	lasts := apitoken.Lifetime(apitoken.DefaultLifetime)
	var owner, scope, note string
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API token, by which a program signs in as itself",
		Long: "Create a token that a program sends as \"Authorization: Bearer TOKEN\", to the services and to the agents' tools, until\n" +
			"it expires or is revoked. It acts as NAME: a user, or with --for service a service account, which is created if it\n" +
			"does not exist. A service has no password and cannot sign in by a browser; otherwise it is like a user: it is put into\n" +
			"groups, folders are shared with it, and it can be given limits, disabled and deleted by annals user.\n\n" +
			"Only the token goes to standard output. It cannot be shown again: only its hash is stored. It may do what NAME\n" +
			"may do, or with the scope read only what changes nothing. It is revoked when NAME is deleted or disabled, or when\n" +
			"NAME's password is changed.",
		Example: "  annals token create ci --for service --scope write --expires 30d --note 'nightly upload'\n" +
			"  TOKEN=$(annals token create alice)",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parsed, err := apitoken.ParseScope(scope)
			if err != nil {
				return fmt.Errorf("--scope: %w", err)
			}
			if owner != "user" && owner != "service" {
				return fault.Errorf(fault.Invalid, "--for: %q: must be user or service", owner)
			}
			wanted := accounts.NewAPIToken{Scope: parsed, Note: note, Lasts: time.Duration(lasts)}
			if err := wanted.Check(); err != nil { // before the service is created
				return err
			}
			return accountsOf(cmd, at).Do(cmd.Context(), func(ctx context.Context, store *accounts.Store) error {
				return admin.CreateToken(ctx, store, args[0], owner == "service", wanted, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&owner, "for", "user", "kind of account: user, which must exist, or service, which is created if it does not exist")
	flags.StringVar(&scope, "scope", "read", "read (everything NAME may read) or write (everything NAME may do)")
	flags.Var(&lasts, "expires", "lifetime, in days such as 90d or in hours such as 2160h; from 1m to 366d")
	flags.StringVar(&note, "note", "", "purpose, up to 200 bytes, shown by annals token list")
	settings.FlagOnly(flags, "for", "scope", "expires", "note")
	return command
}

func tokenListCommand(at *engine.URLs) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List API tokens, of one account or of all",
		Long: "List the API tokens of one account, or all. The time of the last use is exact to a minute. Expired tokens are listed\n" +
			"for another 30 days; revoked ones are in the audit trail.",
		Args: cobra.MaximumNArgs(1),
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
		Short: "Revoke API tokens, at once",
		Long:  "Revoke API tokens, with the access tokens that programs obtained by them, at once and on every node.\nannals token list shows the ids.",
		Args:  cobra.MinimumNArgs(1),
		RunE: onAccounts(at, func(ctx context.Context, store *accounts.Store, cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if apitoken.Is(id) {
					return fault.Errorf(fault.Invalid, "this is a token, not its id: give the id, which begins with t- (annals token list shows it)")
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
