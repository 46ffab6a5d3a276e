package service

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"annals/events"
)

// parsePublicURL parses a public URL of the service. flag is the flag with the URL, for
// errors. Paths are appended to the URL, so it must not have a query or a fragment.
func parsePublicURL(flag, text string) (*url.URL, error) {
	wrong := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("--%s %s: %s; write it as https://host/path", flag, text, why)
	}
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil && strings.Contains(text, "@") || err == nil && u.User != nil: // do not show the URL: it may contain a password
		return nil, fmt.Errorf("--%s: must not contain a user or a password; write it as https://host/path", flag)
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return wrong("must be an http or https URL with a host")
	case strings.ContainsAny(text, "?#"):
		return wrong("must not have a query or a fragment")
	case !validPort(u):
		return wrong("the port must be a number up to 65535")
	}
	return u, nil
}

// validPort reports whether the port of a URL is valid or missing. Port 0 is valid: the
// system then chooses a port when the server starts.
func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	_, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil
}

// checkOrigin returns an error unless text is "*", or an origin written exactly as
// browsers send it, because the server compares origins byte by byte. Every scheme is
// allowed, because apps and browser extensions use their own schemes.
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
		return fmt.Errorf("%w; write it as browsers send it: %s", wrong, sent)
	}
	return nil
}

// checkAdmin returns an error unless text is a user, with or without the prefix
// "user:".
func checkAdmin(text string) error {
	p := events.Principal(text)
	if !strings.Contains(text, ":") {
		p = events.Principal("user:" + text)
	}
	alias, name, external := strings.Cut(p.Name(), "/")
	if !p.IsUser() || strings.TrimSpace(p.Name()) != p.Name() || external && (alias == "" || name == "") {
		return fmt.Errorf("--admin %.200q: must be the name of a user of the built-in sign-in, or user:ALIAS/NAME for a user of an --issuer, such as user:corp/alice", text)
	}
	return nil
}
