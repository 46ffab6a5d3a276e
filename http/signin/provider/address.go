package provider

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Address returns the client address of a request, for rate limits and logs: an IPv4 address,
// or the /64 prefix of an IPv6 address, because a subscriber usually gets a whole /64. It
// reads X-Forwarded-For only as far as trusted proxies wrote it.
func (p *Provider) Address(r *http.Request) string {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(forwarded) - 1; i >= 0; i-- {
		ip, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
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

func (p *Provider) trusts(peer string) bool {
	ip, err := netip.ParseAddr(peer)
	return err == nil && slices.ContainsFunc(p.proxies, func(proxy netip.Prefix) bool { return proxy.Contains(ip.Unmap()) })
}
