package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/postgres"
	"annals/http/signin"
	"annals/queries/accesslog"

	"github.com/spf13/pflag"
)

// accessConfig is which accesses are kept, and for how long.
type accessConfig struct {
	reads     readsValue
	retention days
	bytes     int64
}

func (c *accessConfig) bind(flags *pflag.FlagSet) {
	c.retention, c.bytes, c.reads = days(90*24*time.Hour), 1<<30, readsValue{text: "admins"}
	flags.Var(&c.reads, "audit-reads", "which reads the audit trail shows: none; admins (what administrators read of what is others', and all downloads); sample:N (one of N other reads too); all")
	flags.Var(&c.retention, "access-log-retention", "how long sign-ins, refusals and reads are kept, as 90d or 12h; 0 for ever")
	flags.Var(limitValue{quota.Bytes, &c.bytes}, "access-log-bytes", "bytes of sign-ins, refusals and reads that are kept, the oldest go first; 0 for no limit")
}

// readsValue is which reads are kept, as a flag.
type readsValue struct {
	text string
	accesslog.Reads
}

func (v *readsValue) String() string { return v.text }
func (v *readsValue) Type() string   { return "reads" }

func (v *readsValue) Set(text string) (err error) {
	if v.Reads, err = accesslog.ParseReads(text); err == nil {
		v.text = text
	}
	return err
}

// days is a duration that may be given in days.
type days time.Duration

func (d *days) String() string {
	if h := time.Duration(*d); h > 0 && h%(24*time.Hour) == 0 {
		return strconv.Itoa(int(h/(24*time.Hour))) + "d"
	}
	return time.Duration(*d).String()
}

func (d *days) Type() string { return "duration" }

func (d *days) Set(text string) error {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if count, err := strconv.Atoi(n); err == nil && count >= 0 && count <= 36500 {
			*d = days(time.Duration(count) * 24 * time.Hour)
			return nil
		}
	} else if parsed, err := time.ParseDuration(text); err == nil && parsed >= 0 {
		*d = days(parsed)
		return nil
	}
	return fmt.Errorf("%q is no duration, such as 90d or 12h", text)
}

// openAccess opens the records of access, which lie where the accounts are: in
// their database if nodes share it, else in the data folder.
func openAccess(ctx context.Context, accountsURL, dataDir string, o accesslog.Options) (*accesslog.Log, error) {
	if !shared(accountsURL) {
		return accesslog.Open(ctx, filepath.Join(dataDir, accesslog.File), o)
	}
	d, err := postgres.Parse(accountsURL)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", accountsFlag, err)
	}
	return accesslog.OpenShared(ctx, d, o)
}

// openAccess opens the records of the server. It is called before anything is
// recorded, and when the read models are open.
func (s *service) openAccess(ctx context.Context) (err error) {
	c := s.config.access
	s.access, err = openAccess(ctx, s.config.accounts, s.config.data, accesslog.Options{
		Reads: c.reads.Reads, Retention: time.Duration(c.retention), Bytes: c.bytes,
		Find: s.queries.Find, Granted: s.queries.Granted, Lost: s.metrics.Lost, Logger: s.logger,
	})
	if err != nil && shared(s.config.accounts) {
		return fmt.Errorf("--%s: %w", accountsFlag, err)
	}
	if err != nil {
		return err
	}
	s.closing(s.access.Close)
	s.queries.Accesses = s.access
	return nil
}

// signedIn makes a record of what happened at the sign-in. What came from no
// address was done by a command beside the server, by whoever may call it.
func signedIn(e signin.Event, correlation string) accesslog.Access {
	a := accesslog.Access{
		Kind: accesslog.KindOf(string(e.Kind)), Via: "signin", Correlation: correlation, Address: e.Address, Name: e.User,
		Detail: strings.Join(strings.Fields(e.Client+" "+e.Detail), " "),
	}
	if e.User != "" {
		a.Place = events.Principal("user:" + e.User)
	}
	switch {
	case e.Address == "":
		a.Via = "command"
	case e.Kind != signin.SignInFailed && e.Kind != signin.SignInRefused:
		a.User.Principal = a.Place
	}
	return a
}

// commandAccess records what commands do beside a server. It is opened once there
// is something to record.
type commandAccess struct {
	accountsURL, dataDir string
	warn                 io.Writer

	log    *accesslog.Log
	failed bool
}

// record never fails a command: what it did is done.
func (c *commandAccess) record(ctx context.Context, a accesslog.Access) {
	if _, err := os.Stat(c.dataDir); err != nil && !shared(c.accountsURL) {
		return // there is no server here
	}
	if c.log == nil && !c.failed {
		var err error
		if c.log, err = openAccess(ctx, c.accountsURL, c.dataDir, accesslog.Options{}); err != nil {
			c.failed = true
			fmt.Fprintf(c.warn, "warning: this is not in the audit trail: %v\n", err)
		}
	}
	c.log.Record(a)
}

func (c *commandAccess) close() error {
	if c.log == nil {
		return nil
	}
	if err := c.log.Close(); err != nil {
		return errors.Join(errors.New("what was done cannot be recorded in the audit trail"), err)
	}
	return nil
}
