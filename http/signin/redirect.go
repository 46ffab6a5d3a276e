package signin

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURL is how many bytes an address that a program names may have.
const maxURL = 1024

// editors are schemes without a dot that well-known programs registered with
// operating systems before RFC 8252 asked for one.
var editors = []string{"cursor", "vscode", "vscode-insiders", "windsurf"}

// checkRedirect says why an address cannot be one that a program is called back
// at, or returns "". It may be https; http on this machine alone; or a scheme of
// the program's own, which by RFC 8252 §7.1 holds a dot, so that none that means
// something to browsers is among them.
func checkRedirect(text string) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > maxURL:
		return "is too long"
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\\\"<>`{}|^*", r) }):
		return "holds a character that it may not, or a wildcard"
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
			return "is http, and not of this machine: localhost, 127.0.0.1 or [::1]"
		}
		return ""
	case strings.Contains(u.Scheme, ".") || slices.Contains(editors, u.Scheme):
		return ""
	}
	return "has a scheme that is neither https nor one's own, which would hold a dot"
}

// isHost takes names as the DNS has them, and addresses: what is safe to show and
// to write into a header.
func isHost(name string) bool {
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isLoopback takes the three usual ways of writing it and no other.
func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// sameRedirect reports whether an address is the registered one, to the letter;
// on this machine with any port, since programs listen where there is room
// (RFC 8252 §7.3), and with or without the slash that an empty path may have.
func sameRedirect(registered, asked string) bool {
	if checkRedirect(asked) != "" {
		return false
	}
	if registered == asked {
		return true
	}
	hostR, restR, okR := splitLoopback(registered)
	hostA, restA, okA := splitLoopback(asked)
	return okR && okA && hostR == hostA && restR == restA
}

// splitLoopback returns what is before and after the port of an http address
// that checkRedirect takes.
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

// isWeb reports whether an address that checkRedirect takes leads to the owner of
// a host. One on the device leads to whatever program listens there.
func isWeb(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}

// redirectHost returns what tells people where an address leads.
func redirectHost(text string) string {
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

// formTarget returns the source by which a Content-Security-Policy lets a form's
// answer lead to an address that checkRedirect takes.
func formTarget(text string) string {
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

// withParams returns an address with more parameters; its own stay as they are.
func withParams(text string, more url.Values) string {
	separator := "?"
	if strings.Contains(text, "?") {
		separator = "&"
	}
	return text + separator + more.Encode()
}
