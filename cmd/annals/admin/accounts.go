// Package admin manages accounts for operators, also while a server runs: users,
// groups, second factors, limits, keys and API tokens. It finds and opens the accounts
// of the built-in sign-in, changes and prints them. It defines no flags.
package admin

import (
	"context"
	"errors"
	"io"
	"os"

	"annals/cmd/annals/engine"
	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
)

// Accounts finds the accounts of a service.
type Accounts struct {
	engine.URLs
	Listen string    // address of a server that has not noted its URLs in the data folder
	Warn   io.Writer // for warnings about entries missing from the audit trail
}

// served returns the URLs of the server on the data folder.
func (s Accounts) served() (signin.URLs, error) {
	return signin.ReadURLs(s.Data, signin.DefaultURLs(s.Listen))
}

// Do calls f with the accounts and records the changes of f in the audit trail. A
// server must have created the accounts before.
func (s Accounts) Do(ctx context.Context, f func(context.Context, *accounts.Store) error) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	store, err := s.OpenAccounts(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	access := &engine.CommandAccess{URLs: s.URLs, Warn: s.Warn}
	defer func() { err = errors.Join(err, access.Close()) }()
	store.Observe = func(ctx context.Context, e accounts.Event) { access.Record(ctx, engine.SignInAccess(e, "")) }
	return f(ctx, store)
}

// check returns an error if the accounts do not exist. It explains how to find them.
func (s Accounts) check() error {
	if err := engine.CheckRestored(s.Data); err != nil {
		return err
	}
	exist, err := s.HasAccounts()
	if err != nil {
		return err
	}
	served, err := s.served()
	if err != nil {
		return err
	}
	switch {
	case s.Accounts == "" && served.Accounts != "":
		return fault.Errorf(fault.NotFound, "the server on %s keeps its accounts at %s: pass that URL, with its password if it has one, as --%s or ANNALS_ACCOUNTS", s.Data, served.Accounts, engine.AccountsFlag)
	case exist:
		return nil
	case s.Accounts != "":
		return fault.Errorf(fault.NotFound, "there are no accounts at %s: run serve first", s.Accounts)
	}
	if info, err := os.Stat(s.Data); err == nil && info.IsDir() {
		return fault.Errorf(fault.NotFound, "there are no accounts in the data folder %s: run serve on it first, or, if the service keeps them in PostgreSQL, pass their URL as --%s or ANNALS_ACCOUNTS", s.Data, engine.AccountsFlag)
	}
	return fault.Errorf(fault.NotFound, "there is no data folder at %s: run serve first, or pass --data", s.Data)
}

// Issue calls f with the issuer of the built-in sign-in, for tokens and links.
func (s Accounts) Issue(ctx context.Context, f func(context.Context, *signin.Issuer) error) error {
	return s.Do(ctx, func(ctx context.Context, store *accounts.Store) error {
		urls, err := s.served()
		if err != nil {
			return err
		}
		issuer, err := signin.NewIssuer(store, signin.IssuerOptions{URL: urls.Issuer, Audience: urls.Audience, Tools: urls.MCP})
		if err != nil {
			return err
		}
		return f(ctx, issuer)
	})
}

// ExplainUnknown adds a hint how to list accounts if err says that one does not exist.
func ExplainUnknown(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Errorf(fault.NotFound, "%w; \"annals user list\" shows all users", err)
	}
	return err
}
