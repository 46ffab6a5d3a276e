package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds on the pages at which programs describe themselves
// (draft-ietf-oauth-client-id-metadata-document).
const (
	maxClientPage     = 5 << 10 // bytes
	clientPageTimeout = 5 * time.Second
	clientPageFresh   = 10 * time.Minute
	clientPageRetry   = time.Minute // after it was wrong or could not be reached
	clientPageFetches = 16          // at once
	clientPagesKept   = 1000
	maxClientID       = 256 // bytes of its address, which tokens carry
)

// clientPages reads and remembers the pages whose addresses are client ids.
type clientPages struct {
	client  *http.Client
	now     func() time.Time
	logger  *slog.Logger
	allowed func(netip.AddrPort) bool // whom it may call
	turns   chan struct{}
	// least is how long it takes to learn that a page cannot be reached, however
	// soon that is known here.
	least time.Duration

	mu    sync.Mutex
	known map[string]clientPage
}

type clientPage struct {
	client client
	err    error
	until  time.Time
	// ready is when the page may be answered by, on the machine's own clock.
	ready time.Time
}

// newClientPages goes by no proxy, which would hide whom a name stands for.
func newClientPages(now func() time.Time, logger *slog.Logger) *clientPages {
	c := &clientPages{now: now, logger: logger, allowed: isPublic, turns: make(chan struct{}, clientPageFetches), least: clientPageTimeout + clientPageTimeout/20, known: map[string]clientPage{}}
	dialer := &net.Dialer{Timeout: clientPageTimeout, Control: c.judge}
	c.client = &http.Client{
		Timeout:   clientPageTimeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: clientPageTimeout, MaxResponseHeaderBytes: 16 << 10, MaxIdleConns: 10, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return c
}

// judge sees the address that is called at last, whatever a name stood for
// before: so nobody has this service call what only it can reach.
func (c *clientPages) judge(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !c.allowed(to) {
		return errNotPublic
	}
	return nil
}

var errNotPublic = errors.New("the address is not public")

// public6 is what of IPv6 is given out to networks. What wraps IPv4 addresses lies
// outside, but for some of special.
var public6 = netip.MustParsePrefix("2000::/3")

// special are ranges that are not public beside those that netip knows
// (the IANA special-purpose registries).
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// isPublic takes the usual port of public addresses alone.
func isPublic(to netip.AddrPort) bool {
	ip := to.Addr().Unmap()
	if to.Port() != 443 || !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !public6.Contains(ip) {
		return false
	}
	for _, p := range special {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// isClientPage reports whether a client id is the address of a page.
func isClientPage(id string) bool {
	if !strings.HasPrefix(id, "https://") || len(id) > maxClientID || strings.ContainsAny(id, "#*\\") {
		return false
	}
	u, err := url.Parse(id)
	return err == nil && isHost(u.Hostname()) && u.User == nil && len(u.Path) > 1 && path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/")
}

// get returns the program that a page describes, or a refusal. A page at an
// address that is not public, a name that stands for nothing and a host that does
// not answer are one and the same to whoever asks, by what it is answered and
// when: it would otherwise say which names and hosts there are in this network.
func (c *clientPages) get(ctx context.Context, id string) (client, error) {
	page, err := c.page(ctx, id)
	if err != nil {
		return client{}, err
	}
	if wait := time.Until(page.ready); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return client{}, ctx.Err()
		}
	}
	return page.client, page.err
}

func (c *clientPages) page(ctx context.Context, id string) (clientPage, error) {
	if page, ok := c.remembered(id); ok {
		return page, nil
	}
	begun := time.Now()
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-time.After(clientPageTimeout):
		return clientPage{}, tooMany(clientPageTimeout)
	case <-ctx.Done():
		return clientPage{}, ctx.Err()
	}
	if page, ok := c.remembered(id); ok { // another has read it meanwhile
		return page, nil
	}
	page := clientPage{client: client{ID: id}, until: c.now().Add(clientPageFresh)}
	err := c.read(ctx, &page.client)
	var unreachable *url.Error
	switch {
	case ctx.Err() != nil:
		return clientPage{}, ctx.Err() // whoever asked went away: that tells nothing of the page
	case errors.As(err, &unreachable):
		c.logger.WarnContext(ctx, "the page of a program cannot be reached; its user is told that nobody checked who it is", "error", err)
		page = clientPage{client: client{ID: id, unchecked: true}, until: c.now().Add(clientPageRetry), ready: begun.Add(c.least)}
	case err != nil:
		c.logger.WarnContext(ctx, "a program is refused for what its page says", "page", id, "error", err)
		page = clientPage{err: refusedPage(err), until: c.now().Add(clientPageRetry)}
	}
	c.remember(id, page)
	return page, nil
}

// refusedPage keeps to itself why a page could not be had: that would tell who
// answers where.
func refusedPage(err error) error {
	var known *refusal
	if errors.As(err, &known) {
		return refused("invalid_client", "the page of the client says what cannot be, %s", known.Description)
	}
	return refused("invalid_client", "the page of the client cannot be read")
}

func (c *clientPages) remembered(id string) (clientPage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	page, ok := c.known[id]
	return page, ok && c.now().Before(page.until)
}

func (c *clientPages) remember(id string, page clientPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.known {
		if len(c.known) < clientPagesKept {
			break
		}
		delete(c.known, other) // any will do: it is read again
	}
	c.known[id] = page
}

// read fetches the page of to, whose ID is set, and fills in the rest.
func (c *clientPages) read(ctx context.Context, to *client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.ID, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || err != nil || !strings.HasSuffix(kind, "json") {
		return fmt.Errorf("it answers %s of type %q", response.Status, kind)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxClientPage+1))
	if err != nil {
		return err
	}
	if len(text) > maxClientPage {
		return refused("invalid_client_metadata", "it has more than %d bytes", maxClientPage)
	}
	said := struct {
		ID     string `json:"client_id"`
		Secret any    `json:"client_secret"`
		clientMetadata
	}{}
	switch err := json.Unmarshal(text, &said); {
	case err != nil:
		return refused("invalid_client_metadata", "it is no JSON object with fields of the usual types")
	case said.ID != to.ID:
		return refused("invalid_client_metadata", "its client_id is another than its address")
	case said.Secret != nil || strings.HasPrefix(said.AuthMethod, "client_secret"):
		return refused("invalid_client_metadata", "a client that everyone can read of has no secret")
	}
	to.clientMetadata = said.clientMetadata
	return to.complete()
}
