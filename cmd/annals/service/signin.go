package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"annals/cmd/annals/engine"
	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/provider"
)

// openSignIn opens the accounts and creates the built-in sign-in, the token verifier and
// the HTTP server.
func (s *service) openSignIn(ctx context.Context) (err error) {
	if s.accounts, err = s.config.OpenAccounts(ctx); err != nil {
		return err
	}
	s.closing(s.accounts.Close)
	s.accounts.Observe = func(ctx context.Context, e accounts.Event) {
		s.metrics.SignIn(string(e.Kind))
		s.access.Record(engine.SignInAccess(e, httpd.Correlation(ctx)))
	}
	if err := s.config.checkAdminPassword(ctx, s.accounts); err != nil {
		return fmt.Errorf("create the user admin: %w", err)
	}
	urls := s.urls.signin()
	issuer, err := signin.NewIssuer(s.accounts, signin.IssuerOptions{URL: urls.Issuer, Audience: urls.Audience, Tools: urls.MCP})
	if err != nil {
		return err
	}
	options := signin.Options{BuiltIn: issuer, Admins: s.config.Admins}
	provide := provider.Options{Core: urls.Core, Vault: urls.Vault, Tools: urls.MCP, Logger: s.logger, RotateKeys: s.config.RotateKeys, RequireFactor: s.config.RequireFactor}
	for _, text := range s.config.Issuers {
		trusted, err := parseIssuer(text)
		if err != nil {
			return err
		}
		options.Issuers = append(options.Issuers, trusted)
		provide.Servers = append(provide.Servers, trusted.URL)
	}
	if provide.Proxies, err = parseProxies(s.config.Proxies); err != nil {
		return err
	}
	if s.verifier, err = signin.NewVerifier(options); err != nil {
		return err
	}
	s.closing(func() error { s.verifier.Close(); return nil })
	provide.SignedOut = func(w http.ResponseWriter, r *http.Request) {
		if s.sessions != nil {
			s.sessions.Forget(w, r)
		}
	}
	provider, err := provider.New(issuer, provide)
	if err != nil {
		return err
	}
	s.closing(func() error { provider.Close(); return nil })
	if err := s.openSessions(provider); err != nil {
		return err
	}
	s.address = provider.Address
	s.server = &httpd.Server{SignIn: provider, SignInDocuments: provider.RootDocuments(), Verify: s.verifier.Verify}
	s.server.Reader = func(r *http.Request) (events.User, bool, error) {
		user, found, err := provider.Reader(r)
		if found {
			user.Admin = user.Admin || s.verifier.Admin(user.Principal)
		}
		return user, found, err
	}
	return nil
}

// userExists reports whether p is a user. Only users of the built-in sign-in can be
// looked up. For users of other issuers, whose names are ALIAS/NAME, it returns true.
func (s *service) userExists(ctx context.Context, p events.Principal) (bool, error) {
	name := p.Name()
	if !p.IsUser() || strings.Contains(name, "/") {
		return true, nil
	}
	account, err := s.accounts.Get(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return account.Name == name, err
}

// parseProxies parses the values of --trusted-proxy.
func parseProxies(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		proxy, err := netip.ParsePrefix(text)
		if ip, errIP := netip.ParseAddr(text); errIP == nil {
			proxy, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %s: must be an address, or a network such as 10.0.0.0/8", text)
		}
		all = append(all, proxy.Masked())
	}
	return all, nil
}

// parseIssuer parses one value of --issuer.
func parseIssuer(text string) (signin.IssuerConfig, error) {
	var c signin.IssuerConfig
	for field := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(field, "=")
		if !ok || value == "" {
			return c, fmt.Errorf("--issuer %s: %q must be name=value", text, field)
		}
		switch name {
		case "url":
			c.URL = value
		case "alias":
			c.Alias = value
		case "audience":
			c.Audiences = append(c.Audiences, value)
		case "user-claim":
			c.UserClaim = value
		case "groups-claim":
			c.GroupsClaim = value
		case "admin-claim":
			c.AdminClaim = value
		case "admin-value":
			c.AdminValue = value
		default:
			return c, fmt.Errorf("--issuer %s: %q is not one of url, alias, audience, user-claim, groups-claim, admin-claim, admin-value", text, name)
		}
	}
	if c.URL == "" || c.Alias == "" || len(c.Audiences) == 0 {
		return c, fmt.Errorf("--issuer %s: url, alias and audience are required", text)
	}
	return c, nil
}

// makeAdmin creates the user admin at the first start. It must be the last step of a
// start: if a later step failed, the password would not be printed, and the next start
// would not print it either, because the user exists.
func (s *service) makeAdmin(ctx context.Context) (err error) {
	if s.password, s.adminMade, err = s.accounts.EnsureAdmin(ctx, s.config.adminPassword()); err != nil {
		return fmt.Errorf("create the user admin: %w", err)
	}
	return nil
}

// adminPassword returns a function that reads the password in --admin-password-file, or
// nil if the flag is not set.
func (c *Config) adminPassword() func() (string, error) {
	if c.AdminPasswordFile == "" {
		return nil
	}
	return func() (string, error) {
		password, err := readPasswordFile(c.AdminPasswordFile)
		if err == nil {
			err = accounts.ValidPassword(password)
		}
		if err != nil {
			return "", fmt.Errorf("--admin-password-file: %w", err)
		}
		return password, nil
	}
}

// checkAdminPassword returns an error if the password in --admin-password-file cannot
// be read although this start needs it to create the user admin.
func (c *Config) checkAdminPassword(ctx context.Context, store *accounts.Store) error {
	read := c.adminPassword()
	if read == nil {
		return nil
	}
	if exist, err := store.Exist(ctx); exist || err != nil {
		return err
	}
	_, err := read()
	return err
}

// readPasswordFile returns the first line of a file. It returns an error if users other
// than the owner may access the file.
func readPasswordFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return "", fault.Errorf(fault.Invalid, "%s is not a regular file", path)
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0:
		return "", fault.Errorf(fault.Invalid, "users other than the owner have access to %s (mode %04o): run chmod 600 %[1]s", path, mode.Perm())
	}
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", fault.Errorf(fault.Invalid, "the first line of %s is empty: it must be the password", path)
	}
	return password, nil
}
