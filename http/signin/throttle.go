package signin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// limits say how often something may be tried: so many times freely, and then
// after waits that double from the first to the longest. A key that was quiet
// for a while begins anew.
type limits struct {
	free           int
	first, longest time.Duration
	quiet          time.Duration
}

// throttled is how many keys a throttle remembers.
const throttled = 10_000

// throttle counts tries by key, in bounded memory. It is this process's own:
// with several, each allows as much.
type throttle struct {
	limits limits
	now    func() time.Time

	mu    sync.Mutex
	tries map[string]tries
}

type tries struct {
	count      int
	last, next time.Time // the last one; when another is allowed
}

func newThrottle(l limits, now func() time.Time) *throttle {
	return &throttle{limits: l, now: now, tries: map[string]tries{}}
}

// take counts a try, before it is known how it ends: many at once must not pass
// as one. If it comes too early it is to be refused; wait is then how long.
func (t *throttle) take(key string) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	e, known := t.tries[key]
	if known && now.Sub(e.last) > t.limits.quiet {
		e = tries{}
	}
	if now.Before(e.next) {
		return e.next.Sub(now)
	}
	if !known && len(t.tries) >= throttled {
		t.makeRoom(now)
	}
	e.count++
	e.last, e.next = now, now.Add(t.limits.after(e.count))
	t.tries[key] = e
	return 0
}

// after returns the wait after so many tries.
func (l limits) after(count int) time.Duration {
	if count < l.free {
		return 0
	}
	wait := l.first
	for range min(count-l.free, 32) {
		if wait *= 2; wait >= l.longest {
			return l.longest
		}
	}
	return wait
}

// giveBack takes back a try that ended well.
func (t *throttle) giveBack(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.tries[key]; ok {
		e.count--
		e.next = e.last.Add(t.limits.after(e.count - 1))
		t.tries[key] = e
	}
}

// forget lets a key begin anew.
func (t *throttle) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tries, key)
}

// makeRoom removes the keys that are quiet, or else the one that was quiet for
// longest.
func (t *throttle) makeRoom(now time.Time) {
	oldest, at := "", now
	for key, e := range t.tries {
		if now.Sub(e.last) > t.limits.quiet {
			delete(t.tries, key)
		} else if !e.last.After(at) {
			oldest, at = key, e.last
		}
	}
	if len(t.tries) >= throttled {
		delete(t.tries, oldest)
	}
}

// address returns from where a request comes, as throttles count: one IPv4
// address, or the /64 of IPv6 that one subscriber has. What proxies say is
// believed of those that are trusted, each of which adds whom it saw.
func (p *Provider) address(r *http.Request) string {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	seen := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(seen) - 1; i >= 0; i-- {
		ip, err := netip.ParseAddr(strings.TrimSpace(seen[i]))
		if err != nil || !p.trusts(peer) {
			break
		}
		peer = ip.String()
	}
	ip, err := netip.ParseAddr(peer)
	if err != nil {
		return peer
	}
	if ip = ip.Unmap(); ip.Is6() {
		if prefix, err := ip.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}

// Address returns the client's address of a request, as throttles count it: of
// IPv6 the /64.
func (p *Provider) Address(r *http.Request) string { return p.address(r) }

func (p *Provider) trusts(peer string) bool {
	ip, err := netip.ParseAddr(peer)
	return err == nil && slices.ContainsFunc(p.proxies, func(proxy netip.Prefix) bool { return proxy.Contains(ip.Unmap()) })
}
