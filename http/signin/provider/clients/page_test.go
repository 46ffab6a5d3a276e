package clients

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestIsPage(t *testing.T) {
	for id, want := range map[string]bool{
		"https://program.example/client.json": true, "https://program.example:8443/a/b": true, "https://program.example/client?v=1": true,
		"http://program.example/client.json": false, "https://program.example": false, "https://program.example/": false, "https://program.example/a/../b": false,
		"https://program.example/./b": false, "https://user@program.example/c": false, "https://program.example/c#d": false, "https:///c": false,
		"https://program.example/" + strings.Repeat("x", maxID): false, "unknown": false, "": false,
	} {
		if got := IsPage(id); got != want {
			t.Errorf("IsPage(%q) = %v, want %v", id, got, want)
		}
	}
}

func TestPageCacheIsBounded(t *testing.T) {
	c := NewPages(time.Now, slog.New(slog.DiscardHandler))
	for i := range 2 * maxCached {
		c.store(fmt.Sprint(i), entry{})
	}
	if len(c.cache) > maxCached {
		t.Errorf("%d pages are cached, want at most %d", len(c.cache), maxCached)
	}
}

func TestConcurrentGetOfUnreachablePage(t *testing.T) {
	pages := NewPages(time.Now, slog.New(slog.DiscardHandler))
	pages.MinDelay = 300 * time.Millisecond
	dial := pages.HTTP.Transport.(*http.Transport).DialContext
	pages.HTTP.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, "10.0.0.1:443")
	}
	id := "https://internal.example/twice.json"
	started := time.Now()
	first := make(chan error, 1)
	go func() { _, err := pages.Get(t.Context(), id); first <- err }()
	for {
		if _, ok := pages.cached(id); ok {
			break
		}
		if time.Since(started) > time.Minute {
			t.Fatal("the page is not cached after a minute")
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := pages.Get(t.Context(), id); err != nil || time.Since(started) < pages.MinDelay {
		t.Errorf("the second Get returns after %v (%v), want at least %v", time.Since(started), err, pages.MinDelay)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestIsPublic(t *testing.T) {
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
