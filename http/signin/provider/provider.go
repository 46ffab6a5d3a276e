// Package provider is the built-in OAuth 2.1 authorization server and OpenID provider: the pages
// on which users sign in and manage their factors, programs and tokens, and the endpoints at
// which clients register and get tokens.
//
// It may import events and what is below it, signin, and all packages below signin.
package provider

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"annals/events/fault"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/passkey"
	"annals/http/signin/pow"
	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/throttle"
)

// Provider serves the pages and endpoints below the issuer's URL. It starts no goroutines:
// expired rows are deleted while it handles requests. Methods may be called concurrently, and
// several processes may use the same account store.
type Provider struct {
	issuer    *signin.Issuer
	accounts  *accounts.Store
	resources []resource
	servers   []string // URLs of the issuers whose tokens the resources accept
	proxies   []netip.Prefix
	rotation  time.Duration

	requireFactor bool
	passkeys      *passkey.Keys // nil if browsers do not support passkeys at the issuer's URL
	noPasskeys    string        // why passkeys is nil, as shown to users
	host          string        // host of the issuer's URL, which authenticator apps show

	logger *slog.Logger
	now    func() time.Time

	routes      map[string]route
	documents   map[string][]document // metadata documents at well-known paths, by path
	origin      *http.CrossOriginProtection
	path        string      // path of the issuer's URL, decoded
	base        string      // path of the issuer's URL, percent-encoded
	cookie      http.Cookie // attributes that all cookies have in common
	clientPages *clients.Pages
	console     clients.Client
	consoleHost string                                   // scheme and host of the console
	signedOut   func(http.ResponseWriter, *http.Request) // may be nil
	sweeper     sweeper

	// Rate limits for each client address, except passwords and codes, which are for each
	// known browser or user.
	visits, registrations, addresses, passwords, secrets, devices, userCodes, codes *throttle.Throttle
	// failures counts failed password attempts by account and by address.
	failures *pow.Tally
}

// Options configures a Provider.
type Options struct {
	Core, Vault, Tools string         // URLs of the core, the vault and the agents' tools
	Servers            []string       // URLs of the issuers that the metadata of the resources names; the built-in issuer if empty
	Proxies            []netip.Prefix // proxies whose X-Forwarded-For is trusted
	RequireFactor      bool           // whether all users must have a second factor
	RotateKeys         time.Duration  // age at which the signing key is replaced; 0 means never
	Logger             *slog.Logger
	// SignedOut is called when a user has signed out in a browser, before the response. May be
	// nil.
	SignedOut func(http.ResponseWriter, *http.Request)
}

// New returns a provider for an issuer and its account store. The caller closes the provider
// and the store.
func New(issuer *signin.Issuer, o Options) (*Provider, error) {
	p := &Provider{
		issuer: issuer, accounts: issuer.Accounts(), servers: o.Servers, proxies: o.Proxies, rotation: o.RotateKeys, requireFactor: o.RequireFactor, logger: cmp.Or(o.Logger, slog.Default()), now: issuer.Now,
		origin:        http.NewCrossOriginProtection(),
		visits:        throttle.New(visitLimits, issuer.Now),
		registrations: throttle.New(registrationLimits, issuer.Now),
		addresses:     throttle.New(addressLimits, issuer.Now),
		passwords:     throttle.New(passwordLimits, issuer.Now),
		secrets:       throttle.New(addressLimits, issuer.Now),
		devices:       throttle.New(deviceLimits, issuer.Now),
		userCodes:     throttle.New(userCodeLimits, issuer.Now),
		codes:         throttle.New(codeLimits, issuer.Now),
		failures:      pow.NewTally(failuresHalfLife, issuer.Now),
	}
	p.clientPages, p.signedOut = clients.NewPages(p.now, p.logger), o.SignedOut
	if len(p.servers) == 0 {
		p.servers = []string{issuer.URL()}
	}
	own, err := url.Parse(issuer.URL())
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "parse the issuer URL: %w", err)
	}
	if err := p.origin.AddTrustedOrigin(own.Scheme + "://" + own.Host); err != nil {
		return nil, fault.Errorf(fault.Invalid, "trust the origin of issuer %q: %w", issuer.URL(), err)
	}
	p.host = strings.ReplaceAll(own.Hostname(), ":", ".") // apps take a colon for the end of the name
	if p.passkeys, err = passkey.New(own); err != nil {
		p.noPasskeys = err.Error()
	}
	p.path = strings.TrimSuffix(own.Path, "/")
	p.base = strings.TrimSuffix(own.EscapedPath(), "/")
	p.cookie = commonCookie(own)
	p.consoleHost = own.Scheme + "://" + own.Host
	p.console = clients.Console(p.consoleHost)
	for _, r := range []resource{{o.Tools, o.Tools}, {o.Core, issuer.Audience()}, {o.Vault, issuer.Audience()}} {
		if r.url != "" {
			p.resources = append(p.resources, r)
		}
	}
	p.routes = p.makeRoutes()
	if p.documents, err = p.rootDocuments(own); err != nil {
		return nil, err
	}
	return p, nil
}

