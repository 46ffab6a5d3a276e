package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/usage"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/http/signin/accounts"
	"annals/queries"
)

// ChangeLimits changes limits of a user and prints the new ones. set maps kinds of
// limits to new values. For the kinds in reset the user gets the general limits, which
// apply to all users, again.
func ChangeLimits(ctx context.Context, store *accounts.Store, name string, set map[string]int64, reset []string, out io.Writer) error {
	account, err := store.Get(ctx, name)
	if err != nil {
		return ExplainUnknown(err)
	}
	if len(set)+len(reset) > 0 {
		if _, err := store.ChangeQuota(ctx, account.Name, set, reset); err != nil {
			return err
		}
	}
	o, err := usage.Overrides(store)(ctx, principalOf(account))
	if err != nil {
		return err
	}
	return printOverride(out, account.Name, o)
}

func principalOf(a accounts.Account) events.Principal { return events.Principal("user:" + a.Name) }

func printOverride(w io.Writer, name string, o quota.Override) error {
	if len(o) == 0 {
		_, err := fmt.Fprintf(w, "user %s has the general limits; to show them: annals user show %[1]s\n", name)
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

// User is a user of the service, with the usage and the limit of each kind.
type User struct {
	Name      string                `json:"name,omitempty"` // empty for users of other issuers
	Principal events.Principal      `json:"principal"`
	Admin     bool                  `json:"admin"`
	Service   bool                  `json:"service"`
	Disabled  bool                  `json:"disabled"`
	Groups    []string              `json:"groups"`
	Created   *time.Time            `json:"created,omitempty"`
	Factors   *shownFactors         `json:"second_factor,omitempty"`
	Usage     map[string]shownUsage `json:"usage"`
	// Started is the start time of the server that stored the general limits for
	// commands to read. It is nil if no server has stored any; then Limits come from
	// the flags of this command.
	Started *time.Time `json:"limits_of_serve_started,omitempty"`

	hasAccount bool // false for users of other issuers
}

// shownUsage is the usage of one limit. The unit depends on the kind: a count, bytes, or
// seconds per minute.
type shownUsage struct {
	Used    *float64 `json:"used"`              // total, including the parts below
	InWork  *float64 `json:"in_work,omitempty"` // of running imports
	Failed  *float64 `json:"failed,omitempty"`  // of failed files whose originals are not deleted yet
	Deleted *float64 `json:"deleted,omitempty"` // of deleted documents whose originals are not deleted yet
	Limit   *float64 `json:"limit"`             // null means no limit
}

// FindUser returns the user with the given name. A user of another issuer has the name
// user:ALIAS/NAME; for that FindUser sets only Principal.
func FindUser(ctx context.Context, store *accounts.Store, name string) (u User, err error) {
	p := events.Principal(name)
	if p.IsUser() && strings.Contains(p.Name(), "/") {
		return User{Principal: p, Groups: []string{}}, nil
	}
	account, err := store.Get(ctx, strings.TrimPrefix(name, "user:"))
	if err != nil {
		return u, ExplainUnknown(err)
	}
	factors, err := store.Factors(ctx, account.Name)
	if err != nil {
		return u, err
	}
	groups := account.Groups
	if groups == nil {
		groups = []string{}
	}
	return User{
		Name: account.Name, Principal: principalOf(account), Admin: account.Admin, Service: account.Service, Disabled: account.Disabled, Groups: groups, Created: &account.Created, hasAccount: true,
		Factors: &shownFactors{factors.Required, factors.Codes, factors.Passkeys, factors.Recovery},
	}, nil
}

// catchUpTimeout is the maximum time that AddUsage waits for a running server to apply
// the newest events.
const catchUpTimeout = 2 * time.Second

// AddUsage adds the usage and limit of each kind to u. If no server has stored the
// general limits, it uses those in general, which come from the flags of this command.
func (u *User) AddUsage(ctx context.Context, b *engine.Beside, general *usage.Settings, store *accounts.Store, messages io.Writer) (err error) {
	closeAll, err := b.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	var policy *quota.Policy
	var started time.Time
	err = b.ReadModels(ctx, func(ctx context.Context) (err error) {
		policy, started, err = general.OfServer(ctx, b.Options.Control, messages)
		return err
	})
	if err != nil {
		return err
	}
	if !started.IsZero() {
		u.Started = &started
	}
	policy.Override = usage.Overrides(store)
	limits, err := policy.Of(ctx, events.User{Principal: u.Principal, Admin: u.Admin})
	if err != nil {
		return err
	}
	var used queries.Usage
	var behind events.Position
	err = b.ReadModels(ctx, func(ctx context.Context) (err error) {
		used, behind, err = queries.ReadUsage(ctx, b.Options, u.Principal, catchUpTimeout)
		return err
	})
	if err == nil && behind > 0 {
		fmt.Fprintln(messages, "annals: warning: the usage leaves out the newest events, because no running server has counted them")
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "read the usage of %s: %w", u.Principal, err)
	}
	u.Usage = usageOf(used, limits)
	return nil
}

// usageOf returns the usage and the limit for each kind.
func usageOf(u queries.Usage, limits quota.Limits) map[string]shownUsage {
	all := map[string]shownUsage{}
	some := func(n int64) *float64 { return new(float64(n)) }
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
			s.Used = nil // each node counts this only in memory, which a command cannot read
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

// Print prints a user as tables.
func (u User) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	role, state := "user", "enabled"
	if u.Service {
		role = "service"
	}
	if u.Admin {
		role = "admin, without limits"
	}
	if u.Disabled {
		state = "disabled"
	}
	if u.hasAccount {
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
	source := "the flags and defaults of this command, because no server has stored its limits yet"
	if u.Started != nil {
		source = "the server that started at " + u.Started.Format(time.RFC3339)
	}
	_, err := fmt.Fprintf(w, "\nThe general limits are those of %s. To change them for one user: annals user quota\n", source)
	return err
}
