package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/http/signin"
	"annals/queries"
)

// userQuotaCommand sets limits of one user.
func userQuotaCommand(dataDir func() string) *cobra.Command {
	given := map[quota.Kind]*string{}
	command := &cobra.Command{
		Use:   "quota NAME",
		Short: "Show or change the limits of a user",
		Long: "Show the limits that were set for a user in place of the general ones of serve, or change them: each flag takes a\n" +
			"limit, \"unlimited\", or \"default\" for the general one again. A change holds at once. Users of other issuers have theirs\n" +
			"by --quota-for of serve; administrators have none.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, back, err := changes(cmd.Flags(), given)
			if err != nil {
				return err
			}
			return withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) error {
				account, err := accounts.Get(ctx, args[0])
				if err != nil {
					return helpUnknown(err)
				}
				if len(set)+len(back) > 0 {
					if _, err := accounts.ChangeQuota(ctx, account.Name, set, back); err != nil {
						return err
					}
				}
				o, err := overrides(accounts)(ctx, principalOf(account))
				if err != nil {
					return err
				}
				return printOverride(cmd.OutOrStdout(), account.Name, o)
			})
		},
	}
	for _, k := range quota.Kinds() {
		given[k] = command.Flags().String(k.String(), "", quotaHelp[k])
		markByFlagAlone(command.Flags(), k.String())
	}
	return command
}

// changes reads the limits that flags set, and those that they take back.
func changes(flags *pflag.FlagSet, given map[quota.Kind]*string) (set map[string]int64, back []string, err error) {
	set = make(map[string]int64)
	for k, text := range given {
		switch name := k.String(); {
		case !flags.Changed(name):
		case *text == "default":
			back = append(back, name)
		default:
			if set[name], err = quota.Parse(k, *text); err != nil {
				return nil, nil, fmt.Errorf("--%s: %w", name, err)
			}
		}
	}
	return set, back, nil
}

func principalOf(a signin.Account) events.Principal { return events.Principal("user:" + a.Name) }

