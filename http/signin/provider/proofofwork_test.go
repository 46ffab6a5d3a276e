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

// addressBrowser is a browser at an address of its own, behind a trusted proxy.
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

// forwarded adds the header of a proxy.
type forwarded struct {
	http.RoundTripper
	address string
}

func (f forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", f.address)
	return f.RoundTripper.RoundTrip(r)
}

// challenge requests a challenge as login.js does; its text is empty if no proof is needed.
func (b *browser) challenge(page answer, name string) (c pow.Challenge) {
	b.Helper()
	token := fieldOf(page, "token")
	a := b.submitForm("/signin/proof", map[string]string{"token": token, "username": name})
	if a.StatusCode != http.StatusOK || json.Unmarshal([]byte(a.body), &c) != nil {
		b.Fatalf("ask for a challenge = %s %s", a.Status, a.body)
	}
	return c
}

func fieldOf(page answer, name string) string {
	for _, field := range fieldTag.FindAllStringSubmatch(page.body, -1) {
		if field[1] == name {
			return html.UnescapeString(field[2])
		}
	}
	return ""
}

// tries submits the sign-in form, with a proof if one is needed.
func (b *browser) tries(name, password string) answer {
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
	unproven, wrong, judged := 0, 0, 0
	stop := make(chan struct{})
	done := make(chan struct{})
	proxied := make([]*addressBrowser, 300)
	for i := range proxied {
		proxied[i] = s.from(fmt.Sprintf("198.18.%d.%d", i/250, i%250+1))
	}
	for i := range freeAccountFailures + 2 { // before anybody else: the free guesses, and two that are refused
		page := proxied[i].open("/signin/")
		switch a := proxied[i].submit(page, "/login", "username", "alice", "password", "guess"); {
		case a.StatusCode == http.StatusForbidden:
			judged++
		case a.StatusCode == http.StatusTooManyRequests && strings.Contains(a.says(), "has to do some work"):
			unproven++
		default:
			t.Errorf("guess %d = %s %s", i, a.Status, a.says())
		}
	}
	if judged != freeAccountFailures || unproven != 2 {
		t.Errorf("without a proof %d guesses were judged and %d refused, want %d and 2", judged, unproven, freeAccountFailures)
	}
	go func() { // guesses on, without proofs and with proofs that were not worked for
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
				wrong++
			}
		}
	}()
	for i := range 20 {
		owner := s.from(fmt.Sprintf("203.0.113.%d", i+1))
		if page := owner.tries("alice", "correct horse"); !strings.Contains(page.body, "signed in as") {
			t.Errorf("new browser %d with the right password = %s %s", i, page.Status, page.says())
		}
	}
	close(stop)
	<-done
	if wrong > 0 {
		t.Errorf("%d guesses without a proof were judged", wrong)
	}
}

func TestProofIsGoodOnce(t *testing.T) {
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
	try := func(name, proof string) answer {
		return b.submit(page, "/login", "username", name, "password", "guess", "proof", proof)
	}
	if a := try("alice", proof); a.StatusCode != http.StatusForbidden || a.says() != wrongPassword {
		t.Fatalf("a guess with a proof = %s %s", a.Status, a.says())
	}
	if a := try("alice", proof); a.StatusCode != http.StatusTooManyRequests || !strings.Contains(a.body, "noscript") {
		t.Errorf("a guess with the same proof = %s %s", a.Status, a.says())
	}
	if harder := b.challenge(page, "alice"); harder.Bits != pow.MinBits+1 {
		t.Errorf("after one more failure the challenge has %d bits, want %d", harder.Bits, pow.MinBits+1)
	}
	// On another node, too.
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
		t.Error("after a quiet while a proof is asked for")
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
		t.Errorf("a stranger = %s", page.Status)
	}
	page := owner.open("/signin/")
	if c := owner.challenge(page, "alice"); c.Text != "" {
		t.Errorf("the owner's browser is asked for a proof of %d bits", c.Bits)
	}
	home := owner.signIn(page, "alice")
	if !strings.Contains(home.body, "signed in as") {
		t.Errorf("the owner in her own browser = %s %s", home.Status, home.says())
	}
	owner.submit(home, "/logout")
	accountstest.AddUser(t, s.Accounts, accounts.NewAccount{Name: "bob"})
	for range freeAccountFailures {
		s.provider.failures.Take(accountKey("bob"))
	}
	if c := owner.challenge(owner.open("/signin/"), "bob"); c.Text == "" {
		t.Error("a browser that is known to one user needs no proof for another")
	}
}

func TestAddressIsThrottled(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"alice", "nobody"} {
		s.Clock.Advance(addressLimits.Quiet + time.Second)
		b, waits, judged := s.browser(), []string{}, 0
		for range addressLimits.Free + 9 {
			// pow's tests cover the cost of proofs.
			s.provider.failures = pow.NewTally(failuresHalfLife, s.Clock.Now)
			page := b.tries(name, "wrong")
			for page.StatusCode == http.StatusTooManyRequests {
				var seconds int
				fmt.Sscan(page.Header.Get("Retry-After"), &seconds)
				waits = append(waits, fmt.Sprint(seconds))
				s.Clock.Advance(time.Duration(seconds) * time.Second)
				page = b.tries(name, "wrong")
			}
			judged++
		}
		if got, want := strings.Join(waits, " "), "1 2 4 8 16 32 60 60 60"; got != want {
			t.Errorf("whoever guesses at %s waits %s seconds, want %s", name, got, want)
		}
	}
}

func TestKnownBrowserIsThrottled(t *testing.T) {
	s := newSite(t)
	b, waits := s.browser(), []string{}
	b.submit(b.signIn(b.open("/signin/"), "alice"), "/logout")
	for range 14 {
		page := b.tries("alice", "wrong")
		for page.StatusCode == http.StatusTooManyRequests {
			waits = append(waits, page.Header.Get("Retry-After"))
			var seconds int
			fmt.Sscan(page.Header.Get("Retry-After"), &seconds)
			s.Clock.Advance(time.Duration(seconds) * time.Second)
			page = b.tries("alice", "wrong")
		}
	}
	if got, want := strings.Join(waits, " "), "1 2 4 8 16 32 60 60 60"; got != want {
		t.Errorf("the waits are %s seconds, want %s", got, want)
	}
}
