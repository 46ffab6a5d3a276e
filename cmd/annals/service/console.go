package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"annals/http/console"
	"annals/http/console/session"
	"annals/http/signin/provider/clients"

	"github.com/spf13/pflag"
)

// Console says whether there are web pages for people, and where they sign in.
type Console struct {
	Off                            bool
	Issuer, ClientID, ClientSecret string // of an external issuer; "" for the built-in sign-in
	Scopes                         []string
}

// bind defines the flags.
func (c *Console) bind(flags *pflag.FlagSet) {
	flags.BoolVar(&c.Off, "no-console", false, "serve no web pages for people")
	flags.StringVar(&c.Issuer, "console-issuer", "", "URL of the --issuer at which people sign in to the web pages (default: the built-in sign-in)")
	flags.StringVar(&c.ClientID, "console-client-id", "", "OAuth client id of the web pages at --console-issuer; register there the redirect address "+session.CallbackPath+", and "+session.LogoutPath+" for signing out, on the host of --issuer-url")
	flags.StringVar(&c.ClientSecret, "console-client-secret", "", "OAuth client secret of the web pages at --console-issuer; set it by the environment variable ANNALS_CONSOLE_CLIENT_SECRET, because flags are shown in the list of processes (default: none)")
	flags.StringSliceVar(&c.Scopes, "console-scopes", []string{"profile", "offline_access"}, "scopes that the web pages request at --console-issuer besides openid; comma-separated or repeated")
}

// check returns an error if a setting has no effect, or if issuers, the values of --issuer, do
// not contain Issuer.
func (c *Console) check(issuers []string) error {
	switch {
	case c.Issuer == "" && c.ClientID != "":
		return errors.New("--console-client-id has no effect without --console-issuer: the web pages need no registration at the built-in sign-in")
	case c.Issuer == "" && c.ClientSecret != "":
		return errors.New("--console-client-secret has no effect without --console-issuer: the web pages need no registration at the built-in sign-in")
	case c.Issuer == "":
		return nil
	case c.Off:
		return errors.New("--console-issuer has no effect with --no-console")
	case c.ClientID == "":
		return errors.New("--console-issuer needs --console-client-id: register the web pages at that issuer")
	}
	if !slices.ContainsFunc(issuers, func(text string) bool { i, err := parseIssuer(text); return err == nil && i.URL == c.Issuer }) {
		return fmt.Errorf("--console-issuer %s must be the url of an --issuer, whose tokens are accepted", c.Issuer)
	}
	return nil
}

// openSessions lets people sign in to the web pages. signIn is the built-in sign-in.
func (s *service) openSessions(signIn http.Handler) (err error) {
	c := s.config.Console
	if c.Off {
		return nil
	}
	if at := s.urls.atRoot(); at != nil {
		s.logger.Warn("there are no web pages for people, because all paths of their host belong to another part of the service: give its URL a path, or pass --no-console", "url", at.String())
		return nil
	}
	options := session.Options{
		Provider: signIn, ClientID: clients.ConsoleID, IssuerURL: s.urls.issuer, OneHost: s.urls.oneHost(),
		Verify: s.verifier.Verify, Logger: s.logger,
		Key: func(ctx context.Context) ([32]byte, error) { key, err := s.accounts.SealKey(ctx); return key, err },
	}
	if c.Issuer != "" {
		options.Provider = nil
		options.External = &session.External{Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: c.Scopes}
	}
	if s.sessions, err = session.New(options); err != nil {
		return err
	}
	s.closing(func() error { s.sessions.Close(); return nil })
	return nil
}

// openConsole creates the web pages.
func (s *service) openConsole() {
	if s.sessions == nil {
		return
	}
	s.server.Console = console.New(console.Options{
		Sessions: s.sessions, CoreURL: s.urls.core, VaultURL: s.urls.vault, IssuerURL: s.urls.issuer,
		Composes: s.config.Answers.URL != "", Logger: s.logger,
	})
}

// atRoot returns a URL without a path on the host of the web pages, which is that of the
// sign-in, or nil if there is none.
func (a addresses) atRoot() *url.URL {
	for _, u := range []*url.URL{a.core, a.vault, a.mcp, a.issuer} {
		if strings.EqualFold(u.Host, a.issuer.Host) && strings.Trim(u.Path, "/") == "" {
			return u
		}
	}
	return nil
}

// oneHost reports whether the sign-in is served only at its own host, because no other URL has
// that host.
func (a addresses) oneHost() bool {
	return !slices.ContainsFunc([]*url.URL{a.core, a.vault, a.mcp}, func(u *url.URL) bool { return strings.EqualFold(u.Host, a.issuer.Host) })
}
