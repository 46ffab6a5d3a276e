package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"annals/cmd/usage"
	"annals/commands/quota"
	"annals/events"
	"annals/http/ratelimit"
	"annals/http/signin"
)

// quotaConfig is what one user and one folder may take.
type quotaConfig struct {
	user, folder quota.Limits
	others       []string // principals with limits of their own
	searches     int      // of one user at once
}

// limitValue is a limit as a flag.
type limitValue struct {
	kind quota.Kind
	to   *int64
}

// String is that of pflag.Value.
func (v limitValue) String() string {
	if v.to == nil {
		return ""
	}
	return v.kind.ShowLimit(*v.to)
}

// Set is that of pflag.Value.
func (v limitValue) Set(text string) (err error) {
	*v.to, err = quota.Parse(v.kind, text)
	return err
}

// Type is that of pflag.Value.
func (v limitValue) Type() string {
	switch v.kind {
	case quota.Bytes, quota.Changed:
		return "size"
	case quota.Search:
		return "duration"
	}
	return "int"
}

// quotaHelp says of each kind what a user may have.
var quotaHelp = map[quota.Kind]string{
	quota.Bytes:     "bytes that one user may store, of uploads and what is kept of their text, in all versions and in work, such as 50GiB",
	quota.Documents: "documents that one user may store, with files in work",
	quota.Folders:   "folders that one user may have made",
	quota.Shares:    "entries in permission lists that one user may have made",
	quota.Imports:   "files of one user that may be in work at once",
	quota.Search:    "time that searches, questions and listings of one user may take in a minute, by what each really took",
	quota.Changed:   "bytes that changes of one user (names, tags, permission lists, moves, deletions, new contents, files that are refused or fail) may add to the log in an hour",
}

// folderKinds are what is limited of a folder.
var folderKinds = map[quota.Kind]string{
	quota.Bytes:     "bytes that may lie in one top-level folder with all below it, of uploads and what is kept of their text",
	quota.Documents: "documents that may lie in one top-level folder with all below it",
}

func (c *quotaConfig) bind(flags *pflag.FlagSet) {
	c.user, c.folder = quota.Default, quota.DefaultFolder
	for kind, help := range quotaHelp {
		flags.Var(limitValue{kind, &c.user[kind]}, "quota-"+kind.String(), help+"; 0 for no limit")
	}
	for kind, help := range folderKinds {
		flags.Var(limitValue{kind, &c.folder[kind]}, "quota-folder-"+kind.String(), help+"; 0 for no limit")
	}
	flags.StringArrayVar(&c.others, "quota-for", nil, "limits of a user of another issuer: user:ALIAS/NAME=bytes=50GiB,search=2m; may be repeated")
	flags.IntVar(&c.searches, "quota-searches", max(1, runtime.NumCPU()/2), "searches, questions and listings of one user that run at once; more wait")
}

// principals reads the limits of those who have their own.
func (c *quotaConfig) principals() (map[events.Principal]quota.Override, error) {
	all := make(map[events.Principal]quota.Override)
	for _, text := range c.others {
		p, o, err := quota.ParseOverride(text)
		if err != nil {
			return nil, fmt.Errorf("--quota-for: %w", err)
		}
		all[p] = o
	}
	return all, nil
}

// overrides returns what was set for single users.
func overrides(accounts *signin.Accounts) func(context.Context, events.Principal) (quota.Override, error) {
	return func(ctx context.Context, user events.Principal) (quota.Override, error) {
		set, err := accounts.Quota(ctx, user)
		o := make(quota.Override, len(set))
		for name, n := range set {
			if k, ok := quota.ParseKind(name); ok { // a newer program may know more
				o[k] = n
			}
		}
		return o, err
	}
}

// openQuotas makes what judges how much users take.
func (s *service) openQuotas(ctx context.Context) error {
	others, err := s.config.quota.principals()
	if err != nil {
		return err
	}
	policy := &quota.Policy{User: s.config.quota.user, Folder: s.config.quota.folder, Principals: others, Override: overrides(s.accounts)}
	if err := noteLimits(ctx, s.control, policy); err != nil {
		return err
	}
	s.quota = &quota.Ledger{Policy: policy, Usage: usage.Reads{Queries: s.queries}, Refuse: s.metrics.Refuse}
	s.changes = &quota.Changes{Limits: policy.Of, Refuse: s.metrics.Refuse}
	s.reads = &ratelimit.Limiter{Limits: policy.Of, AtOnce: s.config.quota.searches, Refuse: s.metrics.Refuse}
	return nil
}
