package signin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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
)

// pageHost serves a program's page by https.
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

// describe has a page say that its program is called back at loopback.
func (h *pageHost) describe(change map[string]any) {
	h.page = func(w http.ResponseWriter, r *http.Request) {
		said := map[string]any{"client_id": h.URL + r.URL.Path, "client_name": "A published program", "redirect_uris": []string{"http://localhost/callback"}}
		for k, v := range change {
			said[k] = v
		}
		_ = json.NewEncoder(w).Encode(said)
	}
}

// trust has the site read pages of this machine, and believe its certificate.
func (s *site) trust(h *pageHost) {
	s.provider.clientPages.allowed = func(netip.AddrPort) bool { return true }
	s.provider.clientPages.client.Transport.(*http.Transport).TLSClientConfig = h.Client().Transport.(*http.Transport).TLSClientConfig
	s.provider.clientPages.least = 0
}

func TestAProgramIsKnownByThePageThatItPublishes(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.describe(nil)
	p, b := &program{site: s, id: h.URL + "/program.json", redirect: "http://localhost:3118/callback", verifier: newSecret()}, s.browser()
	page := b.signIn(b.open(p.url()), "alice")
	if !strings.Contains(page.body, "A published program") || !strings.Contains(page.body, "described at <strong>"+strings.TrimPrefix(h.URL, "https://")) {
		t.Errorf("the consent page says %s", page.body)
	}
	if !strings.Contains(page.body, "any program on a device could say") {
		t.Errorf("the consent page does not say that any program may listen on a device: %s", page.body)
	}
	first := p.redeem(p.code(b))
	s.wantToken(first.told("access_token"), true)
	h.page = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	if a := p.refresh(first.told("refresh_token")); a.StatusCode != http.StatusOK {
		t.Errorf("refresh = %s %s", a.Status, a.body)
	}
	p.code(b)
	if n := h.reads.Load(); n != 1 {
		t.Errorf("the page was read %d times, want once", n)
	}
	s.clock.advance(clientPageFresh)
	for range 3 {
		if page := b.open(p.url()); page.StatusCode != http.StatusBadRequest {
			t.Errorf("a program whose page is gone = %s", page.Status)
		}
	}
	if n := h.reads.Load(); n != 2 {
		t.Errorf("a page that is gone was asked for %d times, want once", n-1)
	}
}

func TestPagesThatDescribeNoProgram(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	other := newPageHost(t)
	other.describe(nil)
	n := 0
	refuses := func(name string) {
		t.Helper()
		n++
		p := &program{site: s, id: fmt.Sprintf("%s/%d.json", h.URL, n), redirect: "http://localhost:3118/callback"}
		if page := s.browser().open(p.url()); page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" {
			t.Errorf("%s: %s to %q", name, page.Status, page.Header.Get("Location"))
		}
	}
	for name, change := range map[string]map[string]any{
		"another client_id":  {"client_id": h.URL + "/other.json"},
		"no client_id":       {"client_id": nil},
		"a secret":           {"client_secret": "x"},
		"a secret's method":  {"token_endpoint_auth_method": "client_secret_post"},
		"another method":     {"token_endpoint_auth_method": "private_key_jwt"},
		"no redirects":       {"redirect_uris": nil},
		"a bad redirect":     {"redirect_uris": []string{"javascript:alert(1)"}},
		"fields of no type":  {"redirect_uris": 1},
		"more than is read":  {"padding": strings.Repeat("x", maxClientPage)},
		"other redirects":    {"redirect_uris": []string{"http://localhost/elsewhere"}},
		"a name without end": {"client_name": strings.Repeat("x", maxClientName+1)},
	} {
		h.describe(change)
		refuses(name)
	}
	h.page = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}
	refuses("a redirect")
	h.page = func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/html") }
	refuses("HTML")
	if other.reads.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