func printOverride(w io.Writer, name string, o quota.Override) error {
	if len(o) == 0 {
		_, err := fmt.Fprintf(w, "user %s has the general limits of serve: annals user show %s prints them\n", name, name)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range quota.Kinds() {
		if n, ok := o[k]; ok {
			fmt.Fprintf(table, "%s\t%s\n", k, k.ShowLimit(n))
		}
	}
	return table.Flush()
}

// shownUser is what user show tells.
type shownUser struct {
	Name      string                `json:"name,omitempty"` // none of principals of other issuers
	Principal events.Principal      `json:"principal"`
	Admin     bool                  `json:"admin"`
	Service   bool                  `json:"service"`
	Disabled  bool                  `json:"disabled"`
	Groups    []string              `json:"groups"`
	Created   *time.Time            `json:"created,omitempty"`
	Factors   *shownFactors         `json:"second_factor,omitempty"`
	Usage     map[string]shownUsage `json:"usage"`
	// Started is when the server was started whose general limits are shown; none
	// where no server has noted them, and they are those of this command.
	Started *time.Time `json:"limits_of_serve_started,omitempty"`

	known bool // there is an account
}

// shownUsage is what is used of one limit. Amounts are numbers of things, bytes,
// or seconds a minute.
type shownUsage struct {
	Used   *float64 `json:"used"` // what counts: all that follows
	InWork *float64 `json:"in_work,omitempty"`
	// Of files that came to nothing, and of documents that were deleted, until their
	// originals are swept.
	Failed  *float64 `json:"failed,omitempty"`
	Deleted *float64 `json:"deleted,omitempty"`
	Limit   *float64 `json:"limit"` // null for none
}

// userShowCommand prints an account and what its user takes.
func userShowCommand(dataDir func() string) *cobra.Command {
	var r rebuild
	var limits quotaConfig
	var asJSON bool
	command := &cobra.Command{
		Use: "show NAME", Annotations: map[string]string{takesSettings: "true"},
		Short: "Show a user: groups, rights, and what is used of each limit",
		Long: "Show a user of the built-in sign-in, with what is used of each limit by the data of the service; beside it, or without\n" +
			"it. A user of another issuer is named by principal, as user:ALIAS/NAME. The general limits are those with which serve\n" +
			"was started last. Where it has not been yet, they are the defaults, or what --quota-... of this command says.\n\n" +
			"Bytes are those of uploads and three times those of their text, which stands in the log, in a read model and in the\n" +
			"search index. Files that failed and documents that were deleted count until their originals are swept, for up to 30 h.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.data, r.told, r.within = dataDir(), cmd.ErrOrStderr(), answerWithin
			var u shownUser
			err := withAccounts(cmd, dataDir(), func(ctx context.Context, accounts *signin.Accounts) (err error) {
				if u, err = findUser(ctx, accounts, args[0]); err != nil {
					return err
				}
				return r.addUsage(ctx, &u, limits, accounts)
			})
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(u)
			}
			return u.print(cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object: sizes in bytes, times in seconds")
	markByFlagAlone(flags, "json")
	r.bindEngines(flags)
	limits.bind(flags)
	return command
}

// findUser returns what the accounts know of a name, or of the principal of a
// user elsewhere.
func findUser(ctx context.Context, accounts *signin.Accounts, name string) (u shownUser, err error) {
	p := events.Principal(name)
	if p.IsUser() && strings.Contains(p.Name(), "/") {
		return shownUser{Principal: p, Groups: []string{}}, nil
	}
	account, err := accounts.Get(ctx, strings.TrimPrefix(name, "user:"))
	if err != nil {
		return u, helpUnknown(err)
	}
	factors, err := accounts.Factors(ctx, account.Name)
	if err != nil {
		return u, err
	}
	groups := account.Groups
	if groups == nil {
		groups = []string{}
	}
	return shownUser{
		Name: account.Name, Principal: principalOf(account), Admin: account.Admin, Service: account.Service, Disabled: account.Disabled, Groups: groups, Created: &account.Created, known: true,
		Factors: &shownFactors{factors.Required, factors.Codes, factors.Passkeys, factors.Recovery},
	}, nil
}

// followWithin is for how long user show waits for a running server to count
// what is new.
const followWithin = 2 * time.Second

// addUsage reads what a user takes, beside the service.
func (r *rebuild) addUsage(ctx context.Context, u *shownUser, c quotaConfig, accounts *signin.Accounts) (err error) {
	closeAll, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	var policy *quota.Policy
	var started time.Time
	err = r.askModels(ctx, func(ctx context.Context) (err error) {
		policy, started, err = c.policyBeside(ctx, r.options.Control, r.told)
		return err
	})
	if err != nil {
		return err
	}
	if !started.IsZero() {
		u.Started = &started
	}
	policy.Override = overrides(accounts)
	limits, err := policy.Of(ctx, events.User{Principal: u.Principal, Admin: u.Admin})
	if err != nil {
		return err
	}
	var used queries.Usage
	var behind events.Position
	err = r.askModels(ctx, func(ctx context.Context) (err error) {
		used, behind, err = queries.UsageBeside(ctx, r.options, u.Principal, followWithin)
		return err
	})
	if err == nil && behind > 0 {
		fmt.Fprintln(r.told, "annals: the newest events are not counted yet: a server that runs counts them")
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "what %s uses cannot be read: %w", u.Principal, err)
	}
	u.Usage = usageOf(used, limits)
	return nil
}

// usageOf puts usage beside limits.
func usageOf(u queries.Usage, limits quota.Limits) map[string]shownUsage {
	all := map[string]shownUsage{}
	some := func(n int64) *float64 { f := float64(n); return &f }
	for _, one := range []struct {
		kind                            quota.Kind
		stored, inWork, failed, deleted int64
	}{
		{quota.Bytes, u.Bytes, u.ImportBytes, u.FailedBytes, u.DeletedBytes}, {quota.Documents, u.Documents, u.ImportDocuments, 0, 0},
		{quota.Folders, u.Folders, u.ImportFolders, 0, 0}, {quota.Shares, u.Shares, 0, 0, 0}, {quota.Imports, 0, u.Imports, 0, 0},
		{kind: quota.Search}, {kind: quota.Changed},
	} {
		s := shownUsage{Used: some(one.stored + one.inWork + one.failed + one.deleted)}
		switch one.kind {
		case quota.Bytes:
			s.InWork, s.Failed, s.Deleted = some(one.inWork), some(one.failed), some(one.deleted)
		case quota.Documents, quota.Folders:
			s.InWork = some(one.inWork)
		case quota.Search, quota.Changed:
			s.Used = nil // which each node knows of itself
		}
		if limit := limits[one.kind]; limit > 0 {
			s.Limit = some(limit)
			if one.kind == quota.Search {
				*s.Limit /= float64(time.Second)
			}
		}
		all[one.kind.String()] = s
	}
	return all
}

func (u shownUser) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	role, state := "user", "enabled"
	if u.Service {
		role = "service"
	}
	if u.Admin {
		role = "admin, under no limit"
	}
	if u.Disabled {
		state = "disabled"
	}
	if u.known {
		fmt.Fprintf(table, "name\t%s\nrole\t%s\nstate\t%s\ncreated\t%s\nsecond factor\t%s\ngroups\t%s\n", u.Name, role, state, u.Created.Format("2006-01-02"), u.Factors, strings.Join(u.Groups, ", "))
	} else {
		fmt.Fprintf(table, "principal\t%s\n", u.Principal)
	}
	fmt.Fprintln(table, "\nLIMIT\tUSED\tIN WORK\tFAILED\tDELETED\tOF")
	for _, k := range quota.Kinds() {
		s := u.Usage[k.String()]
		show := func(n *float64, scale float64) string {
			if n == nil {
				return "-"
			}
			return k.Show(int64(*n * scale))
		}
		of := "unlimited"
		scale := 1.0
		if k == quota.Search {
			scale = float64(time.Second)
		}
		if s.Limit != nil {
			of = show(s.Limit, scale)
		}
		if k == quota.Search {
			of += " a minute"
		}
		if k == quota.Changed {
			of += " an hour"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", k, show(s.Used, 1), show(s.InWork, 1), show(s.Failed, 1), show(s.Deleted, 1), of)
	}
	if err := table.Flush(); err != nil || u.Admin {
		return err
	}
	source := "the defaults and the settings of this command, since serve has not noted its own: start it once"
	if u.Started != nil {
		source = "those of serve, started last at " + u.Started.Format(time.RFC3339)
	}
	_, err := fmt.Fprintf(w, "\nGeneral limits are %s; annals user quota changes them for one user.\n", source)
	return err
}
