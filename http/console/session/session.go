// Package session signs browsers in to the console and out again. A browser signs in with the
// authorization code flow of OpenID Connect, at the built-in sign-in or at an external issuer.
// Its tokens are kept in an encrypted cookie: no page contains them, and no table lists the
// sessions.
//
// It may import events, events/fault and http/signin.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
)

// Paths at which the console serves the handlers of a Manager. An external issuer must know
// CallbackPath as a redirect address, and LogoutPath as an address after signing out.
const (
	LoginPath    = "/console/login"
	CallbackPath = "/console/callback"
	LogoutPath   = "/console/logout"
)

// renewBefore is how long before the expiry of its token a session is renewed. If the token
// lasts less than twice as long, the session is renewed after half of that time.
const renewBefore = 10 * time.Minute

// Options configures a Manager.
type Options struct {
	// Provider is the built-in sign-in. It is called in this process, without the network. It
	// is nil if browsers sign in at External.
	Provider http.Handler
	// ClientID is the client id of the console at Provider.
	ClientID string
	// IssuerURL is the public URL of the built-in sign-in. The console has the same scheme and
	// host.
	IssuerURL *url.URL
	// OneHost says that the console is reached only at the host of IssuerURL. Otherwise a
	// browser stays on the host that it has used, if it signs in at Provider.
	OneHost bool
	// External is the issuer at which browsers sign in if Provider is nil.
	External *External
	// Verify returns the user of a token and the time at which the token expires. Its errors
	// are of kind fault.Unauthenticated or fault.Unavailable.
	Verify func(ctx context.Context, token string) (events.User, time.Time, error)
	// Key returns the secret from which the keys of the cookies are derived. All nodes must
	// have the same one. When it changes, everybody has to sign in again.
	Key    func(ctx context.Context) ([32]byte, error)
	Logger *slog.Logger
	Now    func() time.Time // time.Now if nil
}

// External is an external OpenID issuer, with the console's registration there.
type External struct {
	Issuer, ClientID, ClientSecret string
	Scopes                         []string // openid is always requested
}

// Manager signs browsers in and out. Methods may be called concurrently.
type Manager struct {
	issuer   *issuer
	public   *url.URL // scheme and host of the console
	signIn   string   // path of the built-in sign-in
	oneHost  bool
	verify   func(context.Context, string) (events.User, time.Time, error)
	key      func(context.Context) ([32]byte, error)
	cookies  cookies
	origin   *http.CrossOriginProtection
	renewals renewals
	logger   *slog.Logger
	now      func() time.Time
}

// New checks the options and returns a manager. It does not contact the issuer.
func New(o Options) (*Manager, error) {
	m := &Manager{
		public: &url.URL{Scheme: o.IssuerURL.Scheme, Host: o.IssuerURL.Host}, oneHost: o.OneHost || o.Provider == nil,
		signIn: strings.TrimSuffix(o.IssuerURL.EscapedPath(), "/"),
		verify: o.Verify, key: o.Key, origin: http.NewCrossOriginProtection(), logger: o.Logger, now: o.Now,
	}
	if m.now == nil {
		m.now = time.Now
	}
	if m.logger == nil {
		m.logger = slog.Default()
	}
	m.cookies.secure = o.IssuerURL.Scheme == "https"
	m.renewals.now = m.now
	switch {
	case o.Provider != nil:
		m.issuer = newBuiltIn(o.Provider, o.IssuerURL, o.ClientID)
	case o.External != nil && o.External.Issuer != "" && o.External.ClientID != "":
		m.issuer = newExternal(*o.External)
	default:
		return nil, fault.Errorf(fault.Invalid, "the console needs the built-in sign-in, or an external issuer with a client id")
	}
	m.issuer.config.RedirectURL = m.public.String() + CallbackPath
	m.issuer.now = m.now
	return m, nil
}

// Close closes idle connections to the issuer.
func (m *Manager) Close() { m.issuer.client.CloseIdleConnections() }

// Session is a user who is signed in in a browser.
type Session struct {
	Token   string // bearer token of the user, which must never be part of a page
	User    events.User
	Expires time.Time // time at which Token expires
}

// content is what the cookie of a session contains.
type content struct {
	Issuer  string           `json:"s"`
	Token   string           `json:"t"`           // access token, or ID token if only that is accepted here
	IsID    bool             `json:"d,omitempty"` // whether Token is an ID token
	Refresh string           `json:"r,omitempty"` // refresh token; "" if there is none
	Hint    string           `json:"i,omitempty"` // ID token with which the browser signs out at the issuer
	User    events.Principal `json:"u"`
	Begun   int64            `json:"b"` // time at which Token was received, in seconds since 1970
	Expires int64            `json:"e"` // time at which Token expires
}

