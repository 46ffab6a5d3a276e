package main

import (
	"fmt"
	"net/netip"
	"strings"

	"annals/http/signin"
)

// parseProxies reads --trusted-proxy.
func parseProxies(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		proxy, err := netip.ParsePrefix(text)
		if ip, errIP := netip.ParseAddr(text); errIP == nil {
			proxy, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %s: must be an address, or a network such as 10.0.0.0/8", text)
		}
		all = append(all, proxy.Masked())
	}
	return all, nil
}

// parseIssuer reads one --issuer.
func parseIssuer(text string) (signin.IssuerConfig, error) {
	var c signin.IssuerConfig
	for field := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(field, "=")
		if !ok || value == "" {
			return c, fmt.Errorf("--issuer %s: %q must be name=value", text, field)
		}
		switch name {
		case "url":
			c.URL = value
		case "alias":
			c.Alias = value
		case "audience":
			c.Audiences = append(c.Audiences, value)
		case "user-claim":
			c.UserClaim = value
		case "groups-claim":
			c.GroupsClaim = value
		case "admin-claim":
			c.AdminClaim = value
		case "admin-value":
			c.AdminValue = value
		default:
			return c, fmt.Errorf("--issuer %s: %q is not one of url, alias, audience, user-claim, groups-claim, admin-claim, admin-value", text, name)
		}
	}
	if c.URL == "" || c.Alias == "" || len(c.Audiences) == 0 {
		return c, fmt.Errorf("--issuer %s: url, alias and audience are needed", text)
	}
	return c, nil
}
