package main

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"annals/http/signin"
)

// issuedToken holds a token and has another issued in time.
type issuedToken struct {
	issue func(context.Context) (token string, expires time.Time, err error)

	mu      sync.Mutex
	token   string
	expires time.Time
}

// get returns a token that lasts for a while yet: an upload may be slow.
func (t *issuedToken) get(ctx context.Context, refused bool) (string, error) {
	const ahead = 10 * time.Minute
	t.mu.Lock()
	defer t.mu.Unlock()
	if refused || time.Until(t.expires) < ahead {
		var err error
		if t.token, t.expires, err = t.issue(ctx); err != nil {
			return "", err
		}
	}
	return t.token, nil
}

// withIssuer runs f on the built-in issuer of the data folder dir.
func withIssuer(cmd *cobra.Command, dir string, f func(context.Context, *signin.Issuer) error) error {
	return withAccounts(cmd, dir, func(ctx context.Context, accounts *signin.Accounts) error {
		urls, err := signin.ReadURLs(dir)
		if err != nil {
			return err
		}
		issuer, err := signin.NewIssuer(accounts, signin.IssuerOptions{URL: urls.Issuer, Audience: urls.Audience})
		if err != nil {
			return err
		}
		return f(ctx, issuer)
	})
}
