package provider

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address returns the client's address as throttles count it: an IPv4 address, or the /64 of
// IPv6 that one subscriber has. X-Forwarded-For is believed as far as trusted proxies wrote
// it.
func (p *Provider) address(r *http.Request) string {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	seen := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(seen) - 1; i >= 0; i-- {
		ip, err := netip.ParseAddr(strings.TrimSpace(seen[i]))
		if err != nil || !p.trusts(peer) {
			break
		}
		peer = ip.String()
	}
	ip, err := netip.ParseAddr(peer)
	if err != nil {
		return peer
	}
	if ip = ip.Unmap(); ip.Is6() {
		if prefix, err := ip.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}

// Address returns the client's address of a request; for IPv6 it is the /64.
func (p *Provider) Address(r *http.Request) string { return p.address(r) }

func (p *Provider) trusts(peer string) bool {
	ip, err := netip.ParseAddr(peer)
	return err == nil && slices.ContainsFunc(p.proxies, func(proxy netip.Prefix) bool { return proxy.Contains(ip.Unmap()) })
}
