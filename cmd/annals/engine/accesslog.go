package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"annals/events"
	"annals/http/signin/accounts"
	"annals/queries/accesslog"
)

// OpenAccessLog opens the access log, which is beside the accounts: in their
// database if they are in one, else in the data folder.
func (u URLs) OpenAccessLog(ctx context.Context, o accesslog.Options) (*accesslog.Log, error) {
	if !InDatabase(u.Accounts) {
		return accesslog.Open(ctx, filepath.Join(u.Data, accesslog.File), o)
	}
	d, err := openDatabase(AccountsFlag, u.Accounts)
	if err != nil {
		return nil, err
	}
	log, err := accesslog.OpenShared(ctx, d, o)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", AccountsFlag, err)
	}
	return log, nil
}

// SignInAccess returns the access that an event of the sign-in is recorded as. An
// event without an address comes from a command beside the server.
func SignInAccess(e accounts.Event, correlation string) accesslog.Access {
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
	case e.Kind != accounts.SignInFailed && e.Kind != accounts.SignInRefused:
		a.User.Principal = a.Place
	}
	return a
}

// CommandAccess records in the access log what commands do beside a server. The
// log is opened by the first access.
type CommandAccess struct {
	URLs
	Warn io.Writer // that recording failed

	log    *accesslog.Log
	failed bool
}

// Record does not fail: the command has carried out already what it records. A
// data folder that does not exist has no access log.
func (c *CommandAccess) Record(ctx context.Context, a accesslog.Access) {
	if _, err := os.Stat(c.Data); err != nil && !InDatabase(c.Accounts) {
		return
	}
	if c.log == nil && !c.failed {
		var err error
		if c.log, err = c.OpenAccessLog(ctx, accesslog.Options{}); err != nil {
			c.failed = true
			fmt.Fprintf(c.Warn, "warning: this is not in the audit trail: %v\n", err)
		}
	}
	c.log.Record(a)
}

// Close writes what was recorded.
func (c *CommandAccess) Close() error {
	if c.log == nil {
		return nil
	}
	if err := c.log.Close(); err != nil {
		return fmt.Errorf("record in the audit trail what was done: %w", err)
	}
	return nil
}
