package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/provider/clients"
)

// pageHost is an https server that publishes the metadata pages of clients.
type pageHost struct {
	*httptest.Server
	reads atomic.Int32
	page  func(w http.ResponseWriter, r *http.Request)
}

func newPageHost(t *testing.T) *pageHost {
	h := &pageHost{}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.reads.Add(1)
		w.Header().Set("Content-Type", "application/json")
		h.page(w, r)
	}))
	h.Config.ErrorLog = nil
	t.Cleanup(h.Close)
	return h
}

// publish serves metadata of a client with a loopback redirect address. The fields in change
// replace or add to the default ones.
func (h *pageHost) publish(change map[string]any) {
	h.page = func(w http.ResponseWriter, r *http.Request) {
		metadata := map[string]any{"client_id": h.URL + r.URL.Path, "client_name": "A published program", "redirect_uris": []string{"http://localhost/callback"}}
		for k, v := range change {
			metadata[k] = v
		}
		_ = json.NewEncoder(w).Encode(metadata)
	}
}

// trust makes the provider accept the address and the certificate of h, which is not a public
// host.
func (s *site) trust(h *pageHost) {
	s.provider.clientPages.Allowed = func(netip.AddrPort) bool { return true }
	s.provider.clientPages.HTTP.Transport.(*http.Transport).TLSClientConfig = h.Client().Transport.(*http.Transport).TLSClientConfig
	s.provider.clientPages.MinDelay = 0
}

func TestClientPage(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.publish(nil)
	p, b := &testClient{site: s, id: h.URL + "/program.json", redirect: "http://localhost:3118/callback", verifier: accounts.NewSecret()}, s.browser()
	page := b.signIn(b.open(p.url()), "alice")
	if !strings.Contains(page.body, "A published program") || !strings.Contains(page.body, "described at <strong>"+strings.TrimPrefix(h.URL, "https://")) {
		t.Errorf("the consent page does not show the client's name and host: %s", page.body)
	}
	if !strings.Contains(page.body, "any program on a device could claim that") {
		t.Errorf("the consent page does not warn that any program may listen on a device: %s", page.body)
	}
	first := p.redeem(p.code(b))
	s.wantToken(first.field("access_token"), true)
	h.page = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	if a := p.refresh(first.field("refresh_token")); a.StatusCode != http.StatusOK {
		t.Errorf("refresh while the page is gone = %s %s, want 200", a.Status, a.body)
	}
	p.code(b)
	if n := h.reads.Load(); n != 1 {
		t.Errorf("the page was fetched %d times, want once", n)
	}
	s.Clock.Advance(clients.PageFresh)
	for range 3 {
		if page := b.open(p.url()); page.StatusCode != http.StatusBadRequest {
			t.Errorf("a client whose page is gone = %s, want 400", page.Status)
		}
	}
	if n := h.reads.Load(); n != 2 {
		t.Errorf("a page that is gone was fetched %d times, want once", n-1)
	}
}

func TestClientPageRejectsInvalid(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	other := newPageHost(t)
	other.publish(nil)
	n := 0
	wantRejected := func(name string) {
		t.Helper()
		n++
		p := &testClient{site: s, id: fmt.Sprintf("%s/%d.json", h.URL, n), redirect: "http://localhost:3118/callback"}
		if page := s.browser().open(p.url()); page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" {
			t.Errorf("a page with %s: %s to %q, want 400", name, page.Status, page.Header.Get("Location"))
		}
	}
	for name, change := range map[string]map[string]any{
		"another client_id": {"client_id": h.URL + "/other.json"},
		"no client_id":      {"client_id": nil},
		"a secret":          {"client_secret": "x"},
		"secret as method":  {"token_endpoint_auth_method": "client_secret_post"},
		"another method":    {"token_endpoint_auth_method": "private_key_jwt"},
		"no redirects":      {"redirect_uris": nil},
		"a bad redirect":    {"redirect_uris": []string{"javascript:alert(1)"}},
		"a field's type":    {"redirect_uris": 1},
		"too many bytes":    {"padding": strings.Repeat("x", clients.MaxPage)},
		"other redirects":   {"redirect_uris": []string{"http://localhost/elsewhere"}},
		"a name too long":   {"client_name": strings.Repeat("x", clients.MaxName+1)},
	} {
		h.publish(change)
		wantRejected(name)
	}
	h.page = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}
	wantRejected("a redirect")
	h.page = func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/html") }
	wantRejected("HTML")
	if other.reads.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