// Of returns the session of the browser that sent a request; found is false if nobody is
// signed in there. If the token expires soon, Of renews it and sets the cookie, so it must be
// called before anything is written to w. It renews only for page views and changes, because
// other requests arrive several at a time. The error is fault.Unavailable if the sign-in cannot
// be reached.
func (m *Manager) Of(w http.ResponseWriter, r *http.Request) (s Session, found bool, err error) {
	c, found, err := m.read(r)
	if err != nil || !found {
		return Session{}, false, err
	}
	user, expires, err := m.verify(r.Context(), c.Token)
	ended := fault.Is(err, fault.Unauthenticated)
	if err != nil && !ended {
		return Session{}, false, err
	}
	if (ended || m.due(c)) && c.Refresh != "" && mayRenew(r) {
		renewed, err := m.renew(r, c)
		switch {
		case err == nil:
			if err := m.write(w, r, renewed.content); err != nil {
				return Session{}, false, err
			}
			return renewed.session(), true, nil
		case ended && !fault.Is(err, fault.Unauthenticated):
			return Session{}, false, err
		case fault.Is(err, fault.Unauthenticated): // the issuer may have ended the session, and with it the old token
			if user, expires, err = m.verify(r.Context(), c.Token); err != nil && !fault.Is(err, fault.Unauthenticated) {
				return Session{}, false, err
			}
			ended = err != nil
		}
	}
	if ended {
		return Session{}, false, nil
	}
	return Session{Token: c.Token, User: user, Expires: expires}, true, nil
}

// due reports whether the token of a session should be renewed.
func (m *Manager) due(c content) bool {
	lifetime, left := time.Duration(c.Expires-c.Begun)*time.Second, time.Unix(c.Expires, 0).Sub(m.now())
	return left < renewBefore && left < lifetime/2
}

// mayRenew reports whether the session may be renewed for a request: a page view or a change.
func mayRenew(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "" || dest == "document"
}

// accepted is what tokens that the issuer has sent are good for.
type accepted struct {
	content content
	user    events.User
	expires time.Time
}

func (a accepted) session() Session {
	return Session{Token: a.content.Token, User: a.user, Expires: a.expires}
}

// accept checks the tokens that the issuer has sent. The access token is used if this service
// accepts it, and otherwise the ID token. Issuers may send access tokens that are for
// themselves alone.
func (m *Manager) accept(ctx context.Context, access, refresh, id string) (accepted, error) {
	a := accepted{content: content{Issuer: m.issuer.name, Token: access, Refresh: refresh, Hint: id, Begun: m.now().Unix()}}
	err := fault.Errorf(fault.Unauthenticated, "the issuer has sent no token")
	for _, token := range []string{access, id} {
		if token == "" {
			continue
		}
		a.content.Token = token
		if a.user, a.expires, err = m.verify(ctx, token); err == nil || !fault.Is(err, fault.Unauthenticated) {
			break
		}
	}
	if err != nil {
		return accepted{}, err
	}
	if a.content.IsID = a.content.Token == id; a.content.IsID {
		a.content.Hint = ""
	}
	a.content.User, a.content.Expires = a.user.Principal, a.expires.Unix()
	return a, nil
}

// sessionCookie is the name of the cookie with the session.
const sessionCookie = "annals_console"

// read returns what the cookie of the session contains.
func (m *Manager) read(r *http.Request) (c content, found bool, err error) {
	text, found := m.cookies.get(r, sessionCookie)
	if !found {
		return content{}, false, nil
	}
	keys, err := m.keys(r.Context())
	if err != nil {
		return content{}, false, err
	}
	if !keys.open(sessionCookie, text, &c) || c.Issuer != m.issuer.name {
		return content{}, false, nil
	}
	return c, true, nil
}

var errTooBig = errors.New("the tokens of the issuer are too long for cookies")

// write sets the cookie of the session. If the tokens are too long, it leaves out those that
// the session can do without.
func (m *Manager) write(w http.ResponseWriter, r *http.Request, c content) error {
	keys, err := m.keys(r.Context())
	if err != nil {
		return err
	}
	for _, leaveOut := range []*string{new(string), &c.Hint, &c.Refresh} {
		*leaveOut = ""
		text, err := keys.seal(sessionCookie, c)
		if err != nil {
			return err
		}
		if m.cookies.set(w, r, cookie{name: sessionCookie, value: text}) {
			return nil
		}
	}
	return fmt.Errorf("store the session of %s: %w", c.User, errTooBig)
}

// sameHost reports whether a request was sent to the host of the console's public URL.
func (m *Manager) sameHost(r *http.Request) bool {
	port := ":80"
	if m.public.Scheme == "https" {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(m.public.Host, port), strings.TrimSuffix(r.Host, port))
}
