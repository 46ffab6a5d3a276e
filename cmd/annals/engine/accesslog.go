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

// OpenAccessLog opens the access log. It is in PostgreSQL if the accounts are in
// PostgreSQL, and otherwise in the data folder.
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

// SignInAccess converts an event of the built-in sign-in to a record of the access log.
// If the event has no client address, it was caused by a command, not by a request to a
// server.
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

// CommandAccess records in the access log what commands do. It opens the access log
// when the first record is written.
type CommandAccess struct {
	URLs
	Warn io.Writer // where to print a warning if recording fails

	log    *accesslog.Log
	failed bool
}

// Record records an access. If recording fails, it prints a warning and returns no
// error, because the change of the command is already made. If the data folder does not
// exist, Record does nothing.
func (c *CommandAccess) Record(ctx context.Context, a accesslog.Access) {
	if _, err := os.Stat(c.Data); err != nil && !InDatabase(c.Accounts) {
		return
	}
	if c.log == nil && !c.failed {
		var err error
		if c.log, err = c.OpenAccessLog(ctx, accesslog.Options{}); err != nil {
			c.failed = true
			fmt.Fprintf(c.Warn, "warning: this command is missing from the audit trail: %v\n", err)
		}
	}
	c.log.Record(a)
}

// Close writes buffered records and closes the access log.
func (c *CommandAccess) Close() error {
	if c.log == nil {
		return nil
	}
	if err := c.log.Close(); err != nil {
		return fmt.Errorf("record the command in the audit trail: %w", err)
	}
	return nil
}
