package eventstoredb

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/events/fault"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// schemes maps the accepted schemes of URLs to those of the official client.
var schemes = map[string]string{
	"esdb": "esdb", "esdb+discover": "esdb+discover",
	"kurrentdb": "esdb", "kurrentdb+discover": "esdb+discover",
}

// Knows reports whether a URL has a scheme that Open accepts.
func Knows(url string) bool {
	scheme, _, found := strings.Cut(url, "://")
	return found && schemes[scheme] != ""
}

// Overlap reports whether the logs of two URLs share streams: the URLs have a node in
// common, and one prefix begins with the other prefix.
func Overlap(one, other string) bool {
	a, err := parse(one)
	if err != nil {
		return false
	}
	b, err := parse(other)
	if err != nil || !strings.HasPrefix(a.prefix, b.prefix) && !strings.HasPrefix(b.prefix, a.prefix) {
		return false
	}
	seeds, _ := a.seeds()
	others, _ := b.seeds()
	return slices.ContainsFunc(seeds, func(seed string) bool {
		return slices.ContainsFunc(others, func(s string) bool { return strings.EqualFold(s, seed) })
	})
}

const form = "esdb://user:password@host:2113?tlsCaFile=/path, or esdb+discover://… for a cluster"

// settings are the settings in a URL.
type settings struct {
	config   *esdb.Configuration
	prefix   string        // prefix of the names of this log's streams
	deadline time.Duration // time to wait for a response
}

// known are the settings that a URL may have.
var known = []string{
	"defaultDeadline", "gossipTimeout", "keepAliveInterval", "keepAliveTimeout",
	"nodePreference", "prefix", "tls", "tlsCaFile", "tlsVerifyCert", "userCertFile", "userKeyFile",
}

// unsupported are settings of other clients that have no effect here.
var unsupported = []string{"discoveryInterval", "maxDiscoverAttempts"}

// parse parses a URL. Its errors do not contain the part before the settings, which may
// have a password.
func parse(text string) (settings, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	hosts, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil || schemes[scheme] == "" {
		return settings{}, fault.Errorf(fault.Invalid, "the URL of the log cannot be read; write %s", form)
	}
	s := settings{deadline: 5 * time.Second}
	plain := make(url.Values)
	for name := range values {
		named := func(k string) bool { return strings.EqualFold(k, name) }
		i := slices.IndexFunc(known, named)
		switch {
		case strings.Contains(name, "@"): // part of a password
			return settings{}, fault.Errorf(fault.Invalid, "the URL of the log has a ? before its @: write %%3F if the ? is part of the password")
		case slices.ContainsFunc(unsupported, named):
			return settings{}, fault.Errorf(fault.Invalid, "the URL of the log sets %s, which has no effect: remove it (the time to find the leader of the cluster is twice defaultDeadline)", name)
		case i < 0:
			return settings{}, fault.Errorf(fault.Invalid, "the URL of the log sets %q; it may set %s", name, strings.Join(known, ", "))
		case known[i] == "prefix":
			s.prefix = values.Get(name)
		case values.Get(name) == "":
			return settings{}, fault.Errorf(fault.Invalid, "the URL of the log has an empty %s: set or remove it", name)
		default:
			plain.Set(name, values.Get(name))
		}
	}
	if strings.HasPrefix(s.prefix, "$") {
		return settings{}, fault.Errorf(fault.Invalid, "the URL of the log has the prefix %q: names that begin with $ are reserved by the server", s.prefix)
	}
	if badPort(hosts) {
		return settings{}, fault.Errorf(fault.Invalid, "the URL of the log has a port that is not from 1 to 65535")
	}
	address := schemes[scheme] + "://" + hosts
	if _, err := esdb.ParseConnectionString(address); err != nil {
		return settings{}, fault.Errorf(fault.Invalid, "the user or the host in the URL of the log cannot be parsed; write %s", form)
	}
	if s.config, err = esdb.ParseConnectionString(address + "?" + plain.Encode()); err != nil {
		return settings{}, fault.Errorf(fault.Invalid, "the URL of the log: %w", err)
	}
	return s, s.check()
}

// badPort reports whether a host has an invalid port. The official parser would truncate
// ports above 65535 to 16 bits.
func badPort(hosts string) bool {
	hosts = strings.TrimRight(hosts[strings.LastIndex(hosts, "@")+1:], "/")
	return slices.ContainsFunc(strings.Split(hosts, ","), func(host string) bool {
		_, port, _ := strings.Cut(host, ":")
		n, err := strconv.Atoi(port)
		return errors.Is(err, strconv.ErrRange) || err == nil && (n < 1 || n > math.MaxUint16)
	})
}

// check validates the settings.
func (s *settings) check() error {
	c := s.config
	if err := c.Validate(); err != nil {
		return fault.Errorf(fault.Invalid, "the URL of the log: %w", err)
	}
	if c.NodePreference != esdb.NodePreferenceLeader {
		return fault.Errorf(fault.Invalid, "the URL of the log has a nodePreference other than leader: remove it; followers may lack the latest appends")
	}
	if c.DefaultDeadline != nil {
		s.deadline = *c.DefaultDeadline
	}
	if s.deadline <= 0 || c.GossipTimeout <= 0 {
		return fault.Errorf(fault.Invalid, "the URL of the log: defaultDeadline (milliseconds) and gossipTimeout (seconds) must be more than 0")
	}
	return nil
}

// seeds returns the addresses to connect to. If cluster is true, they are addresses of
// nodes of a cluster; otherwise there is one address, of a single server.
func (s *settings) seeds() (addresses []string, cluster bool) {
	for _, e := range s.config.GossipSeeds {
		addresses = append(addresses, e.String())
	}
	if len(addresses) > 0 {
		return addresses, true
	}
	return []string{s.config.Address}, s.config.DnsDiscover
}
