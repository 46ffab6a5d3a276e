package meilisearch

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// scheme is the scheme of the URL of a server.
const scheme = "meilisearch"

// form is the form of the URL of a server.
const form = scheme + "://KEY@HOST:7700?prefix=PREFIX&tls=true"

const (
	defaultPort   = "7700"
	defaultPrefix = "annals-"
)

// location is the parsed URL of a server.
type location struct{ address, key, prefix string }

// prefixForm matches a valid prefix. It allows the characters of index names.
var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,100}$`)

// parseURL reads a URL of the form meilisearch://KEY@HOST:PORT/PATH, of which only
// the host is required. ?tls=true is for a server that uses TLS, and ?prefix= sets
// the prefix of the names of indexes. No error contains the key.
func parseURL(text string) (p location, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return p, errors.New("the value is not a URL: write it as " + form) // the error of url.Parse repeats the key
	}
	if u.Scheme != scheme || u.Hostname() == "" || u.Fragment != "" {
		return p, errors.New("write it as " + form)
	}
	if _, twice := u.User.Password(); twice {
		return p, errors.New("the key before the @ must not contain a colon: write the URL as " + form)
	}
	p = location{key: u.User.Username(), prefix: defaultPrefix}
	protocol := "http"
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return p, errors.New("what follows the question mark cannot be parsed: write it as " + form)
	}
	for name, values := range query {
		value := values[len(values)-1]
		if strings.Contains(name, "@") { // it is the rest of a key
			return p, errors.New("it has a ? before its @: write %3F if the ? is part of the key")
		}
		switch name {
		case "prefix":
			if p.prefix = value; !prefixForm.MatchString(value) {
				return p, errors.New("the prefix must be up to 100 letters, digits, - and _")
			}
		case "tls":
			tls, err := strconv.ParseBool(value)
			if err != nil {
				return p, errors.New("tls must be true or false")
			}
			if tls {
				protocol = "https"
			}
		default:
			return p, fmt.Errorf("unknown parameter %q: only prefix and tls exist", name)
		}
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	p.address = protocol + "://" + net.JoinHostPort(u.Hostname(), port) + regexp.MustCompile(`/+$`).ReplaceAllString(u.EscapedPath(), "")
	return p, nil
}