func TestNoPageIsReadOfPrivateAddresses(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.provider.clientPages.client.Transport.(*http.Transport).TLSClientConfig = h.Client().Transport.(*http.Transport).TLSClientConfig
	h.describe(nil)
	s.provider.clientPages.least = 0
	local := strings.Replace(h.URL, "127.0.0.1", "localhost", 1)
	for _, id := range []string{h.URL + "/program.json", local + "/program.json"} {
		p := &program{site: s, id: id, redirect: elsewhere}
		if page := s.browser().open(p.url()); page.StatusCode != http.StatusBadRequest {
			t.Errorf("%s = %s", id, page.Status)
		}
	}
	if h.reads.Load() > 0 {
		t.Error("a page of this machine was read")
	}
	for text, want := range map[string]bool{
		"93.184.215.14:443": true, "[2606:4700::1111]:443": true, "93.184.215.14:80": false, "93.184.215.14:22": false,
		"127.0.0.1:443": false, "127.8.8.8:443": false, "10.0.0.1:443": false, "172.16.0.1:443": false, "192.168.1.1:443": false, "169.254.169.254:443": false,
		"0.0.0.0:443": false, "0.1.2.3:443": false, "100.64.0.1:443": false, "224.0.0.1:443": false, "255.255.255.255:443": false, "198.18.0.1:443": false,
		"[::1]:443": false, "[::]:443": false, "[fe80::1]:443": false, "[fc00::1]:443": false, "[ff02::1]:443": false, "[::ffff:127.0.0.1]:443": false,
		"[::ffff:10.0.0.1]:443": false, "[64:ff9b::7f00:1]:443": false, "[2002:7f00:1::]:443": false, "[2001:db8::1]:443": false,
		"[::7f00:1]:443": false, "[::ffff:0:7f00:1]:443": false, "[100::1]:443": false, "[64:ff9b:1::1]:443": false, "[3fff::1]:443": false,
		"[5f00::1]:443": false, "[fec0::1]:443": false, "[2001::1]:443": false,
	} {
		if got := isPublic(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("isPublic(%s) = %v, want %v", text, got, want)
		}
	}
}

