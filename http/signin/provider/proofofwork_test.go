package provider

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
	"annals/http/signin/pow"
)

// addressBrowser is a browser whose requests come from the given address, according to a
// trusted proxy.
type addressBrowser struct {
	*browser
	address string
}

func (s *site) from(address string) *addressBrowser {
	s.Helper()
	if s.provider.proxies == nil {
		s.provider.proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	b := s.browser()
	b.client.Transport = forwarded{s.Client().Transport, address}
	return &addressBrowser{b, address}
}

// forwarded is an http.RoundTripper that adds the header X-Forwarded-For, as a proxy does.
type forwarded struct {
	http.RoundTripper
	address string
}

func (f forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", f.address)
	return f.RoundTripper.RoundTrip(r)
}

// challenge requests a challenge, as login.js does. Its text is "" if no proof of work is
// required.
func (b *browser) challenge(page response, name string) (c pow.Challenge) {
	b.Helper()
	token := fieldOf(page, "token")
	a := b.submitForm("/signin/proof", map[string]string{"token": token, "username": name})
	if a.StatusCode != http.StatusOK || json.Unmarshal([]byte(a.body), &c) != nil {
		b.Fatalf("POST proof = %s %s", a.Status, a.body)
	}
	return c
}

func fieldOf(page response, name string) string {
	for _, field := range fieldTag.FindAllStringSubmatch(page.body, -1) {
		if field[1] == name {
			return html.UnescapeString(field[2])
		}
	}
	return ""
}

// attempt submits the sign-in form, with a proof of work if one is required.
func (b *browser) attempt(name, password string) response {
	b.Helper()
	page := b.open("/signin/")
	proof := ""
	if c := b.challenge(page, name); c.Text != "" {
		proof = pow.Solve(c)
	}
	return b.submit(page, "/login", "username", name, "password", password, "proof", proof)
}

func TestGuessersDoNotLockUserOut(t *testing.T) {
	s := newSite(t)
	unproven, checked, checkedWithoutProof := 0, 0, 0
	stop := make(chan struct{})
	done := make(chan struct{})
	proxied := make([]*addressBrowser, 300)
	for i := range proxied {
		proxied[i] = s.from(fmt.Sprintf("198.18.%d.%d", i/250, i%250+1))
	}
	for i := range freeAccountFailures + 2 { // the attempts that need no proof of work, and two more that lack one
		page := proxied[i].open("/signin/")
		switch a := proxied[i].submit(page, "/login", "username", "alice", "password", "guess"); {
		case a.StatusCode == http.StatusForbidden:
			checked++
		case a.StatusCode == http.StatusTooManyRequests && strings.Contains(a.says(), "has to do some work"):
			unproven++
		default:
			t.Errorf("guess %d = %s %s", i, a.Status, a.says())
		}
	}
	if checked != freeAccountFailures || unproven != 2 {
		t.Errorf("without a proof %d guesses were checked and %d refused, want %d and 2", checked, unproven, freeAccountFailures)
	}
	go func() { // an attacker who continues guessing, without proofs and with wrong proofs
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			b := proxied[i%len(proxied)]
			page := b.open("/signin/")
			proof := ""
			if i%2 == 0 {
				proof = b.challenge(page, "alice").Text + ":0,0,0,0,0,0,0,0"
			}
			if a := b.submit(page, "/login", "username", "alice", "password", "guess", "proof", proof); a.StatusCode == http.StatusForbidden {
				checkedWithoutProof++
			}
		}
	}()
	for i := range 20 {
		owner := s.from(fmt.Sprintf("203.0.113.%d", i+1))
		if page := owner.attempt("alice", "correct horse"); !strings.Contains(page.body, "signed in as") {
			t.Errorf("the right password in unknown browser %d = %s %s, want the account page", i, page.Status, page.says())
		}
	}
	close(stop)
	<-done
	if checkedWithoutProof > 0 {
		t.Errorf("%d guesses without a valid proof were checked, want none", checkedWithoutProof)
	}
}

