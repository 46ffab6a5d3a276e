package clients

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxURL is the longest redirect address or resource, in bytes.
const MaxURL = 1024

// editors are schemes without a dot that well-known editors registered before RFC 8252 asked
// for one.
var editors = []string{"cursor", "vscode", "vscode-insiders", "windsurf"}

// CheckRedirect returns why an address cannot be a redirect address, or "". Allowed are https,
// http on loopback, and private-use schemes with a dot (RFC 8252 §7.1), which excludes all
// schemes that browsers interpret.
func CheckRedirect(text string) string {
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
		return "is no URL"
	case u.User != nil:
		return "names a user"
	case u.Port() != "" && !isPort(u.Port()) || strings.HasSuffix(u.Host, ":"):
		return "has an unusable port"
	case u.Scheme == "https":
		if !isHost(u.Hostname()) {
			return "has no host, or an unusable one"
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
	return "has a scheme that is neither https nor a private one, which would contain a dot"
}

// isHost accepts DNS names and IP addresses: characters that are safe to show and to write
// into a header.
func isHost(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isLoopback accepts the three usual notations and no other.
func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// sameRedirect reports whether an address equals a registered one. On loopback the port may
// differ, because programs listen on any free port (RFC 8252 §7.3), and so may the slash of an
// empty path.
func sameRedirect(registered, asked string) bool {
	if CheckRedirect(asked) != "" {
		return false
	}
	if registered == asked {
		return true
	}
	hostR, restR, okR := splitLoopback(registered)
	hostA, restA, okA := splitLoopback(asked)
	return okR && okA && hostR == hostA && restR == restA
}

// splitLoopback returns what is before and after the port of an http address that
// CheckRedirect accepts.
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

// IsWeb reports whether a redirect address belongs to the owner of a host. Any other is
// received by whichever program listens on the device.
func IsWeb(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}

// RedirectHost describes a redirect address to users.
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

// FormTarget returns the source expression by which a Content-Security-Policy lets a form
// redirect to an address that CheckRedirect accepts.
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
	return u.Scheme + ":" // the policy's grammar knows no IPv6
}

// WithParams adds parameters to an address and keeps its own.
func WithParams(text string, more url.Values) string {
	separator := "?"
	if strings.Contains(text, "?") {
		separator = "&"
	}
	return text + separator + more.Encode()
}