// What stands behind a name is not shown by what is answered about it, nor by
// how long that takes.
func TestPagesThatCannotBeReachedLookTheSame(t *testing.T) {
	s := newSite(t)
	pages := s.provider.clientPages
	pages.least = 300 * time.Millisecond
	transport := pages.client.Transport.(*http.Transport)
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
	answers := map[string]string{}
	for _, host := range []string{"unknown.example", "refuses.example", "slow.example", "internal.example", "127.0.0.1", "[::1]", "localhost", "169.254.169.254"} {
		for _, redirect := range []string{"http://localhost:3118/callback", elsewhere} {
			p := &program{site: s, id: "https://" + host + "/" + newSecret()[:6] + ".json", redirect: redirect, verifier: newSecret()}
			for _, again := range []bool{false, true} {
				began := time.Now()
				page := s.browser().open(p.url())
				took := time.Since(began)
				if !again && took < pages.least || took > pages.least+2*time.Second {
					t.Errorf("%s took %v, want %v", host, took, pages.least)
				}
				said := fmt.Sprint(page.StatusCode, " ", page.Header.Get("Location"), " ", strings.NewReplacer(host, "HOST", url.QueryEscape(p.id), "ID", p.id, "ID").Replace(page.says()))
				if same, ok := answers[redirect]; ok && same != said {
					t.Errorf("%s is answered %q, another %q", host, said, same)
				}
				answers[redirect] = said
			}
		}
	}
	// Who asks a second time meanwhile does not learn it sooner.
	id := "https://internal.example/twice.json"
	began := time.Now()
	first := make(chan error, 1)
	go func() { _, err := pages.get(t.Context(), id); first <- err }()
	for {
		if _, ok := pages.remembered(id); ok {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("nothing is remembered after a minute")
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := pages.get(t.Context(), id); err != nil || time.Since(began) < pages.least {
		t.Errorf("the second answer came after %v, %v", time.Since(began), err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestAProgramWhosePageCannotBeReachedIsCalledBackOnItsDeviceAlone(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.Close()
	p, b := &program{site: s, id: h.URL + "/program.json", redirect: "http://localhost:3118/callback", verifier: newSecret()}, s.browser()
	page := b.signIn(b.open(p.url()), "alice")
	if !strings.Contains(page.body, "nobody has checked who it is") || !strings.Contains(page.body, strings.TrimPrefix(h.URL, "https://")) {
		t.Errorf("the consent page says %s", page.body)
	}
	s.wantToken(p.redeem(p.code(b)).told("access_token"), true)
	for _, elsewhere := range []string{elsewhere, "com.example.app:/callback", "javascript:alert(1)", "http://localhost:1/#x"} {
		if page := b.open(p.url("redirect_uri", elsewhere)); page.StatusCode != http.StatusBadRequest || page.Header.Get("Location") != "" {
			t.Errorf("called back at %s = %s", elsewhere, page.Status)
		}
	}
}

func TestAPageThatCannotBeReachedIsTriedAnewSoon(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.describe(map[string]any{"redirect_uris": []string{elsewhere}})
	transport := s.provider.clientPages.client.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	p, b := &program{site: s, id: h.URL + "/program.json", redirect: elsewhere, verifier: newSecret()}, s.browser()
	if page := b.open(p.url()); page.StatusCode != http.StatusBadRequest || !strings.Contains(page.says(), "page cannot be read") {
		t.Errorf("while its page cannot be reached = %s %s", page.Status, page.says())
	}
	transport.DialContext = dial
	s.clock.advance(clientPageRetry)
	page := b.open(p.url())
	if page.StatusCode != http.StatusOK {
		t.Errorf("when its page can be reached again = %s %s", page.Status, page.body)
	}
	if page = b.signIn(page, "alice"); strings.Contains(page.body, "could say") {
		t.Errorf("the consent page warns of a program at a host of its own: %s", page.body)
	}
}

func TestAnAddressHasSoManyPagesLookedUpWhateverFormItSends(t *testing.T) {
	s, h := newSite(t), newPageHost(t)
	s.trust(h)
	h.describe(nil)
	b := s.browser()
	login := b.open("/signin/")
	for i := range visitLimits.free + 10 {
		p := &program{site: s, id: fmt.Sprintf("%s/%d.json", h.URL, i), redirect: "http://localhost:3118/callback"}
		b.submit(login, "/login", "page", "authorize", "query", encodeForm(p.asks()), "username", "", "password", "")
	}
	if n := int(h.reads.Load()); n > visitLimits.free {
		t.Errorf("%d pages were looked up for one address, want %d at most", n, visitLimits.free)
	}
}

func TestWhichClientIDsArePages(t *testing.T) {
	for id, want := range map[string]bool{
		"https://program.example/client.json": true, "https://program.example:8443/a/b": true, "https://program.example/client?v=1": true,
		"http://program.example/client.json": false, "https://program.example": false, "https://program.example/": false, "https://program.example/a/../b": false,
		"https://program.example/./b": false, "https://user@program.example/c": false, "https://program.example/c#d": false, "https:///c": false,
		"https://program.example/" + strings.Repeat("x", maxClientID): false, "unknown": false, "": false,
	} {
		if got := isClientPage(id); got != want {
			t.Errorf("isClientPage(%q) = %v, want %v", id, got, want)
		}
	}
}

func TestFewPagesAreRemembered(t *testing.T) {
	c := newClientPages(time.Now, slog.New(slog.DiscardHandler))
	for i := range 2 * clientPagesKept {
		c.remember(fmt.Sprint(i), clientPage{})
	}
	if len(c.known) > clientPagesKept {
		t.Errorf("%d pages are remembered, want %d at most", len(c.known), clientPagesKept)
	}
}
