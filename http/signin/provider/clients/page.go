package clients

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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"annals/http/signin/provider/oauth"
)

// Bounds on the pages at which clients publish their metadata
// (draft-ietf-oauth-client-id-metadata-document).
const (
	MaxPage     = 5 << 10 // bytes
	pageTimeout = 5 * time.Second
	PageFresh   = 10 * time.Minute
	PageRetry   = time.Minute // after it was wrong or could not be reached
	maxFetches  = 16          // at once
	maxCached   = 1000
	MaxID       = 256 // bytes of its address, which tokens carry
)

// Pages fetches and caches the pages whose addresses are client ids.
type Pages struct {
	HTTP    *http.Client
	now     func() time.Time
	logger  *slog.Logger
	Allowed func(netip.AddrPort) bool // the addresses that it may connect to
	slots   chan struct{}
	// MinDelay is how long an unreachable page takes to fail, however soon that is known.
	MinDelay time.Duration

	mu    sync.Mutex
	cache map[string]entry
}

type entry struct {
	client  Client
	err     error
	expires time.Time
	// notBefore is the earliest time at which the entry may be returned, on the monotonic
	// clock.
	notBefore time.Time
}

// NewPages returns an empty cache. Its client uses no proxy, since a proxy would hide which
// address a name resolves to.
func NewPages(now func() time.Time, logger *slog.Logger) *Pages {
	c := &Pages{now: now, logger: logger, Allowed: isPublic, slots: make(chan struct{}, maxFetches), MinDelay: pageTimeout + pageTimeout/20, cache: map[string]entry{}}
	dialer := &net.Dialer{Timeout: pageTimeout, Control: c.checkAddress}
	c.HTTP = &http.Client{
		Timeout:   pageTimeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: pageTimeout, MaxResponseHeaderBytes: 16 << 10, MaxIdleConns: 10, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return c
}

// checkAddress sees the address after name resolution. It prevents requests to hosts that only
// this server can reach.
func (c *Pages) checkAddress(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !c.Allowed(to) {
		return errNotPublic
	}
	return nil
}

var errNotPublic = errors.New("the address is not public")

// global6 is the allocated part of IPv6. Ranges that embed IPv4 addresses lie outside, except
// those in reserved.
var global6 = netip.MustParsePrefix("2000::/3")

// reserved are non-public ranges that package netip does not recognise (IANA special-purpose
// registries).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// isPublic accepts public addresses on port 443.
func isPublic(to netip.AddrPort) bool {
	ip := to.Addr().Unmap()
	if to.Port() != 443 || !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !global6.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// IsPage reports whether a client id is the address of a page.
func IsPage(id string) bool {
	if !strings.HasPrefix(id, "https://") || len(id) > MaxID || strings.ContainsAny(id, "#*\\") {
		return false
	}
	u, err := url.Parse(id)
	return err == nil && isHost(u.Hostname()) && u.User == nil && len(u.Path) > 1 && path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/")
}

// Get returns the client that a page describes. For private addresses, unknown names and
// unreachable hosts the response and its delay are the same: otherwise callers could probe the
// server's network.
func (c *Pages) Get(ctx context.Context, id string) (Client, error) {
	page, err := c.lookup(ctx, id)
	if err != nil {
		return Client{}, err
	}
	if wait := time.Until(page.notBefore); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Client{}, ctx.Err()
		}
	}
	return page.client, page.err
}

func (c *Pages) lookup(ctx context.Context, id string) (entry, error) {
	if page, ok := c.cached(id); ok {
		return page, nil
	}
	begun := time.Now()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-time.After(pageTimeout):
		return entry{}, oauth.TooMany(pageTimeout)
	case <-ctx.Done():
		return entry{}, ctx.Err()
	}
	if page, ok := c.cached(id); ok { // another has read it meanwhile
		return page, nil
	}
	page := entry{client: Client{ID: id}, expires: c.now().Add(PageFresh)}
	err := c.fetch(ctx, &page.client)
	var unreachable *url.Error
	switch {
	case ctx.Err() != nil:
		return entry{}, ctx.Err() // the caller hung up: this says nothing about the page
	case errors.As(err, &unreachable):
		c.logger.WarnContext(ctx, "a client's page is unreachable; its consent page warns that the client is unverified", "error", err)
		page = entry{client: Client{ID: id, Unchecked: true}, expires: c.now().Add(PageRetry), notBefore: begun.Add(c.MinDelay)}
	case err != nil:
		c.logger.WarnContext(ctx, "a client is rejected because its page is invalid", "page", id, "error", err)
		page = entry{err: pageError(err), expires: c.now().Add(PageRetry)}
	}
	c.store(id, page)
	return page, nil
}

// pageError hides why a page could not be read, which would reveal what hosts there are.
func pageError(err error) error {
	var known *oauth.Error
	if errors.As(err, &known) {
		return oauth.Errorf("invalid_client", "the client's page is invalid because %s", known.Description)
	}
	return oauth.Errorf("invalid_client", "the page of the client cannot be read")
}

func (c *Pages) cached(id string) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	page, ok := c.cache[id]
	return page, ok && c.now().Before(page.expires)
}

func (c *Pages) store(id string, page entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.cache {
		if len(c.cache) < maxCached {
			break
		}
		delete(c.cache, other) // any will do: it is read again
	}
	c.cache[id] = page
}

// fetch reads the page at to.ID and fills in to.
func (c *Pages) fetch(ctx context.Context, to *Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.ID, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || err != nil || !strings.HasSuffix(kind, "json") {
		return fmt.Errorf("it answers %s of type %q", response.Status, kind)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxPage+1))
	if err != nil {
		return err
	}
	if len(text) > MaxPage {
		return oauth.Errorf("invalid_client_metadata", "it has more than %d bytes", MaxPage)
	}
	said := struct {
		ID     string `json:"client_id"`
		Secret any    `json:"client_secret"`
		Metadata
	}{}
	switch err := json.Unmarshal(text, &said); {
	case err != nil:
		return oauth.Errorf("invalid_client_metadata", "it is not a JSON object with fields of the usual types")
	case said.ID != to.ID:
		return oauth.Errorf("invalid_client_metadata", "its client_id differs from its address")
	case said.Secret != nil || strings.HasPrefix(said.AuthMethod, "client_secret"):
		return oauth.Errorf("invalid_client_metadata", "it must not contain a secret, since anyone can read it")
	}
	to.Metadata = said.Metadata
	return to.Complete()
}
