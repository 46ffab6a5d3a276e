package signin

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"annals/events/fault"
	"annals/http/signin/passkey"
	"annals/http/signin/pow"
)

// Provider is the built-in OAuth 2.1 authorization server and OpenID provider.
// Below the issuer's URL it serves the pages on which people sign in, and the
// endpoints at which programs get tokens for them. It runs nothing in the
// background: what has expired is removed as requests come. Methods may be called
// from several goroutines, and several processes may serve the same accounts.
type Provider struct {
	issuer    *Issuer
	accounts  *Accounts
	resources []resource
	servers   []string // whose tokens the resources take
	proxies   []netip.Prefix
	rotation  time.Duration

	requireFactor bool
	passkeys      *passkey.Keys // nil where there can be none
	noPasskeys    string        // why, then
	host          string        // of the issuer's URL, as apps for codes show it

	logger *slog.Logger
	now    func() time.Time

	routes      map[string]route
	documents   map[string][]document // by path, at the root of a host
	origin      *http.CrossOriginProtection
	base        string      // path of the issuer's URL, as it is written in one
	cookie      http.Cookie // what they all have in common
	clientPages *clientPages
	sweeper     sweeper

	// By address, but for passwords and codes, which are by known browser or user.
	visits, registrations, addresses, passwords, secrets, devices, userCodes, codes *throttle
	// failures are those of accounts and of addresses.
	failures *pow.Tally
}

// ProviderOptions says what the provider gives tokens for.
type ProviderOptions struct {
	Core, Vault, Tools string         // URLs of the services and of the agents' tools
	Servers            []string       // URLs of the issuers that are told to clients; the built-in one if empty
	Proxies            []netip.Prefix // whose X-Forwarded-For is believed
	RequireFactor      bool           // a second one, of all users
	RotateKeys         time.Duration  // age at which the signing key is replaced; 0 for never
	Logger             *slog.Logger
}

// NewProvider returns the provider over an issuer and its accounts, which stay
// the caller's to close. Close gives back what it opens itself.
func NewProvider(issuer *Issuer, o ProviderOptions) (*Provider, error) {
	p := &Provider{
		issuer: issuer, accounts: issuer.accounts, servers: o.Servers, proxies: o.Proxies, rotation: o.RotateKeys, requireFactor: o.RequireFactor, logger: o.Logger, now: issuer.now,
		origin:        http.NewCrossOriginProtection(),
		visits:        newThrottle(visitLimits, issuer.now),
		registrations: newThrottle(registrationLimits, issuer.now),
		addresses:     newThrottle(addressLimits, issuer.now),
		passwords:     newThrottle(passwordLimits, issuer.now),
		secrets:       newThrottle(addressLimits, issuer.now),
		devices:       newThrottle(deviceLimits, issuer.now),
		userCodes:     newThrottle(userCodeLimits, issuer.now),
		codes:         newThrottle(codeLimits, issuer.now),
		failures:      pow.NewTally(failuresHalf, issuer.now),
	}
	if p.logger == nil {
		p.logger = slog.Default()
	}
	p.clientPages = newClientPages(p.now, p.logger)
	if len(p.servers) == 0 {
		p.servers = []string{issuer.url}
	}
	own, err := checkIssuerURL(issuer.url)
	if err != nil {
		return nil, err
	}
	if err := p.origin.AddTrustedOrigin(own.Scheme + "://" + own.Host); err != nil {
		return nil, fault.Errorf(fault.Invalid, "issuer %q: %w", issuer.url, err)
	}
	p.host = strings.ReplaceAll(own.Hostname(), ":", ".") // apps read a colon as the end of it
	if p.passkeys, err = passkey.New(own); err != nil {
		p.noPasskeys = err.Error()
	}
	p.base = strings.TrimSuffix(own.EscapedPath(), "/")
	p.cookie = commonCookie(own)
	for _, r := range []resource{{o.Tools, o.Tools}, {o.Core, issuer.audience}, {o.Vault, issuer.audience}} {
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

// Close gives back idle connections to programs' pages.
func (p *Provider) Close() { p.clientPages.client.CloseIdleConnections() }

// at returns the URL of a path below the issuer's.
func (p *Provider) at(path string) string { return strings.TrimSuffix(p.issuer.url, "/") + path }

// here is at without the host: pages lead to each other on the one by which the
// browser came, where its cookies are.
func (p *Provider) here(path string) string { return p.base + path }

func (p *Provider) makeRoutes() map[string]route {
	routes := map[string]route{
		"":                      {get: func(w http.ResponseWriter, _ *http.Request) { redirect(w, p.here("/")) }},
		"/":                     {get: p.page(p.home)},
		"/style.css":            {get: style},
		"/login.js":             script("login.js"),
		"/work.js":              script("work.js"),
		"/worker.js":            script("worker.js"),
		"/passkey.js":           script("passkey.js"),
		"/passkey":              {post: p.form(p.byPasskey)},
		"/passkey/question":     {post: p.form(p.askPasskey)},
		"/second":               {post: p.form(p.second)},
		"/second/setup":         {post: p.form(p.setup)},
		"/security":             {get: p.page(p.security), post: p.form(p.changeSecurity)},
		"/security/passkey":     {post: p.form(p.addPasskey)},
		"/proof":                {post: p.form(p.proof)},
		"/fragment.js":          script("fragment.js"),
		DocumentStep:            {get: p.page(p.openDocument)},
		"/login":                {get: func(w http.ResponseWriter, _ *http.Request) { redirect(w, p.here("/")) }, post: p.form(p.login)},
		"/logout":               {post: p.form(p.logout)},
		"/forget":               {post: p.form(p.forget)},
		"/link":                 {get: p.page(p.link), post: p.form(p.setByLink)},
		"/password":             {post: p.form(p.changePassword)},
		"/authorize":            {get: p.page(p.authorize), post: p.page(p.authorizeByForm)},
		"/consent":              {post: p.form(p.consent)},
		"/device":               {get: p.page(p.device), post: p.form(p.deviceCode)},
		"/device/decision":      {post: p.form(p.deviceDecision)},
		"/register":             {post: p.answer(p.register), open: true},
		"/token":                {post: p.answer(p.token), open: true},
		"/revoke":               {post: p.answer(p.revoke), open: true},
		"/device_authorization": {post: p.answer(p.deviceAuthorization), open: true},
		"/jwks":                 {get: p.public(p.keySet), open: true},
	}
	for _, name := range []string{"openid-configuration", "oauth-authorization-server"} {
		routes["/.well-known/"+name] = route{get: p.public(p.discovery), open: true}
	}
	return routes
}

// ServeHTTP answers below the path of the issuer's URL, which requests carry in
// full.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, p.issuer.path)
	route, ok := p.routes[path]
	if !below || !ok {
		http.NotFound(w, r)
		return
	}
	route.serve(w, r)
}
