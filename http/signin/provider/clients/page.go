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

// Limits on the pages on which clients publish their metadata
// (draft-ietf-oauth-client-id-metadata-document).
const (
	MaxPage     = 5 << 10 // maximum size in bytes
	pageTimeout = 5 * time.Second
	PageFresh   = 10 * time.Minute // how long a page is cached
	PageRetry   = time.Minute      // how long the error of an invalid or unreachable page is cached
	maxFetches  = 16               // maximum number of concurrent fetches
	maxCached   = 1000             // maximum number of cached pages
	maxID       = 256              // maximum length of a page's URL in bytes, because tokens contain it
)

// Pages fetches and caches the metadata pages of clients. The id of such a client is the URL
// of its page.
type Pages struct {
	HTTP    *http.Client
	now     func() time.Time
	logger  *slog.Logger
	Allowed func(netip.AddrPort) bool // reports whether HTTP may connect to an address
	slots   chan struct{}             // semaphore for fetches
	// MinDelay is the minimum time after which Get returns if a page is unreachable.
	MinDelay time.Duration

	mu    sync.Mutex
	cache map[string]entry
}

type entry struct {
	client  Client
	err     error
	expires time.Time
	// notBefore is the earliest time at which Get may return the entry, on the monotonic
	// clock.
	notBefore time.Time
}

// NewPages returns an empty cache. Its HTTP client uses no proxy. A proxy would resolve host
// names itself, so Allowed could not check the addresses.
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

// checkAddress returns an error if HTTP may not connect to an address. It runs after host
// names are resolved. Without it, clients could make this server send requests to hosts in its
// private network.
func (c *Pages) checkAddress(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !c.Allowed(to) {
		return errNotPublic
	}
	return nil
}

var errNotPublic = errors.New("the address is not public")

// global6 is the part of IPv6 from which public networks get their addresses. Except for some
// ranges in reserved, its addresses contain no IPv4 addresses.
var global6 = netip.MustParsePrefix("2000::/3")

// reserved are ranges that are not public according to the IANA special-purpose registries,
// but that package netip does not recognise.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// isPublic reports whether an address is public and has port 443.
func isPublic(to netip.AddrPort) bool {
	ip := to.Addr().Unmap()
	if to.Port() != 443 || !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !global6.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// IsPage reports whether a client id is the URL of a metadata page.
func IsPage(id string) bool {
	if !strings.HasPrefix(id, "https://") || len(id) > maxID || strings.ContainsAny(id, "#*\\") {
		return false
	}
	u, err := url.Parse(id)
	return err == nil && isHost(u.Hostname()) && u.User == nil && len(u.Path) > 1 && path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/")
}

// Get returns the client that a metadata page describes. If the page is unreachable, the error
// and the delay do not reveal whether the address is private, the host name is unknown or the
// host does not respond. Otherwise callers could explore the server's private network.
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
	started := time.Now()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-time.After(pageTimeout):
		return entry{}, oauth.TooMany(pageTimeout)
	case <-ctx.Done():
		return entry{}, ctx.Err()
	}
	if page, ok := c.cached(id); ok { // another caller has fetched the page meanwhile
		return page, nil
	}
	page := entry{client: Client{ID: id}, expires: c.now().Add(PageFresh)}
	err := c.fetch(ctx, &page.client)
	var unreachable *url.Error
	switch {
	case ctx.Err() != nil:
		return entry{}, ctx.Err() // the caller gave up, which says nothing about the page
	case errors.As(err, &unreachable):
		c.logger.WarnContext(ctx, "the page of a client is unreachable; the consent page warns that the client is unverified", "error", err)
		page = entry{client: Client{ID: id, Unchecked: true}, expires: c.now().Add(PageRetry), notBefore: started.Add(c.MinDelay)}
	case err != nil:
		c.logger.WarnContext(ctx, "a client is rejected because its page is invalid", "page", id, "error", err)
		page = entry{err: pageError(err), expires: c.now().Add(PageRetry)}
	}
	c.store(id, page)
	return page, nil
}

// pageError returns the error that callers of Get see. It says what is wrong with the content
// of a page. If the page could not be read, it does not say why, because that could reveal
// hosts in the private network.
func pageError(err error) error {
	var known *oauth.Error
	if errors.As(err, &known) {
		return oauth.Errorf("invalid_client", "the client's page is invalid: %s", known.Description)
	}
	return oauth.Errorf("invalid_client", "the client's page cannot be read")
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
		delete(c.cache, other) // which page is evicted does not matter, because it can be fetched again
	}
	c.cache[id] = page
}

// fetch fetches the metadata page at to.ID, and sets the metadata of to.
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
		return fmt.Errorf("the host replied %s with content type %q, want 200 and JSON", response.Status, kind)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxPage+1))
	if err != nil {
		return err
	}
	if len(text) > MaxPage {
		return oauth.Errorf("invalid_client_metadata", "it has more than %d bytes", MaxPage)
	}
	published := struct {
		ID     string `json:"client_id"`
		Secret any    `json:"client_secret"`
		Metadata
	}{}
	switch err := json.Unmarshal(text, &published); {
	case err != nil:
		return oauth.Errorf("invalid_client_metadata", "it is not a JSON object with the fields of RFC 7591")
	case published.ID != to.ID:
		return oauth.Errorf("invalid_client_metadata", "its client_id is not the URL of the page")
	case published.Secret != nil || strings.HasPrefix(published.AuthMethod, "client_secret"):
		return oauth.Errorf("invalid_client_metadata", "it must not use a client secret, since anyone can read the page")
	}
	to.Metadata = published.Metadata
	return to.Complete()
}
