package service

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"annals/events"
)

// parsePublicURL parses a URL at which clients reach a part of the service. Paths are
// appended to it.
func parsePublicURL(flag, text string) (*url.URL, error) {
	wrong := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("--%s %s: %s; write it as https://host/path", flag, text, why)
	}
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil && strings.Contains(text, "@") || err == nil && u.User != nil: // not shown: it may hold a password
		return nil, fmt.Errorf("--%s: must not hold a user or a password; write it as https://host/path", flag)
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return wrong("must be an http or https URL with a host")
	case strings.ContainsAny(text, "?#"):
		return wrong("must not have a query or a fragment")
	case !validPort(u):
		return wrong("the port must be a number up to 65535")
	}
	return u, nil
}

// validPort reports whether a URL has no port or a valid one. Port 0 is valid: it stands
// for a port that is not bound yet.
func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	_, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil
}

// checkOrigin returns an error unless text is * or an origin exactly as browsers send it,
// because the two are compared byte by byte. Apps and extensions have their own schemes.
func checkOrigin(text string) error {
	if text == "*" {
		return nil
	}
	wrong := fmt.Errorf("--cors-origin %.200q: must be a scheme and a host, such as https://app.example or http://localhost:6274, or * for every origin", text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || !validPort(u) {
		return wrong
	}
	sent := strings.ToLower(u.Scheme + "://" + u.Host)
	if u.Scheme == "http" {
		sent = strings.TrimSuffix(sent, ":80")
	} else if u.Scheme == "https" {
		sent = strings.TrimSuffix(sent, ":443")
	}
	if text != sent {
		return fmt.Errorf("%w; browsers send %s", wrong, sent)
	}
	return nil
}

// checkAdmin returns an error unless text is the principal of a user, with or without
// "user:".
func checkAdmin(text string) error {
	p := events.Principal(text)
	if !strings.Contains(text, ":") {
		p = events.Principal("user:" + text)
	}
	alias, name, external := strings.Cut(p.Name(), "/")
	if !p.IsUser() || strings.TrimSpace(p.Name()) != p.Name() || external && (alias == "" || name == "") {
		return fmt.Errorf("--admin %.200q: must be a user, user:ALIAS/NAME of an --issuer, such as user:corp/alice, or NAME of the built-in sign-in", text)
	}
	return nil
}
