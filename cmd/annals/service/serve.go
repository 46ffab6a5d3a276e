// Package service implements the command serve: it checks the settings, opens the stores,
// connects all parts of a server, runs them, and shuts them down. It opens stores only
// through the package engine, and defines no flags but those of the language model and of the web pages.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"

	"annals/cmd/annals/engine"
	"annals/http/signin"

	"golang.org/x/sync/errgroup"
)

// Run runs a server until ctx ends. It prints to out how to use the server. c.Check
// must have succeeded before.
func Run(ctx context.Context, c *Config, logger *slog.Logger, out io.Writer) (err error) {
	at, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", c.Listen, err)
	}
	if _, err := c.urls(at); err != nil {
		return err
	}
	created := os.Mkdir(c.Data, 0o700) == nil // if the parent folder is missing, Mkdir fails, and LockData creates both folders, which are then kept
	unlock, err := engine.LockData(c.Data)
	if err != nil {
		return err
	}
	unbound := false
	defer func() {
		err = errors.Join(err, unlock())
		if created && unbound { // the server did not start: remove the folder, which it has just created
			err = errors.Join(err, os.RemoveAll(c.Data))
		}
	}()

	// Bind the port last, so that a wrong setting is reported even if the port is in
	// use. Only port 0 has to be bound now, because the URLs contain the port that the
	// system chooses.
	var picked net.Listener
	if at.Port == 0 {
		if picked, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Listen); err != nil {
			return fmt.Errorf("--listen %s: %w", c.Listen, err)
		}
		defer func() { err = errors.Join(err, closeListener(picked)) }()
		at = picked.Addr().(*net.TCPAddr)
	}
	urls, err := c.urls(at)
	if err != nil {
		return err
	}
	LimitMemory()
	s, err := openService(ctx, c, urls, logger)
	if err != nil {
		return c.ExplainFullDisk(err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.listener = picked
	if err := s.listen(ctx); err != nil {
		unbound = true
		return err
	}
	if err := s.makeAdmin(ctx); err != nil {
		return err
	}
	noted := urls.signin()
	if c.Accounts != "" {
		noted.Accounts = engine.WithoutPassword(c.Accounts)
	}
	if err := signin.WriteURLs(c.Data, noted); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	s.run(ctx, g)
	g.Go(func() error { releaseMemory(ctx, s.log); return nil })
	g.Go(func() error { return s.welcome(ctx, out) })
	return g.Wait()
}

// addresses are the public URLs of the service.
type addresses struct {
	core, vault, mcp, issuer *url.URL
	audience                 string
}

func (a addresses) signin() signin.URLs {
	return signin.URLs{Core: a.core.String(), Vault: a.vault.String(), MCP: a.mcp.String(), Issuer: a.issuer.String(), Audience: a.audience}
}

// urls returns the public URLs. If a URL is not set, it is derived from listening, the
// address of the server.
func (c *Config) urls(listening *net.TCPAddr) (a addresses, err error) {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return a, err
	}
	if len(listening.IP) == 0 || listening.IP.IsUnspecified() {
		host = "localhost"
	}
	a.audience = c.Audience
	for _, u := range []struct {
		to         **url.URL
		flag, text string
		path       string
	}{
		{&a.core, "core-url", c.CoreURL, "/core"},
		{&a.vault, "vault-url", c.VaultURL, "/vault"},
		{&a.mcp, "mcp-url", c.MCPURL, "/mcp"},
		{&a.issuer, "issuer-url", c.IssuerURL, "/signin"},
	} {
		if u.text == "" {
			u.text = "http://" + net.JoinHostPort(host, port) + u.path
		}
		if *u.to, err = parsePublicURL(u.flag, u.text); err != nil {
			return a, err
		}
	}
	for i, u := range []*url.URL{a.core, a.vault, a.mcp, a.issuer} {
		for _, other := range []*url.URL{a.core, a.vault, a.mcp, a.issuer}[:i] {
			if u.String() == other.String() {
				return a, fmt.Errorf("--core-url, --vault-url, --mcp-url and --issuer-url must differ, but two of them are %s", u)
			}
		}
	}
	return a, nil
}
