package provider

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestAddress(t *testing.T) {
	p := &Provider{}
	for remote, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1", "[::ffff:192.0.2.1]:1": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "@": "@",
	} {
		if got := p.Address(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("Address with the remote address %s = %q, want %q", remote, got, want)
		}
	}
}

func TestAddressBehindProxies(t *testing.T) {
	p := &Provider{proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"127.0.0.1:1", "192.0.2.1", "192.0.2.1"},
		{"127.0.0.1:1", "", "127.0.0.1"},
		{"127.0.0.1:1", "6.6.6.6, 192.0.2.1", "192.0.2.1"},
		{"127.0.0.1:1", "6.6.6.6, 192.0.2.1, 10.1.2.3", "192.0.2.1"},
		{"127.0.0.1:1", "192.0.2.1, nonsense", "127.0.0.1"},
		{"127.0.0.1:1", "2001:db8::1", "2001:db8::/64"},
		{"192.0.2.9:1", "192.0.2.1", "192.0.2.9"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": {c.forwarded}}}
		if got := p.Address(r); got != c.want {
			t.Errorf("Address with the remote address %s and X-Forwarded-For %q = %q, want %q", c.remote, c.forwarded, got, c.want)
		}
	}
}