func TestClientPageAtPrivateAddress(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.provider.clientPages.HTTP.Transport.(*http.Transport).TLSClientConfig = h.Client().Transport.(*http.Transport).TLSClientConfig
	h.publish(nil)
	s.provider.clientPages.MinDelay = 0
	local := strings.Replace(h.URL, "127.0.0.1", "localhost", 1)
	for _, id := range []string{h.URL + "/program.json", local + "/program.json"} {
		p := &testClient{site: s, id: id, redirect: webRedirect}
		if page := s.browser().open(p.url()); page.StatusCode != http.StatusBadRequest {
			t.Errorf("client %s = %s, want 400", id, page.Status)
		}
	}
	if h.reads.Load() > 0 {
		t.Error("a page at a loopback address was fetched")
	}
}

// If a metadata page cannot be fetched, neither the response nor its delay reveals whether the
// host exists.
func TestUnreachableClientPagesLookTheSame(t *testing.T) {
	s := newSite(t)
	pages := s.provider.clientPages
	pages.MinDelay = 300 * time.Millisecond
	transport := pages.HTTP.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch host, _, _ := net.SplitHostPort(address); host {
		case "unknown.example":
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		case "refuses.example":
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		case "slow.example":
			time.Sleep(200 * time.Millisecond)
			return nil, context.DeadlineExceeded
		case "internal.example":
			return dial(ctx, network, "10.0.0.1:443")
		}
		return dial(ctx, network, address)
	}
	replies := map[string]string{} // by redirect address
	for _, host := range []string{"unknown.example", "refuses.example", "slow.example", "internal.example", "127.0.0.1", "[::1]", "localhost", "169.254.169.254"} {
		for _, redirect := range []string{"http://localhost:3118/callback", webRedirect} {
			p := &testClient{site: s, id: "https://" + host + "/" + accounts.NewSecret()[:6] + ".json", redirect: redirect, verifier: accounts.NewSecret()}
			for _, again := range []bool{false, true} {
				began := time.Now()
				page := s.browser().open(p.url())
				took := time.Since(began)
				if !again && took < pages.MinDelay || took > pages.MinDelay+20*time.Second {
					t.Errorf("the reply for %s took %v, want %v", host, took, pages.MinDelay)
				}
				reply := fmt.Sprint(page.StatusCode, " ", page.Header.Get("Location"), " ", strings.NewReplacer(host, "HOST", url.QueryEscape(p.id), "ID", p.id, "ID").Replace(page.says()))
				if other, ok := replies[redirect]; ok && other != reply {
					t.Errorf("the reply for %s is %q, for another host %q; want the same", host, reply, other)
				}
				replies[redirect] = reply
			}
		}
	}
}

func TestUnreachableClientMayOnlyUseLoopback(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.Close()
	p, b := &testClient{site: s, id: h.URL + "/program.json", redirect: "http://localhost:3118/callback", verifier: accounts.NewSecret()}, s.browser()
	page := b.signIn(b.open(p.url()), "alice")
	if !strings.Contains(page.body, "nobody has checked who it is") || !strings.Contains(page.body, strings.TrimPrefix(h.URL, "https://")) {
		t.Errorf("the consent page does not warn that the client is unverified: %s", page.body)
	}
	s.wantToken(p.redeem(p.code(b)).field("access_token"), true)
	for _, redirect := range []string{webRedirect, "com.example.app:/callback", "javascript:alert(1)", "http://localhost:1/#x"} {
		if page := b.open(p.url("redirect_uri", redirect)); page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" {
			t.Errorf("with redirect_uri %s = %s, want 400", redirect, page.Status)
		}
	}
}

func TestUnreachableClientPageIsRetried(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.publish(map[string]any{"redirect_uris": []string{webRedirect}})
	transport := s.provider.clientPages.HTTP.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	p, b := &testClient{site: s, id: h.URL + "/program.json", redirect: webRedirect, verifier: accounts.NewSecret()}, s.browser()
	if page := b.open(p.url()); page.StatusCode != http.StatusBadRequest || !strings.Contains(page.says(), "page cannot be read") {
		t.Errorf("while the page is unreachable = %s %s, want 400", page.Status, page.says())
	}
	transport.DialContext = dial
	s.Clock.Advance(clients.PageRetry)
	page := b.open(p.url())
	if page.StatusCode != http.StatusOK {
		t.Errorf("after the page is reachable again = %s %s, want 200", page.Status, page.body)
	}
	if page = b.signIn(page, "alice"); strings.Contains(page.body, "could claim that") {
		t.Errorf("the consent page warns of a client on the web: %s", page.body)
	}
}

func TestClientPageFetchesAreThrottled(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.publish(nil)
	b := s.browser()
	login := b.open("/signin/")
	for i := range visitLimits.Free + 10 {
		p := &testClient{site: s, id: fmt.Sprintf("%s/%d.json", h.URL, i), redirect: "http://localhost:3118/callback"}
		b.submit(login, "/login", "page", "authorize", "query", encodeForm(p.authorizeParams()), "username", "", "password", "")
	}
	if n := int(h.reads.Load()); n > visitLimits.Free {
		t.Errorf("%d pages were fetched for one address, want at most %d", n, visitLimits.Free)
	}
}
