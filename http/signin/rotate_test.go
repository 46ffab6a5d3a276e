package signin

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestARotatedKeyVerifiesUntilItsTokensHaveExpired(t *testing.T) {
	s := newSite(t)
	p, b := s.register(elsewhere), s.browser()
	first := p.redeem(p.code(b))
	old, err := s.accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.accounts.RotateKey(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	s.wantToken(first.told("access_token"), true)
	second := p.refresh(first.told("refresh_token"))
	s.wantToken(second.told("access_token"), true)
	if jwks := s.send("GET", "/signin/jwks", ""); !strings.Contains(jwks.body, old.ID) || !strings.Contains(jwks.body, next.ID) {
		t.Errorf("the keys that are published are %s", jwks.body)
	}
	if got, err := s.accounts.SigningKey(t.Context()); err != nil || got.ID != next.ID {
		t.Errorf("the key that signs is %s, %v; want %s", got.ID, err, next.ID)
	}
	s.clock.advance(keyOverlap + time.Minute)
	s.register(elsewhere) // whatever comes next sweeps
	if keys, err := s.accounts.Keys(t.Context()); err != nil || len(keys) != 1 || keys[0].ID != next.ID {
		t.Errorf("after the overlap the keys are %v, %v", keys, err)
	}
}

func TestKeysThatAreDroppedAtOnceEndTheirTokens(t *testing.T) {
	s := newSite(t)
	o := observe(s.accounts)
	p, b := s.register(elsewhere), s.browser()
	first := p.redeem(p.code(b))
	s.wantToken(first.told("access_token"), true)
	o.take()
	before, err := s.accounts.sealKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.accounts.RotateKey(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := o.take(); len(got) != 2 || got[0].Kind != KeyAdded || got[0].Detail != key.ID || got[1].Kind != KeyDeleted {
		t.Errorf("observed: %+v", got)
	}
	if _, _, err := s.tools.Verify(t.Context(), first.told("access_token")); err == nil {
		t.Error("a token of the old key is taken")
	}
	if after, err := s.accounts.sealKey(t.Context()); err != nil || after == before {
		t.Errorf("what was sealed before is taken (%v)", err)
	}
	a := p.refresh(first.told("refresh_token"))
	if a.StatusCode != http.StatusOK {
		t.Fatalf("refresh = %s %s", a.Status, a.body)
	}
	s.wantToken(a.told("access_token"), true)
}

func TestAnOldKeyIsReplacedByItself(t *testing.T) {
	s := newSite(t)
	s.provider.rotation = 48 * time.Hour
	if _, err := s.accounts.SigningKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		s.register(elsewhere)
		keys, err := s.accounts.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	s.clock.advance(47 * time.Hour)
	if got := count(); got != 1 {
		t.Errorf("after 47 hours there are %d keys", got)
	}
	s.clock.advance(2 * time.Hour)
	if got := count(); got != 2 {
		t.Errorf("after 49 hours there are %d keys, want 2", got)
	}
}
