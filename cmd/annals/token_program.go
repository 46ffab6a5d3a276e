package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/apitoken"
)

// tokenCreateCommand makes an API token, by which a program signs in as itself.
func tokenCreateCommand(dataDir func() string) *cobra.Command {
	lasts := apitoken.Lifetime(apitoken.DefaultLifetime)
	var owner, scope, note string
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API token, by which a program signs in as itself",
		Long: "Create a token that a program sends as \"Authorization: Bearer TOKEN\", to the services and to the agents' tools, until\n" +
			"it expires or is revoked. It acts as NAME: a user, or with --for service a service account, which is created if it\n" +
			"does not exist. A service has no password and cannot sign in by a browser; otherwise it is like a user: it is put into\n" +
			"groups, folders are shared with it, and it can be given limits, disabled and deleted by annals user.\n\n" +
			"The token alone goes to standard output, this once: what is stored is its hash. It does what NAME may do, and with the\n" +
			"scope read only what changes nothing. It ends with NAME, when NAME is disabled, and when NAME's password is changed.",
		Example: "  annals token create ci --for service --scope write --expires 30d --note 'nightly upload'\n" +
			"  TOKEN=$(annals token create alice)",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			parsed, err := apitoken.ParseScope(scope)
			if err != nil {
				return fmt.Errorf("--scope: %w", err)
			}
			if owner != "user" && owner != "service" {
				return fault.Errorf(fault.Invalid, "--for: %q is neither user nor service", owner)
			}
			wanted := signin.NewToken{Scope: parsed, Note: note, Lasts: time.Duration(lasts)}
			if err := wanted.Check(); err != nil { // before a service is made for it
				return err
			}
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				account, err := tokenOwner(ctx, accounts, args[0], owner == "service", cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				wanted.User = account.Name
				token, made, err := accounts.CreateToken(ctx, wanted, time.Now())
				if err != nil {
					return err
				}
				if err := describeToken(cmd.ErrOrStderr(), account, made); err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
				return err
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&owner, "for", "user", "whose token it is: user, who must exist, or service, which is created if it does not exist")
	flags.StringVar(&scope, "scope", "read", "what it allows of what NAME may do: read, which changes nothing, or write")
	flags.Var(&lasts, "expires", "how long it lasts, in days as 90d or in hours as 2160h; from 1m to 366d")
	flags.StringVar(&note, "note", "", "what it is for, up to 200 bytes, which annals token list shows")
	markByFlagAlone(flags, "for", "scope", "expires", "note")
	return command
}

// tokenOwner returns the account that a new token is to act as.
func tokenOwner(ctx context.Context, accounts *signin.Accounts, name string, service bool, messages io.Writer) (signin.Account, error) {
	account, err := accounts.Get(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound) && service:
		if account, err = accounts.Create(ctx, signin.NewAccount{Name: name, Service: true}); err == nil {
			fmt.Fprintf(messages, "created service %s\n", account.Name)
		}
		return account, err
	case fault.Is(err, fault.NotFound):
		return account, fault.Errorf(fault.NotFound, "%w; \"annals user list\" shows who there is, and --for service makes an account for a program", err)
	case err != nil:
		return account, err
	case service && !account.Service:
		return account, fault.Errorf(fault.Conflict, "%q is a user, not a service: leave out --for service, or choose another name", account.Name)
	case !service && account.Service:
		return account, fault.Errorf(fault.Conflict, "%q is a service: add --for service", account.Name)
	}
	return account, nil
}

// describeToken prints what was made.
func describeToken(w io.Writer, account signin.Account, t signin.ProgramToken) error {
	kind := "user"
	if t.Service {
		kind = "service"
	}
	_, err := fmt.Fprintf(w, "token %s of %s %s, scope %s, until %s; it is shown this once. annals token revoke %s ends it.\n",
		t.ID, kind, t.User, t.Scope, t.Expires.Format(time.DateOnly), t.ID)
	if account.Admin && err == nil {
		_, err = fmt.Fprintf(w, "%s is an administrator: whoever has this token reads everything, and with the scope write changes everything.\n", account.Name)
	}
	return err
}

// shownToken is a token as --json prints it.
type shownToken struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Service bool       `json:"service"`
	Scope   string     `json:"scope"`
	Created time.Time  `json:"created"`
	Expires time.Time  `json:"expires"`
	Expired bool       `json:"expired"`
	Used    *time.Time `json:"last_used"` // null: never
	Note    string     `json:"note"`
}

func tokenListCommand(dataDir func() string) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List API tokens, of one account or of all",
		Long: "List the tokens that annals token create has made: those of one account, or all. When one was last used is noted once\n" +
			"a minute. Expired ones are listed for another 30 days; those that were revoked are in the audit trail.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				all, err := accounts.Tokens(ctx, strings.Join(args, ""))
				if err != nil {
					return helpUnknown(err)
				}
				return printTokens(cmd.OutOrStdout(), all, time.Now(), asJSON)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	markByFlagAlone(command.Flags(), "json")
	return command
}

func printTokens(w io.Writer, all []signin.ProgramToken, now time.Time, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(w)
		for _, t := range all {
			shown := shownToken{t.ID, t.User, t.Service, string(t.Scope), t.Created, t.Expires, now.After(t.Expires), nil, t.Note}
			if !t.Used.IsZero() {
				shown.Used = &t.Used
			}
			if err := out.Encode(shown); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tKIND\tSCOPE\tCREATED\tEXPIRES\tLAST USED\tNOTE")
	for _, t := range all {
		kind, used, expires := "user", "never", t.Expires.Format(time.DateOnly)
		if t.Service {
			kind = "service"
		}
		if !t.Used.IsZero() {
			used = t.Used.Format("2006-01-02 15:04")
		}
		if now.After(t.Expires) {
			expires += " (expired)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.User, kind, t.Scope, t.Created.Format(time.DateOnly), expires, used, t.Note)
	}
	return table.Flush()
}

func tokenRevokeCommand(dataDir func() string) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID...",
		Short: "End API tokens, at once",
		Long:  "End tokens that annals token create has made, with the access tokens that programs got for them, at once and\nat every node. annals token list shows the ids.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				for _, id := range args {
					if apitoken.Is(id) {
						return fault.Errorf(fault.Invalid, "this is a token, not the id of one, which begins with t-: annals token list shows the ids")
					}
					user, err := accounts.RevokeToken(ctx, id)
					if err != nil {
						return err
					}
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "revoked token %s of %s\n", id, user); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}