func TestProofIsSingleUse(t *testing.T) {
	s := newSite(t)
	for range freeAccountFailures {
		s.provider.failures.Take(accountKey("alice"))
	}
	b := s.browser()
	page := b.open("/signin/")
	c := b.challenge(page, "alice")
	if c.Text == "" || c.Bits != pow.MinBits {
		t.Fatalf("after %d failures the challenge is %+v", freeAccountFailures, c)
	}
	if other := b.challenge(page, "bob"); other.Text != "" {
		t.Errorf("for another name the challenge is %+v", other)
	}
	proof := pow.Solve(c)
	guess := func(name, proof string) response {
		return b.submit(page, "/login", "username", name, "password", "guess", "proof", proof)
	}
	if a := guess("alice", proof); a.StatusCode != http.StatusForbidden || a.says() != wrongPassword {
		t.Fatalf("a guess with a proof = %s %s", a.Status, a.says())
	}
	if a := guess("alice", proof); a.StatusCode != http.StatusTooManyRequests || !strings.Contains(a.body, "noscript") {
		t.Errorf("a guess with the same proof = %s %s", a.Status, a.says())
	}
	if harder := b.challenge(page, "alice"); harder.Bits != pow.MinBits+1 {
		t.Errorf("after one more failure the challenge has %d bits, want %d", harder.Bits, pow.MinBits+1)
	}
	// A second node does not accept the same proof either, but it accepts a new one.
	second, err := New(s.Issuer, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := s.request("POST", "/signin/login", "")
	if err := second.checkProof(r.Context(), proof, "alice", pow.MinBits); err != errProofMissing {
		t.Errorf("the same proof at another node: %v", err)
	}
	if err := second.checkProof(r.Context(), pow.Solve(b.challenge(page, "alice")), "alice", pow.MinBits); err != nil {
		t.Errorf("a new proof at another node: %v", err)
	}
	s.Clock.Advance(failuresHalfLife + time.Second)
	if c := b.challenge(b.open("/signin/"), "alice"); c.Text != "" {
		t.Error("after the half-life a proof is still required")
	}
}

func TestKnownBrowserNeedsNoProof(t *testing.T) {
	s := newSite(t)
	owner, stranger := s.browser(), s.browser()
	owner.submit(owner.signIn(owner.open("/signin/"), "alice"), "/logout")
	for range 3 * freeAccountFailures {
		s.provider.failures.Take(accountKey("alice"))
	}
	if page := stranger.signIn(stranger.open("/signin/"), "alice"); page.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a sign-in in an unknown browser = %s, want 429", page.Status)
	}
	page := owner.open("/signin/")
	if c := owner.challenge(page, "alice"); c.Text != "" {
		t.Errorf("a proof of %d bits is required in a known browser, want none", c.Bits)
	}
	home := owner.signIn(page, "alice")
	if !strings.Contains(home.body, "signed in as") {
		t.Errorf("a sign-in in a known browser = %s %s, want the account page", home.Status, home.says())
	}
	owner.submit(home, "/logout")
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	for range freeAccountFailures {
		s.provider.failures.Take(accountKey("bob"))
	}
	if c := owner.challenge(owner.open("/signin/"), "bob"); c.Text == "" {
		t.Error("no proof is required for bob in a browser that only alice used")
	}
}

func TestAddressIsThrottled(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"alice", "nobody"} {
		s.Clock.Advance(addressLimits.Quiet + time.Second)
		b, waits := s.browser(), []string{}
		for range addressLimits.Free + 9 {
			// The counts are reset, so that no proof of work is required. The tests of package
			// pow cover the cost of proofs.
			s.provider.failures = pow.NewTally(failuresHalfLife, s.Clock.Now)
			page := b.attempt(name, "wrong")
			for page.StatusCode == http.StatusTooManyRequests {
				var seconds int
				fmt.Sscan(page.Header.Get("Retry-After"), &seconds)
				waits = append(waits, fmt.Sprint(seconds))
				s.Clock.Advance(time.Duration(seconds) * time.Second)
				page = b.attempt(name, "wrong")
			}
		}
		if got, want := strings.Join(waits, " "), "1 2 4 8 16 32 60 60 60"; got != want {
			t.Errorf("the waits after wrong passwords of %s are %s seconds, want %s", name, got, want)
		}
	}
}

func TestKnownBrowserIsThrottled(t *testing.T) {
	s := newSite(t)
	b, waits := s.browser(), []string{}
	b.submit(b.signIn(b.open("/signin/"), "alice"), "/logout")
	for range 14 {
		page := b.attempt("alice", "wrong")
		for page.StatusCode == http.StatusTooManyRequests {
			waits = append(waits, page.Header.Get("Retry-After"))
			var seconds int
			fmt.Sscan(page.Header.Get("Retry-After"), &seconds)
			s.Clock.Advance(time.Duration(seconds) * time.Second)
			page = b.attempt("alice", "wrong")
		}
	}
	if got, want := strings.Join(waits, " "), "1 2 4 8 16 32 60 60 60"; got != want {
		t.Errorf("the waits are %s seconds, want %s", got, want)
	}
}
