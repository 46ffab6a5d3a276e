package signin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"annals/events/fault"
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
	logger    *slog.Logger
	now       func() time.Time

	routes      map[string]route
	documents   map[string][]document // by path, at the root of a host
	origin      *http.CrossOriginProtection
	base        string      // path of the issuer's URL, as it is written in one
	cookie      http.Cookie // what they all have in common
	clientPages *clientPages
	sweeper     sweeper

	// By address, but for allRegistrations, and passwords, which is by account or
	// known browser.
	visits, registrations, allRegistrations, addresses, passwords, userCodes *throttle
}

// ProviderOptions says what the provider gives tokens for.
type ProviderOptions struct {
	Core, Vault, Tools string         // URLs of the services and of the agents' tools
	Servers            []string       // URLs of the issuers that are told to clients; the built-in one if empty
	Proxies            []netip.Prefix // whose X-Forwarded-For is believed
	Logger             *slog.Logger
}

// NewProvider returns the provider over an issuer and its accounts, which stay
// the caller's to close. Close gives back what it opens itself.
func NewProvider(issuer *Issuer, o ProviderOptions) (*Provider, error) {
	p := &Provider{
		issuer: issuer, accounts: issuer.accounts, servers: o.Servers, proxies: o.Proxies, logger: o.Logger, now: issuer.now,
		origin:           http.NewCrossOriginProtection(),
		visits:           newThrottle(visitLimits, issuer.now),
		registrations:    newThrottle(registrationLimits, issuer.now),
		allRegistrations: newThrottle(allRegistrations, issuer.now),
		addresses:        newThrottle(addressLimits, issuer.now),
		passwords:        newThrottle(passwordLimits, issuer.now),
		userCodes:        newThrottle(userCodeLimits, issuer.now),
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

// route is what answers a path.
type route struct {
	get, post http.HandlerFunc
	open      bool // to the web pages of every origin
}

func (p *Provider) makeRoutes() map[string]route {
	routes := map[string]route{
		"":                      {get: func(w http.ResponseWriter, _ *http.Request) { redirect(w, p.here("/")) }},
		"/":                     {get: p.page(p.home)},
		"/style.css":            {get: style},
		"/login":                {get: func(w http.ResponseWriter, _ *http.Request) { redirect(w, p.here("/")) }, post: p.form(p.login)},
		"/logout":               {post: p.form(p.logout)},
		"/forget":               {post: p.form(p.forget)},
		"/password":             {post: p.form(p.changePassword)},
		"/authorize":            {get: p.page(p.authorize)},
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

func (e route) serve(w http.ResponseWriter, r *http.Request) {
	allow := "POST"
	if e.get != nil {
		allow = "GET, HEAD"
		if e.post != nil {
			allow += ", POST"
		}
	}
	if e.open && allowAll(w, r, allow) {
		return
	}
	switch {
	case e.get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		e.get(w, r)
	case e.post != nil && r.Method == http.MethodPost:
		e.post(w, r)
	default:
		w.Header().Set("Allow", allow)
		http.Error(w, "this address takes "+allow, http.StatusMethodNotAllowed)
	}
}

// allowAll lets the web pages of every origin call: nothing here goes by a
// cookie. It reports whether the request only asked for that.
func allowAll(w http.ResponseWriter, r *http.Request, methods string) (answered bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// answer makes a handler of an endpoint that programs call. Its errors are told
// as RFC 6749 §5.2 has it.
func (p *Provider) answer(endpoint func(http.ResponseWriter, *http.Request) (status int, body any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.sweep(r.Context())
		w.Header().Set("Cache-Control", "no-store")
		status, body, err := endpoint(w, r)
		if err != nil {
			refused := p.refusalOf(r.Context(), err)
			refused.head(w)
			status, body = refused.status, refused
		}
		writeJSON(w, status, body)
	}
}

// public makes a handler of a document that everyone may read.
func (p *Provider) public(read func(context.Context) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := read(r.Context())
		if err != nil {
			p.logger.ErrorContext(r.Context(), "the sign-in service cannot answer", "path", r.URL.Path, "error", err)
			http.Error(w, "the sign-in service cannot answer at the moment", http.StatusServiceUnavailable)
			return
		}
		// Short enough for a new key to be seen soon, long enough to spare calls.
		w.Header().Set("Cache-Control", "public, max-age=300")
		writeJSON(w, http.StatusOK, value)
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	if value == nil {
		w.WriteHeader(status)
		return
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // they are all of our own making
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}

// redirect sends a browser on, with a GET.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// refusalOf returns what a program is told of an error, and tells operators of
// those that are faults of this service.
func (p *Provider) refusalOf(ctx context.Context, err error) *refusal {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	if ctx.Err() == nil {
		p.logger.ErrorContext(ctx, "a sign-in failed", "error", err)
	}
	return &refusal{Code: "server_error", Description: "the sign-in service failed", status: http.StatusInternalServerError}
}
