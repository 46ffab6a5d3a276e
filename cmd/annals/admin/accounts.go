// Package admin implements the commands user, token and keys: it opens the accounts of
// the built-in sign-in, changes them and prints them. A server may be running. It opens
// stores only through the package engine, and defines no flags.
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

// Accounts opens the accounts of a service.
type Accounts struct {
	engine.URLs
	Listen string    // address of the server if it has not stored its URLs in the data folder
	Warn   io.Writer // where to print a warning if the change cannot be recorded in the access log
}

// ServerURLs returns the URLs of the server that uses the data folder.
func (s Accounts) ServerURLs() (signin.URLs, error) {
	return signin.ReadURLs(s.Data, signin.DefaultURLs(s.Listen))
}

// Do opens the accounts, calls f with them, and records in the access log what f
// changed. If no server has created the accounts yet, it returns an error.
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

// check returns an error if the accounts do not exist. The error explains what to do.
func (s Accounts) check() error {
	if err := engine.CheckRestored(s.Data); err != nil {
		return err
	}
	exist, err := s.HasAccounts()
	if err != nil {
		return err
	}
	server, err := s.ServerURLs()
	if err != nil {
		return err
	}
	switch {
	case s.Accounts == "" && server.Accounts != "":
		return fault.Errorf(fault.NotFound, "the server on %s keeps its accounts at %s: pass that URL, with its password if it has one, as --%s or ANNALS_ACCOUNTS", s.Data, server.Accounts, engine.AccountsFlag)
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

// Issue opens the accounts like Do, but calls f with the issuer of the built-in
// sign-in, which creates tokens and sign-in links.
func (s Accounts) Issue(ctx context.Context, f func(context.Context, *signin.Issuer) error) error {
	return s.Do(ctx, func(ctx context.Context, store *accounts.Store) error {
		urls, err := s.ServerURLs()
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

// ExplainUnknown adds a hint on how to list the users if err is a NotFound.
func ExplainUnknown(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Errorf(fault.NotFound, "%w; \"annals user list\" shows all users", err)
	}
	return err
}
