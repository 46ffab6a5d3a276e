package clients

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxURL is the maximum length of a redirect address or resource, in bytes.
const MaxURL = 1024

// editors are the URL schemes of well-known editors. They are accepted although they lack the
// dot that RFC 8252 requires of private-use schemes.
var editors = []string{"cursor", "vscode", "vscode-insiders", "windsurf"}

// checkRedirect returns the reason why a text is not allowed as a redirect address, or "" if
// it is. Allowed are https URLs, http URLs on loopback, and URLs of private-use schemes with a
// dot (RFC 8252 §7.1). The dot excludes the schemes that browsers handle themselves.
func checkRedirect(text string) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > MaxURL:
		return "is too long"
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\\\"<>`{}|^*", r) }):
		return "contains a forbidden character or a wildcard"
	case strings.Contains(text, "#"):
		return "has a fragment"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.User != nil:
		return "contains a user name"
	case u.Port() != "" && !isPort(u.Port()) || strings.HasSuffix(u.Host, ":"):
		return "has an invalid port"
	case u.Scheme == "https":
		if !isHost(u.Hostname()) {
			return "has no valid host"
		}
		return ""
	case u.Scheme == "http":
		if !isLoopback(u.Hostname()) {
			return "is http on a host other than localhost, 127.0.0.1 and [::1]"
		}
		return ""
	case strings.Contains(u.Scheme, ".") || slices.Contains(editors, u.Scheme):
		return ""
	}
	return "has a scheme that is neither https nor a private-use scheme with a dot"
}

// isHost reports whether a name contains only characters of DNS names and IP addresses. Such
// names are safe to show and to write into a header.
func isHost(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isLoopback accepts the three common spellings of loopback. Browsers and libraries treat
// other spellings differently.
func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// sameRedirect reports whether a requested redirect address equals a registered one. On
// loopback, the ports may differ, because programs listen on any free port (RFC 8252 §7.3),
// and an empty path equals "/".
func sameRedirect(registered, requested string) bool {
	if checkRedirect(requested) != "" {
		return false
	}
	if registered == requested {
		return true
	}
	host1, rest1, ok1 := splitLoopback(registered)
	host2, rest2, ok2 := splitLoopback(requested)
	return ok1 && ok2 && host1 == host2 && rest1 == rest2
}

// splitLoopback returns the host of an http URL on loopback, and the rest of the URL after the
// port. ok is false for all other URLs.
func splitLoopback(text string) (host, rest string, ok bool) {
	authority, ok := strings.CutPrefix(text, "http://")
	if !ok {
		return "", "", false
	}
	if i := strings.IndexAny(authority, "/?"); i >= 0 {
		authority, rest = authority[:i], authority[i:]
	}
	if rest == "" || rest[0] == '?' {
		rest = "/" + rest
	}
	if name, port, err := net.SplitHostPort(authority); err == nil && isPort(port) {
		return name, rest, isLoopback(name)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]")
	return name, rest, isLoopback(name)
}

// IsWeb reports whether a redirect address belongs to a web server. All other redirect
// addresses belong to programs on the user's device.
func IsWeb(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}

// RedirectHost returns a description of a redirect address for users.
func RedirectHost(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "http":
		return "a program on this device"
	case u.Scheme == "https":
		return u.Host
	}
	return "a program on this device (" + u.Scheme + ")"
}

// FormTarget returns the source expression for form-action in a Content-Security-Policy. It
// allows a form to redirect to the address.
func FormTarget(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	_, err = netip.ParseAddr(u.Hostname())
	switch {
	case u.Scheme == "https" || u.Scheme == "http" && (err != nil || u.Hostname() == "127.0.0.1"):
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + ":" // policies cannot contain IPv6 addresses
}

// WithParams returns an address with parameters added to its query.
func WithParams(text string, more url.Values) string {
	separator := "?"
	if strings.Contains(text, "?") {
		separator = "&"
	}
	return text + separator + more.Encode()
}
