package provider

import (
	"net/url"
	"slices"
	"strings"

	"annals/http/signin/provider/clients"
	"annals/http/signin/provider/oauth"
)

// resource is a URL for which clients can request tokens (RFC 8707), with the audience of
// these tokens.
type resource struct{ url, audience string }

// audienceFor returns the audience of tokens for the requested resources. If no resource is
// requested, it is the audience of the core and the vault.
func (p *Provider) audienceFor(resources []string) (string, error) {
	audience := ""
	for _, requested := range resources {
		i := slices.IndexFunc(p.resources, func(r resource) bool { return sameResource(r.url, requested) })
		if i < 0 {
			return "", oauth.Errorf("invalid_target", "this server does not issue tokens for the requested resource")
		}
		if a := p.resources[i].audience; audience == "" || audience == a {
			audience = a
			continue
		}
		return "", oauth.Errorf("invalid_target", "a token cannot be for both the services and the agent tools")
	}
	if audience == "" {
		audience = p.issuer.Audience()
	}
	return audience, nil
}

// sameResource reports whether two URLs are equal after normalisation (RFC 3986 §6.2.2 and
// §6.2.3). It ignores a trailing slash, because some clients add one.
func sameResource(a, b string) bool {
	if len(b) > clients.MaxURL {
		return false
	}
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && normalURL(x) == normalURL(y)
}

func normalURL(u *url.URL) string {
	c := *u
	c.Scheme, c.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case c.Scheme == "https":
		c.Host = strings.TrimSuffix(c.Host, ":443")
	case c.Scheme == "http":
		c.Host = strings.TrimSuffix(c.Host, ":80")
	}
	return strings.TrimSuffix(c.String(), "/")
}
