package signin

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

func TestAThrottleCountsTriesThatAreMadeAtOnce(t *testing.T) {
	c := newClock()
	th := newThrottle(limits{free: 2, first: time.Hour, longest: time.Hour, quiet: 24 * time.Hour}, c.now)
	if a, b, d := th.take("x"), th.take("x"), th.take("x"); a != 0 || b != 0 || d == 0 {
		t.Errorf("three tries at once wait %v, %v and %v", a, b, d)
	}
	if th.take("y") != 0 {
		t.Error("one key waits for another")
	}
	th.giveBack("x")
	if a, b := th.take("x"), th.take("x"); a != 0 || b == 0 {
		t.Errorf("after one was given back two tries wait %v and %v", a, b)
	}
	c.advance(25 * time.Hour)
	if a, b := th.take("x"), th.take("x"); a != 0 || b != 0 {
		t.Errorf("a key that was quiet waits %v and %v", a, b)
	}
}

func TestAThrottleRemembersFewKeys(t *testing.T) {
	c := newClock()
	th := newThrottle(passwordLimits, c.now)
	for i := range throttled + 100 {
		th.take(fmt.Sprint(i))
	}
	if len(th.tries) != throttled {
		t.Errorf("%d keys are remembered, want %d", len(th.tries), throttled)
	}
	c.advance(time.Hour)
	th.take("new")
	if len(th.tries) != 1 {
		t.Errorf("%d keys are remembered after an hour, want 1", len(th.tries))
	}
}

func TestAddressesAreCountedAsSubscribersHaveThem(t *testing.T) {
	p := &Provider{}
	for remote, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1", "[::ffff:192.0.2.1]:1": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "@": "@",
	} {
		if got := p.address(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("address of %s = %q, want %q", remote, got, want)
		}
	}
}

func TestOnlyTrustedProxiesTellAddresses(t *testing.T) {
	p := &Provider{proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"127.0.0.1:1", "192.0.2.1", "192.0.2.1"},
		{"127.0.0.1:1", "", "127.0.0.1"},
		{"127.0.0.1:1", "6.6.6.6, 192.0.2.1", "192.0.2.1"},
		{"127.0.0.1:1", "6.6.6.6, 192.0.2.1, 10.1.2.3", "192.0.2.1"},
		{"127.0.0.1:1", "192.0.2.1, nonsense", "127.0.0.1"},
		{"127.0.0.1:1", "2001:db8::1", "2001:db8::/64"},
		{"192.0.2.9:1", "192.0.2.1", "192.0.2.9"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": {c.forwarded}}}
		if got := p.address(r); got != c.want {
			t.Errorf("address of %s, forwarded for %q, = %q, want %q", c.remote, c.forwarded, got, c.want)
		}
	}
}
