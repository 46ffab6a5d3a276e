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

// Scheme begins the URL of a server.
const Scheme = "meilisearch"

// Form says how a server is named.
const Form = Scheme + "://KEY@HOST:7700?prefix=PREFIX&tls=true"

const (
	defaultPort   = "7700"
	defaultPrefix = "annals-"
)

// Place is what the URL of a server says.
type Place struct{ address, key, prefix string }

// prefixForm bounds a prefix to what names of indexes are made of.
var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,100}$`)

// ParseURL reads a URL of the form meilisearch://KEY@HOST:PORT/PATH, where all
// but the host may be left out, with ?tls=true where the server speaks TLS, and
// ?prefix= for what the names of its indexes begin with. No error tells the key.
func ParseURL(text string) (p Place, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return p, errors.New("it is no URL: write " + Form) // the error of url.Parse repeats the key
	}
	if u.Scheme != Scheme || u.Hostname() == "" || u.Fragment != "" {
		return p, errors.New("write it as " + Form)
	}
	if _, twice := u.User.Password(); twice {
		return p, errors.New("the key is all before the @, without a colon: write " + Form)
	}
	p = Place{key: u.User.Username(), prefix: defaultPrefix}
	scheme := "http"
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return p, errors.New("what follows the question mark cannot be read: write " + Form)
	}
	for name, values := range query {
		value := values[len(values)-1]
		if strings.Contains(name, "@") { // it is the rest of a key
			return p, errors.New("it has a ? before its @: write %3F where it is of the key")
		}
		switch name {
		case "prefix":
			if p.prefix = value; !prefixForm.MatchString(value) {
				return p, errors.New("a prefix is made of up to 100 letters, digits, - and _")
			}
		case "tls":
			tls, err := strconv.ParseBool(value)
			if err != nil {
				return p, errors.New("tls is true or false")
			}
			if tls {
				scheme = "https"
			}
		default:
			return p, fmt.Errorf("%q is no setting of a search engine: there are prefix and tls", name)
		}
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	p.address = scheme + "://" + net.JoinHostPort(u.Hostname(), port) + regexp.MustCompile(`/+$`).ReplaceAllString(u.EscapedPath(), "")
	return p, nil
}
