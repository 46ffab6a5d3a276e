package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"annals/commands/quota"
	"annals/events"
	"annals/http/ratelimit"
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

func (v limitValue) String() string {
	if v.to == nil {
		return ""
	}
	return v.kind.ShowLimit(*v.to)
}

func (v limitValue) Set(text string) (err error) {
	*v.to, err = quota.Parse(v.kind, text)
	return err
}

func (v limitValue) Type() string {
	switch v.kind {
	case quota.Bytes:
		return "size"
	case quota.Search:
		return "duration"
	}
	return "int"
}

func (c *quotaConfig) bind(flags *pflag.FlagSet) {
	c.user, c.folder = quota.Default, quota.DefaultFolder
	for kind, help := range quotaHelp {
		if help == "" {
			continue
		}
		flags.Var(limitValue{quota.Kind(kind), &c.user[kind]}, "quota-"+quota.Kind(kind).String(), help+"; 0 for no limit")
	}
	flags.IntVar(&c.searches, "quota-searches", max(1, runtime.NumCPU()/2), "searches, questions and listings of one user that run at once; more wait")
}

// quotaHelp says of each kind what a user may have.
var quotaHelp = [...]string{
	quota.Search: "time that searches, questions and listings of one user may take in a minute, by what each really took",
}

// openQuotas makes what judges how much users take.
func (s *service) openQuotas(context.Context) error {
	s.policy = &quota.Policy{User: s.config.quota.user, Folder: s.config.quota.folder}
	s.reads = &ratelimit.Limiter{Limits: s.policy.Of, AtOnce: s.config.quota.searches, Refuse: s.metrics.Refuse}
	return nil
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