// Close closes idle connections to the hosts of clients' metadata pages.
func (p *Provider) Close() { p.clientPages.HTTP.CloseIdleConnections() }

// urlOf returns the URL of a path below the issuer's URL.
func (p *Provider) urlOf(path string) string { return strings.TrimSuffix(p.issuer.URL(), "/") + path }

// pathTo is like urlOf, but without scheme and host. Pages link to each other with it. The
// browser therefore stays on the host that it has used, and for which it has cookies.
func (p *Provider) pathTo(path string) string { return p.base + path }

func (p *Provider) makeRoutes() map[string]route {
	routes := map[string]route{
		"":                      {get: func(w http.ResponseWriter, _ *http.Request) { redirect(w, p.pathTo("/")) }},
		"/":                     {get: p.page(p.accountPage)},
		"/style.css":            {get: style},
		"/login.js":             script("login.js"),
		"/work.js":              script("work.js"),
		"/worker.js":            script("worker.js"),
		"/passkey.js":           script("passkey.js"),
		"/passkey":              {post: p.form(p.finishPasskeyLogin)},
		"/passkey/question":     {post: p.form(p.startPasskeyLogin)},
		"/second":               {post: p.form(p.submitCode)},
		"/second/setup":         {post: p.form(p.setUpCodes)},
		"/security":             {get: p.page(p.security), post: p.form(p.changeSecurity)},
		"/security/passkey":     {post: p.form(p.finishPasskeyRegistration)},
		"/proof":                {post: p.form(p.proof)},
		"/fragment.js":          script("fragment.js"),
		DocumentStep:            {get: p.page(p.openDocumentLink)},
		"/login":                {get: func(w http.ResponseWriter, _ *http.Request) { redirect(w, p.pathTo("/")) }, post: p.form(p.login)},
		"/logout":               {post: p.form(p.logout)},
		"/end_session":          {get: p.page(p.endSession), post: p.page(p.endSessionByForm)},
		"/end_session/confirm":  {post: p.form(p.confirmEndSession)},
		"/forget":               {post: p.form(p.endProgram)},
		"/link":                 {get: p.page(p.passwordLink), post: p.form(p.setPasswordByLink)},
		"/password":             {post: p.form(p.changePassword)},
		"/authorize":            {get: p.page(p.authorize), post: p.page(p.authorizeByForm)},
		"/consent":              {post: p.form(p.submitConsent)},
		"/device":               {get: p.page(p.devicePage), post: p.form(p.submitUserCode)},
		"/device/decision":      {post: p.form(p.decideDevice)},
		"/register":             {post: p.endpoint(p.register), crossOrigin: true},
		"/token":                {post: p.endpoint(p.token), crossOrigin: true},
		"/revoke":               {post: p.endpoint(p.revoke), crossOrigin: true},
		"/device_authorization": {post: p.endpoint(p.deviceAuthorization), crossOrigin: true},
		"/jwks":                 {get: p.public(p.keySet), crossOrigin: true},
	}
	for _, name := range []string{"openid-configuration", "oauth-authorization-server"} {
		routes["/.well-known/"+name] = route{get: p.public(p.discovery), crossOrigin: true}
	}
	return routes
}

// ServeHTTP handles requests below the issuer's URL. The path of a request must be complete,
// not relative to that URL.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, p.path)
	route, ok := p.routes[path]
	if !below || !ok {
		http.NotFound(w, r)
		return
	}
	route.serve(w, r)
}

// report adds the client's address to an event and passes it to the account store's Observe.
func (p *Provider) report(r *http.Request, e accounts.Event) {
	e.Address = p.Address(r)
	p.accounts.Report(r.Context(), e)
}
